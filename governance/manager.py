"""Kueue's manager configuration, from the cluster policy (config.kueue.x-k8s.io/v1beta2)."""

from __future__ import annotations

from typing import Any

from config.cluster import Kueue
from config.environment import Gang, Governance
from governance.model import DispatchPlan
from governance.multikueue import configuration as dispatching
from governance.names import MANAGED_QUEUE_LABEL

_CONCURRENCY = {
    "Job.batch": 5,
    "Pod": 5,
    "Workload.kueue.x-k8s.io": 5,
    "LocalQueue.kueue.x-k8s.io": 1,
    "ClusterQueue.kueue.x-k8s.io": 1,
    "ResourceFlavor.kueue.x-k8s.io": 1,
}
"""Reconciles at once by kind, as Kueue's chart has them; left out, Kueue falls back to one each."""


def manager_configuration(governance: Governance, kueue: Kueue, dispatch: DispatchPlan | None = None) -> dict[str, Any]:
    """The whole configuration file as data. A part whose presence switches a feature on is there only when it is wanted.

    `dispatch` is there for a cluster that hands its jobs to others.
    """
    configuration: dict[str, Any] = {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": True, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {"groupKindConcurrency": dict(_CONCURRENCY)},
        "clientConnection": {"qps": kueue.client_qps, "burst": kueue.client_burst},
        "manageJobsWithoutQueueName": False,
        # Kueue's job webhooks then see the teams' namespaces only and can't hold up system pods.
        "managedJobsNamespaceSelector": {"matchLabels": {MANAGED_QUEUE_LABEL: "true"}},
        "integrations": {"frameworks": list(kueue.frameworks)},
    }
    if kueue.external_frameworks:
        configuration["integrations"]["externalFrameworks"] = list(kueue.external_frameworks)
    if kueue.exclude_resources:
        configuration["resources"] = {"excludeResourcePrefixes": list(kueue.exclude_resources)}
    if governance.idle_compute == "fair_share":
        configuration["fairSharing"] = {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]}
    if governance.gang is not None and dispatch is None:  # a dispatched job's pods are the worker's to wait for
        configuration["waitForPodsReady"] = _gang(governance.gang)
    if dispatch is not None and governance.multi_kueue is not None:
        # For every framework here, Kueue watches its kind on each worker, and takes one without that kind for lost.
        configuration["integrations"] = {"frameworks": list(governance.multi_kueue.frameworks)}
        configuration["multiKueue"] = dispatching(governance.multi_kueue, dispatch.origin)
    if kueue.feature_gates:
        configuration["featureGates"] = dict(sorted(kueue.feature_gates.items()))
    return configuration


def _gang(gang: Gang) -> dict[str, Any]:
    requeuing: dict[str, Any] = {
        "timestamp": gang.requeue_from.capitalize(),
        "backoffBaseSeconds": gang.backoff_base,
        "backoffMaxSeconds": gang.backoff_max,
    }
    if gang.backoff_limit is not None:
        requeuing["backoffLimitCount"] = gang.backoff_limit
    wait: dict[str, Any] = {
        "timeout": f"{gang.timeout}s",
        "blockAdmission": gang.block_admission,
        "requeuingStrategy": requeuing,
    }
    if gang.recovery_timeout is not None:
        wait["recoveryTimeout"] = f"{gang.recovery_timeout}s"
    return wait
