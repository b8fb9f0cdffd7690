"""One replay: tick by tick, apply what arrives and ends, let Kueue settle, note what it decided.

A tick has settled when all of this holds:

1. The watch has shown every write of ours, and every Workload runs or has been told why it waits; none is about to leave.
2. Nobody waits; or Kueue's own accounts agree with the watch queue by queue: no Workload left to look at, as many inadmissible
   as wait, as many holding quota as run. A Workload that Kueue has in hand is in none of these counts, or in the wrong one.
3. Where quota was returned while somebody of the same cohort waited, Kueue has since moved the waiting ones back into their
   queues (see `barrier`).

Nothing is left then that Kueue could do by itself: it acts on changes of Workloads, on its notes, and on what is in its
queues. All queues are BestEffortFIFO: with StrictFIFO, Kueue would look at the head for ever.

Kueue can also preempt in a circle for ever; see `ledger.ROUNDS` for how a replay ends that.

Order. Kueue ranks by whole seconds of the wall clock: by creation for first come, first served, and by reservation where it
preempts the latest first. So before jobs arrive, the replay waits for a second in which no job of their cohort was created or
admitted. That costs at most a second for a tick with arrivals. Jobs that end need no such wait: whoever waits for their quota is
admitted a second later at the earliest. Within a tick, order is undefined.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final

from governance.model import ClusterPlan
from sandbox.errors import SandboxError
from simulation.replay import barrier, workloads
from simulation.replay.accounts import accounts
from simulation.replay.actors import Actor
from simulation.replay.barrier import Barrier
from simulation.replay.clock import Clock
from simulation.replay.ledger import Ledger
from simulation.replay.model import Event, Settings
from simulation.replay.server import MERGE_PATCH, RefusedError, Server, Watch
from simulation.traces.model import Job

Object = dict[str, Any]
OnProgress = Callable[[int, int], None]
_STUCK_AFTER: Final = 180.0
"""Seconds without any change after which a tick counts as stuck; Kueue needs milliseconds."""
_LOOK: Final = (0.01, 0.2)
"""Seconds between two looks at Kueue's accounts: at first, and at most."""


class Play:
    """One run over a trace."""

    def __init__(
        self, server: Server, metrics: str, actor: Actor, cluster: ClusterPlan, jobs: Sequence[Job], settings: Settings
    ) -> None:
        """`metrics` is the URL of Kueue's metrics; the plan's queues are there and active."""
        self._actor = actor
        self.events: list[Event] = []
        """Up to the last settled tick."""
        self.settled = 0
        self._server = server
        self._metrics = metrics
        self._cluster = cluster
        self._jobs = jobs
        limits = {name: team.max_run_time for name, team in cluster.teams.items()}
        self._clock = Clock(jobs, settings.tick, settings.until, limits)
        self._ledger = Ledger(cluster, jobs, self._clock, by_pods=not actor.returns_quota)
        self._changes: SimpleQueue[tuple[str, Object]] = SimpleQueue()
        paths = (f"{workloads.GROUP}/workloads", *actor.kinds)
        self._watches = [Watch(server, path, self._changes) for path in paths]
        self._barrier = Barrier(server)
        self._changed = time.monotonic()
        self._left_waiting: frozenset[str] = frozenset()
        self._settings = settings
        self._resuming = False
        self._total = sum(3 if job.runs_for is not None else 2 for job in jobs)

    def run(self, on_progress: OnProgress) -> None:
        """Play to the end. Raises SandboxError or RefusedError where the sandbox fails or Kueue doesn't settle."""
        self._on_progress = on_progress
        for watch in self._watches:
            watch.start()
        try:
            self._open_barrier()
            while (at := self._next()) is not None:
                self._tick(at)
                self.events += self._ledger.events
                self._ledger.events.clear()
                self.settled = at
                self._left_waiting = frozenset(self._ledger.waiting | self._ledger.paused)
        finally:
            for watch in self._watches:
                watch.stop()
        on_progress(self._total, self._total)

    def _next(self) -> int | None:
        """The next tick in which something arrives or ends. After the last, one more for those who sat that out."""
        at = self._clock.next()
        self._resuming = at is None and bool(self._ledger.paused) and not self._resuming
        if not self._resuming:
            return at
        at, until = self.settled + self._settings.tick, self._settings.until
        return at if until is None or at <= until else None

    def waiting(self) -> dict[str, str]:
        """Kueue's last word on each job that waited at the last settled tick."""
        words = {name: workloads.last_word(self._ledger.objects[name]) for name in sorted(self._left_waiting)}
        return words | {name: self._actor.words(name) for name in sorted(self._ledger.unplaced)}

    def circles(self) -> dict[str, int]:
        """Jobs that Kueue preempted in a circle, and the first settled tick in which it did."""
        return {name: at for name, at in self._ledger.circles.items() if at <= self.settled}

    # -- one tick --------------------------------------------------------------------------------------------------------

    def _tick(self, at: int) -> None:
        """Ends come before arrivals, so that Kueue sees what is free before it looks at who has come.

        Whoever waits for what has become free has it before anybody new: Kueue moves the waiting ones back into their queues
        with a delay, in which one that has just come would overtake them, as it seldom does where time passes by itself.
        """
        self._ledger.begin(at)
        done, expired = self._clock.ending(at)
        self._server.each(self._finish, done)
        self._ledger.finished(done)
        # A team's longest run time is over on the trace's clock instead of Kueue's own.
        self._server.each(partial(self._activate, False), [job.name for job in expired])
        self._ledger.deactivated(expired)
        arriving = self._clock.arriving(at)
        waited_for = self._ledger.overlooked(arriving)
        if self._barrier.rested and self._ledger.overlooked():
            self._move_on()
        while not self._actor.returns_quota and self._ledger.unfinished():
            self._act()
            self._take(_LOOK[1])
            self._raise_if_stuck("Kueue didn't hear of the end of", self._ledger.unfinished())
        resumed = self._ledger.resume()
        self._server.each(partial(self._activate, True), resumed)
        if waited_for or resumed:
            self._settle()
        self._wait_for_second(arriving)
        self._ledger.arrived(arriving)
        for job, refusal in zip(arriving, self._server.each(self._create, arriving), strict=True):
            if refusal is not None:
                self._ledger.refused(job, refusal)
        self._settle()

    def _finish(self, job: Job) -> None:
        self._actor.finish(job, self._ledger.objects[job.name])

    def _activate(self, active: bool, name: str) -> None:
        self._server.request("PATCH", workloads.path(self._ledger.objects[name]), {"spec": {"active": active}}, MERGE_PATCH)

    def _wait_for_second(self, arriving: Iterable[Job]) -> None:
        time.sleep(max(0.0, self._ledger.busy_second(arriving) + 1 - time.time()))

    def _create(self, job: Job) -> str | None:
        """What the API server says against it."""
        try:
            self._actor.create(job)
        except RefusedError as error:
            if error.status >= 500:
                raise
            return str(error)
        return None

    # -- settling --------------------------------------------------------------------------------------------------------

    def _open_barrier(self) -> None:
        self._barrier.open()
        self._changed = time.monotonic()
        while not self._barrier.ready:
            self._take(_LOOK[1])
            self._raise_if_stuck("Kueue doesn't admit", ["the replay's own Workload"])
        self._settle()
        # Kueue may still have an older note on that queue: of the Workloads that the last replay left there.
        self._move_on()
        self._settle()

    def _settle(self) -> None:
        """Return when nothing is left that Kueue could do by itself. Raises SandboxError where it never comes to rest."""
        self._changed = time.monotonic()
        ledger = self._ledger
        while True:
            self._take(_LOOK[1] if ledger.undecided() or self._barrier.closing else 0.0)
            ledger.overtaken()
            if self._act():
                continue
            if undecided := ledger.undecided():
                self._raise_if_stuck("Kueue said nothing about", undecided)
            elif not self._actor.returns_quota and self._moving():
                self._take(_LOOK[1])
                self._raise_if_stuck("the controllers aren't done with the pods of", self._moving())
            elif not ledger.waiting and self._barrier.rested:
                return
            elif not self._barrier.ready:
                self._take(_LOOK[1])
                self._raise_if_stuck("Kueue didn't admit", ["the replay's own Workload"])
            elif self._agreed():
                self._barrier.rested = True
                if not ledger.overlooked():
                    return
                self._move_on()

    def _act(self) -> bool:
        """Do what evictions leave to others than Kueue; False where there is nothing."""
        if self._ledger.lost:
            self._evict_again()
        elif paused := self._ledger.pause():
            self._server.each(partial(self._activate, False), paused)
        elif self._ledger.leaving:
            self._release()
        else:
            return False
        return True

    def _moving(self) -> set[str]:
        """Jobs whose pods aren't yet as they should be; those of the others begin to count on the clock."""
        moving = {name for name, pods in self._ledger.pods().items() if self._actor.undecided(name, pods)}
        placed = [name for name, pods in self._ledger.pods().items() if pods and self._actor.placed(name, pods)]
        self._ledger.placed(placed)
        without = self._ledger.unplaced
        return moving or (set() if not without or self._actor.at_rest() else without)

    def _agreed(self) -> bool:
        """Whether Kueue's accounts agree with the watch; where they don't yet, a moment has passed."""
        pause = _LOOK[0]
        while True:
            told = accounts(self._server.plain(self._metrics))
            if self._take(0.0):
                return False
            wrong = self._ledger.differences(told) + self._barrier.differences(told)
            if not wrong:
                return True
            self._raise_if_stuck("Kueue isn't done with", wrong)
            if self._take(pause):
                return False
            pause = min(2 * pause, _LOOK[1])

    def _move_on(self) -> None:
        """Have Kueue look again at all that waits."""
        self._ledger.moved_on()
        self._barrier.close()

    def _evict_again(self) -> None:
        """Write evictions again that Kueue has overwritten; where it has written meanwhile, the watch shows that."""
        for name, conditions in self._ledger.lost.items():
            workload = self._ledger.objects[name]
            self._server.patch_status(workloads.path(workload), workloads.with_conditions(workload, conditions))
        self._take(_LOOK[1])
        self._raise_if_stuck("Kueue takes back the eviction of", self._ledger.lost)

    def _release(self) -> None:
        """Do for evicted Workloads what their jobs' controllers do once the pods are gone."""
        names = sorted(self._ledger.leaving)
        done = self._server.each(lambda name: self._actor.release(self._ledger.objects[name]), names)
        self._ledger.released([name for name, returned in zip(names, done, strict=True) if returned])

    def _take(self, seconds: float) -> bool:
        """Take in what the watch has shown; wait for it up to `seconds`. False where there was nothing."""
        changes = self._changes
        taken = 0
        try:
            change = changes.get(timeout=seconds) if seconds else changes.get_nowait()
            while True:
                self._see(*change)
                taken += 1
                change = changes.get_nowait()
        except Empty:
            pass
        if taken:
            self._changed = time.monotonic()
            ledger = self._ledger
            self._on_progress(ledger.arrivals + ledger.started + ledger.ended, self._total)
        return taken > 0

    def _see(self, kind: str, item: Object) -> None:
        if kind == "ERROR":
            raise SandboxError(str(item["message"]))
        if item["kind"] != "Workload":
            self._actor.see(kind, item)
        elif kind == "DELETED":
            return
        elif item["metadata"]["namespace"] == barrier.NAME:
            self._barrier.see(item["metadata"]["name"], workloads.state(item))
        else:
            self._ledger.see(item, self._actor.job_of(item))

    def _raise_if_stuck(self, what: str, whom: Iterable[str]) -> None:
        if time.monotonic() - self._changed > _STUCK_AFTER:
            some = ", ".join(self._ledger.standing(one) for one in sorted(whom)[:3])
            raise SandboxError(f"the replay is stuck at {self._ledger.at} s: {what} {some}")
