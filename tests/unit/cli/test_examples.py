"""The environments, teams and stacks that come with the project are right, and say what they are meant to."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from cli.main import run
from config.findings import has_errors
from config.hyperpod import HyperPodCluster
from config.load import Project
from config.stack import environment_of
from governance.model import Plan
from governance.plan import plan
from governance.summary import team_rows, type_rows

ROOT = Path(__file__).parents[3]
ENVIRONMENTS = ["dev", "local", "prod", "staging"]
STACKS = {
    "dev": "dev",
    "local": "local",
    "prod": "prod",
    "prod-governance": "prod",
    "prod-platform": "prod",
    "staging": "staging",
}
ACCOUNTS = {"111122223333", "444455556666"}
"""Accounts of AWS's own documentation."""


def resolved(environment: str) -> Plan:
    return plan(Project(ROOT).load(environment))


def built(environment: str) -> HyperPodCluster:
    declared = resolved(environment).clusters["main"].declared
    assert isinstance(declared, HyperPodCluster)
    return declared


def test_all_environments_pass_with_the_one_warning_that_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--project", str(ROOT), "check"]) == 0
    err = capsys.readouterr().err
    assert "checked dev, local, prod, staging: 1 warning" in " ".join(err.split())
    assert "ml.p4d.24xlarge: 16 of nvidia.com/gpu are guaranteed" in err


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_every_environment_has_teams_that_fit(environment: str) -> None:
    found = resolved(environment)
    assert not has_errors(found.findings)
    assert len(team_rows(found)) >= 2
    over = {row.instance_type for row in type_rows(found) if row.over}
    assert over == ({"ml.p4d.24xlarge"} if environment == "local" else set())


def test_every_stack_file_is_a_stack_of_an_environment() -> None:
    files = {path.name.removeprefix("Pulumi.").removesuffix(".yaml"): path for path in ROOT.glob("Pulumi.*.yaml")}
    assert {stack: environment_of(ROOT, stack) for stack in files} == STACKS
    layers = {}
    for stack, path in files.items():
        config = yaml.safe_load(path.read_text())["config"]
        assert config["pulumi:disable-default-providers"] == ["*"]
        layers[stack] = config.get("hyperpod-platform:layers")
        if layers[stack] == ["governance"]:
            assert config["hyperpod-platform:platform_stack"] == "organization/hyperpod-platform/prod-platform"
    assert layers == dict.fromkeys(STACKS) | {"prod-platform": ["platform"], "prod-governance": ["governance"]}


def test_dev_is_small_and_reachable_from_a_documentation_block_alone() -> None:
    cluster, found = built("dev"), resolved("dev")
    assert (found.backend, cluster.kueue.install, cluster.protection, cluster.network.egress) == ("kueue", True, False, "nat")
    assert cluster.eks.public_access_from == ("203.0.113.0/24",)
    assert sum(group.count for group in cluster.instance_groups.values()) <= 4


def test_prod_shows_what_a_platform_can_have() -> None:
    cluster, found = built("prod"), resolved("prod")
    groups = cluster.instance_groups.values()
    assert (found.backend, cluster.protection, cluster.network.egress) == ("managed", True, "nat_per_zone")
    assert cluster.eks.public_access_from == ()
    assert cluster.hyperpod.tiered_storage is not None
    assert cluster.hyperpod.lifecycle is not None
    for shown in ("labels", "taints", "partitions", "volumes", "fsx_lustre", "deep_health_checks", "training_plan", "capacity"):
        assert any(getattr(group, shown) for group in groups), shown
    for shown in ("scheduled_update", "auto_patch", "min_count"):
        assert any(getattr(group, shown) is not None for group in groups), shown
    assert {group.availability_zone for group in groups if group.instance_type == "ml.p5.48xlarge"} == {
        "us-west-2a",
        "us-west-2b",
    }
    assert any(team.iam_roles for team in found.clusters["main"].teams.values())


def test_staging_is_prod_with_fewer_nodes_in_another_account() -> None:
    prod, staging = built("prod"), built("staging")
    assert list(prod.instance_groups) == list(staging.instance_groups)
    for name, group in prod.instance_groups.items():
        twin = staging.instance_groups[name]
        assert (twin.instance_type, twin.availability_zone) == (group.instance_type, group.availability_zone)
        assert 0 < twin.count <= group.count
    assert prod.account != staging.account
    assert resolved("staging").backend == resolved("prod").backend
    assert prod.account not in str(staging.model_dump())


def test_accounts_are_those_of_documentation() -> None:
    for path in (*ROOT.glob("environments/*.yaml"), *ROOT.glob("teams/*.yaml"), *ROOT.glob("Pulumi.*.yaml")):
        assert set(re.findall(r"(?<![0-9a-f])[0-9]{12}(?![0-9a-f])", path.read_text())) <= ACCOUNTS, path


def test_the_lifecycle_script_is_one() -> None:
    script = ROOT / "lifecycle" / "on_create.sh"
    assert os.access(script, os.X_OK)
    assert subprocess.run(["/bin/bash", "-n", str(script)], capture_output=True, text=True, check=True).stderr == ""


@pytest.mark.parametrize(("stack", "ours"), [("dev", True), ("prod", False), ("prod-governance", False)])
def test_queues_are_rendered_where_they_are_ours(stack: str, ours: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--project", str(ROOT), "render", "--stack", stack]) == 0
    out, err = capsys.readouterr()
    objects = list(yaml.safe_load_all(out))
    kinds = {item["kind"] for item in objects}
    access = {"ClusterRole", "ClusterRoleBinding", "RoleBinding"}
    assert kinds >= access
    assert ("ClusterQueue" in kinds) is ours
    assert ("AWS makes namespaces, queues" in err) is not ours
    if not ours:
        assert kinds == access
        bound = {item["metadata"]["namespace"] for item in objects if item["kind"] == "RoleBinding"}
        assert bound == {team.namespace for team in resolved("prod").clusters["main"].teams.values()}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_quotas_are_shown_for_every_environment(environment: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--project", str(ROOT), "quotas", "--stack", environment]) == 0
    out = capsys.readouterr().out
    for team in resolved(environment).clusters.values():
        assert all(name in out for name in team.teams)
