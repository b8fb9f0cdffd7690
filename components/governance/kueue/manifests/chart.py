"""Kueue itself: the values of its Helm chart."""

from typing import Any

import yaml

from governance.model import ClusterPlan

NAME = "kueue"
"""The release's name; the chart derives its objects' names from it."""

_RESOURCES = {"requests": {"cpu": "500m", "memory": "512Mi"}, "limits": {"cpu": "2", "memory": "2Gi"}}
"""The chart's own, but for memory: its limit of 512Mi is soon reached with thousands of pending workloads."""


def values(cluster: ClusterPlan) -> dict[str, Any]:
    """What differs from the chart's defaults. The configuration replaces the chart's file as a whole."""
    replicas = cluster.kueue.replicas
    return {
        "controllerManager": {
            "replicas": replicas,
            "manager": {"resources": _RESOURCES},
            # With a single replica, a budget of one would keep its node from ever being drained.
            "podDisruptionBudget": {"enabled": replicas > 1, "minAvailable": 1},
        },
        "managerConfig": {"controllerManagerConfigYaml": yaml.safe_dump(dict(cluster.manager), sort_keys=False)},
    }
