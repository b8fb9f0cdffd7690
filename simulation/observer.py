"""What has become of the workloads of one case: verdicts, nodes and replica counts, read from the live mirrors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from governance.model import ClusterPlan
from live.guards import holds_quota
from simulation import elastic, verdicts
from simulation.cases import RUNNING, Case, Elastic
from simulation.cluster import Cluster, Object
from simulation.jobs import CASE_LABEL, WORKLOAD_LABEL
from simulation.rows import replicas
from simulation.verdicts import UNDECIDED, Reading

UNPLACED: Final = "unplaced"
PARTLY: Final = "partly"


@dataclass(slots=True)
class Submitted:
    """A workload that was submitted: UIDs of its objects, the base's first, and how many pods each of them is to have."""

    uids: list[str]
    pods: list[int]


@dataclass(frozen=True, slots=True)
class Seen:
    """A verdict, and the nodes of the workload's pods."""

    reading: Reading
    nodes: tuple[str, ...] = ()


class Observer:
    """Looks at the case's workloads whenever asked."""

    def __init__(self, case: Case, plan: ClusterPlan, cluster: Cluster) -> None:
        self.submitted: dict[str, Submitted] = {}
        self.refused: dict[str, str] = {}
        """Workloads that the API server refused, and its words."""
        self._case = case
        self._plan = plan
        self._cluster = cluster

    def pods(self, name: str) -> list[Object]:
        """The workload's pods that aren't being deleted."""
        return self._cluster.pods({CASE_LABEL: self._case.name, WORKLOAD_LABEL: name})

    def pods_of(self, name: str, uid: str) -> list[Object]:
        """Those of one of its Jobs."""
        return [pod for pod in self.pods(name) if uid in verdicts.owners(pod)]

    def verdict(self, name: str) -> Seen:
        """The verdict now; of an elastic job its base's."""
        if name in self.refused:
            return Seen(Reading("refused", self.refused[name]))
        with self._cluster.changed:
            if self._case.workloads[name].kind != "job":
                return self._deployment(name)
            return self._job(name, 0)

    def replicas(self, name: str) -> Seen:
        """How many replicas run, as `<n> replicas`; undecided while one is on its way in or out."""
        if name in self.refused:
            return Seen(Reading("refused", self.refused[name]))
        with self._cluster.changed:
            policy = self._case.workloads[name].elastic
            return self._pods_that_run(name) if policy is None else self._trains(name, policy)

    def _job(self, name: str, part: int) -> Seen:
        submitted = self.submitted[name]
        reading = self._reading(name, submitted.uids[part])
        if reading.verdict not in RUNNING:
            return Seen(reading)
        return _placed(reading, self.pods_of(name, submitted.uids[part]), submitted.pods[part])

    def _deployment(self, name: str) -> Seen:
        """One verdict on all pods: each has a Workload of its own."""
        wanted, pods = self.submitted[name].pods[0], self.pods(name)
        readings = [self._reading(name, pod["metadata"]["uid"]) for pod in pods]
        reading = combined(readings, wanted)
        if reading.verdict not in RUNNING:
            return Seen(reading, _nodes(pods) if reading.verdict == PARTLY else ())
        return _placed(reading, pods, wanted)

    def _trains(self, name: str, policy: Elastic) -> Seen:
        submitted = self.submitted[name]
        parts = [self._job(name, part) for part in range(len(submitted.uids))]
        held = [pods if part.reading.verdict in RUNNING else 0 for pods, part in zip(submitted.pods, parts, strict=True)]
        nodes = tuple(sorted({node for part in parts for node in part.nodes}))
        if any(part.reading.verdict in (UNDECIDED, UNPLACED) for part in parts):
            return Seen(Reading(UNDECIDED, f"{sum(held)} of {sum(submitted.pods)} pods run, others come or go"), nodes)
        count = elastic.replicas(policy, held)
        others = [part.reading for part in parts if part.reading.verdict not in RUNNING]
        why = f"; {len(others)} of {len(parts) - 1} steps wait: {others[0].reason}" if others else ""
        return Seen(Reading(replicas(count), f"{sum(held)} of {sum(submitted.pods)} pods run{why}"), nodes)

    def _pods_that_run(self, name: str) -> Seen:
        wanted, pods = self.submitted[name].pods[0], self.pods(name)
        readings = [self._reading(name, pod["metadata"]["uid"]) for pod in pods]
        running = [pod for pod, reading in zip(pods, readings, strict=True) if reading.verdict in RUNNING]
        nodes = _nodes(running)
        settled = len(pods) == wanted and len(_with_node(running)) == len(running)
        if not settled or any(reading.verdict == UNDECIDED for reading in readings):
            return Seen(Reading(UNDECIDED, f"{len(running)} of {wanted} pods run, others come or go"), nodes)
        others = [reading for reading in readings if reading.verdict not in RUNNING]
        why = f"; {len(others)} wait: {others[0].reason}" if others else ""
        return Seen(Reading(replicas(len(running)), f"{len(running)} of {wanted} pods run{why}"), nodes)

    def _reading(self, name: str, owner: str) -> Reading:
        workload = self._cluster.workload_of(owner)
        queue = self._plan.teams[self._case.workloads[name].team].cluster_queue
        holders = [one for one in self._cluster.workloads if verdicts.queue_of(one) == queue and holds_quota(one)]
        return verdicts.read(workload, self._cluster.queue(queue) or {}, holders)


def combined(readings: Sequence[Reading], wanted: int) -> Reading:
    """The verdict on a Deployment whose pods have these: `partly` where some run and some wait."""
    if not readings or len(readings) != wanted:
        return Reading(UNDECIDED, f"the Deployment has {len(readings)} of {wanted} pods")
    open_ = [reading for reading in readings if reading.verdict == UNDECIDED]
    if open_:
        return open_[0]
    waiting = [reading for reading in readings if reading.verdict not in RUNNING]
    if not waiting:
        return next((reading for reading in readings if reading.verdict == "borrowed"), readings[0])
    if len(waiting) == wanted:
        return waiting[0]
    return Reading(PARTLY, f"{wanted - len(waiting)} of {wanted} pods run; {waiting[0].reason}")


def _placed(reading: Reading, pods: Sequence[Object], wanted: int) -> Seen:
    """The verdict where every pod must have a node."""
    placed = _with_node(pods)
    if len(placed) < wanted:
        reading = Reading(UNPLACED, f"{reading.reason}; {len(placed)} of {wanted} pods have a node{_why(pods)}")
    return Seen(reading, _nodes(pods))


def _with_node(pods: Iterable[Object]) -> list[Object]:
    return [pod for pod in pods if pod["spec"].get("nodeName")]


def _nodes(pods: Iterable[Object]) -> tuple[str, ...]:
    return tuple(sorted({pod["spec"]["nodeName"] for pod in _with_node(pods)}))


def _why(pods: Sequence[Object]) -> str:
    """What the scheduler says about the first pod that it couldn't place."""
    for pod in pods:
        found = verdicts.condition(pod, "PodScheduled")
        if found.get("status") == "False":
            return f": {found.get('message', '')}"
    return ""
