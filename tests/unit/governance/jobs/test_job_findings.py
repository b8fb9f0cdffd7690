"""What stands against a job is told all at once, each with its option and a remedy; nothing is printed then."""

from __future__ import annotations

from typing import Any

import pytest
from declarations import assert_well_formed, hyperpod, planned, team
from job_orders import ENVIRONMENT, TEAMS, order_of

from config.findings import Finding, Severity
from config.rules import rules
from config.rules.jobs import JOBS
from governance.jobs.hypcli import equivalent
from governance.jobs.resolve import resolve

L4, P4, CPU = "ml.g6.12xlarge", "ml.p4d.24xlarge", "ml.m5.4xlarge"
ERRORS: list[tuple[dict[str, Any], str, str, str]] = [
    ({"team": "alfa"}, "team-unknown", "--team", "did you mean `alpha`?"),
    ({"team": "asleep"}, "team-inactive", "--team", "state: active"),
    ({"team": "both"}, "job-cluster", "--cluster", "`main`, `other`"),
    ({"cluster": "other"}, "job-cluster", "--cluster", "`main`"),
    ({"cluster": "mian"}, "cluster-unknown", "--cluster", "did you mean `main`?"),
    ({"kind": "jobb"}, "job-kind", "--kind", "did you mean `job`?"),
    ({"kind": "trainjob"}, "job-framework", "--kind", "kueue.frameworks"),
    ({"kind": "hyperpodpytorchjob"}, "job-framework", "--kind", "kueue.external_frameworks"),
    ({"instance_type": "ml.p5.48xlrge"}, "instance-type-unknown", "--instance-type", "did you mean `ml.p5.48xlarge`?"),
    ({"instance_type": L4, "accelerators": 1}, "job-type", "--instance-type", "it has ml.p5.48xlarge"),
    ({"priority": "hihg"}, "priority-class-unknown", "--priority", "did you mean `high`?"),
    ({"required_topology": "layer-7"}, "topology-level", "--required-topology", "it has layer-1, layer-2, layer-3, host"),
    ({"required_topology": "zone"}, "topology-level", "--required-topology", ""),
    ({"required_topology": "host", "preferred_topology": "layer-3"}, "topology-mode", "--required-topology", "keep one"),
    ({"required_topology": "layer-3", "pods": 5}, "job-block", "--required-topology", "4 pods"),
    ({"kind": "space", "required_topology": "host"}, "job-option", "--required-topology", "leave it out"),
    ({"name": "Llama"}, "job-name", "name", "small letters"),
    ({"name": "1lama"}, "job-name", "name", "a letter"),
    ({"name": "l" * 51}, "job-name", "name", "shorten"),
    ({"name": "l" * 48, "kind": "rayjob", "command": "a"}, "job-name", "name", "shorten"),
    ({"pods": 0}, "job-option", "--pods", "1 or more"),
    ({"nodes": -1}, "job-option", "--nodes", "1 or more"),
    ({"pods": 2, "nodes": 2}, "job-option", "--nodes", "keep one"),
    ({"kind": "pod", "pods": 2}, "job-option", "--pods", "leave --pods out"),
    ({"image": None}, "job-option", "--image", "give --image"),
    ({"image": "a b"}, "job-option", "--image", "name:tag"),
    ({"port": 70000}, "job-option", "--port", "65535"),
    ({"command": "python 'x"}, "job-option", "--command", "quotes"),
    ({"kind": "rayjob"}, "job-option", "--command", "give --command"),
    ({"env": ("a",)}, "job-option", "--env", "NAME=value"),
    ({"env": ("1a=b",)}, "job-option", "--env", "NAME=value"),
    ({"env": ("a=b", "a=c")}, "job-option", "--env", "keep one"),
    ({"max_run_time": "soon"}, "job-option", "--max-run-time", "90m"),
    ({"kind": "deployment", "max_run_time": "1h"}, "job-option", "--max-run-time", "leave it out"),
    ({"team": "beta", "instance_type": L4, "accelerators": 1, "max_run_time": "2h"}, "max-run-time", "--max-run-time", "shorten"),
    ({"whole_node": True, "accelerators": 8}, "per-pod", "--whole-node", "keep --whole-node"),
    ({"nodes": 2, "accelerators": 4}, "per-pod", "--nodes", "with --pods"),
    ({"accelerators": None}, "per-pod", "--accelerators", "give --whole-node"),
    ({"accelerators": -1}, "job-amounts", "--accelerators", "more than 0"),
    ({"accelerators": 1, "vcpu": 0.0}, "job-amounts", "--vcpu", "more than 0"),
    ({"accelerators": 8, "vcpu": float("nan")}, "job-amounts", "--vcpu", "more than 0"),
    ({"accelerators": 8, "vcpu": float("inf")}, "job-amounts", "--vcpu", "more than 0"),
    ({"accelerators": 8, "memory_gib": float("nan")}, "job-amounts", "--memory-gib", "more than 0"),
    ({"accelerators": 8, "memory_gib": float("-inf")}, "job-amounts", "--memory-gib", "more than 0"),
    ({"accelerators": 8, "vcpu": 0.0001}, "job-amounts", "--vcpu", "0.001 or more"),
    ({"accelerators": 8, "memory_gib": 0.0009}, "job-amounts", "--memory-gib", "0.001 or more"),
    ({"accelerators": 10**4299}, "job-amounts", "--accelerators", "1000000 at most"),
    ({"accelerators": -(10**400)}, "job-amounts", "--accelerators", "more than 0"),
    ({"vcpu": 1e300}, "job-amounts", "--vcpu", "1000000 at most"),
    ({"partition": "mig-1g.10gb", "partition_count": 10**4299}, "job-amounts", "--partition-count", "1000000 at most"),
    ({"pods": 10**4299}, "job-option", "--pods", "100000 at most"),
    ({"team": "beta", "instance_type": CPU, "accelerators": 1}, "accelerators-none", "--accelerators", "--vcpu"),
    ({"team": "beta", "instance_type": CPU, "vcpu": 1, "efa": 1}, "job-amounts", "--efa", "leave --efa out"),
    ({"partition": "mig-9g.1gb"}, "mig-profile-type", "--partition", "it has `mig-1g.10gb`"),
    ({"accelerators": 1, "partition_count": 1}, "job-amounts", "--partition-count", "--partition"),
    ({"accelerators": 1, "partition": "mig-1g.10gb"}, "job-amounts", "--partition", "keep"),
    ({"partition": "mig-1g.10gb", "partition_count": 0}, "job-amounts", "--partition-count", "1 or more"),
    ({"partition": "mig-1g.10gb"}, "pod-too-large", "--partition", "partitions"),
    ({"accelerators": 9}, "pod-too-large", "--accelerators", "8 at most"),
    ({"accelerators": 8, "vcpu": 192}, "pod-too-large", "--vcpu", "179 at most"),
    ({"accelerators": 8, "memory_gib": 2048}, "pod-too-large", "--memory-gib", "GiB at most"),
    ({"pods": 30}, "job-too-large", "--pods", "9 such pods at most"),
    ({"nodes": 30}, "job-too-large", "--nodes", "hpctl quotas --team alpha"),
    (
        {"team": "beta", "instance_type": CPU, "kind": "rayjob", "command": "a", "vcpu": 5, "memory_gib": 1, "pods": 3},
        "job-too-large",
        "--pods",
        "ask for 2 such pods at most",
    ),
    ({"kind": "deployment", "pods": 30}, "job-too-large", "--pods", "9 such pods"),
]


@pytest.mark.parametrize(("options", "rule", "option", "words"), ERRORS)
def test_a_mistake_is_told_at_its_option(ordering: Any, options: dict[str, Any], rule: str, option: str, words: str) -> None:
    job, found = ordering(**options)
    assert job is None
    told = [one for one in found if (one.id, str(one.where)) == (rule, option)]
    assert told, found
    assert told[0].severity is Severity.ERROR
    assert words in told[0].remedy
    for one in found:
        assert_well_formed(one, placed=False)


def severities(found: list[Finding]) -> dict[str, str]:
    return {one.id: str(one.severity) for one in found}


def test_a_job_within_its_guarantee_has_no_findings(ordering: Any) -> None:
    job, found = ordering(pods=4, required_topology="layer-3")
    assert job is not None
    assert found == []


def test_all_mistakes_are_told_at_once(ordering: Any) -> None:
    _, found = ordering(
        name="L", team="alfa", kind="jobb", instance_type="ml.p5", priority="x", env=("a",), pods=0, image="a b", least=2
    )
    assert {one.id for one in found} >= {
        "job-name",
        "team-unknown",
        "job-kind",
        "instance-type-unknown",
        "priority-class-unknown",
        "job-option",
        "job-elastic",
    }


def test_the_plan_is_asked_whatever_else_is_wrong(ordering: Any) -> None:
    _, found = ordering(name="L", priority="x", pods=30, required_topology="layer-3", command="'", env=("a",), kind="trainjob")
    assert {one.id for one in found} >= {
        "job-name",
        "priority-class-unknown",
        "job-option",
        "job-framework",
        "job-too-large",
        "job-block",
    }


def test_beyond_the_guarantee_is_advice(ordering: Any) -> None:
    _, found = ordering(pods=7)
    (borrows,) = found
    assert (borrows.id, str(borrows.severity)) == ("job-borrows", "advice")
    assert "56 nvidia.com/gpu of ml.p5.48xlarge, 48 are guaranteed" in borrows.message
    assert "weight" not in borrows.message


def test_a_weight_of_0_is_told_with_what_is_borrowed(ordering: Any) -> None:
    _, found = ordering(team="lazy", pods=3)
    assert severities(found) == {"job-borrows": "advice", "job-priority": "advice"}
    assert "with the weight 0, team `lazy` is the first to give back" in next(f.message for f in found if f.id == "job-borrows")


def test_too_few_nodes_are_a_warning() -> None:
    env = ENVIRONMENT.replace(
        "h100: {instance_type: ml.p5.48xlarge, count: 16}\n      l4", "h100: {instance_type: ml.p5.48xlarge, count: 2}\n      l4"
    )
    plan = planned({"alpha": team(TEAMS["alpha"])}, env)
    job, found = resolve(order_of(pods=3), plan)
    assert job is not None
    assert severities(found)["job-no-nodes"] == "warning"


def test_blocks_of_a_real_cluster_are_known_to_its_labels_alone() -> None:
    env = ENVIRONMENT.replace("    sandbox: true\n", "").replace("install: false\n      ", "")
    plan = planned({"alpha": team(TEAMS["alpha"])}, env)
    job, found = resolve(order_of(pods=5, required_topology="layer-3"), plan)
    assert job is not None
    assert severities(found) == {"job-block-assumed": "warning"}
    job, found = resolve(order_of(pods=4, required_topology="layer-3"), plan)
    assert found == []


def test_a_preferred_block_may_be_too_small(ordering: Any) -> None:
    _, found = ordering(pods=5, preferred_topology="layer-3")
    assert found == []


FLEET = """
apiVersion: hyperpod-platform/v1
clusters:
  hub: {kind: existing, instance_groups: {}}
  east: {kind: existing, instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 2}}}
  west: {kind: existing, instance_groups: {l4: {instance_type: ml.g6.12xlarge, count: 2}}}
governance: {multi_kueue: {manager: hub, workers: [east, west]}}
"""


@pytest.mark.parametrize("option", ["required_topology", "preferred_topology"])
def test_a_manager_s_jobs_are_placed_by_the_levels_of_its_workers(option: str) -> None:
    plan = planned({"alpha": team("quota: {ml.p5.48xlarge: {accelerators: 8}, ml.g6.12xlarge: {accelerators: 4}}")}, FLEET)
    _, found = resolve(order_of(**{option: "layer-9"}), plan)
    (told,) = [one for one in found if one.id == "topology-level"]
    assert str(told.where) == f"--{option.replace('_', '-')}"
    assert "layer-3" in told.remedy
    assert "ultraserver" not in told.remedy
    for level in ("layer-3", "host"):
        job, found = resolve(order_of(**{option: level}), plan)
        assert job is not None
        assert job.cluster.name == "hub"
        assert not [one for one in found if one.id == "topology-level"]
    job, found = resolve(order_of(**{option: "layer-9", "team": "nobody"}), plan)
    assert job is None
    assert "team-unknown" in severities(found)


def test_a_resource_that_the_queue_does_not_count() -> None:
    env = ENVIRONMENT.replace("governance:\n", "governance:\n  resources: [cpu, memory, nvidia.com/gpu]\n")
    teams = {name: team(text) for name, text in TEAMS.items() if name in ("alpha", "both")}
    plan = planned(teams, env)
    job, found = resolve(order_of(pods=2), plan)
    assert job is not None, found
    assert "vpc.amazonaws.com/efa" not in job.workers.resources
    job, found = resolve(order_of(pods=2, efa=4), plan)
    assert job is None
    assert ("job-uncovered", "--efa") in {(one.id, str(one.where)) for one in found}


def test_no_priority_class_is_advice(ordering: Any) -> None:
    job, found = ordering(team="lazy")
    assert job is not None
    assert severities(found) == {"job-priority": "advice"}


def test_on_the_managed_backend_kinds_beyond_aws_documentation_are_a_warning() -> None:
    plan = planned({"alpha": team("quota: {ml.p5.48xlarge: {instances: 2}}")}, hyperpod("governance: {backend: managed}"))
    job, found = resolve(order_of(kind="jobset"), plan)
    assert job is not None
    assert severities(found)["job-framework-managed"] == "warning"
    _, found = resolve(order_of(kind="hyperpodpytorchjob", command="bash run.sh"), plan)
    assert severities(found)["job-entry-point"] == "warning"
    _, found = resolve(order_of(kind="hyperpodpytorchjob", command="python train.py"), plan)
    assert "job-entry-point" not in severities(found)


def test_a_kind_without_a_command_of_the_hyperpod_cli(placed: Any) -> None:
    found = equivalent(placed())
    assert isinstance(found, Finding)
    assert found.id == "job-hyperpod-cli"


def test_no_message_shows_the_value_of_a_variable(ordering: Any) -> None:
    _, found = ordering(env=("1TOKEN=secret", "A=secret", "A=secret", "secret"))
    assert found
    assert not [one for one in found if "secret" in one.message + one.remedy]


def test_every_rule_of_jobs_is_shown_by_a_test() -> None:
    elsewhere = {"job-growth", "job-borrows", "job-no-nodes", "job-block-assumed", "job-priority", "job-elastic"}
    elsewhere |= {"job-elastic-priority", "job-entry-point", "job-hyperpod-cli", "job-exists", "job-refused"}
    elsewhere |= {"job-framework-managed", "job-uncovered"}
    assert {rule.id for rule in JOBS.rules} == {rule for _, rule, _, _ in ERRORS if rule.startswith("job-")} | elsewhere
    assert all(rule in rules() for _, rule, _, _ in ERRORS)
