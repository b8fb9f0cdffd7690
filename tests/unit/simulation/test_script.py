"""The runner's own verdicts: what the API server refuses, pods without nodes, nodes apart, and pending that must stand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from governance.model import ClusterPlan
from simulation.cases import Case
from simulation.cluster import Cluster, RefusedError
from simulation.rows import CaseRow
from simulation.script import Script

LAYER = "topology.k8s.aws/network-node-layer-3"
QUEUE = "hyperpod-ns-alpha-clusterqueue"


def workload(*conditions: tuple[str, str, str]) -> dict[str, Any]:
    found = [{"type": kind, "status": status, "reason": "Test", "message": text} for kind, status, text in conditions]
    status: dict[str, Any] = {"conditions": found}
    if conditions[0][:2] == ("QuotaReserved", "True"):
        status["admission"] = {"clusterQueue": QUEUE, "podSetAssignments": []}
    return {"metadata": {"uid": "w", "ownerReferences": [{"uid": "job"}]}, "spec": {"priority": 0}, "status": status}


ADMITTED = workload(("QuotaReserved", "True", "reserved"), ("Admitted", "True", "admitted"))
PENDING = workload(("QuotaReserved", "False", "no room"))


class FakeCluster:
    """Answers as the mirror of a live cluster would; `later` is what the workload is after some seconds."""

    def __init__(self, found: dict[str, Any] | None, nodes: list[str | None], layers: Mapping[str, str]) -> None:
        self.changed = threading.Condition()
        self.refusal = ""
        self.later: tuple[float, dict[str, Any]] | None = None
        self._found = found
        self._nodes = nodes
        self._layers = layers
        self._started = time.monotonic()

    @property
    def workloads(self) -> list[dict[str, Any]]:
        found = self._found
        if self.later is not None and time.monotonic() - self._started > self.later[0]:
            found = self.later[1]
        return [found] if found else []

    def submit(self, job: dict[str, Any]) -> str:
        if self.refusal:
            raise RefusedError(self.refusal)
        return "job"

    def workload_of(self, job_uid: str) -> dict[str, Any] | None:
        assert job_uid == "job"
        return next(iter(self.workloads), None)

    def queue(self, name: str) -> dict[str, Any]:
        assert name == QUEUE
        return {"spec": {}, "status": {}}

    def pods(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        waiting = {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/4 nodes are available"}]}
        of_job = {"metadata": {"ownerReferences": [{"uid": "job"}]}}
        return [
            {**of_job, "spec": {"nodeName": name}, "status": {}} if name else {**of_job, "spec": {}, "status": waiting}
            for name in self._nodes
        ]

    def nodes(self) -> dict[str, Any]:
        return {name: {"metadata": {"labels": {LAYER: value}}} for name, value in self._layers.items()}

    def wait(self, done: Callable[[], bool], seconds: float, tick: float | None = None) -> bool:
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def outcome(cluster: ClusterPlan, live: FakeCluster, expected: str, **step: Any) -> CaseRow:
    case = Case.model_validate(
        {
            "name": "one",
            "workloads": {"big": {"team": "alpha", "instance_type": "ml.p5.48xlarge", "pods": 2, "per_pod": "whole_node"}},
            "steps": [{"submit": "big"}, {"expect": {"big": expected}, "within": "1s", **step}],
        }
    )
    rows: list[CaseRow] = []
    Script(case, cluster, cast("Cluster", live), rows.append, lambda text: None).run()
    (row,) = rows
    assert (row.case, row.team, row.workload, row.expected) == ("one", "alpha", "big", expected)
    return row


def test_nodes_are_those_of_the_pods_each_once(cluster: ClusterPlan) -> None:
    row = outcome(cluster, FakeCluster(ADMITTED, ["n-1", "n-0"], {}), "admitted")
    assert (row.verdict, row.nodes) == ("admitted", ("n-0", "n-1"))
    assert outcome(cluster, FakeCluster(ADMITTED, ["n-0", "n-0"], {}), "admitted").nodes == ("n-0",)


def test_a_refused_job_is_told_in_the_words_of_the_api_server(cluster: ClusterPlan) -> None:
    live = FakeCluster(None, [], {})
    live.refusal = "the policy denies it"
    row = outcome(cluster, live, "admitted")
    assert (row.verdict, row.reason, row.nodes) == ("refused", "the policy denies it", ())


def test_admitted_pods_without_nodes_are_unplaced(cluster: ClusterPlan) -> None:
    row = outcome(cluster, FakeCluster(ADMITTED, ["n-0", None], {}), "admitted")
    assert (row.verdict, row.nodes) == ("unplaced", ("n-0",))
    assert row.reason == "reserved; 1 of 2 pods have a node: 0/4 nodes are available"


@pytest.mark.parametrize(
    ("layers", "verdict", "words"),
    [
        ({"n-0": "a", "n-1": "a"}, "admitted", f"on nodes with {LAYER}=a"),
        ({"n-0": "a", "n-1": "b"}, "scattered", f"on nodes with different {LAYER}: a, b"),
        ({"n-0": "a"}, "scattered", "None, a"),
        ({}, "scattered", "None"),
    ],
)
def test_one_domain_is_read_from_the_live_labels(cluster: ClusterPlan, layers: dict[str, str], verdict: str, words: str) -> None:
    row = outcome(cluster, FakeCluster(ADMITTED, ["n-0", "n-1"], layers), "admitted", one_domain=LAYER)
    assert row.verdict == verdict
    assert words in row.reason


def test_pending_must_stand_for_a_while(cluster: ClusterPlan) -> None:
    assert outcome(cluster, FakeCluster(PENDING, [], {}), "pending").verdict == "pending"
    fleeting = FakeCluster(PENDING, ["n-0", "n-1"], {})
    fleeting.later = (0.3, ADMITTED)
    assert outcome(cluster, fleeting, "pending").verdict == "admitted"


def test_a_wrong_expectation_only_makes_the_row_differ(cluster: ClusterPlan) -> None:
    row = outcome(cluster, FakeCluster(PENDING, [], {}), "admitted")
    assert (row.verdict, row.reason, row.as_expected) == ("pending", "no room", False)
