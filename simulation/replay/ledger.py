"""What a replay knows of its jobs: where each stands, who waits since when, and where quota was returned. No I/O."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from governance.model import ClusterPlan
from sandbox.errors import SandboxError
from simulation.replay import workloads
from simulation.replay.accounts import Account
from simulation.replay.clock import Clock
from simulation.replay.lookups import layers, roots
from simulation.replay.model import Event
from simulation.replay.workloads import Conditions, State
from simulation.traces.model import Job

Object = dict[str, Any]
_AT_REST: Final = ("waiting", "running", "stopped", "over")
_HOLDING: Final = ("reserved", "running", "leaving")
ROUNDS: Final = 2
"""How often a job may be evicted within a tick. Kueue can preempt in a circle for ever: by priority in a queue, by fair share
between queues, by reclaiming what a queue owns. From the next eviction on, the job sits out the rest of the tick."""
_MANY: Final = 50

_OVERTAKEN_FOR: Final = 5.0
"""Seconds. Kueue writes admissions in the background, so one may be stored after the eviction that its next look at the queues
leads to. Returning the quota in between would have the late admission count on top of what Kueue gave away meanwhile. The late
admission also overwrites the eviction. Where Kueue hasn't seen that one meanwhile, it doesn't evict anew, and waits, with the
whole queue behind whom it evicted for."""


class Ledger:
    """Fed with what the replay does and what the watch shows; tells what is still open."""

    def __init__(self, cluster: ClusterPlan, jobs: Sequence[Job], clock: Clock, *, by_pods: bool = False) -> None:
        """`by_pods`: a job runs once all its pods do, and its controllers return its quota."""
        self._by_pods = by_pods
        self.unplaced: set[str] = set()
        """Admitted jobs of which not all pods run."""
        self.at = 0
        """The tick that events are noted for."""
        self.events: list[Event] = []
        self.objects: dict[str, Object] = {}
        """The Workloads as last seen."""
        self.waiting: set[str] = set()
        self.leaving: set[str] = set()
        """Evicted; their quota is to be returned."""
        self.lost: dict[str, Conditions] = {}
        """Jobs whose eviction Kueue has overwritten with the admission that it ends; the eviction is to be written again."""
        self.circling: set[str] = set()
        """Evicted in a circle, and to be deactivated."""
        self.paused: set[str] = set()
        """Deactivated until the next tick. Kueue gives their quota to others at once, though their pods may still be ending."""
        self.circles: dict[str, int] = {}
        """Jobs that were evicted in a circle, and the first tick of that."""
        self.open: set[str] = set()
        """Jobs about which Kueue or the watch has still to say something."""
        self.arrivals = self.started = self.ended = 0
        """How many jobs arrived, were ever admitted, and are over or refused."""
        self._cluster = cluster
        self._jobs = {job.name: job for job in jobs}
        self._clock = clock
        self._states: dict[str, State] = {}
        self._expected: dict[str, State] = {}
        self._names: dict[str, str] = {}
        self._ever: set[str] = set()
        self._alive: set[str] = set()
        self._rounds: Counter[str] = Counter()
        self._running: Counter[str] = Counter()
        self._roots = roots(cluster)
        self._stamps: dict[str, int] = {}
        self._moment = 0
        self._waits_since: dict[str, int] = {}
        self._returned: dict[str, int] = {}
        self._told_moment = 0
        self._layers = layers(cluster)
        self._overtaken: dict[str, float] = {}

    # -- what the replay does --------------------------------------------------------------------------------------------

    def begin(self, at: int) -> None:
        self.at = at
        self._rounds.clear()
        self.circling.clear()

    def resume(self) -> list[str]:
        """The jobs that sat out the rest of the last tick, and are about to be activated again."""
        self._moment += 1
        resumed = sorted(self.paused)
        self.paused.clear()
        for name in resumed:
            self._waits_since[name] = self._moment
            self._open(name, "waiting")
        return resumed

    def pause(self) -> list[str]:
        """Jobs that go round in a circle, and are about to be deactivated until the next tick.

        Only those that hold quota still: whom Kueue has in hand again already can't be stopped cleanly.
        """
        found = sorted(name for name in self.circling if self._states[name] == "leaving")
        self.circling.difference_update(found)
        self.paused.update(found)
        for name in found:
            self._open(name, "stopped")
        return found

    def arrived(self, jobs: Iterable[Job]) -> None:
        """They are about to be created."""
        self._moment += 1
        for job in jobs:
            self.events.append(Event(self.at, "arrived", job.name))
            self._waits_since[job.name] = self._moment
            self._open(job.name, None)
            self.arrivals += 1

    def refused(self, job: Job, words: str) -> None:
        """The API server didn't take it."""
        self.events.append(Event(self.at, "refused", job.name, reason=words))
        self.open.discard(job.name)
        self.ended += 1

    def finished(self, jobs: Sequence[Job]) -> None:
        """They have been marked as finished, and so return their quota."""
        self._moment += 1
        for job in jobs:
            self.events.append(Event(self.at, "finished", job.name))
            self._returned[self.root(job)] = self._moment
            self._open(job.name, "over")
            self.ended += 1

    def deactivated(self, jobs: Iterable[Job]) -> None:
        """They may not run any longer; Kueue will evict them."""
        for job in jobs:
            self._open(job.name, "stopped")

    def released(self, names: Sequence[str]) -> None:
        """The quota of evicted jobs has been returned; they wait again."""
        self._moment += 1
        for name in names:
            self._returned[self.root(self._jobs[name])] = self._moment
        # Kueue queues an evicted Workload after it has taken back its quota, but maybe before it takes back another's.
        alone = len(names) == 1
        for name in names:
            self._waits_since[name] = self._moment + alone
            self.leaving.discard(name)
        self._moment += alone

    def moved_on(self) -> None:
        """From this moment on, Kueue is made to look again at all that waits."""
        self._told_moment = self._moment

    # -- what the watch shows --------------------------------------------------------------------------------------------

    def see(self, workload: Object, name: str) -> None:
        """The Workload of a job was created or has changed."""
        if name not in self._jobs:
            return
        before, now = self._states.get(name, "new"), workloads.state(workload)
        self._lose(name, before, now)
        self.objects[name], self._states[name] = workload, now
        if before == "new":
            self._names[workload["metadata"]["uid"]] = name
            self._stamp(workload, name)
        if (self._by_pods or name in self.leaving) and before in _HOLDING and now not in _HOLDING:
            self._returned_unheard(name)
        queue = self._queue(name)
        self._running[queue] += (now in _HOLDING) - (before in _HOLDING)
        if now != "leaving":
            self.leaving.discard(name)
            self._overtaken.pop(name, None)
        if self._expected.get(name) != "over":  # else Kueue does it because it hasn't heard of the end, which holds
            self._note(workload, name, before, now)
        (self.waiting.add if now == "waiting" else self.waiting.discard)(name)
        (self._alive.discard if now == "over" else self._alive.add)(name)
        expected = self._expected.get(name)
        if now in _AT_REST and expected in (None, now):
            self.open.discard(name)
            self._expected.pop(name, None)
        else:
            self.open.add(name)

    def _note(self, workload: Object, name: str, before: State, now: State) -> None:
        if now == "running" and before != "running":
            self._admitted(workload, name)
        elif now == "leaving" and before in ("reserved", "running"):
            self._evicted(workload, name)
        elif now == "leaving" and before != "leaving":
            self._overtaken[name] = time.monotonic() + _OVERTAKEN_FOR

    def _lose(self, name: str, before: State, now: State) -> None:
        """Note an eviction that is overwritten, or that is there again."""
        if now not in ("reserved", "running") or self._expected.get(name) == "over":
            self.lost.pop(name, None)
        elif before == "leaving":
            self.lost[name] = workloads.evictions(self.objects[name])

    def overtaken(self) -> None:
        """Evictions that came before the admission that they end: after a moment, they count without it."""
        for name, until in list(self._overtaken.items()):
            if time.monotonic() >= until:
                del self._overtaken[name]
                self._admitted(self.objects[name], name)
                self._evicted(self.objects[name], name)

    def _admitted(self, workload: Object, name: str) -> None:
        self._stamp(workload, name)
        self.events.append(workloads.admission(workload, name, self.at, self._layers.__getitem__))
        if self._by_pods:
            self.unplaced.add(name)
        else:
            self._clock.admitted(name, self.at)
        self._ever.add(name)
        self.started = len(self._ever)

    def _evicted(self, workload: Object, name: str) -> None:
        event = workloads.eviction(workload, name, self.at, self._names)
        # A job that a circle has deactivated has not run for as long as its team allows.
        self.events.append(replace(event, reason="", by=None) if name in self.paused else event)
        self.unplaced.discard(name)
        self._clock.preempted(name, self.at)
        self._rounds[name] += 1
        if self._rounds[name] > _MANY:
            raise SandboxError(f"Kueue preempts {name} in a circle for ever")
        if self._rounds[name] > ROUNDS and name not in self.paused:
            self.circling.add(name)
            self.circles.setdefault(name, self.at)
        if not self._by_pods:
            self.leaving.add(name)

    def _returned_unheard(self, name: str) -> None:
        """By the job's controllers, or by a release whose answer was lost."""
        self._moment += 1
        self._returned[self.root(self._jobs[name])] = self._moment
        self._moment += 1
        self._waits_since[name] = self._moment

    def placed(self, names: Iterable[str]) -> None:
        """All pods of these jobs run."""
        for name in names:
            if name in self.unplaced:
                self.unplaced.remove(name)
                self._clock.admitted(name, self.at)

    # -- what follows ----------------------------------------------------------------------------------------------------

    def root(self, job: Job) -> str:
        """The cohort at the root of the job's queue, or the queue itself: nothing outside competes with the job."""
        return self._roots[job.team]

    def pods(self) -> dict[str, int]:
        """How many pods each job that isn't over should have now."""
        return {name: self._jobs[name].pods if self._states[name] == "running" else 0 for name in self._alive}

    def unfinished(self) -> set[str]:
        """Jobs that have ended, although the watch doesn't show it yet."""
        return {name for name, state in self._expected.items() if state == "over"}

    def busy_second(self, jobs: Iterable[Job]) -> int:
        """The latest second of the wall clock by which Kueue ranks a job that these compete with; 0 where there is none."""
        return max((self._stamps.get(self.root(job), 0) for job in jobs), default=0)

    def standing(self, name: str) -> str:
        """A job and where it stands, for messages; a name that isn't a job's comes back as it is."""
        if name not in self._jobs:
            return name
        word = workloads.last_word(self.objects[name]) if name in self.objects else ""
        return f"{name} ({self._states.get(name, 'not seen')}{word and f': {word}'})"

    def undecided(self) -> set[str]:
        """Jobs that Kueue or the watch has to say something about before the tick can end."""
        return self.open | self.lost.keys()

    def overlooked(self, competing: Iterable[Job] | None = None) -> bool:
        """Whether somebody waits who may have been looked at for the last time before quota was returned.

        `competing`: only those count who compete with one of these jobs.
        """
        roots = None if competing is None else {self.root(job) for job in competing}
        for name in self.waiting:
            root = self.root(self._jobs[name])
            returned = self._returned.get(root, 0)
            if self._waits_since[name] <= returned and returned > self._told_moment and (roots is None or root in roots):
                return True
        return False

    def differences(self, told: Mapping[str, Account]) -> list[str]:
        """Queues whose accounts aren't at rest, or not yet as the watch shows them."""
        waiting = Counter(self._queue(name) for name in self.waiting)
        wrong = []
        for team in self._cluster.teams.values():
            queue = team.cluster_queue
            found, wanted = told.get(queue, Account()), Account(0, waiting[queue], self._running[queue])
            if found != wanted:
                wrong.append(f"{queue}: {found}, not {wanted}")
        return wrong

    def _queue(self, name: str) -> str:
        return self._cluster.teams[self._jobs[name].team].cluster_queue

    def _open(self, name: str, until: State | None) -> None:
        self.open.add(name)
        if until is not None:
            self._expected[name] = until

    def _stamp(self, workload: Object, name: str) -> None:
        root = self.root(self._jobs[name])
        self._stamps[root] = max(self._stamps.get(root, 0), workloads.stamp(workload))
