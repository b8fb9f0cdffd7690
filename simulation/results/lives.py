"""What became of each job: when it arrived, when it ran and what it held, who stopped it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from governance.sharing import Cell
from simulation.replay.model import Event, Replay
from simulation.traces.model import Job, Trace

PREEMPTIONS = frozenset(("InClusterQueue", "InCohortReclamation", "InCohortFairSharing", "InCohortReclaimWhileBorrowing"))
"""Kueue's reasons for stopping a job for another one; other evictions have other causes."""
FOR_GOOD = ("Deactivated", "MaximumExecutionTimeExceeded")
"""What reasons begin with after which a job doesn't come back: it has run as long as its team's jobs may."""


@dataclass(slots=True)
class Stay:
    """A time in which a job runs."""

    start: int
    usage: Mapping[Cell, int]
    end: int | None = None
    """None: it runs on at the end."""
    stopped: Event | None = None
    """The preemption or other eviction that ended it."""


@dataclass(slots=True)
class Life:
    """One job's. Times are seconds of the trace's, multiples of the tick."""

    job: Job
    arrived: int | None = None
    """None: the replay ended before."""
    stays: list[Stay] = field(default_factory=list)
    finished: int | None = None
    refused: str | None = None
    """The words of who refused it."""

    @property
    def running(self) -> bool:
        return bool(self.stays) and self.stays[-1].end is None

    @property
    def expired(self) -> bool:
        """Whether it was stopped for good."""
        last = self.stays[-1].stopped if self.stays else None
        return last is not None and last.reason.startswith(FOR_GOOD)

    @property
    def waiting(self) -> bool:
        """Whether it waits at the end."""
        over = self.finished is not None or self.refused is not None or self.expired
        return self.arrived is not None and not over and not self.running

    def waited(self, until: int) -> int | None:
        """From its arrival to its first admission; to the end where it was never admitted. None: it didn't arrive."""
        if self.arrived is None:
            return None
        return (self.stays[0].start if self.stays else until) - self.arrived

    def waited_again(self, until: int) -> int:
        """After each time that it was stopped."""
        return sum(later - earlier for earlier, later in self._gaps(until))

    def waits(self, until: int) -> Iterator[tuple[int, int]]:
        """All times in which it waited."""
        if self.arrived is not None and self.refused is None:
            yield self.arrived, self.stays[0].start if self.stays else until
            yield from self._gaps(until)

    def _gaps(self, until: int) -> Iterator[tuple[int, int]]:
        for index, stay in enumerate(self.stays):
            if stay.stopped is not None and stay.end is not None and not stay.stopped.reason.startswith(FOR_GOOD):
                yield stay.end, self.stays[index + 1].start if index + 1 < len(self.stays) else until

    def preemptions(self) -> list[Event]:
        """Those that it suffered, evictions for other reasons left out."""
        return [stay.stopped for stay in self.stays if stay.stopped and is_preemption(stay.stopped)]

    def evictions(self) -> int:
        """How often it was stopped for another reason than a job, and waited again."""
        return sum(stay.stopped is not None and not is_preemption(stay.stopped) for stay in self.stays) - self.expired

    def lost(self) -> Iterator[tuple[Mapping[Cell, int], int]]:
        """What it held, and for how many seconds in vain: those since the last checkpoint before it had to wait again."""
        for stay in self.stays:
            if stay.stopped is not None and stay.end is not None and not stay.stopped.reason.startswith(FOR_GOOD):
                ran = stay.end - stay.start
                yield stay.usage, ran % self.job.checkpoint if self.job.checkpoint else ran


def is_preemption(event: Event) -> bool:
    """Whether Kueue stopped the job for another one."""
    return event.by is not None or not event.reason or event.reason in PREEMPTIONS


def lives(trace: Trace, replay: Replay) -> dict[str, Life]:
    """By job, in the order of the trace. Events of jobs that the trace doesn't have are passed over."""
    found = {job.name: Life(job) for job in trace.jobs}
    for event in replay.events:
        life = found.get(event.job)
        if life is not None:
            _apply(life, event)
    return found


def _apply(life: Life, event: Event) -> None:
    if event.kind == "arrived":
        life.arrived = event.at
    elif event.kind == "admitted":
        life.stays.append(Stay(event.at, event.usage))
    elif event.kind == "refused":
        life.refused = event.reason
    else:
        if life.running:
            life.stays[-1].end = event.at
            if event.kind == "preempted":
                life.stays[-1].stopped = event
        if event.kind == "finished":
            life.finished = event.at
