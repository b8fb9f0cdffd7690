"""Quota on top until a date: it counts as quota does while it lasts, and not at all afterwards."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from declarations import ENVIRONMENT, assert_well_formed, environment, ids, project, team
from hypothesis import given
from hypothesis import strategies as st
from managed_support import MANAGED, managed_teams
from strategies import TYPES, ProjectData, amounts, projects, write

from config.catalogue import instance_types
from config.findings import Finding, Severity, has_errors
from config.load import Platform
from governance.contract import job_contracts
from governance.managed import compute_quota
from governance.model import Plan
from governance.plan import plan, review
from governance.summary import team_rows, type_rows
from governance.units import CPU, EFA, GPU
from live.guards import flavor_findings

DAY = date(2026, 11, 21)
ERROR, WARNING, ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE
QUOTA = "quota: {ml.p5.48xlarge: {accelerators: 8}}\nweight: 1\n"


def extra(quota: str, until: str = "2999-01-01") -> str:
    return f"extra_quota:\n  paper:\n    quota: {quota}\n    until: {until}\n    reason: a paper is due\n"


def loaded(teams: Mapping[str, Any], env: Any = ENVIRONMENT, today: date = DAY) -> Platform:
    with tempfile.TemporaryDirectory() as folder:
        made = write(Path(folder), {"dev": env}, teams)
        return replace(made.load("dev"), today=today)


def planned(teams: Mapping[str, Any], env: Any = ENVIRONMENT, today: date = DAY) -> Plan:
    return plan(loaded(teams, env, today))


def found(text: str, env: str = ENVIRONMENT, today: date = DAY, **others: str) -> list[Finding]:
    findings = list(planned({"alpha": team(text), **others}, env, today).findings)
    for finding in findings:
        assert_well_formed(finding)
    return findings


def amounts_of(text: str, env: str = ENVIRONMENT, today: date = DAY) -> dict[str, dict[str, int]]:
    alpha = planned({"alpha": team(text)}, env, today).clusters["main"].teams["alpha"]
    return {flavor.instance_type: flavor.nominal() for flavor in alpha.flavors}


@pytest.mark.parametrize(("today", "gpus"), [("2026-12-30", 12), ("2026-12-31", 12), ("2027-01-01", 8)])
def test_it_counts_through_its_last_day(today: str, gpus: int) -> None:
    text = QUOTA + extra("{ml.p5.48xlarge: {accelerators: 4}}", "2026-12-31")
    assert amounts_of(text, today=date.fromisoformat(today))["ml.p5.48xlarge"][GPU] == gpus


def test_every_key_of_a_quota_is_one_of_extra_quota() -> None:
    text = QUOTA + extra("{ml.m5.4xlarge: {instances: 1}, g6: {accelerators: 2}, nvidia: {accelerators: 80}}")
    found = amounts_of(text)
    assert {kind: (of[GPU], of[CPU]) for kind, of in found.items() if kind != "ml.p5.48xlarge"} == {
        "ml.m5.4xlarge": (0, 16_000),
        "ml.g6.12xlarge": (2 + 16, 18 * 12_000),
    }
    assert found["ml.p5.48xlarge"][GPU] == 8 + 64


def test_devices_of_two_entries_bring_the_interfaces_of_their_sum() -> None:
    """Three of p4d's eight GPUs have one of its four EFA interfaces, five have two; eight have four."""
    text = "quota: {ml.p4d.24xlarge: {accelerators: 3}}\nweight: 1\n"
    env = environment(groups="g: {instance_type: ml.p4d.24xlarge, count: 1}")
    assert amounts_of(text, env)["ml.p4d.24xlarge"][EFA] == 1
    assert amounts_of(text + extra("{ml.p4d.24xlarge: {accelerators: 5}}"), env)["ml.p4d.24xlarge"][EFA] == 4


def test_several_entries_add_up_each_until_its_own_day() -> None:
    text = (
        QUOTA + "extra_quota:\n"
        "  one: {quota: {ml.p5.48xlarge: {accelerators: 1}}, until: 2026-11-20, reason: a paper is due}\n"
        "  two: {quota: {ml.p5.48xlarge: {accelerators: 2}}, until: 2026-11-21, reason: a paper is due}\n"
        "  three: {quota: {p5: {accelerators: 4}}, until: 2026-12-24, reason: a paper is due}\n"
    )
    assert amounts_of(text)["ml.p5.48xlarge"][GPU] == 8 + 2 + 4
    assert [(f.id, f.where.line) for f in found(text)] == [("extra-quota-ended", 6), ("extra-quota-ends", 7)]


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both entries as one; they name the same amounts."""
    return {
        name: merged(value, other[name]) if isinstance(value, dict) else round(value + other[name], 3)
        for name, value in one.items()
    }


@st.composite
def two_parts(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Quota and extra quota that name the same amounts of the same types, and their sum."""
    one: dict[str, Any] = {}
    other: dict[str, Any] = {}
    for name in draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True)):
        one[name] = draw(amounts([instance_types()[name]]))
        both: dict[str, st.SearchStrategy[Any]] = {key: st.integers(1, 50) for key in one[name] if key != "partitions"}
        if both.get("accelerators") is not None and not one[name]["accelerators"]:
            one[name]["accelerators"] = 1  # naming none is another way of filling than naming some
        if "partitions" in one[name]:
            both["partitions"] = st.fixed_dictionaries({profile: st.integers(1, 9) for profile in one[name]["partitions"]})
        other[name] = draw(st.fixed_dictionaries(both))
    return one, other, merged(one, other)


@given(managed_teams(), two_parts(), st.booleans())
def test_quota_and_extra_quota_are_the_quota_of_their_sum(
    data: dict[str, Any], parts: tuple[dict[str, Any], dict[str, Any], dict[str, Any]], managed: bool
) -> None:
    """In the plan of both backends, in what SageMaker is sent, in contracts, and in the rows of `hpctl quotas`."""
    env = MANAGED if managed else MANAGED.replace("backend: managed", "backend: kueue")
    quota, more, whole = parts
    paper = {"paper": {"quota": more, "until": "2026-11-21", "reason": "a paper is due"}}
    beta = team("quota: {ml.p5.48xlarge: {instances: 1}}\nweight: 3\n")
    one = planned({"alpha": {**data, "quota": quota, "extra_quota": paper}, "beta": beta}, env)
    other = planned({"alpha": {**data, "quota": whole}, "beta": beta}, env)
    assert replace(one, findings=()) == replace(other, findings=())
    assert job_contracts(one) == job_contracts(other)
    assert (team_rows(one), type_rows(one)) == (team_rows(other), type_rows(other))
    clusters = [found.clusters["main"] for found in (one, other)]
    payloads = [compute_quota(cluster.teams["alpha"], cluster) for cluster in clusters]
    assert payloads[0] == payloads[1]
    overcommitted = [[f.message for f in found.findings if f.id == "overcommit"] for found in (one, other)]
    assert overcommitted[0] == overcommitted[1]


def without_extra(made: ProjectData) -> ProjectData:
    teams = {name: {key: value for key, value in data.items() if key != "extra_quota"} for name, data in made.teams.items()}
    return ProjectData(made.environment, teams)


def numbers(found: Plan) -> dict[str, Any]:
    """What anybody can have of anything, without what is none."""
    teams = {
        (name, team.name, flavor.flavor, quota.resource): (quota.nominal, most, quota.borrowing_limit, quota.lending_limit)
        for name, cluster in found.clusters.items()
        for team in cluster.teams.values()
        for flavor in team.flavors
        for quota in flavor.quotas
        if (most := team.largest[flavor.flavor, quota.resource]) or quota.nominal
    }
    pools = {
        (name, flavor.flavor, quota.resource): quota.nominal
        for name, cluster in found.clusters.items()
        for flavor in cluster.cohorts[0].pool
        for quota in flavor.quotas
        if quota.nominal
    }
    return {"teams": teams, "pools": pools}


def bare(found: Plan) -> Plan:
    """Without amounts, and without the flavors that have them."""
    return replace(
        found,
        findings=(),
        clusters={
            name: replace(
                cluster,
                kinds={},
                flavors={},
                covered=(),
                topologies=(),
                cohorts=tuple(replace(cohort, pool=()) for cohort in cluster.cohorts),
                teams={of: replace(team, flavors=(), covered=(), largest={}, potential={}) for of, team in cluster.teams.items()},
            )
            for name, cluster in found.clusters.items()
        },
    )


@given(projects(most_teams=3), st.data())
def test_past_its_day_the_plan_has_the_numbers_of_the_one_without_it(drawn: ProjectData, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(TYPES))
    day = DAY - timedelta(days=data.draw(st.integers(1, 1000)))
    entry = {"quota": {kind: {"instances": 3}}, "until": day.isoformat(), "reason": "a paper is due"}
    made = without_extra(drawn)
    teams = {name: {**declared, "extra_quota": {"paper": entry}} for name, declared in made.teams.items()}
    one, other = planned(teams, made.environment), planned(made.teams, made.environment)
    assert numbers(one) == numbers(other)
    assert bare(one) == bare(other)
    told = [f for f in one.findings if f.id == "extra-quota-ended"]
    assert sorted(f.where.file for f in told) == sorted(f"teams/{name}.yaml" for name in made.teams)


@given(projects(most_teams=3), st.data())
def test_no_queue_loses_a_flavor_or_a_resource_by_a_day_that_passes(drawn: ProjectData, data: st.DataObject) -> None:
    """Workloads may hold quota on them; Kueue would forget it, so the cluster refuses that. And no error comes with the day."""
    key = data.draw(st.sampled_from([*TYPES, "p5", "nvidia"]))
    asked = {"instances": 1} if key not in instance_types() else data.draw(amounts([instance_types()[key]]))
    entry = {"quota": {key: asked}, "until": DAY.isoformat(), "reason": "a paper is due"}
    made = without_extra(drawn)
    teams = {name: {**declared, "extra_quota": {"paper": entry}} for name, declared in made.teams.items()}
    last, after = (planned(teams, made.environment, day) for day in (DAY, DAY + timedelta(days=1)))
    for name, cluster in last.clusters.items():
        assert after.clusters[name].flavors == cluster.flavors
        assert after.clusters[name].covered == cluster.covered
        for team_, queue in cluster.teams.items():
            kept = after.clusters[name].teams[team_]
            assert [f.flavor for f in kept.flavors] == [f.flavor for f in queue.flavors]
            assert all(kept.largest[cell] <= queue.largest[cell] for cell in queue.largest)
    if not has_errors(last.findings):
        assert ids(list(after.findings), ERROR) == []


@pytest.mark.parametrize("sharing", ["", "sharing: {borrow_unlimited: true}\n", "sharing: dont_lend\n", "max_pods: 50\n"])
def test_an_ended_entry_leaves_its_type_in_the_queue_with_nothing(sharing: str) -> None:
    """Not even borrowed, whatever the team may borrow of its other types."""
    text = QUOTA + sharing + extra("{ml.g6.12xlarge: {instances: 2}}", "2026-11-20")
    beta = team("quota: {ml.g6.12xlarge: {instances: 1}}\nweight: 1\nsharing: lend\n")
    alpha = planned({"alpha": team(text), "beta": beta}).clusters["main"].teams["alpha"]
    (kept,) = [flavor for flavor in alpha.flavors if flavor.instance_type == "ml.g6.12xlarge"]
    assert {quota.nominal for quota in kept.quotas} == {0}
    assert {quota.borrowing_limit for quota in kept.quotas} == ({None} if alpha.cohort is None else {0})
    assert {alpha.largest[kept.flavor, quota.resource] for quota in kept.quotas} == {0}


def test_what_runs_on_an_ended_type_refuses_no_deployment() -> None:
    """The guard asks for every flavor in use; taking the entry out of the file is what it is there for."""
    reserved = [{"name": "ml.g6.12xlarge", "resources": [{"name": GPU, "total": "4"}]}]
    queue = {"metadata": {"name": "hyperpod-ns-alpha-clusterqueue"}, "status": {"flavorsReservation": reserved}}

    class Live:
        def items(self, _: str) -> list[dict[str, Any]]:
            return [queue]

    def guarded(text: str) -> list[str]:
        platform = loaded({"alpha": team(text)})
        return [f.id for f in flavor_findings(platform, plan(platform).clusters["main"], Live())]

    assert guarded(QUOTA + extra("{g6: {accelerators: 4}}", "2026-11-20")) == []
    assert guarded(QUOTA) == ["flavor-in-use"]


def test_the_managed_quota_keeps_the_type_as_no_instance() -> None:
    text = QUOTA + extra("{ml.g6.12xlarge: {accelerators: 4}}", "2026-11-20")
    cluster = planned({"alpha": team(text)}, MANAGED).clusters["main"]
    payload = compute_quota(cluster.teams["alpha"], cluster)["compute_quota_config"]["compute_quota_resources"]
    assert payload[0] == {"instance_type": "ml.g6.12xlarge", "count": 0}
    assert [entry["instance_type"] for entry in payload] == ["ml.g6.12xlarge", "ml.p5.48xlarge"]


@given(projects(most_teams=3), st.data())
def test_more_on_top_never_takes_anything_away(drawn: ProjectData, data: st.DataObject) -> None:
    """Whatever the entry names, whatever the quota does."""
    kind = data.draw(st.sampled_from(TYPES))
    entry = {"quota": {kind: data.draw(amounts([instance_types()[kind]]))}, "until": "2999-01-01", "reason": "a paper is due"}
    made = without_extra(drawn)
    teams = {name: {**declared, "extra_quota": {"paper": entry}} for name, declared in made.teams.items()}
    one, other = planned(teams, made.environment), planned(made.teams, made.environment)
    for name, cluster in other.clusters.items():
        for own in cluster.teams.values():
            more = {flavor.instance_type: flavor.nominal() for flavor in one.clusters[name].teams[own.name].flavors}
            for flavor in own.flavors:
                assert all(more[flavor.instance_type][r] >= n for r, n in flavor.nominal().items())


def test_a_count_of_instances_becomes_amounts_where_accelerators_come_on_top() -> None:
    """The managed quota's Count can't say more than whole instances."""

    def payload(text: str, today: date = DAY) -> list[dict[str, Any]]:
        cluster = planned({"alpha": team(text)}, MANAGED, today).clusters["main"]
        entries: list[dict[str, Any]] = compute_quota(cluster.teams["alpha"], cluster)["compute_quota_config"][
            "compute_quota_resources"
        ]
        return entries

    whole = "quota: {ml.p5.48xlarge: {instances: 1}}\n"
    amounts_ = whole + extra("{ml.p5.48xlarge: {accelerators: 4}}", "2026-11-21")
    instances = whole + extra("{ml.p5.48xlarge: {instances: 2}}", "2026-11-21")
    h100 = {"instance_type": "ml.p5.48xlarge"}
    assert payload(amounts_) == [{**h100, "accelerators": 12, "v_cpu": 288.0, "memory_in_gi_b": 3072.0}]
    assert payload(instances) == [{**h100, "count": 3}]
    assert payload(amounts_, DAY + timedelta(days=1)) == payload(whole) == [{**h100, "count": 1}]


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        ("2026-11-20", [("extra-quota-ended", WARNING, 8)]),
        ("2026-11-21", [("extra-quota-ends", ADVICE, 8)]),
        ("2026-11-28", [("extra-quota-ends", ADVICE, 8)]),
        ("2026-11-29", []),
    ],
)
def test_its_end_is_told_before_and_after(until: str, expected: list[tuple[str, Severity, int]]) -> None:
    findings = found(QUOTA + extra("{ml.p5.48xlarge: {accelerators: 4}}", until))
    assert [(f.id, f.severity, f.where.line) for f in findings] == expected
    for finding in findings:
        assert "`paper` of team `alpha` (ml.p5.48xlarge)" in finding.message
        assert f"on {until}" in finding.message
        assert "later date" in finding.remedy


def test_amounts_on_top_are_checked_as_those_of_a_quota() -> None:
    text = QUOTA + extra("{ml.m5.4xlarge: {accelerators: 1}, g5: {instances: 1}, ml.p5.48xlarge: {partitions: {mig-1g.5gb: 1}}}")
    assert sorted(ids(found(text))) == ["accelerators-none", "mig-profile-type", "quota-no-group"]
    assert {f.where.line for f in found(text)} == {7}
    assert ids(found(text, today=date(3000, 1, 1))) == ["extra-quota-ended"]
    no_group = found("weight: 1\nsharing: lend\n" + extra("{ml.g5.2xlarge: {instances: 1}}"))
    assert [(f.id, f.where.line) for f in no_group] == [("overcommit-no-group", 7)]


def test_partitions_on_top_are_checked_against_the_managed_backend() -> None:
    text = "quota: {ml.p5.48xlarge: {instances: 1}}\n" + extra("{ml.p6-b300.48xlarge: {partitions: {mig-1g.34gb: 1}}}")
    told = [(f.id, f.where.line) for f in found(text, MANAGED) if f.severity is ERROR]
    assert ("managed-mig-profile", 6) in told
    borrowed = (
        "quota: {ml.p5.48xlarge: {instances: 1}}\nsharing: {borrow: {ml.p6-b300.48xlarge: {partitions: {mig-1g.34gb: 1}}}}\n"
    )
    assert "managed-mig-profile" in ids(found(borrowed, MANAGED))


def test_guarantees_on_top_count_against_capacity() -> None:
    text = "quota: {ml.p5.48xlarge: {instances: 5}}\nweight: 1\n" + extra("{ml.p5.48xlarge: {instances: 4}}")
    assert ids(found(text)) == ["overcommit"]
    assert ids(found(text, today=date(3000, 1, 1))) == ["extra-quota-ended"]


def test_a_team_that_has_quota_on_top_alone_has_quota() -> None:
    text = "weight: 1\n" + extra("{ml.p5.48xlarge: {instances: 4}}")
    assert ids(found(text)) == []
    assert sorted(ids(found(text, today=date(3000, 1, 1)))) == ["extra-quota-ended", "quota-none"]


@pytest.mark.parametrize(
    "rest",
    [
        "flavors: [ml.g6.12xlarge]\n",
        "sharing: {lend: {ml.g6.12xlarge: {accelerators: 1}}}\n",
        "sharing: {lend: {ml.g6.12xlarge: {accelerators: 1}, ml.p5.48xlarge: {accelerators: 9}}}\n",
        "largest_job: {ml.g6.12xlarge: {accelerators: 4}}\n",
    ],
)
def test_a_day_that_passes_refuses_no_deployment(rest: str) -> None:
    """What the ended amount leaves behind is no error; without the entry it is."""
    text = QUOTA + rest
    top = extra("{g6: {instances: 1}, ml.p5.48xlarge: {accelerators: 8}}", "2026-11-30")
    assert ids(found(text), ERROR)
    assert ids(found(text + top, today=DAY)) == []
    after = found(text + top, today=date(2026, 12, 1))
    assert ids(after, ERROR) == []
    assert "extra-quota-ended" in ids(after, WARNING)


def test_an_override_that_adds_instances_to_single_amounts_is_told() -> None:
    text = extra("{ml.p5.48xlarge: {accelerators: 8}}") + (
        "environments: {dev: {extra_quota: {paper: {quota: {ml.p5.48xlarge: {instances: 2}}}}}}\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        told = review(project(Path(folder), {"alpha": team(QUOTA + text)}), "dev")
    (finding,) = [f for f in told if f.id == "quota-adds-up"]
    assert finding.where.line == 10
    assert "extra_quota.paper.quota.ml.p5.48xlarge: accelerators of all environments and instances" in finding.message
    assert "accelerators: null" in finding.remedy
