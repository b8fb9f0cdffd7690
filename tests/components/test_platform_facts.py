"""Governance on a HyperPod cluster that no stack of ours has built: its names stand in the stack's settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from managed_support import MANAGED
from recording import Recording, record, write_project

from components.program import declare
from config.findings import ConfigError

ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
FACTS = {"main": {"eks_name": "ml-eks", "hyperpod_arn": ARN}}


def declared(root: Path, facts: dict[str, Any]) -> Recording:
    write_project(root, MANAGED.partition("\n")[2], {"alpha": "quota: {ml.p5.48xlarge: {instances: 1}}"})
    settings = {"layers": ["governance"], "platform_facts": facts, "kubeconfig-main": "apiVersion: v1"}
    return record(lambda: declare(root), config=settings, secrets=["kubeconfig-main"])


def test_quotas_name_the_cluster_that_the_settings_name(tmp_path: Path) -> None:
    found = declared(tmp_path, FACTS)
    (quota,) = found.of("ComputeQuota")
    assert quota.inputs["clusterArn"] == ARN
    (addon,) = found.of("Addon")
    assert addon.inputs["clusterName"] == "ml-eks"
    assert found.outputs["platform"]["main"]["hyperpod_arn"] is not None


def test_settings_that_say_too_little_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        declared(tmp_path, {"main": {"eks_name": "ml-eks"}})
    assert [finding.id for finding in caught.value.findings] == ["platform-stack-missing"]
