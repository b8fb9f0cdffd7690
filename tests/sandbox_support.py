"""What the tests on a sandbox share: its Kueue configuration and its nodes."""

from __future__ import annotations

from typing import Any

from governance.nodes import NodeSpec

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
