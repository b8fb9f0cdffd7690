"""A small plan to measure cases against."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.load import Project
from governance.model import ClusterPlan
from governance.plan import plan

ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 4}
      l4: {instance_type: ml.g6.12xlarge, count: 2}
      cpu: {instance_type: ml.m5.4xlarge, count: 1}
governance:
  priority_classes: {high: {weight: 90}, low: {weight: 10}}
"""
TEAMS = {
    "alpha": "quota: {ml.p5.48xlarge: {instances: 2}}",
    "beta": "quota: {ml.g6.12xlarge: {accelerators: 4}, ml.m5.4xlarge: {vcpu: 8}}\nmax_run_time: 1h",
    "asleep": "quota: {ml.g6.12xlarge: {accelerators: 1}}\nstate: held",
}


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    (root / "environments").mkdir()
    (root / "environments/main.yaml").write_text(ENVIRONMENT)
    (root / "teams").mkdir()
    for name, text in TEAMS.items():
        (root / f"teams/{name}.yaml").write_text(f"apiVersion: hyperpod-platform/v1\nowners: [someone@example.com]\n{text}\n")
    return root


@pytest.fixture(scope="session")
def cluster(project: Path) -> ClusterPlan:
    return plan(Project(project).load("main")).clusters["main"]
