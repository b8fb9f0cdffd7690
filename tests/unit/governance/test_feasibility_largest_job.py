"""The largest job that a team plans: against all that it could ever have, and against the nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from declarations import ENVIRONMENT, assert_well_formed, environment, findings, hyperpod, ids, planned, team
from hypothesis import assume, given
from hypothesis import strategies as st
from managed_support import MANAGED
from strategies import TYPES, amounts

from config.catalogue import instance_types
from config.findings import Finding, Severity
from config.team import Amounts
from governance.allocatable import allocatable
from governance.amounts import request_of, resolve, specification
from governance.largest_job import Job
from governance.model import ClusterPlan
from governance.units import COVERED, CPU, MEMORY, is_device

ERROR, WARNING = Severity.ERROR, Severity.WARNING
ALPHA = "teams/alpha.yaml"
QUOTA = "quota: {ml.p5.48xlarge: {accelerators: 8}}\nweight: 1\n"
LENDER = team("quota: {ml.p5.48xlarge: {accelerators: 16}}\nweight: 1\nsharing: lend\n")


def job(text: str) -> str:
    return f"largest_job: {{ml.p5.48xlarge: {text}}}\n"


def found(text: str, env: str = ENVIRONMENT, **others: str) -> list[Finding]:
    told = findings({"alpha": team(text), **others}, env)
    for finding in told:
        assert_well_formed(finding)
    return told


def only(text: str, env: str = ENVIRONMENT, **others: str) -> Finding:
    (finding,) = found(text, env, **others)
    assert (finding.where.file, finding.where.line) == (ALPHA, 5)
    return finding


@pytest.mark.parametrize("backend", ["kueue", "managed"])
@pytest.mark.parametrize(("gpus", "possible"), [(8, True), (12, True), (13, False), (24, False)])
def test_a_job_beyond_quota_and_loans(backend: str, gpus: int, possible: bool) -> None:
    env = MANAGED.replace("backend: managed", f"backend: {backend}")
    told = found(QUOTA + job(f"{{accelerators: {gpus}}}"), env, beta=LENDER)
    assert [(f.id, f.severity) for f in told] == ([] if possible else [("largest-job-never", ERROR)])


def test_the_message_has_the_numbers_and_the_remedy_both_ways() -> None:
    finding = only(QUOTA + job("{accelerators: 20}"), beta=LENDER)
    assert finding.id == "largest-job-never"
    assert "plans a job of 20 nvidia.com/gpu on ml.p5.48xlarge" in finding.message
    assert "it can have 12 on the cluster `main`: 8 guaranteed, 4 borrowed" in finding.message
    assert finding.remedy == "set sharing.borrow_limit to 150, raise the quota to accelerators: 20, or plan a smaller job"


def test_a_loan_that_is_too_small_is_no_remedy() -> None:
    finding = only(QUOTA + job("{accelerators: 25}"), beta=LENDER)
    assert finding.remedy == "raise the quota to accelerators: 25, or plan a smaller job"


def test_a_team_that_only_lends_is_told_to_borrow_and_one_that_keeps_apart_is_not() -> None:
    lends = only(QUOTA + job("{accelerators: 16}") + "sharing: lend\n", beta=LENDER)
    assert lends.remedy.startswith("set sharing.strategy to lend_and_borrow and sharing.borrow_limit to 100, raise the quota")
    apart = only(QUOTA + job("{accelerators: 16}") + "sharing: dont_lend\n", beta=LENDER)
    assert apart.remedy.startswith("raise the quota")


def test_a_type_without_quota_needs_an_absolute_limit() -> None:
    borrows = "sharing: {borrow: {ml.g6.12xlarge: {accelerators: 1}}}\n"
    finding = only(QUOTA + "largest_job: {ml.g6.12xlarge: {accelerators: 4, vcpu: 40}}\n" + borrows, beta=BETA_L4)
    assert finding.remedy.startswith("set sharing.borrow.ml.g6.12xlarge to accelerators: 4, vcpu: 40, raise the quota")
    nothing = only(QUOTA + "largest_job: {ml.g5.2xlarge: {instances: 1}}\n", beta=LENDER)
    assert "it can have 0 on the cluster `main`" in nothing.message
    assert nothing.remedy == "raise the quota to instances: 1, or plan a smaller job"


BETA_L4 = team("quota: {ml.g6.12xlarge: {instances: 2}}\nsharing: lend\n")


def test_a_managed_borrow_limit_is_not_told_beyond_what_aws_documents() -> None:
    tiny = "quota: {ml.p5.48xlarge: {accelerators: 1}}\nweight: 1\nsharing: {borrow_limit: 100}\n"
    for env, remedy in ((MANAGED, "accelerators: 7"), (MANAGED.replace("backend: managed", "backend: kueue"), "to 700")):
        (finding,) = found(tiny + job("{accelerators: 8}"), env, beta=LENDER)
        assert remedy in finding.remedy.split(", raise")[0]


def test_whole_instances_ask_for_less_than_their_specification() -> None:
    """A quota of a whole instance admits a job of one, though the job can't have all its vCPUs."""
    cpu = "quota: {ml.m5.4xlarge: {vcpu: 15.9, memory_gib: 62}}\nweight: 1\n"
    assert found(cpu + "largest_job: {ml.m5.4xlarge: {instances: 1}}\n") == []
    assert ids(found(cpu + "largest_job: {ml.m5.4xlarge: {instances: 2}}\n")) == ["largest-job-never"]
    assert ids(found(cpu + "largest_job: {ml.m5.4xlarge: {vcpu: 15.95}}\n")) == ["largest-job-never"]
    assert found(QUOTA + job("{instances: 1}")) == []
    assert ids(found("quota: {ml.p5.48xlarge: {accelerators: 8, vcpu: 100}}\nweight: 1\n" + job("{instances: 1}"))) == [
        "largest-job-never"
    ]


def test_what_a_job_does_not_name_it_need_not_have() -> None:
    """Devices alone bring vCPU and memory to a quota; a job may ask for fewer."""
    lean = "quota: {ml.p5.48xlarge: {accelerators: 8, vcpu: 8, memory_gib: 64}}\nweight: 1\n"
    assert found(lean + job("{accelerators: 8, vcpu: 8}")) == []
    assert ids(found(lean + job("{accelerators: 8, vcpu: 13}"))) == ["largest-job-never"]


@given(st.sampled_from(TYPES), st.data())
def test_a_quota_of_the_same_amounts_is_always_enough(name: str, data: st.DataObject) -> None:
    """So the remedy that names them is right, whatever they are."""
    kind = instance_types()[name]
    request = request_of(Amounts.model_validate(data.draw(amounts([kind]))))
    demand = Job(None, kind, request).demand(COVERED)  # type: ignore[arg-type]
    quota = resolve(request, kind)
    assert all(amount <= quota[resource] for resource, amount in demand.items())
    room = allocatable(specification(kind))
    assert demand.get(CPU, 0) >= request.instances * room[CPU]
    devices = {r: n for r, n in quota.items() if is_device(r)}
    assert {r: n for r, n in demand.items() if is_device(r)} == devices
    if request.cpu is None:
        assert demand.get(CPU, 0) == request.instances * room[CPU]
    if request.memory is None:
        assert demand.get(MEMORY, 0) == request.instances * room[MEMORY]


@st.composite
def planned_jobs(draw: st.DrawFn) -> tuple[dict[str, Any], str, str]:
    """A team with a job, what lenders have of the type, and the environment."""
    gpus, largest = draw(st.integers(1, 16)), draw(st.integers(1, 40))
    sharing = draw(
        st.one_of(
            st.integers(1, 200).map(lambda share: {"borrow_limit": share}),
            st.integers(0, 10).map(lambda n: {"borrow": {"ml.p5.48xlarge": {"accelerators": n}}}),
            st.just({"strategy": "lend"}),
        )
    )
    asked: dict[str, Any] = {"accelerators": largest}
    if draw(st.booleans()):
        asked["vcpu"] = draw(st.integers(1, 24 * largest))
    declared = {
        "apiVersion": "hyperpod-platform/v1",
        "owners": ["owner@example.com"],
        "weight": 1,
        "quota": {"ml.p5.48xlarge": {"accelerators": gpus}},
        "sharing": sharing,
        "largest_job": {"ml.p5.48xlarge": asked},
    }
    lends = f"quota: {{ml.p5.48xlarge: {{accelerators: {draw(st.integers(0, 24))}}}}}\nweight: 1\nsharing: lend\n"
    return declared, lends, draw(st.sampled_from([ENVIRONMENT, ENVIRONMENT + "  idle_sharing: true\n", MANAGED]))


def never(declared: Mapping[str, Any], lends: str, env: str) -> list[Finding]:
    return [f for f in planned_findings(declared, lends, env) if f.id == "largest-job-never"]


def planned_findings(declared: Mapping[str, Any], lends: str, env: str) -> list[Finding]:
    return list(planned({"alpha": declared, "beta": team(lends)}, env).findings)


@given(planned_jobs())
def test_the_remedy_is_one_and_the_least(drawn: tuple[dict[str, Any], str, str]) -> None:
    """The borrow limit that the finding names lets the job run; one percent less does not."""
    declared, lends, env = drawn
    told = never(declared, lends, env)
    assume(told)
    remedy = told[0].remedy
    larger = {**declared, "quota": declared["largest_job"]}
    assert never(larger, lends, env) == []
    if percent := re.search(r"borrow_limit to (\d+)", remedy):
        share = int(percent[1])
        assert never({**declared, "sharing": {"borrow_limit": share}}, lends, env) == []
        assert never({**declared, "sharing": {"borrow_limit": share - 1}}, lends, env)
    elif "sharing.borrow." in remedy:
        limits = re.findall(r"(accelerators|vcpu|memory_gib): (\d+)", remedy.split(", raise")[0])
        sharing = {"borrow": {"ml.p5.48xlarge": {name: int(n) for name, n in limits}}}
        assert never({**declared, "sharing": sharing}, lends, env) == []
    else:
        assert never({**declared, "sharing": {"borrow_limit": 10_000}}, lends, env.replace("managed", "kueue"))


@given(planned_jobs())
def test_a_job_is_told_where_the_plans_reach_is_smaller_and_only_there(drawn: tuple[dict[str, Any], str, str]) -> None:
    declared, lends, env = drawn
    plan = planned({"alpha": declared, "beta": team(lends)}, env)
    alpha = plan.clusters["main"].teams["alpha"]
    ((flavor, amounts_),) = [(f.flavor, declared["largest_job"][f.instance_type]) for f in alpha.flavors]
    asked = {"nvidia.com/gpu": amounts_["accelerators"], CPU: amounts_.get("vcpu", 0) * 1000}
    short = any(amount > alpha.largest[flavor, resource] for resource, amount in asked.items())
    assert ("largest-job-never" in ids(list(plan.findings))) == short


def test_a_job_runs_on_one_of_the_teams_clusters() -> None:
    small = "  second: {kind: existing, instance_groups: {b: {instance_type: ml.p5.48xlarge, count: 1}}}\n"
    env = environment() + small
    quota = "quota: {ml.p5.48xlarge: {instances: 1}}\nweight: 1\n"
    lends = team("quota: {ml.p5.48xlarge: {instances: 2}}\nweight: 1\nsharing: lend\nclusters: [main]\n")
    text = quota + job("{accelerators: 12}")
    teams = {"alpha": team(text), "beta": lends}
    assert findings(teams, env) == []
    assert ids(findings(teams | {"beta": lends.replace("main", "second")}, env), ERROR) == []
    (finding,) = findings({"alpha": team(text + "clusters: [second]\n"), "beta": lends}, env)
    assert "on the cluster `second`" in finding.message


def on_top(quota: str) -> str:
    return f"extra_quota: {{paper: {{quota: {quota}, until: 2020-05-31, reason: a paper is due}}}}\n"


@pytest.mark.parametrize("backend", ["kueue", "managed"])
@pytest.mark.parametrize(
    ("lends", "severity"),
    [
        ("quota: {ml.p5.48xlarge: {accelerators: 16}}\n", None),
        (on_top("{ml.p5.48xlarge: {accelerators: 16}}"), WARNING),
        (on_top("{p5: {instances: 2}}"), WARNING),
        (on_top("{ml.p5.48xlarge: {accelerators: 3}}"), ERROR),  # too small ever to have allowed it
        (on_top("{ml.g6.12xlarge: {instances: 2}}"), ERROR),
        (on_top("{ml.p5.48xlarge: {accelerators: 16}}").replace("2020-05-31", "2999-01-01"), None),
        ("sharing: dont_lend\n" + on_top("{ml.p5.48xlarge: {accelerators: 16}}"), ERROR),
    ],
)
def test_anothers_extra_quota_that_ended_makes_it_a_warning_where_it_allowed_the_job(
    backend: str, lends: str, severity: Severity | None
) -> None:
    """The day before, the job could borrow it: a day that passes refuses nobody."""
    env = MANAGED.replace("backend: managed", f"backend: {backend}")
    lender = team(f"weight: 1\n{lends}" + ("" if "sharing" in lends else "sharing: lend\n"))
    told = [f for f in found(QUOTA + job("{accelerators: 12}"), env, beta=lender) if f.id == "largest-job-never"]
    assert [f.severity for f in told] == ([severity] if severity else [])


def test_own_extra_quota_that_ended_excuses_only_a_job_that_it_allowed() -> None:
    top = on_top("{ml.p5.48xlarge: {accelerators: 4}}")
    severities = {
        gpus: [
            f.severity
            for f in found(QUOTA + top + f"largest_job: {{ml.p5.48xlarge: {{accelerators: {gpus}}}}}\n")
            if f.id == "largest-job-never"
        ]
        for gpus in (8, 12, 13)
    }
    assert severities == {8: [], 12: [WARNING], 13: [ERROR]}


def test_a_team_without_a_cluster_has_other_findings() -> None:
    assert ids(found(QUOTA + job("{instances: 1}") + "clusters: [mian]\n")) == ["cluster-unknown"]


def test_amounts_that_the_type_does_not_have() -> None:
    text = QUOTA + "largest_job: {ml.m5.4xlarge: {accelerators: 1}, ml.p5.48xlarge: {partitions: {mig-1g.5gb: 1}}}\n"
    assert [(f.id, f.where.line) for f in found(text)] == [("accelerators-none", 5), ("mig-profile-type", 5)]


def test_partitions_are_counted_as_such() -> None:
    env = environment(groups="g: {instance_type: ml.p5.48xlarge, count: 1, partitions: {mig-1g.10gb: 7}}")
    quota = "quota: {ml.p5.48xlarge: {partitions: {mig-1g.10gb: 4}}}\nweight: 1\nsharing: lend\n"
    assert found(quota + job("{partitions: {mig-1g.10gb: 4}}"), env) == []
    (finding,) = found(quota + job("{partitions: {mig-1g.10gb: 5}}"), env)
    assert "5 nvidia.com/mig-1g.10gb" in finding.message
    assert "raise the quota to partitions: {mig-1g.10gb: 5}" in finding.remedy
    more = quota.replace(": 4}", ": 9}") + "governance: {}\n"
    told = found(more.replace("governance: {}\n", "") + job("{partitions: {mig-1g.10gb: 8}}"), env)
    (nodes,) = [f for f in told if f.id == "largest-job-no-nodes"]
    assert "8 nvidia.com/mig-1g.10gb on ml.p5.48xlarge, of which `main` has 7 for pods" in nodes.message
    assert nodes.remedy == "add nodes with these partitions; or plan a smaller one"


BIG = "quota: {ml.p5.48xlarge: {instances: 9}}\nweight: 1\n"
ALLOWED = ENVIRONMENT + "  overcommit: allow\n"


@pytest.mark.parametrize(
    ("text", "lacking", "needed"),
    [
        ("{instances: 8}", "", 0),
        ("{accelerators: 64}", "", 0),
        ("{accelerators: 65}", "65 nvidia.com/gpu on ml.p5.48xlarge, of which `main` has 64 for pods", 9),
        ("{instances: 9}", "9 whole ml.p5.48xlarge, of which `main` has 8", 9),
        ("{accelerators: 60, vcpu: 1505}", "1505 cpu on ml.p5.48xlarge, of which `main` has about", 9),
    ],
)
def test_a_job_that_quotas_admit_and_nodes_do_not_hold(text: str, lacking: str, needed: int) -> None:
    told = found(BIG + job(text), ALLOWED)
    assert [(f.id, f.severity) for f in told] == ([("largest-job-no-nodes", WARNING)] if lacking else [])
    if lacking:
        assert lacking in told[0].message
        assert told[0].remedy == f"add nodes: it needs {needed}; or plan a smaller one"


def test_nodes_with_partitions_are_no_whole_ones() -> None:
    env = environment("governance: {overcommit: allow}\n", groups=PARTITIONED)
    quota = "quota: {ml.p5.48xlarge: {instances: 2}}\nweight: 1\n"
    assert found(quota + job("{instances: 1}"), env) == []
    assert "2 whole ml.p5.48xlarge, of which `main` has 1" in only(quota + job("{instances: 2}"), env).message
    assert found(quota + job("{accelerators: 15}"), env) == []


PARTITIONED = """\
a: {instance_type: ml.p5.48xlarge, count: 1}
b: {instance_type: ml.p5.48xlarge, count: 1, partitions: {mig-1g.10gb: 7}}
"""


def test_nodes_that_come_as_jobs_need_them_are_enough() -> None:
    group = "h100: {instance_type: ml.p5.48xlarge, count: 1, availability_zone: us-west-2a%s}"
    scaled = {"groups": group % ", autoscaled: true", "settings": "hyperpod: {karpenter: true}"}
    policy = "governance: {overcommit: allow, topology: {enabled: false}}\n"
    text = "quota: {ml.p5.48xlarge: {instances: 4}}\nweight: 1\n" + job("{instances: 4}")
    assert "largest-job-no-nodes" in ids(found(text, hyperpod(policy, groups=group % "")))
    assert "largest-job-no-nodes" not in ids(found(text, hyperpod(policy, **scaled)))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{accelerators: 8, vcpu: 192}", "192 cpu fills 1 ml.p5.48xlarge, where pods can have about 180"),
        ("{accelerators: 8, vcpu: 180, memory_gib: 2048}", "2048 GiB memory fills 1 ml.p5.48xlarge, where pods can have about"),
        ("{vcpu: 192}", "192 cpu fills 1 ml.p5.48xlarge"),
        ("{accelerators: 8, vcpu: 188}", None),
        ("{accelerators: 4, vcpu: 96}", None),
        ("{accelerators: 8}", None),
        ("{instances: 1}", None),
        ("{vcpu: 191}", None),
    ],
)
def test_a_job_that_wants_all_of_its_nodes(text: str, told: str | None) -> None:
    findings_ = found(QUOTA + job(text))
    assert [(f.id, f.severity) for f in findings_] == ([("largest-job-full-node", WARNING)] if told else [])
    if told:
        assert told in findings_[0].message
        assert "write instances: 1" in findings_[0].remedy


def test_it_changes_nothing_that_is_deployed() -> None:
    def of(text: str) -> ClusterPlan:
        return planned({"alpha": team(text), "beta": LENDER}).clusters["main"]

    assert of(QUOTA) == of(QUOTA + job("{accelerators: 99}"))
