"""Kueue's manager configuration from the cluster policy. The names of its fields are checked against Kueue's source elsewhere."""

from __future__ import annotations

from typing import Any

from config.cluster import Kueue
from config.environment import Governance
from governance.manager import manager_configuration


def configuration(governance: dict[str, Any] | None = None, kueue: dict[str, Any] | None = None) -> dict[str, Any]:
    return manager_configuration(Governance.model_validate(governance or {}), Kueue.model_validate(kueue or {}))


def test_what_is_always_there() -> None:
    found = configuration()
    assert (found["apiVersion"], found["kind"]) == ("config.kueue.x-k8s.io/v1beta2", "Configuration")
    assert found["manageJobsWithoutQueueName"] is False
    assert found["managedJobsNamespaceSelector"] == {"matchLabels": {"sagemaker.amazonaws.com/sagemaker-managed-queue": "true"}}
    assert found["metrics"]["enableClusterQueueResources"] is True
    assert "batch/job" in found["integrations"]["frameworks"]


def test_what_switches_a_feature_on_by_being_there() -> None:
    """Kueue enables fair sharing and gang scheduling by the presence of their part."""
    assert "fairSharing" in configuration()
    assert "fairSharing" not in configuration({"idle_compute": "first_come_first_served"})
    assert "waitForPodsReady" not in configuration()
    assert configuration({"gang": {}})["waitForPodsReady"] == {
        "timeout": "300s",
        "blockAdmission": False,
        "requeuingStrategy": {"timestamp": "Eviction", "backoffBaseSeconds": 60, "backoffMaxSeconds": 3600},
    }
    assert configuration({"gang": {"recovery_timeout": "0s"}})["waitForPodsReady"]["recoveryTimeout"] == "0s", "switched off"
    assert "featureGates" not in configuration()


def test_two_calls_share_nothing() -> None:
    first = configuration()
    first["integrations"]["frameworks"].clear()
    assert configuration()["integrations"]["frameworks"]
