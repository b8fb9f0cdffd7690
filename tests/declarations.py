"""Small projects as text, for tests that look at lines and at single settings."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

from strategies import write

from config.findings import Finding, Severity
from config.load import Platform, Project
from governance.model import ClusterPlan, Plan, TeamPlan
from governance.plan import plan, review

ENVIRONMENT = """\
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 8}
      l4: {instance_type: ml.g6.12xlarge, count: 4}
      cpu: {instance_type: ml.m5.4xlarge, count: 4}
governance:
  priority_classes:
    inference: {weight: 90}
    training: {weight: 70}
"""
TEAM = """\
apiVersion: hyperpod-platform/v1
owners: [owner@example.com]
quota:
  ml.p5.48xlarge: {accelerators: 8}
weight: 10
"""

ADMINS = '{admins: ["arn:aws:iam::111122223333:role/platform-admin"]}'


def team(text: str) -> str:
    """A team file: what every one needs, then the text."""
    return "apiVersion: hyperpod-platform/v1\nowners: [owner@example.com]\n" + dedent(text)


def environment(text: str = "", groups: str = "h100: {instance_type: ml.p5.48xlarge, count: 8}", settings: str = "") -> str:
    """An environment file with one cluster `main`, its groups and its other settings, then the text."""
    head = "apiVersion: hyperpod-platform/v1\nclusters:\n  main:\n    kind: existing\n    instance_groups:\n"
    return head + _indented(groups, 6) + _indented(settings, 4) + dedent(text)


def hyperpod(
    text: str = "",
    groups: str = "h100: {instance_type: ml.p5.48xlarge, count: 8, availability_zone: us-west-2a}",
    settings: str = "",
    network: str = "{availability_zones: [us-west-2a, us-west-2b, us-west-2c]}",
    region: str = "us-west-2",
) -> str:
    """An environment file with one cluster `main` of kind hyperpod: its network in line 7, its groups from line 9 on.

    Its last line names an administrator of the EKS cluster, unless the settings have a section on it.
    """
    head = 'apiVersion: hyperpod-platform/v1\nclusters:\n  main:\n    kind: hyperpod\n    account: "111122223333"\n'
    head += f"    region: {region}\n    network: {network}\n    instance_groups:\n"
    admins = "" if "eks:" in settings else f"    eks: {ADMINS}\n"
    return head + _indented(groups, 6) + _indented(settings, 4) + admins + dedent(text)


def _indented(text: str, columns: int) -> str:
    return "".join(f"{' ' * columns}{line}\n" for line in dedent(text).strip().splitlines())


def project(root: Path, teams: Mapping[str, Any] | None = None, environments: Mapping[str, Any] | None = None) -> Project:
    """Files in `root`; default one environment `dev` and one team `alpha`."""
    return write(
        root, {"dev": ENVIRONMENT} if environments is None else environments, {"alpha": TEAM} if teams is None else teams
    )


def platform(teams: Mapping[str, Any], env: str = ENVIRONMENT) -> Platform:
    with tempfile.TemporaryDirectory() as folder:
        return project(Path(folder), teams, {"dev": env}).load("dev")


def planned(teams: Mapping[str, Any], env: str = ENVIRONMENT) -> Plan:
    """The plan of these teams in `dev`. Raises ConfigError where a file is wrong."""
    return plan(platform(teams, env))


def cluster(teams: Mapping[str, Any], env: str = ENVIRONMENT) -> ClusterPlan:
    return planned(teams, env).clusters["main"]


def alpha(text: str, env: str = ENVIRONMENT, **others: str) -> TeamPlan:
    """The plan of a team `alpha` whose file is `team(text)`, beside others."""
    return cluster({"alpha": team(text)} | {name: team(other) for name, other in others.items()}, env).teams["alpha"]


def findings(teams: Mapping[str, Any], env: str = ENVIRONMENT, **environments: str) -> list[Finding]:
    """All findings on `dev`."""
    with tempfile.TemporaryDirectory() as folder:
        return review(project(Path(folder), teams, {"dev": env, **environments}), "dev")


def ids(found: list[Finding], severity: Severity | None = None) -> list[str]:
    return [finding.id for finding in found if severity in (None, finding.severity)]


def assert_well_formed(finding: Finding, *, placed: bool = True) -> None:
    """What every finding must have, whatever the input was."""
    assert finding.id
    assert finding.id == finding.id.lower().replace("_", "-")
    for text in (finding.message, finding.remedy):
        assert text
        assert text.isprintable()
        assert len(text) < 2000
    assert finding.where.file
    assert finding.where.file.isprintable()
    if placed:
        assert finding.where.line >= 1
        assert finding.where.column >= 1
