"""A sandbox of a replay's own, with the plan's queues on it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from components.render import render
from governance.model import ClusterPlan
from governance.names import MANAGED_QUEUE_LABEL
from governance.nodes import nodes
from sandbox.errors import SandboxError
from sandbox.layout import HOST
from sandbox.local import Sandbox
from sandbox.progress import Progress
from simulation.replay import barrier, workloads
from simulation.replay.accounts import active
from simulation.replay.actors import Actor, WorkloadActor
from simulation.replay.model import Fidelity, Replay, Settings
from simulation.replay.play import Play
from simulation.replay.pods import PodActor
from simulation.replay.server import RefusedError, Server
from simulation.traces.model import Job

Object = dict[str, Any]
OnProgress = Callable[[int, int], None]
_KINDS: Final = {
    "WorkloadPriorityClass": "/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses",
    "Topology": "/apis/kueue.x-k8s.io/v1beta2/topologies",
    "ResourceFlavor": "/apis/kueue.x-k8s.io/v1beta2/resourceflavors",
    "Cohort": "/apis/kueue.x-k8s.io/v1beta2/cohorts",
    "Namespace": "/api/v1/namespaces",
    "ClusterQueue": "/apis/kueue.x-k8s.io/v1beta2/clusterqueues",
    "LocalQueue": "/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/localqueues",
}
"""What a replay needs of a plan, in the order in which it is put there. Nobody works here, so access rules stay away."""
_ACTIVE_WITHIN: Final = 120.0
_GONE_WITHIN: Final = 300.0


class Interrupted(KeyboardInterrupt):
    """Somebody interrupted a replay."""

    def __init__(self, replay: Replay) -> None:
        super().__init__("the replay was interrupted")
        self.replay = replay
        """All up to the last settled tick; `complete` is False."""


class Stage:
    """A context manager: entering boots the sandbox and declares the plan's queues, leaving removes it all.

    The sandbox ends with this process, however that ends.
    """

    def __init__(self, plan: ClusterPlan, name: str, fidelity: Fidelity, progress: Progress) -> None:
        """`name` tells the sandbox from others of this process. A plan of the managed backend is rendered as the kueue backend
        would: the nearest model of what AWS makes of it."""
        self.plan = plan
        self.fidelity = fidelity
        self._progress = progress
        self.sandbox = Sandbox(f"replay-{name}-{os.getpid()}", lean=fidelity == "workloads", owned=True)
        self.server: Server
        self._actor: Actor
        self._metrics = ""
        self._kueue = ""
        self._clean = True

    def __enter__(self) -> Self:
        try:
            status = self.sandbox.up(_manager(self.plan), nodes(self.plan), self._progress)
            self._kueue = status.versions["kueue"]
            self._metrics = f"https://{HOST}:{status.ports['kueue_metrics']}/metrics"
            self.server = Server(self.sandbox.kubeconfig)
            if self.fidelity == "pods":
                self._actor = PodActor(self.server, self.plan, f"https://{HOST}:{status.ports['scheduler']}/metrics")
            else:
                self._actor = WorkloadActor(self.server, self.plan)
            self._declare()
        except SandboxError as error:
            self.sandbox.down()
            # The log is gone with the sandbox; its last line stands in the message.
            raise SandboxError(error.message, remedy=error.remedy if error.log is None else "try again") from error
        except BaseException:
            self.sandbox.down()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.server.close()
        self.sandbox.down()

    def run(self, jobs: Sequence[Job], settings: Settings, on_progress: OnProgress | None = None) -> Replay:
        """Replay the jobs; their teams and priority classes must be in the plan. It leaves nothing behind.

        `on_progress` hears steps done and steps in all: three a job (arrival, first admission, end).
        Raises Interrupted with what is settled, SandboxError where the sandbox fails.
        """
        began = time.monotonic()
        if not self._clean:
            self.clear()
        self._clean = False
        play = Play(self.server, self._metrics, self._actor, self.plan, jobs, settings)
        try:
            play.run(on_progress or _unheard)
            self.clear()
        except KeyboardInterrupt:
            raise Interrupted(self._replay(play, settings, began, complete=False)) from None
        except RefusedError as error:
            raise SandboxError(f"the sandbox's API server refused a request of the replay: {error}") from error
        self._clean = True
        return self._replay(play, settings, began, complete=True)

    def _replay(self, play: Play, settings: Settings, began: float, *, complete: bool) -> Replay:
        return Replay(
            cluster=self.plan.name,
            events=tuple(event for event in play.events if event.at <= play.settled),
            until=play.settled if settings.until is None or not complete else settings.until,
            tick=settings.tick,
            fidelity=self.fidelity,
            kueue=self._kueue,
            waiting=play.waiting(),
            circles=play.circles(),
            complete=complete,
            seconds=time.monotonic() - began,
        )

    def _declare(self) -> None:
        """Put the plan's objects there and wait until its queues are active. Raises SandboxError."""
        self._progress.step(f"declaring the queues of {self.plan.name}")
        plan = replace(self.plan, policy=self.plan.policy.model_copy(update={"backend": "kueue"}))
        wanted = [*render(plan), *barrier.objects()]
        for one in wanted:
            if one["kind"] == "Namespace":  # an adopted one may lack the label by which Kueue knows a team's namespace
                one["metadata"].setdefault("labels", {})[MANAGED_QUEUE_LABEL] = "true"
        for kind, path in _KINDS.items():
            self.server.each(partial(self._create, path), [one for one in wanted if one["kind"] == kind])
        queues = {team.cluster_queue for team in plan.teams.values() if team.state == "active" and team.flavors} | {barrier.NAME}
        deadline = time.monotonic() + _ACTIVE_WITHIN
        while inactive := queues - self._active():
            if time.monotonic() > deadline:
                raise SandboxError(f"queues are not active after {_ACTIVE_WITHIN:.0f} s: {', '.join(sorted(inactive)[:4])}")
            time.sleep(0.05)

    def _active(self) -> set[str]:
        try:
            return active(self.server.plain(self._metrics))
        except SandboxError:  # Kueue may serve its metrics a little later than it says that it is ready
            return set()

    def _create(self, path: str, one: Object) -> None:
        try:
            self.server.request("POST", path.format(**one["metadata"]), one)
        except RefusedError as error:
            raise SandboxError(f"the sandbox refused {one['kind']} {one['metadata']['name']}: {error}") from error

    def clear(self) -> None:
        """Delete all that replays left and wait until it is gone. Raises SandboxError."""
        left = self._actor.clear()
        self.server.request("DELETE", workloads.collection(barrier.NAME))
        deadline = time.monotonic() + _GONE_WITHIN
        while any(self.server.get(f"{path}?limit=1")["items"] for path in left):
            if time.monotonic() > deadline:
                raise SandboxError(f"what a replay left was not gone within {_GONE_WITHIN:.0f} s")
            time.sleep(0.05)


def _manager(plan: ClusterPlan) -> dict[str, Any]:
    """Kueue's configuration for a replay.

    Gang scheduling is left out: a replay's pods are ready at once, so that its timeouts never strike. So are metrics of each
    queue's resources: they make up most of the text that the replay reads at every tick. And so is the shortcut by which Kueue
    passes over a Workload like one that didn't fit: it says nothing of that one then, and the replay would wait for its word.
    """
    kept = {field: value for field, value in plan.manager.items() if field != "waitForPodsReady"}
    gates = {**kept.get("featureGates", {}), "SchedulingEquivalenceHashing": False}
    return {**kept, "featureGates": gates, "metrics": {**kept.get("metrics", {}), "enableClusterQueueResources": False}}


def _unheard(_done: int, _total: int) -> None:
    """Nobody wants to know how far the replay is."""
