"""Names of everything that is made for a team or class: those of HyperPod task governance, on either backend."""

from __future__ import annotations

import hashlib
import json
from typing import Any

DEFAULT_TOPOLOGY = "hyperpod-default"
HOSTNAME_TOPOLOGY = "hostname-only"
DEFAULT_LOCAL_QUEUE = "default"
"""The name that Kueue's LocalQueueDefaulting looks for."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"
MAX_RUN_TIME_LABEL = "kueue.x-k8s.io/max-exec-time-seconds"
REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
INSTANCE_TYPE_LABEL = "node.kubernetes.io/instance-type"
GROUP_LABEL = "sagemaker.amazonaws.com/instance-group-name"
HEALTH_LABEL = "sagemaker.amazonaws.com/node-health-status"

MANAGED_QUEUE_LABEL = "sagemaker.amazonaws.com/sagemaker-managed-queue"
QUOTA_ID_LABEL = "sagemaker.amazonaws.com/quota-allocation-id"
TEAM_LABEL = "hyperpod-platform/team"
STATE_LABEL = "hyperpod-platform/state"
MAX_RUN_TIME_ANNOTATION = "hyperpod-platform/max-run-time-seconds"

_RESERVED_PREFIXES = ("hyperpod-platform/", "sagemaker.amazonaws.com/", "kueue.x-k8s.io/", "kubernetes.io/")
_RESERVED_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


def is_reserved_label(key: str) -> bool:
    """Whether a label of a team's namespace is ours, AWS's or Kubernetes' to set."""
    return key.startswith(_RESERVED_PREFIXES)


def is_reserved_namespace(name: str) -> bool:
    """Whether a namespace belongs to Kubernetes itself."""
    return name in _RESERVED_NAMESPACES


def namespace(team: str) -> str:
    return f"hyperpod-ns-{team}"


def cluster_queue(team: str) -> str:
    return f"{namespace(team)}-clusterqueue"


def local_queue(team: str) -> str:
    return f"{namespace(team)}-localqueue"


def group(team: str) -> str:
    """The Kubernetes group of a team's members."""
    return f"{namespace(team)}-namespace-level-group"


def priority_class(name: str) -> str:
    return f"{name}-priority"


def fingerprint(value: Any) -> str:
    """Six hexadecimal digits that change with the value: for names of things that can't be changed in place."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:6]
