"""What the tests on a sandbox share: its Kueue configuration, its nodes, looking at processes and changing objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psutil

from governance.nodes import NodeSpec
from live.connection import ApiError, Connection

LAYER = "topology.k8s.aws/network-node-layer-3"
QUEUED = {"sagemaker.amazonaws.com/sagemaker-managed-queue": "true"}
MANAGER: dict[str, Any] = {
    "manageJobsWithoutQueueName": False,
    "managedJobsNamespaceSelector": {"matchLabels": QUEUED},
    "integrations": {"frameworks": ["batch/job", "pod", "deployment", "statefulset", "ray.io/rayjob"]},
    "fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare", "LessThanInitialShare"]},
}


def gpu_node(number: int) -> NodeSpec:
    """One of many equal nodes, two to a network block."""
    name = f"gpu-{number:03d}"
    labels = {"kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": "ml.p5.48xlarge", LAYER: f"block-{number // 2}"}
    capacity = {"cpu": "192", "memory": "2048Gi", "nvidia.com/gpu": "8", "pods": "250"}
    return NodeSpec(name, labels, capacity, {**capacity, "cpu": "190"})


def runs(pid: int) -> bool:
    """Whether a process has not ended yet; the dead stay in the process list where nobody asks for their status."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def rewrite(api: Connection, path: str, change: Callable[[dict[str, Any]], None], query: dict[str, str] | None = None) -> None:
    """Read an object, change it and write it; once more where a controller has written to it in between."""
    while True:
        found = api.request("GET", path).body
        change(found)
        try:
            api.request("PUT", path, found, query)
        except ApiError as error:
            if error.status != 409:
                raise
        else:
            return
