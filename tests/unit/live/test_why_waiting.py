"""Why a workload waits: each reason from objects as Kueue writes them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from live.why.explain import explain
from live.why.model import Answer, Cause, Reason
from live.why.snapshot import Snapshot
from tests.why_objects import (
    EARLY,
    GPU,
    NOW,
    Object,
    condition,
    flavor,
    local_queue,
    node,
    of,
    pending,
    pod_spec,
    queue,
    snapshot,
    workload,
)

LATER = "2026-11-21T12:05:00Z"


def answer(found: Snapshot, one: Object) -> Answer:
    return explain(found, of(one), None, lambda space, name: [])


def causes(found: Snapshot, one: Object) -> list[tuple[str, str]]:
    return [(str(cause.reason), str(cause.when)) for cause in answer(found, one).causes]


def only(found: Snapshot, one: Object) -> Cause:
    (cause,) = answer(found, one).causes
    return cause


@pytest.mark.parametrize(
    ("one", "reason", "when", "said"),
    [
        (workload("j", spec={"active": False}), "deactivated", "never", "deactivated"),
        (
            workload(
                "j",
                conditions=(condition("Requeued", "False", "PodsReadyTimeout"), pending()),
                requeueState={"count": 3, "requeueAt": LATER},
            ),
            "gang-timeout",
            "later",
            "for the 3. time",
        ),
        (
            workload(
                "j",
                conditions=(condition("Requeued", "False", "AdmissionCheck", "budget"), pending()),
                requeueState={"count": 1, "requeueAt": LATER},
            ),
            "backoff",
            "later",
            "budget",
        ),
        (
            workload(
                "j", conditions=(pending(),), admissionChecks=[{"name": "budget", "state": "Rejected", "message": "no money"}]
            ),
            "admission-check",
            "never",
            "budget Rejected: no money",
        ),
        (
            workload("j", conditions=(pending(),), admissionChecks=[{"name": "budget", "state": "Retry", "message": "later"}]),
            "admission-check",
            "later",
            "budget Retry",
        ),
        (
            workload("j", conditions=(pending("resources didn't satisfy LimitRange constraints: too much"),)),
            "invalid",
            "never",
            "too much",
        ),
        (
            workload("j", conditions=(pending("waiting for all admitted workloads to be in PodsReady condition"),)),
            "gang-timeout",
            "later",
            "waits for the pods of",
        ),
        (workload("j"), "not-seen-yet", "later", "hasn't looked at it yet"),
        (workload("j", conditions=(pending("the moon is full"),)), "unexplained", "later", "the moon is full"),
    ],
)
def test_what_conditions_alone_tell(one: Object, reason: str, when: str, said: str) -> None:
    cause = only(snapshot(one), one)
    assert (str(cause.reason), str(cause.when)) == (reason, when)
    assert said in cause.message
    if reason in ("gang-timeout", "backoff") and cause.numbers:
        assert cause.numbers["requeue_at"] == LATER


def test_a_backoff_that_is_over_is_no_reason() -> None:
    one = workload(
        "j", conditions=(condition("Requeued", "True", "BackoffFinished"),), requeueState={"count": 1, "requeueAt": EARLY}
    )
    assert causes(snapshot(one), one) == [("not-seen-yet", "later")]


def test_queues_that_are_stopped_or_lead_nowhere() -> None:
    one = workload("j", conditions=(pending(),))
    stopped = snapshot(one, local_queues=(local_queue("lq", "q", stopPolicy="HoldAndDrain"),))
    assert "LocalQueue lq is stopped (HoldAndDrain)" in only(stopped, one).message
    gone = snapshot(one, local_queues=(local_queue("lq", "gone"),))
    assert causes(gone, one) == [("wrong-queue", "never")]
    broken = queue("q", 8, cohort=None)
    broken["status"]["conditions"] = [
        condition("Active", "False", "FlavorNotFound", "references missing ResourceFlavor(s): h200")
    ]
    assert causes(snapshot(one, queues=(broken,)), one) == [("queue-inactive", "never")]
    other = queue("q", 8, cohort=None, namespaceSelector={"matchLabels": {"team": "vision"}})
    assert causes(snapshot(one, queues=(other,)), one) == [("namespace", "never")]
    listed = queue(
        "q", 8, cohort=None, namespaceSelector={"matchExpressions": [{"key": "team", "operator": "In", "values": ["q"]}]}
    )
    assert causes(snapshot(one, queues=(listed,)), one) == [("not-seen-yet", "later")]
    nothing = queue("q", 8, cohort=None, namespaceSelector=None)
    assert causes(snapshot(one, queues=(nothing,)), one) == [("namespace", "never")], "no selector matches nothing"


@pytest.mark.parametrize(
    ("pod", "flavor_", "topology", "said"),
    [
        (pod_spec(nodeSelector={"type": "a100"}), flavor(), None, "select nodes with type=a100"),
        (
            pod_spec(),
            flavor(nodeTaints=[{"key": "spot", "value": "yes", "effect": "NoSchedule"}]),
            None,
            "don't tolerate the taint spot=yes:NoSchedule",
        ),
        (pod_spec(), flavor(), {"required": "block"}, "flavor h100 has no topology"),
        (pod_spec(), flavor("blocks"), {"required": "rack"}, "has no level rack: it has block, kubernetes.io/hostname"),
        (
            pod_spec(
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "type", "operator": "NotIn", "values": ["h100"]}]}
                            ]
                        }
                    }
                }
            ),
            flavor(),
            None,
            "node affinity excludes flavor h100",
        ),
    ],
)
def test_no_flavor_suits(pod: Object, flavor_: Object, topology: Object | None, said: str) -> None:
    one = workload("j", pod=pod, topology=topology, conditions=(pending(),))
    cause = only(snapshot(one, flavors=(flavor_,)), one)
    assert (str(cause.reason), str(cause.when)) == ("flavor-mismatch", "never")
    assert said in cause.message


def test_selectors_of_other_labels_and_tolerated_taints_are_no_reason() -> None:
    taint = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
    pod = pod_spec(nodeSelector={"zone": "a"}, tolerations=[{"key": "spot", "operator": "Exists"}])
    one = workload("j", pod=pod)
    assert causes(snapshot(one, flavors=(flavor(nodeTaints=[taint]),)), one) == [("not-seen-yet", "later")]


def cohort(*workloads: Object, fair: bool = False, reclaim: str = "Any", **limits: Any) -> Snapshot:
    """Queues q and r of 8 GPUs each in one cohort."""
    queues = tuple(queue(name, 8, preemption={"reclaimWithinCohort": reclaim}, **limits) for name in ("q", "r"))
    if fair:
        for one in queues:
            one["status"]["fairSharing"] = {"weightedShare": 0}
    return snapshot(*workloads, queues=queues, local_queues=(local_queue("lq", "q"), local_queue("rq", "r")))


def test_the_cohort_has_nothing_idle() -> None:
    held = workload("a", 8, held=True)
    theirs = workload("b", 8, held=True, at="rq", cluster_queue="r")
    one = workload("j", 4, conditions=(pending(),))
    cause = only(cohort(held, theirs, one), one)
    assert (str(cause.reason), cause.shortages[0].free, cause.shortages[0].most) == ("cohort-quota", 0, 16)
    assert {remedy.workloads for remedy in cause.remedies if remedy.action == "finish"} == {("ns/job-a",), ("ns/job-b",)}


def test_its_own_quota_is_lent_and_not_taken_back() -> None:
    theirs = workload("b", 8, pods=2, held=True, at="rq", cluster_queue="r")
    one = workload("j", 8, conditions=(pending(),))
    cause = only(cohort(theirs, one, reclaim="Never"), one)
    assert (str(cause.reason), cause.shortages[0].borrowers) == ("quota-lent", {"team r": 8})
    assert [remedy.workloads for remedy in cause.remedies if remedy.action == "finish"] == [("ns/job-b",)]


def test_several_must_end_where_one_is_not_enough() -> None:
    held = [workload(name, 2, held=True) for name in "abcd"]
    one = workload("j", 5, conditions=(pending(),))
    cause = only(snapshot(*held, one), one)
    (finish,) = [remedy for remedy in cause.remedies if remedy.action == "finish"]
    assert len(finish.workloads) == 3, "three of the four free 6; fewer don't free 5"
    assert finish.checked


def test_by_fair_share_whoever_borrows_more_gives_way() -> None:
    """Whether the borrower's share is larger decides; without fair sharing nobody's share counts."""
    borrower = workload("b", 4, pods=3, held=True, at="rq", cluster_queue="r")
    mine = workload("a", 4, held=True)
    wants = workload("j", 8, conditions=(pending(),))
    assert causes(cohort(borrower, mine, wants, fair=True), wants)[0][0] == "fair-share-behind", "4 borrowed by either"
    small = workload("j", 6, conditions=(pending(),))
    assert causes(cohort(borrower, mine, small, fair=True), small)[0][0] == "cohort-quota", "its share would be the smaller one"
    assert causes(cohort(borrower, mine, wants), wants)[0][0] == "cohort-quota"


def test_a_strict_queue_waits_for_its_head() -> None:
    head = workload("a", 8, conditions=(pending(),), spec={"priority": 5})
    one = workload("j", 1)
    strict = queue("q", 8, cohort=None, queueingStrategy="StrictFIFO")
    found = snapshot(head, one, queues=(strict,))
    cause = only(found, one)
    assert (str(cause.reason), cause.numbers["ahead"], cause.numbers["strict"]) == ("priority-behind", ["ns/job-a"], True)
    assert causes(found, head) == [("not-seen-yet", "later")]
    assert causes(snapshot(head, one), one) == [("not-seen-yet", "later")], "any other queue tries the next one"


def test_those_that_are_preempted_for_it_are_named() -> None:
    leaving = workload(
        "v",
        8,
        held=True,
        conditions=(
            condition("Evicted", "True", "Preempted"),
            condition(
                "Preempted", "True", "InClusterQueue", "Preempted to accommodate a workload (UID: uid-j, JobUID: job-j) due to x"
            ),
        ),
    )
    one = workload("j", 8, conditions=(pending("insufficient. Pending the preemption of 1 workload(s)"),))
    first = answer(snapshot(leaving, one), one).causes[0]
    assert (str(first.reason), first.remedies[0].workloads) == ("preempting", ("ns/job-v",))


def test_a_preemption_that_kueue_has_overwritten_is_told() -> None:
    one = workload("j", 8, conditions=(pending("insufficient. Pending the preemption of 1 workload(s)"),))
    other = workload("v", 8, held=True, conditions=(condition("Evicted", "False", "QuotaReserved", "Previously: preempted"),))
    gone = workload(
        "g",
        8,
        conditions=(
            condition("Evicted", "True", "Preempted"),
            condition("Preempted", "True", "InClusterQueue", "Preempted to accommodate a workload (UID: uid-j, JobUID: job-j)"),
            pending(),
        ),
    )
    first = answer(snapshot(other, gone, one), one).causes[0]
    assert (str(first.reason), str(first.when), first.numbers["workloads"]) == ("preemption-lost", "later", 1)
    assert "restart" in first.remedies[0].text


def test_those_that_are_evicted_already_are_waited_for_too() -> None:
    conditions = (
        condition("Evicted", "True", "Preempted"),
        condition("Preempted", "True", "InClusterQueue", "Preempted to accommodate a workload (UID: other, JobUID: other)"),
    )
    leaving = workload("v", 8, held=True, conditions=conditions)
    one = workload("j", 8, conditions=(pending("insufficient. Pending the preemption of 1 workload(s)"),))
    first = answer(snapshot(leaving, one), one).causes[0]
    assert (str(first.reason), first.remedies[0].workloads) == ("preempting", ("ns/job-v",))


def test_a_strict_queue_keeps_its_order_while_kueue_preempts() -> None:
    head = workload("j", 8, conditions=(pending("insufficient. Pending the preemption of 1 workload(s)"),))
    one = workload("k", 1, spec={"priority": 100})
    strict = queue("q", 8, cohort=None, queueingStrategy="StrictFIFO")
    assert causes(snapshot(head, one, queues=(strict,)), one) == [("not-seen-yet", "later")]


def test_nobody_else_of_the_queue_is_looked_at_while_kueue_preempts() -> None:
    head = workload("j", 8, conditions=(pending("insufficient. Pending the preemption of 1 workload(s)"),))
    one = workload("k", 1, spec={"priority": 100})
    cause = only(snapshot(head, one), one)
    assert (str(cause.reason), cause.numbers["ahead"]) == ("priority-behind", ["ns/job-j"])
    assert "hpctl why job-j --namespace ns" in cause.remedies[0].text
    assert causes(snapshot(workload("j", 8, conditions=(pending(),)), one), one) == [("not-seen-yet", "later")]


def test_what_the_last_round_gave_to_others() -> None:
    rival = workload("r", 8, at="rq", conditions=(pending(),))
    said = "Workload no longer fits after processing another workload"
    one = workload("j", 8, conditions=(pending(said),))
    assert causes(cohort(rival, one, fair=True), one) == [("fair-share-behind", "later")]
    assert causes(cohort(rival, one), one) == [("priority-behind", "later")]


BLOCK = {"required": "block"}


def on_nodes(one: Object, *nodes: Object, others: tuple[Object, ...] = (), pods: tuple[Object, ...] = ()) -> Snapshot:
    large = queue("q", 64, cohort=None)
    return snapshot(one, *others, queues=(large,), flavors=(flavor("blocks"),), nodes=nodes, pods=pods)


@pytest.mark.parametrize(
    ("broken", "why", "when"),
    [
        (node("n1", ready=False), "is not ready", "later"),
        (node("n1", unschedulable=True), "is cordoned", "later"),
        (node("n1", labels={"type": "h100", "kubernetes.io/hostname": "n1"}), "lacks labels of the topology", "never"),
        (
            node("n1", taints=[{"key": "sagemaker.amazonaws.com/node-health-status", "value": "Bad", "effect": "NoSchedule"}]),
            "has the taint sagemaker.amazonaws.com/node-health-status=Bad:NoSchedule",
            "later",
        ),
    ],
)
def test_nodes_that_take_no_part(broken: Object, why: str, when: str) -> None:
    one = workload("j", 8, pods=2, conditions=(pending(),), topology={"preferred": "block"})
    cause = only(on_nodes(one, node("n0"), broken), one)
    assert (str(cause.reason), str(cause.when)) == ("node-not-ready", when)
    assert cause.numbers["nodes"] == {"n1": why}
    assert (cause.numbers["best"], cause.numbers["mended"]) == (1, 2)


def test_blocks_count_what_runs_and_what_others_use() -> None:
    assigned = {"topologyAssignment": {"levels": ["kubernetes.io/hostname"], "domains": [{"values": ["n0"], "count": 1}]}}
    held = workload("a", 8, held=True, topology=BLOCK, assigned=assigned)
    one = workload("j", 8, pods=2, conditions=(pending(),), topology=BLOCK)
    other = {"metadata": {"name": "p", "namespace": "x"}, "spec": {"nodeName": "n1", **pod_spec(4)}}
    both = (node("n0"), node("n1"))
    cause = only(on_nodes(one, *both, others=(held,)), one)
    assert (str(cause.reason), str(cause.when), cause.numbers["best"], cause.numbers["ever"]) == ("topology-block", "later", 1, 2)
    assert [remedy.workloads for remedy in cause.remedies if remedy.action == "finish"] == [("ns/job-a",)]
    cause = only(on_nodes(one, *both, pods=(other,)), one)
    assert (str(cause.when), cause.numbers["ever"]) == ("never", 1), "a pod that Kueue didn't place stays"
    third = node("n2", labels={"type": "h100", "kubernetes.io/hostname": "n2", "block": "b1"})
    assert causes(on_nodes(one, node("n0"), third), one) == [("topology-block", "never")], "one node in each block"
    loose = workload("j", 8, pods=2, topology={"preferred": "block"})
    assert causes(on_nodes(loose, node("n0"), third), loose) == [("not-seen-yet", "later")]


def test_where_quota_is_short_busy_nodes_are_no_second_reason() -> None:
    assigned = {"topologyAssignment": {"domains": [{"values": ["n0"], "count": 1}]}}
    held = workload("a", 8, held=True, topology=BLOCK, assigned=assigned)
    one = workload("j", 8, conditions=(pending(),), topology=BLOCK)
    found = snapshot(held, one, flavors=(flavor("blocks"),), nodes=(node("n0"),))
    assert causes(found, one) == [("quota", "later")]
    wide = workload("j", 8, pods=2, conditions=(pending(),), topology=BLOCK)
    large = queue("q", 16, cohort=None)
    found = snapshot(held, wide, queues=(large,), flavors=(flavor("blocks"),), nodes=(node("n0"),))
    assert causes(found, wide) == [("topology-block", "never"), ("quota", "later")], "what never changes comes first"


def test_slices_must_lie_in_one_domain_each() -> None:
    slices = {"required": "block", "podSetSliceRequiredTopology": "kubernetes.io/hostname", "podSetSliceSize": 2}
    one = workload("j", 3, pods=4, conditions=(pending(),), topology=slices)
    assert causes(on_nodes(one, node("n0"), node("n1")), one) == [("not-seen-yet", "later")], "two pods of 3 on each"
    one = workload("j", 5, pods=4, conditions=(pending(),), topology=slices)
    assert causes(on_nodes(one, *(node(f"n{i}") for i in range(4))), one) == [("topology-block", "never")], "one of 5 on each"


def test_the_page_lists_every_reason() -> None:
    page = (Path(__file__).parents[3] / "docs/why.md").read_text()
    listed = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(str(one) for one in Reason)


def test_limits_of_cohorts_are_counted() -> None:
    one = workload("j", 11, conditions=(pending(),))
    limited = {"metadata": {"name": "pool"}, "spec": {"resourceGroups": []}}
    quota = {"name": GPU, "nominalQuota": "0", "borrowingLimit": "2"}
    limited["spec"]["resourceGroups"] = [{"coveredResources": [GPU], "flavors": [{"name": "h100", "resources": [quota]}]}]  # type: ignore[index]
    whole = {"metadata": {"name": "whole"}, "spec": {}}
    limited["spec"]["parentName"] = "whole"  # type: ignore[index]
    queues = (queue("q", 8, "pool"), queue("other", 8, "whole"))
    found = snapshot(one, queues=queues, cohorts={"pool": limited, "whole": whole})
    cause = only(found, one)
    assert (str(cause.reason), cause.shortages[0].most) == ("never-fits", 10), "the cohort may borrow 2"
    limited["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0] = {"name": GPU, "nominalQuota": "0"}  # type: ignore[index]
    assert only(found, one).reason == Reason.NOT_SEEN_YET
    assert NOW > EARLY
