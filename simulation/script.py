"""One case, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from governance.model import ClusterPlan
from live.guards import holds_quota
from simulation import fleet, verdicts
from simulation.cases import RUNNING, Case, Step
from simulation.cluster import Cluster, Object, RefusedError
from simulation.jobs import CASE_LABEL, WORKLOAD_LABEL, manifest
from simulation.rows import CaseRow
from simulation.verdicts import UNDECIDED, Reading

_STANDS: Final = 0.5
"""Seconds that a pending verdict must stand: Kueue often takes a second look right after the first."""
_TICK: Final = 0.1
_ALIVE_WITHIN: Final = 10.0
"""Seconds for the pods of an admitted job to run, before they can be finished."""


class Script:
    """The run of one case on a cluster that has nothing of an earlier one."""

    def __init__(
        self,
        case: Case,
        plan: ClusterPlan,
        cluster: Cluster,
        on_row: Callable[[CaseRow], None],
        on_step: Callable[[str], None],
    ) -> None:
        self._case = case
        self._plan = plan
        self._cluster = cluster
        self._on_row = on_row
        self._on_step = on_step
        self._jobs: dict[str, str] = {}
        """UIDs of submitted jobs by workload."""
        self._refused: dict[str, str] = {}

    def run(self) -> None:
        """All steps in their order."""
        for step in self._case.steps:
            for name in step.submit:
                self._submit(name)
            for name in step.finish:
                self._finish(name)
            for name in step.delete:
                self._delete(name)
            if step.add_nodes:
                self._say(f"adding {step.add_nodes.count} to the group {step.add_nodes.group}")
                fleet.add(self._cluster, self._plan, step.add_nodes.group, step.add_nodes.count)
            if step.remove_nodes:
                self._say(f"removing {step.remove_nodes.count} from the group {step.remove_nodes.group}")
                fleet.remove(self._cluster, step.remove_nodes.group, step.remove_nodes.count)
            if step.expect:
                self._expect(step)

    def _say(self, text: str) -> None:
        self._on_step(f"{self._case.name}: {text}")

    def _submit(self, name: str) -> None:
        workload = self._case.workloads[name]
        self._say(f"{workload.team} submits {name}")
        try:
            self._jobs[name] = self._cluster.submit(manifest(self._case.name, name, workload, self._plan))
        except RefusedError as error:
            self._refused[name] = str(error)

    def _delete(self, name: str) -> None:
        self._say(f"{name} is deleted")
        made = manifest(self._case.name, name, self._case.workloads[name], self._plan)["metadata"]
        self._cluster.delete(made["namespace"], made["name"])

    def _finish(self, name: str) -> None:
        """End all pods; a workload that doesn't run can't finish, which the next expectation will tell."""
        self._say(f"{name} is done")
        if self._cluster.wait(lambda: self._all_run(name), _ALIVE_WITHIN):
            for pod in self._pods(name):
                self._cluster.succeed(pod)

    def _all_run(self, name: str) -> bool:
        phases = [pod.get("status", {}).get("phase") for pod in self._pods(name)]
        return phases == ["Running"] * self._case.workloads[name].pods

    def _pods(self, name: str) -> list[Object]:
        return self._cluster.pods({CASE_LABEL: self._case.name, WORKLOAD_LABEL: name})

    # -- expectations ----------------------------------------------------------------------------------------------------

    def _expect(self, step: Step) -> None:
        words = ", ".join(f"{name} {verdict}" for name, verdict in step.expect.items())
        self._say(f"waiting for {words}")
        watched = _Standing(step.expect)

        def settled() -> bool:
            return watched.reached({name: self._settled(name) for name in step.expect})

        self._cluster.wait(settled, step.within, _TICK)
        labels = self._labels(step) if step.one_domain else {}
        for name, expected in step.expect.items():
            self._on_row(self._row(name, expected, labels, step.one_domain))

    def _row(self, name: str, expected: str, labels: Mapping[str, str | None], one_domain: str | None) -> CaseRow:
        reading, nodes = self._verdict(name)
        if one_domain and reading.verdict in RUNNING:
            reading = _gathered(reading, nodes, labels, one_domain)
        team = self._case.workloads[name].team
        return CaseRow(self._case.name, team, name, expected, reading.verdict, reading.reason, nodes)

    def _labels(self, step: Step) -> dict[str, str | None]:
        """The label in question of every live node."""
        return {node: found["metadata"]["labels"].get(step.one_domain) for node, found in self._cluster.nodes().items()}

    def _settled(self, name: str) -> Reading:
        """The verdict while time is left: pods without nodes may still get them."""
        reading, _ = self._verdict(name)
        return Reading(UNDECIDED, reading.reason) if reading.verdict == "unplaced" else reading

    def _verdict(self, name: str) -> tuple[Reading, tuple[str, ...]]:
        """The verdict now, and the nodes that the workload runs on."""
        with self._cluster.changed:
            reading = self._reading(name)
            if reading.verdict not in RUNNING:
                return reading, ()
            pods = self._pods(name)
        placed = [pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")]
        nodes = tuple(sorted(set(placed)))
        wanted = self._case.workloads[name].pods
        if len(placed) < wanted:
            return Reading("unplaced", f"{reading.reason}; {len(placed)} of {wanted} pods have a node{_why(pods)}"), nodes
        return reading, nodes

    def _reading(self, name: str) -> Reading:
        if name in self._refused:
            return Reading("refused", self._refused[name])
        workload = self._cluster.workload_of(self._jobs[name])
        queue = self._plan.teams[self._case.workloads[name].team].cluster_queue
        holders = [one for one in self._cluster.workloads if verdicts.queue_of(one) == queue and holds_quota(one)]
        return verdicts.read(workload, self._cluster.queue(queue) or {}, holders)


class _Standing:
    """Tells when verdicts are as expected, the pending ones for long enough to stand."""

    def __init__(self, expected: Mapping[str, str]) -> None:
        self._expected = expected
        self._since: dict[str, tuple[str, float]] = {}

    def reached(self, readings: Mapping[str, Reading]) -> bool:
        now = time.monotonic()
        for name, reading in readings.items():
            if self._since.get(name, ("", 0.0))[0] != reading.verdict:
                self._since[name] = (reading.verdict, now)
        return all(
            readings[name].verdict == verdict and (verdict != "pending" or now - self._since[name][1] >= _STANDS)
            for name, verdict in self._expected.items()
        )


def _gathered(reading: Reading, nodes: Sequence[str], labels: Mapping[str, str | None], label: str) -> Reading:
    """The verdict where all nodes must share a label."""
    values = {labels.get(node) for node in nodes}
    if len(values) == 1 and None not in values:
        return Reading(reading.verdict, f"{reading.reason}; on nodes with {label}={values.pop()}")
    shown = ", ".join(sorted(str(value) for value in values))
    return Reading("scattered", f"{reading.reason}; on nodes with different {label}: {shown}")


def _why(pods: Sequence[Object]) -> str:
    """What the scheduler says about the first pod that it couldn't place."""
    for pod in pods:
        found = verdicts.condition(pod, "PodScheduled")
        if found.get("status") == "False":
            return f": {found.get('message', '')}"
    return ""
