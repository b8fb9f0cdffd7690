"""Verdicts on workloads of several Workloads: Deployments, whose pods have one each, and elastic jobs."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, cast

import pytest

from governance.model import ClusterPlan
from simulation.cases import Case
from simulation.cluster import Cluster
from simulation.observer import Observer, Submitted, combined
from simulation.verdicts import Reading

QUEUE = "hyperpod-ns-alpha-clusterqueue"
ADMITTED = [("QuotaReserved", "True", "reserved"), ("Admitted", "True", "admitted")]
PENDING = [("QuotaReserved", "False", "no room")]
PREEMPTED = [("QuotaReserved", "False", "no room"), ("Evicted", "True", "taken back")]
NEW: list[tuple[str, str, str]] = []
Conditions = list[tuple[str, str, str]]


class FakeCluster:
    """Owners with the conditions of their Workloads, and pods with their owner and node."""

    def __init__(self, found: Mapping[str, Conditions], pods: list[tuple[str, str, str | None]]) -> None:
        self.changed = threading.Condition()
        self._found = {owner: workload(owner, conditions) for owner, conditions in found.items()}
        self._pods = [
            {
                "metadata": {"name": uid, "uid": uid, "ownerReferences": [{"uid": owner}]},
                "spec": {"nodeName": node} if node else {},
                "status": {},
            }
            for uid, owner, node in pods
        ]

    @property
    def workloads(self) -> list[dict[str, Any]]:
        return list(self._found.values())

    def workload_of(self, owner_uid: str) -> dict[str, Any] | None:
        return self._found.get(owner_uid)

    def queue(self, name: str) -> dict[str, Any]:
        assert name == QUEUE
        return {"spec": {}, "status": {}}

    def pods(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        assert labels == {"hyperpod-platform/case": "one", "hyperpod-platform/workload": "w"}
        return self._pods


def workload(owner: str, conditions: Conditions) -> dict[str, Any]:
    reason = {"Evicted": "Preempted"}
    found = [
        {"type": kind, "status": status, "reason": reason.get(kind, ""), "message": text} for kind, status, text in conditions
    ]
    status: dict[str, Any] = {"conditions": found}
    if conditions[:1] == ADMITTED[:1]:
        status["admission"] = {"clusterQueue": QUEUE, "podSetAssignments": []}
    return {"metadata": {"uid": owner, "ownerReferences": [{"uid": owner}]}, "spec": {"priority": 0}, "status": status}


def observer(plan: ClusterPlan, live: FakeCluster, fields: Mapping[str, Any], submitted: Submitted) -> Observer:
    base = {"team": "alpha", "instance_type": "ml.p5.48xlarge", "per_pod": "whole_node", **fields}
    case = Case.model_validate({"name": "one", "workloads": {"w": base}, "steps": [{"submit": "w"}]})
    found = Observer(case, plan, cast("Cluster", live))
    found.submitted["w"] = submitted
    return found


def deployment(plan: ClusterPlan, wanted: int, *pods: tuple[Conditions, str | None]) -> Observer:
    live = FakeCluster(
        {f"p{index}": conditions for index, (conditions, _) in enumerate(pods)},
        [(f"p{index}", "set", node) for index, (_, node) in enumerate(pods)],
    )
    return observer(plan, live, {"kind": "deployment", "pods": max(1, wanted)}, Submitted(["d"], [wanted]))


@pytest.mark.parametrize(
    ("pods", "verdict", "count"),
    [
        ([(ADMITTED, "n1"), (ADMITTED, "n1"), (ADMITTED, "n2")], "admitted", "3 replicas"),
        ([(ADMITTED, "n1"), (ADMITTED, "n1"), (ADMITTED, None)], "unplaced", "undecided"),
        ([(ADMITTED, "n1"), (PENDING, None), (PENDING, None)], "partly", "1 replica"),
        ([(PENDING, None)] * 3, "pending", "0 replicas"),
        ([(ADMITTED, "n1"), (NEW, None), (PENDING, None)], "undecided", "undecided"),
        ([(ADMITTED, "n1"), (ADMITTED, "n2")], "undecided", "undecided"),
        ([], "undecided", "undecided"),
    ],
)
def test_a_deployment_is_what_all_its_pods_are(
    cluster: ClusterPlan, pods: list[tuple[Conditions, str | None]], verdict: str, count: str
) -> None:
    found = deployment(cluster, 3, *pods)
    assert (found.verdict("w").reading.verdict, found.replicas("w").reading.verdict) == (verdict, count)


def test_of_a_deployment_that_waits_in_part_the_nodes_and_the_reason_are_told(cluster: ClusterPlan) -> None:
    seen = deployment(cluster, 2, (ADMITTED, "n1"), (PENDING, None)).replicas("w")
    assert (seen.reading.reason, seen.nodes) == ("1 of 2 pods run; 1 wait: no room", ("n1",))


def test_a_deployment_without_replicas_runs_none(cluster: ClusterPlan) -> None:
    assert deployment(cluster, 0).replicas("w").reading.verdict == "0 replicas"


def elastic(plan: ClusterPlan, conditions: list[Conditions], nodes: list[str | None]) -> Observer:
    """A base of two pods, and two steps of one pod each."""
    sizes = [2, 1, 1]
    owners = [f"j{part}" for part, size in enumerate(sizes) for _ in range(size)]
    pods = [(f"p{index}", owner, node) for index, (owner, node) in enumerate(zip(owners, nodes, strict=True))]
    live = FakeCluster({f"j{part}": found for part, found in enumerate(conditions)}, pods)
    policy = {"elastic": {"min": 2, "max": 4, "step": 1}, "priority": "high"}
    return observer(plan, live, policy, Submitted(["j0", "j1", "j2"], sizes))


@pytest.mark.parametrize(
    ("conditions", "nodes", "verdict", "count"),
    [
        ([ADMITTED, ADMITTED, ADMITTED], ["a", "b", "c", "d"], "admitted", "4 replicas"),
        ([ADMITTED, PREEMPTED, ADMITTED], ["a", "b", None, "d"], "admitted", "3 replicas"),
        ([ADMITTED, PREEMPTED, PENDING], ["a", "b", None, None], "admitted", "2 replicas"),
        ([ADMITTED, ADMITTED, PENDING], ["a", "b", None, None], "admitted", "undecided"),
        ([ADMITTED, NEW, PENDING], ["a", "b", None, None], "admitted", "undecided"),
        ([PENDING, ADMITTED, ADMITTED], [None, None, "c", "d"], "pending", "0 replicas"),
        ([ADMITTED, ADMITTED, ADMITTED], ["a", None, "c", "d"], "unplaced", "undecided"),
    ],
)
def test_an_elastic_job_counts_the_parts_that_run_whole(
    cluster: ClusterPlan, conditions: list[Conditions], nodes: list[str | None], verdict: str, count: str
) -> None:
    found = elastic(cluster, conditions, nodes)
    assert (found.verdict("w").reading.verdict, found.replicas("w").reading.verdict) == (verdict, count)


def test_why_an_elastic_job_is_smaller_than_it_might_be(cluster: ClusterPlan) -> None:
    seen = elastic(cluster, [ADMITTED, PREEMPTED, ADMITTED], ["a", "b", None, "d"]).replicas("w")
    assert seen.reading.reason == "3 of 4 pods run; 1 of 2 steps wait: taken back"
    assert seen.nodes == ("a", "b", "d")


def test_a_deployment_borrows_where_one_of_its_pods_does() -> None:
    own, more = Reading("admitted", "reserved"), Reading("borrowed", "borrows 1")
    assert combined([own, more], 2) is more
    assert combined([own, own], 2) is own


def test_refused_work_has_no_replicas(cluster: ClusterPlan) -> None:
    found = deployment(cluster, 1)
    found.refused["w"] = "no such queue"
    assert found.replicas("w").reading == found.verdict("w").reading == Reading("refused", "no such queue")
