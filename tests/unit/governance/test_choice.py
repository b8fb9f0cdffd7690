"""Which cluster is meant where one of them is a manager, whose quotas are sums and which has no nodes of teams."""

from __future__ import annotations

import pytest
from declarations import planned, team

from config.findings import ConfigError
from governance.choice import one_cluster, running_cluster, with_nodes
from governance.model import Plan

_P5 = "h100: {instance_type: ml.p5.48xlarge, count: 2}"


def fleet(*workers: str) -> Plan:
    clusters = "".join(f"  {name}: {{kind: existing, instance_groups: {{{_P5}}}}}\n" for name in workers)
    head = "apiVersion: hyperpod-platform/v1\nclusters:\n  hub: {kind: existing, instance_groups: {}}\n"
    policy = f"governance: {{multi_kueue: {{manager: hub, workers: [{', '.join(workers)}]}}}}\n"
    return planned({"alpha": team("quota: {ml.p5.48xlarge: {accelerators: 8}}\n")}, head + clusters + policy)


def refused(plan: Plan, name: str | None) -> tuple[str, str]:
    with pytest.raises(ConfigError) as caught:
        running_cluster(plan, name)
    (found,) = caught.value.findings
    return found.message, found.remedy


def test_a_manager_is_not_a_cluster_that_runs_jobs() -> None:
    message, remedy = refused(fleet("east", "west"), "hub")
    assert message == "the manager `hub` runs no jobs: its quotas are the sums of its workers'"
    assert remedy == "name one: east, west"
    assert one_cluster(fleet("east", "west"), "hub").name == "hub", "whoever asks the manager itself may"


def test_the_only_worker_is_meant_and_of_several_one_is_to_be_named() -> None:
    assert running_cluster(fleet("east"), None).name == "east"
    assert running_cluster(fleet("east", "west"), "west").name == "west"
    assert refused(fleet("east", "west"), None) == ("the environment has several clusters", "name one: east, west")


def test_nodes_are_looked_for_on_workers() -> None:
    told = "hub runs no jobs, it hands them to east, west: "
    assert with_nodes(fleet("east", "west"), None) == (["east", "west"], [f"{told}it is left out"])
    assert with_nodes(fleet("east", "west"), "hub") == (["hub"], [f"{told}nodes of its own run no team's jobs"])
    assert with_nodes(fleet("east", "west"), "west") == (["west"], [])
