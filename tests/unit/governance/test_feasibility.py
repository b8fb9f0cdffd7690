"""Findings on what can be deployed and has no effect, or not the one that its author expects."""

from __future__ import annotations

import pytest
from declarations import ENVIRONMENT, assert_well_formed, environment, findings, ids, team
from hypothesis import given, settings
from strategies import ProjectData, loaded, projects

from config.catalogue import instance_types
from config.findings import Finding, Severity
from governance.plan import plan
from governance.units import is_device

ERROR, WARNING, ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE
ALPHA, DEV = "teams/alpha.yaml", "environments/dev.yaml"
QUOTA = "quota: {ml.p5.48xlarge: {accelerators: 8}}\nweight: 1\n"
IDLE = ENVIRONMENT + "  idle_sharing: true\n"


def told(found: list[Finding]) -> list[tuple[str, Severity, str, int]]:
    for finding in found:
        assert_well_formed(finding)
    return [(finding.id, finding.severity, finding.where.file, finding.where.line) for finding in found]


def test_fair_share_without_a_weight() -> None:
    none = team("quota: {ml.p5.48xlarge: {accelerators: 8}}\n")
    found = findings({"alpha": none, "beta": none}, ENVIRONMENT + "  idle_compute: fair_share\n")
    assert told(found) == [("weights-all-zero", ADVICE, DEV, 13)]
    assert "all 2 teams that borrow on `main` have weight 0" in found[0].message
    assert told(findings({"alpha": none, "beta": none}, ENVIRONMENT)) == [("weights-all-zero", ADVICE, DEV, 9)]


@pytest.mark.parametrize(
    ("beta", "env"),
    [
        (None, ENVIRONMENT),
        ("sharing: lend\n", ENVIRONMENT),
        ("sharing: dont_lend\n", ENVIRONMENT),
        ("", ENVIRONMENT + "  idle_compute: first_come_first_served\n"),
    ],
)
def test_weights_mean_nothing_to_a_single_borrower_or_by_arrival(beta: str | None, env: str) -> None:
    quota = "quota: {ml.p5.48xlarge: {accelerators: 8}}\n"
    teams = {"alpha": team(quota)} | ({} if beta is None else {"beta": team(quota + beta)})
    assert findings(teams, env) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (QUOTA + "sharing: {borrow_limit: 100}\n", 5),
        (QUOTA + "sharing:\n  borrow_unlimited: true\n", 6),
        (QUOTA + "sharing:\n  borrow:\n    ml.p5.48xlarge: {accelerators: 1}\n", 7),
    ],
)
def test_a_limit_where_nobody_lends(text: str, line: int) -> None:
    beta = team("quota: {ml.p5.48xlarge: {accelerators: 8}}\nsharing: dont_lend\n")
    found = findings({"alpha": team(text), "beta": beta})
    assert told(found) == [("borrow-from-nobody", ADVICE, ALPHA, line)]
    assert "ml.p5.48xlarge on the cluster `main`, where nobody lends any" in found[0].message
    lends = team("quota: {ml.p5.48xlarge: {accelerators: 8}}\nsharing: lend\n")
    assert findings({"alpha": team(text), "beta": lends}) == []
    assert findings({"alpha": team(text), "beta": beta}, IDLE) == []


def test_a_loan_of_vcpus_is_none_of_gpus() -> None:
    beta = team("quota: {ml.p5.48xlarge: {accelerators: 8}}\nsharing: {strategy: lend, lend: {ml.p5.48xlarge: {vcpu: 90}}}\n")
    assert ids(findings({"alpha": team(QUOTA + "sharing: {borrow_limit: 100}\n"), "beta": beta})) == ["borrow-from-nobody"]


def test_a_default_limit_says_nothing_of_intentions() -> None:
    assert findings({"alpha": team(QUOTA)}) == []
    assert findings({"alpha": team(QUOTA + "sharing: {borrow_limit: 0}\n")}) == []


def test_one_percentage_for_several_types_of_which_one_is_lent() -> None:
    quota = "quota: {ml.p5.48xlarge: {accelerators: 8}, ml.m5.4xlarge: {instances: 1}}\nweight: 1\nsharing: {borrow_limit: 100}\n"
    beta = team("quota: {ml.m5.4xlarge: {instances: 1}}\nsharing: lend\n")
    assert findings({"alpha": team(quota), "beta": beta}) == []
    absolute = "sharing: {borrow: {ml.p5.48xlarge: {accelerators: 8}, ml.m5.4xlarge: {instances: 1}}}\n"
    found = findings({"alpha": team(quota.replace("sharing: {borrow_limit: 100}\n", absolute)), "beta": beta})
    assert [f.message.split(" on the")[0] for f in found] == ["team `alpha` may borrow ml.p5.48xlarge"]


THREE = "quota: {ml.m5.4xlarge: {instances: 1}, ml.g6.12xlarge: {instances: 1}, ml.p5.48xlarge: {instances: 1}}\nweight: 1\n"


@pytest.mark.parametrize(
    ("flavors", "first", "after"),
    [
        ("[ml.g6.12xlarge]", "ml.g6.12xlarge", "ml.m5.4xlarge"),
        ("[ml.p5.48xlarge, ml.g6.12xlarge, ml.m5.4xlarge]", "ml.p5.48xlarge", "ml.m5.4xlarge"),
        ("[ml.m5.4xlarge, ml.p5.48xlarge]", None, None),
        ("[ml.m5.4xlarge]", None, None),
    ],
)
def test_a_gpu_type_that_is_tried_before_a_cpu_type(flavors: str, first: str | None, after: str | None) -> None:
    found = findings({"alpha": team(THREE + f"flavors: {flavors}\n")})
    assert told(found) == ([("flavors-cpu-last", WARNING, ALPHA, 5)] if first else [])
    if first:
        assert f"{first} is tried before {after}" in found[0].message
        assert found[0].where.column == 11  # the type itself


def test_types_of_which_the_team_can_use_no_vcpu_take_none() -> None:
    text = "quota: {ml.m5.4xlarge: {instances: 0}, ml.p5.48xlarge: {instances: 1}}\nweight: 1\nflavors: [ml.p5.48xlarge]\n"
    assert findings({"alpha": team(text)}) == []


def test_a_topology_on_some_flavors_of_a_queue() -> None:
    """Flavors of the plan have one all or none; an adopted one has what was found."""
    names = ENVIRONMENT + "  names: {flavors: {ml.g6.12xlarge: {name: l4}}}\n"
    both = "quota: {ml.g6.12xlarge: {instances: 1}, ml.p5.48xlarge: {instances: 1}}\nweight: 1\n"
    found = findings({"alpha": team(both)}, names)
    assert told(found) == [("topology-on-some-flavors", WARNING, ALPHA, 3)]
    assert "has a topology for ml.p5.48xlarge, and none for ml.g6.12xlarge" in found[0].message
    assert findings({"alpha": team(QUOTA)}, names) == []
    assert findings({"alpha": team(both)}, names + "  topology: {enabled: false}\n") == []
    racks = ENVIRONMENT + (
        "  names:\n    flavors: {ml.g6.12xlarge: {name: l4, topology: racks}}\n"
        "    topologies: {racks: [example.com/rack, kubernetes.io/hostname]}\n"
    )
    assert findings({"alpha": team(both)}, racks) == []


@settings(max_examples=50)
@given(projects())
def test_the_plan_itself_makes_no_such_queue(made: ProjectData) -> None:
    assert "topology-on-some-flavors" not in ids(list(plan(loaded(made)).findings))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("quota: {ml.p5.48xlarge: {vcpu: 96}}\n", 3),
        ("quota:\n  ml.m5.4xlarge: {vcpu: 1}\n  p5: {memory_gib: 96}\n", 5),
        ("quota: {ml.p5.48xlarge: {accelerators: 0, vcpu: 4}}\n", 3),
    ],
)
def test_an_accelerated_type_without_accelerators(text: str, line: int) -> None:
    found = findings({"alpha": team(text)})
    assert told(found) == [("quota-without-devices", ADVICE, ALPHA, line)]
    assert "can use none of its accelerators" in found[0].message


@pytest.mark.parametrize(
    "text",
    [
        "quota: {ml.p5.48xlarge: {vcpu: 96, accelerators: 2}}\n",
        "quota: {ml.p5.48xlarge: {vcpu: 96}, p5: {accelerators: 2}}\n",
        "quota: {ml.p5.48xlarge: {instances: 0}}\nsharing: {borrow: {ml.p5.48xlarge: {accelerators: 1}}}\n",
        "quota: {ml.m5.4xlarge: {vcpu: 8}}\n",
    ],
)
def test_accelerators_that_come_with_the_vcpus(text: str) -> None:
    beta = team("quota: {ml.p5.48xlarge: {instances: 1}}\nsharing: lend\n")
    assert findings({"alpha": team(text), "beta": beta}) == []


def test_partitions_are_accelerators() -> None:
    env = environment(groups="g: {instance_type: ml.p5.48xlarge, count: 1, partitions: {mig-1g.10gb: 7}}")
    assert findings({"alpha": team("quota: {ml.p5.48xlarge: {partitions: {mig-1g.10gb: 2}, vcpu: 4}}\n")}, env) == []


@settings(max_examples=50)
@given(projects())
def test_accelerators_out_of_reach_are_told_for_each_such_team_alone(made: ProjectData) -> None:
    resolved = plan(loaded(made))
    expected = set()
    for cluster in resolved.clusters.values():
        for queue in cluster.teams.values():
            for flavor in queue.flavors:
                own = flavor.nominal()
                devices = any(queue.largest[flavor.flavor, resource] for resource in own if is_device(resource))
                if instance_types()[flavor.instance_type].accelerators and (own["cpu"] or own["memory"]) and not devices:
                    expected.add(f"teams/{queue.name}.yaml")
    assert {f.where.file for f in resolved.findings if f.id == "quota-without-devices"} == expected
