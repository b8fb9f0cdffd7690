"""One case, step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from governance.model import ClusterPlan
from simulation import fleet
from simulation.cases import RUNNING, Case, Step
from simulation.cluster import Cluster, Object, RefusedError
from simulation.jobs import Manifest, manifests
from simulation.observer import UNPLACED, Observer, Seen, Submitted
from simulation.rows import CaseRow, replicas
from simulation.verdicts import UNDECIDED, Reading

_STANDS: Final = 0.5
"""Seconds that a verdict which may be a passing one must stand: Kueue often takes a second look right after the first."""
_TICK: Final = 0.1
_ALIVE_WITHIN: Final = 30.0
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
        self._observer = Observer(case, plan, cluster)

    def run(self) -> None:
        """All steps in their order."""
        for step in self._case.steps:
            for name in step.submit:
                self._submit(name)
            for name, count in step.scale.items():
                self._scale(name, count)
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
            if step.expects:
                self._expect(step)

    def _say(self, text: str) -> None:
        self._on_step(f"{self._case.name}: {text}")

    def _manifests(self, name: str) -> list[Manifest]:
        return manifests(self._case.name, name, self._case.workloads[name], self._plan)

    def _submit(self, name: str) -> None:
        self._say(f"{self._case.workloads[name].team} submits {name}")
        submitted = Submitted([], [])
        try:
            for manifest in self._manifests(name):
                submitted.uids.append(self._cluster.submit(manifest))
                submitted.pods.append(manifest["spec"]["replicas" if manifest["kind"] == "Deployment" else "completions"])
        except RefusedError as error:
            self._observer.refused[name] = str(error)
        self._observer.submitted[name] = submitted

    def _scale(self, name: str, count: int) -> None:
        self._say(f"{name} is scaled to {count}")
        if name not in self._observer.refused:
            self._cluster.scale(self._manifests(name)[0], count)
            self._observer.submitted[name].pods[0] = count

    def _delete(self, name: str) -> None:
        self._say(f"{name} is deleted")
        for manifest in self._manifests(name):
            self._cluster.delete(manifest)

    def _finish(self, name: str) -> None:
        """End all pods; a workload that doesn't run can't finish, which the next expectation will tell.

        The steps of an elastic job are withdrawn when its base ends, as its operator does.
        """
        self._say(f"{name} is done")
        if not self._cluster.wait(lambda: self._all_run(name), _ALIVE_WITHIN):
            return
        for pod in self._base(name):
            self._cluster.succeed(pod)
        for manifest in self._manifests(name)[1:]:
            self._cluster.delete(manifest)

    def _base(self, name: str) -> list[Object]:
        submitted = self._observer.submitted.get(name)
        return self._observer.pods_of(name, submitted.uids[0]) if submitted and submitted.uids else []

    def _all_run(self, name: str) -> bool:
        phases = [pod.get("status", {}).get("phase") for pod in self._base(name)]
        submitted = self._observer.submitted[name]
        return bool(submitted.pods) and phases == ["Running"] * submitted.pods[0]

    # -- expectations ----------------------------------------------------------------------------------------------------

    def _expect(self, step: Step) -> None:
        looks = self._looks(step)
        self._say("waiting for " + ", ".join(f"{name} {expected}" for (name, expected) in looks))
        watched = _Standing({look: look[1] for look in looks})

        def settled() -> bool:
            return watched.reached({look: _settled(seen().reading) for look, seen in looks.items()})

        self._cluster.wait(settled, step.within, _TICK)
        seen = {look: call() for look, call in looks.items()}
        labels = {label: self._labels(label) for label in (step.one_domain, step.together) if label}
        everywhere = sorted({node for one in seen.values() for node in one.nodes})
        for (name, expected), one in seen.items():
            reading = one.reading
            if step.one_domain and reading.verdict in RUNNING:
                reading = _gathered(reading, one.nodes, labels[step.one_domain], step.one_domain)
            if step.together and reading.verdict in RUNNING:
                reading = _gathered(reading, everywhere, labels[step.together], step.together)
            team = self._case.workloads[name].team
            self._on_row(CaseRow(self._case.name, team, name, expected, reading.verdict, reading.reason, one.nodes))

    def _looks(self, step: Step) -> dict[tuple[str, str], Callable[[], Seen]]:
        """What is expected of which workload, and how to look at it."""
        found: dict[tuple[str, str], Callable[[], Seen]] = {}
        for name, verdict in step.expect.items():
            found[name, verdict] = partial(self._observer.verdict, name)
        for name, count in step.replicas.items():
            found[name, replicas(count)] = partial(self._observer.replicas, name)
        return found

    def _labels(self, label: str) -> dict[str, str | None]:
        """A label of every live node."""
        return {node: found["metadata"]["labels"].get(label) for node, found in self._cluster.nodes().items()}


def _settled(reading: Reading) -> Reading:
    """The verdict while time is left: pods without nodes may still get them."""
    return Reading(UNDECIDED, reading.reason) if reading.verdict == UNPLACED else reading


class _Standing:
    """Tells when verdicts are as expected, those that may pass for long enough to stand."""

    def __init__(self, expected: Mapping[tuple[str, str], str]) -> None:
        self._expected = expected
        self._since: dict[tuple[str, str], tuple[str, float]] = {}

    def reached(self, readings: Mapping[tuple[str, str], Reading]) -> bool:
        now = time.monotonic()
        for look, reading in readings.items():
            if self._since.get(look, ("", 0.0))[0] != reading.verdict:
                self._since[look] = (reading.verdict, now)
        return all(
            readings[look].verdict == verdict and (not _passing(verdict) or now - self._since[look][1] >= _STANDS)
            for look, verdict in self._expected.items()
        )


def _passing(verdict: str) -> bool:
    """Pending work may be looked at again, and a job that grows passes every count."""
    return verdict == "pending" or verdict.partition(" ")[2].startswith("replica")


def _gathered(reading: Reading, nodes: Sequence[str], labels: Mapping[str, str | None], label: str) -> Reading:
    """The verdict where all nodes must share a label."""
    values = {labels.get(node) for node in nodes}
    if len(values) == 1 and None not in values:
        return Reading(reading.verdict, f"{reading.reason}; on nodes with {label}={values.pop()}")
    shown = ", ".join(sorted(str(value) for value in values))
    return Reading("scattered", f"{reading.reason}; on nodes with different {label}: {shown}")
