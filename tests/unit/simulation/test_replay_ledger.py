"""What a replay knows of its jobs: built by hand as Kueue's Workloads change."""

from __future__ import annotations

from typing import Any

import pytest
from strategies import API_VERSION, ProjectData, planned

from governance.model import ClusterPlan
from governance.units import CPU, GPU, MEMORY
from simulation.cases import Placement
from simulation.replay import workloads
from simulation.replay.accounts import Account, accounts, active
from simulation.replay.clock import Clock
from simulation.replay.ledger import ROUNDS, Ledger
from simulation.replay.model import Event
from simulation.traces.model import Job

TYPE = "ml.p5.48xlarge"
AT = "2026-11-20T10:00:{:02}Z"


@pytest.fixture(scope="module")
def plan() -> ClusterPlan:
    team = {"apiVersion": API_VERSION, "owners": ["someone@example.com"], "quota": {TYPE: {"instances": 1}}}
    environment = {
        "apiVersion": API_VERSION,
        "clusters": {"main": {"kind": "existing", "instance_groups": {"p5": {"instance_type": TYPE, "count": 4}}}},
        "governance": {"priority_classes": {"high": {"weight": 90}}, "departments": {"research": {}}},
    }
    alone = {**team, "sharing": {"strategy": "dont_lend"}}
    teams = {"alpha": {**team, "department": "research"}, "beta": team, "alone": alone}
    return planned(ProjectData(environment, teams)).clusters["main"]


def job(name: str, team: str = "alpha", **fields: Any) -> Job:
    return Job(name, team, 0, 600, 2, {GPU: 8, CPU: 1500, MEMORY: 1024}, TYPE, **fields)


class Kueue:
    """Writes a Workload's status as Kueue does."""

    def __init__(self, plan: ClusterPlan, job: Job) -> None:
        self.plan, self.name = plan, job.name
        self.workload = workloads.manifest(job, plan)
        self.workload["metadata"] |= {"uid": f"uid-{job.name}", "creationTimestamp": AT.format(1), "generation": 1}
        self.version = 0

    def says(
        self, second: int = 2, admission: dict[str, Any] | None = None, **conditions: tuple[str, str, str]
    ) -> workloads.Object:
        status = self.workload.setdefault("status", {})
        found = {one["type"]: one for one in status.get("conditions", ())}
        for kind, (state, reason, message) in conditions.items():
            values = {"type": kind, "status": state, "reason": reason, "message": message}
            found[kind] = {**values, "lastTransitionTime": AT.format(second)}
        self.version += 1
        metadata = {**self.workload["metadata"], "resourceVersion": str(self.version)}
        new = {**status, "conditions": list(found.values())} | ({"admission": admission} if admission else {})
        self.workload = {**self.workload, "metadata": metadata, "status": new}
        return self.workload

    def admits(self, second: int = 2, **more: Any) -> workloads.Object:
        flavor = self.plan.flavors[TYPE].name
        usage = {GPU: "16", CPU: "3", MEMORY: "2Gi"}
        assigned = {"name": "main", "flavors": dict.fromkeys(usage, flavor), "resourceUsage": usage, "count": 2, **more}
        said = ("True", "QuotaReserved", "")
        over = dict.fromkeys(("Evicted", "Preempted"), ("False", "QuotaReserved", ""))
        return self.says(
            second, {"clusterQueue": "q", "podSetAssignments": [assigned]}, QuotaReserved=said, Admitted=said, **over
        )

    def waits(self, why: str = "insufficient quota") -> workloads.Object:
        return self.says(QuotaReserved=("False", "Pending", why))

    def evicts(self, by: str = "", reason: str = "InCohortReclamation") -> workloads.Object:
        message = f"Preempted to accommodate a workload (UID: {by}, JobUID: UNKNOWN) due to reclamation"
        return self.says(Evicted=("True", "Preempted", message), Preempted=("True", reason, message))


def ledger(plan: ClusterPlan, *jobs: Job) -> tuple[Ledger, Clock, list[Kueue]]:
    clock = Clock(jobs, 60, None)
    found = Ledger(plan, jobs, clock)
    return found, clock, [Kueue(plan, one) for one in jobs]


def test_a_workload_is_what_kueue_would_make_of_the_job(plan: ClusterPlan) -> None:
    made = workloads.manifest(job("a", priority="high", topology=Placement(required="kubernetes.io/hostname")), plan)
    assert made["metadata"] == {"name": "a", "namespace": plan.teams["alpha"].namespace}
    assert made["spec"]["queueName"] == plan.teams["alpha"].local_queue
    assert made["spec"]["priority"] == 90
    assert made["spec"]["priorityClassRef"] == {
        "group": "kueue.x-k8s.io",
        "kind": "WorkloadPriorityClass",
        "name": "high-priority",
    }
    (pods,) = made["spec"]["podSets"]
    assert (pods["count"], pods["topologyRequest"]) == (2, {"required": "kubernetes.io/hostname"})
    pod = pods["template"]["spec"]
    assert pod["nodeSelector"] == {"node.kubernetes.io/instance-type": TYPE}
    assert pod["containers"][0]["resources"]["requests"] == {GPU: "8", CPU: "1500m", MEMORY: "1Gi"}
    assert "topologyRequest" not in workloads.manifest(job("b"), plan)["spec"]["podSets"][0]


def test_an_admission_is_noted_once_with_its_usage(plan: ClusterPlan) -> None:
    found, clock, (kueue,) = ledger(plan, job("a"))
    clock.arriving(0)
    found.arrived([job("a")])
    assert found.open == {"a"}
    found.see(kueue.says(), kueue.name)
    assert found.open == {"a"}  # Kueue hasn't said anything yet
    found.at = 60
    found.see(kueue.admits(), kueue.name)
    found.see(kueue.says(PodsReady=("True", "Started", "")), kueue.name)
    flavor = plan.flavors[TYPE].name
    usage = {(flavor, GPU): 16, (flavor, CPU): 3000, (flavor, MEMORY): 2048}
    assert found.events == [Event(0, "arrived", "a"), Event(60, "admitted", "a", usage=usage)]
    assert (found.open, found.waiting, clock.next()) == (set(), set(), 660)


def test_domains_are_told_in_every_level_though_kueue_names_nodes_alone(plan: ClusterPlan) -> None:
    found, clock, (kueue,) = ledger(plan, job("a"))
    clock.arriving(0)
    topology = plan.flavors[TYPE].topology
    assert topology is not None
    names = {"individual": {"prefix": "p5-00", "roots": ["0", "3"]}}
    one = {"domainCount": 2, "valuesPerLevel": [names], "podCounts": {"universal": 1}}
    found.see(kueue.says(), kueue.name)
    found.see(kueue.admits(topologyAssignment={"levels": ["kubernetes.io/hostname"], "slices": [one]}), kueue.name)
    (event,) = found.events
    assert event.levels == topology.levels
    assert [domain[-1] for domain in event.domains] == ["p5-000", "p5-003"]
    assert all(len(domain) == len(topology.levels) and all(domain) for domain in event.domains)


def test_an_evicted_job_names_who_took_its_place_and_waits_again_once_released(plan: ClusterPlan) -> None:
    found, clock, (kueue, other) = ledger(plan, job("a"), job("b", "beta"))
    clock.arriving(0)
    found.arrived([job("a"), job("b", "beta")])
    found.see(kueue.says(), kueue.name)
    found.see(kueue.admits(), kueue.name)
    found.see(other.waits(), other.name)
    found.at = 60
    found.see(kueue.evicts(by="uid-b"), kueue.name)
    assert found.events[-1] == Event(60, "preempted", "a", by="b", reason="InCohortReclamation")
    assert (found.leaving, found.open) == ({"a"}, {"a"})
    patch = workloads.released(found.objects["a"])
    said = {one["type"]: (one["status"], one["reason"]) for one in patch["status"]["conditions"]}
    assert patch["status"]["admission"] is None
    assert patch["metadata"]["resourceVersion"] == str(kueue.version)
    assert said["QuotaReserved"] == ("False", "Pending")
    assert said["Admitted"] == ("False", "NoReservation")
    assert said["Requeued"] == ("True", "Preempted")
    assert said["Evicted"] == ("True", "Preempted")
    found.released(["a"])
    assert (found.leaving, found.open) == (set(), {"a"})  # until the watch shows it
    found.see(kueue.waits(), kueue.name)
    assert (found.open, found.waiting) == (set(), {"a", "b"})
    assert clock.next() is None


def test_a_job_that_ended_stays_open_until_the_watch_shows_it(plan: ClusterPlan) -> None:
    found, clock, (kueue,) = ledger(plan, job("a"))
    clock.arriving(0)
    found.see(kueue.admits(), kueue.name)
    found.finished([job("a")])
    found.see(kueue.says(PodsReady=("True", "Started", "")), kueue.name)
    assert found.open == {"a"}
    found.see(kueue.says(Finished=("True", "Succeeded", "")), kueue.name)
    assert (found.open, found.ended) == (set(), 1)


def test_a_job_that_ended_is_not_evicted_any_more(plan: ClusterPlan) -> None:
    """Kueue may do so before it hears of the end, and write its admission over the eviction, too."""
    found, clock, (kueue,) = ledger(plan, job("a"))
    clock.arriving(0)
    found.see(kueue.admits(), kueue.name)
    found.finished([job("a")])
    for workload in (kueue.evicts(), kueue.admits(), kueue.evicts()):
        found.see(workload, kueue.name)
        assert (found.leaving, found.lost, found.undecided()) == (set(), {}, {"a"})
    found.see(kueue.says(Finished=("True", "Succeeded", "")), kueue.name)
    assert [event.kind for event in found.events] == ["admitted", "finished"]
    assert found.undecided() == set()


def test_who_waits_is_overlooked_where_quota_came_back_later(plan: ClusterPlan) -> None:
    jobs = job("runs"), job("waits", "beta"), job("alone", "alone")
    found, _, (runs, waits, alone) = ledger(plan, *jobs)
    found.arrived(jobs)
    for workload, name in ((runs.admits(), "runs"), (waits.waits(), "waits"), (alone.waits(), "alone")):
        found.see(workload, name)
    assert not found.overlooked()
    found.finished([jobs[0]])  # of another department, but of the same root
    assert found.overlooked()
    found.moved_on()
    assert not found.overlooked()


def test_who_shares_with_nobody_is_not_overlooked_for_others(plan: ClusterPlan) -> None:
    jobs = job("runs"), job("waits", "alone")
    found, _, (runs, waits) = ledger(plan, *jobs)
    found.arrived(jobs)
    found.see(runs.admits(), runs.name)
    found.see(waits.waits(), waits.name)
    found.finished([jobs[0]])
    assert not found.overlooked()


def test_who_comes_after_the_ends_is_not_overlooked(plan: ClusterPlan) -> None:
    jobs = job("runs"), job("new")
    found, _, (runs, new) = ledger(plan, *jobs)
    found.arrived(jobs[:1])
    found.see(runs.admits(), runs.name)
    found.finished(jobs[:1])
    found.arrived(jobs[1:])
    found.see(new.waits(), new.name)
    assert not found.overlooked()


def test_one_that_was_evicted_alone_is_looked_at_after_its_own_quota_came_back(plan: ClusterPlan) -> None:
    jobs = job("a"), job("b")
    found, _, (a, b) = ledger(plan, *jobs)
    found.arrived(jobs)
    for one in (a, b):
        found.see(one.admits(), one.name)
    found.see(a.evicts(), a.name)
    found.released(["a"])
    found.see(a.waits(), a.name)
    assert not found.overlooked()
    found.see(a.admits(), a.name)
    for one in (a, b):
        found.see(one.evicts(), one.name)
    found.released(["a", "b"])  # each may have been looked at before the other's quota was back
    found.see(a.waits(), a.name)
    assert found.overlooked()


def test_quota_that_came_back_unheard_counts_too(plan: ClusterPlan) -> None:
    """The answer to the release was lost, and the second try is refused: the Workload has changed."""
    jobs = job("a"), job("b")
    found, _, (a, b) = ledger(plan, *jobs)
    found.arrived(jobs)
    found.see(a.admits(), "a")
    found.see(b.waits(), "b")
    found.see(a.evicts(), "a")
    assert (found.leaving, found.overlooked()) == ({"a"}, False)
    found.see(a.waits(), "a")
    assert (found.leaving, found.overlooked()) == (set(), True)


@pytest.mark.parametrize("by_pods", [False, True])
def test_a_job_that_goes_round_in_a_circle_sits_out_the_rest_of_the_tick(plan: ClusterPlan, by_pods: bool) -> None:
    one = job("a")
    found, a = Ledger(plan, [one], Clock([one], 60, None), by_pods=by_pods), Kueue(plan, one)
    found.begin(60)
    assert found.resume() == []
    found.arrived([one])
    for _ in range(ROUNDS):
        found.see(a.admits(), "a")
        found.see(a.evicts(), "a")
        assert (found.circling, found.leaving) == (set(), set() if by_pods else {"a"})
        found.released(["a"])
        found.see(a.waits(), "a")
    found.see(a.admits(), "a")
    found.see(a.evicts(), "a")
    assert (found.circling, found.circles) == ({"a"}, {"a": 60})
    found.see(a.waits(), "a")
    assert (found.pause(), found.circling) == ([], {"a"}), "Kueue may look at it at any moment"
    found.see(a.admits(), "a")
    found.see(a.evicts(), "a")
    assert (found.pause(), found.pause()) == (["a"], [])
    a.workload = {**a.workload, "spec": {**a.workload["spec"], "active": False}}
    found.see(a.says(), "a")
    assert found.undecided() == {"a"}, "it holds quota still"
    found.see(a.waits(), "a")
    assert (found.undecided(), found.waiting, found.paused) == (set(), set(), {"a"})
    found.see(a.admits(), "a")
    found.see(a.evicts(), "a")
    assert found.circling == set(), "what is paused isn't paused again"
    found.see(a.waits(), "a")
    assert [(one.kind, one.reason) for one in found.events][-4:] == [
        ("admitted", ""),
        ("preempted", "InCohortReclamation"),
        ("admitted", ""),
        ("preempted", ""),
    ]
    found.begin(120)
    assert (found.resume(), found.resume()) == (["a"], [])
    assert (found.undecided(), found.paused) == ({"a"}, set())
    a.workload = {**a.workload, "spec": {**a.workload["spec"], "active": True}}
    found.see(a.says(), "a")
    assert (found.undecided(), found.waiting) == (set(), {"a"})


def test_the_second_of_a_creation_or_reservation_is_busy_for_the_whole_cohort(plan: ClusterPlan) -> None:
    jobs = job("a"), job("b", "beta"), job("c", "alone")
    found, _, (a, _, _) = ledger(plan, *jobs)
    assert found.busy_second(jobs) == 0
    found.see(a.says(), a.name)
    created = found.busy_second([jobs[1]])
    found.see(a.admits(second=7), a.name)
    assert found.busy_second([jobs[1]]) == created + 6
    assert found.busy_second([jobs[2]]) == 0


def test_queues_are_at_rest_when_kueue_counts_what_the_watch_shows(plan: ClusterPlan) -> None:
    jobs = job("a"), job("b")
    found, _, (a, b) = ledger(plan, *jobs)
    found.see(a.admits(), a.name)
    found.see(b.waits(), b.name)
    queue = plan.teams["alpha"].cluster_queue
    assert found.differences({queue: Account(0, 1, 1)}) == []
    for wrong in (Account(1, 0, 1), Account(1, 1, 1), Account(0, 0, 1), Account(0, 1, 0), Account(0, 1, 2)):
        assert len(found.differences({queue: wrong})) == 1
    other = plan.teams["beta"].cluster_queue
    assert len(found.differences({queue: Account(0, 1, 1), other: Account(reserving=1)})) == 1
    assert len(found.differences({})) == 1


def test_a_refused_job_is_over(plan: ClusterPlan) -> None:
    found, _, _ = ledger(plan, job("a"))
    found.arrived([job("a")])
    found.refused(job("a"), "spec.priority: too high")
    assert found.events[-1] == Event(0, "refused", "a", reason="spec.priority: too high")
    assert (found.open, found.ended) == (set(), 1)


METRICS = b"""# HELP kueue_cluster_queue_status Reports
# TYPE kueue_cluster_queue_status gauge
kueue_cluster_queue_status{cluster_queue="a",replica_role="standalone",status="active"} 1
kueue_cluster_queue_status{cluster_queue="a",replica_role="standalone",status="pending"} 0
kueue_cluster_queue_status{cluster_queue="b",replica_role="standalone",status="active"} 0
kueue_cluster_queue_status{cluster_queue="b",replica_role="standalone",status="pending"} 1
# TYPE kueue_pending_workloads gauge
kueue_pending_workloads{cluster_queue="a",replica_role="standalone",status="active"} 2
kueue_pending_workloads{cluster_queue="a",replica_role="standalone",status="inadmissible"} 13
kueue_pending_workloads{cluster_queue="b",replica_role="standalone",status="active"} 0
# TYPE kueue_reserving_active_workloads gauge
kueue_reserving_active_workloads{cluster_queue="a",replica_role="standalone"} 1e+06
# TYPE workqueue_depth gauge
workqueue_depth{controller="x"} 3
"""


def test_accounts_are_read_from_kueues_metrics() -> None:
    assert accounts(METRICS) == {"a": Account(2, 13, 1_000_000), "b": Account()}
    assert active(METRICS) == {"a"}
    assert accounts(b"") == {}


def overtaken(kueue: Kueue) -> workloads.Object:
    """An eviction that is stored before the admission that it ends: it carries the reservation along."""
    assigned = kueue.admits()
    return {**assigned, "status": {**assigned["status"], "conditions": kueue.evicts(by="b")["status"]["conditions"]}}


def test_an_eviction_that_overtakes_its_admission_returns_no_quota_before_it(plan: ClusterPlan) -> None:
    found, clock, (kueue,) = ledger(plan, job("a"))
    found.arrived(clock.arriving(0))
    found.see(kueue.waits(), "a")
    found.see(overtaken(kueue), "a")
    found.overtaken()
    assert (found.leaving, found.undecided(), [one.kind for one in found.events]) == (set(), {"a"}, ["arrived"])
    found.see(kueue.admits(), "a")  # late; it overwrites the eviction
    assert (found.leaving, found.undecided(), [one.kind for one in found.events]) == (set(), {"a"}, ["arrived", "admitted"])
    patch = workloads.with_conditions(found.objects["a"], found.lost["a"])
    assert patch["metadata"] == {"resourceVersion": found.objects["a"]["metadata"]["resourceVersion"]}
    assert workloads.state({**found.objects["a"], **patch}) == "leaving"
    found.see(kueue.evicts(by="b"), "a")
    assert (found.lost, found.leaving) == ({}, {"a"})
    assert [one.kind for one in found.events] == ["arrived", "admitted", "preempted"]


def test_an_eviction_whose_admission_never_comes_counts_after_a_moment(
    plan: ClusterPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulation.replay.ledger._OVERTAKEN_FOR", 0.0)
    found, clock, (kueue,) = ledger(plan, job("a"))
    found.arrived(clock.arriving(0))
    found.see(kueue.waits(), "a")
    found.see(overtaken(kueue), "a")
    found.overtaken()
    assert (found.leaving, [one.kind for one in found.events]) == ({"a"}, ["arrived", "admitted", "preempted"])
