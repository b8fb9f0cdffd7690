"""The clock of a replay: which jobs arrive and end in which tick. Pure arithmetic on the trace's own time."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from simulation.traces.model import Job


@dataclass(slots=True)
class Run:
    """What a job has behind it, in seconds."""

    job: Job
    done: int = 0
    """Of what it needs: what no preemption takes away any more."""
    used: int = 0
    """For which it has run, lost work included."""
    since: int | None = None
    """When it was admitted; None while it waits."""

    @property
    def remaining(self) -> int | None:
        """Of what it needs; None: it runs until the trace's end."""
        return None if self.job.runs_for is None else self.job.runs_for - self.done


def up_to(seconds: int, tick: int) -> int:
    """The first tick that isn't before this time: nothing is applied before it happens."""
    return -(-seconds // tick) * tick


class Clock:
    """Jumps from tick to tick. A tick stands for the time since the tick before, and all that falls into it is applied together.

    A job that is admitted at a tick runs from there. So it ends a tick later at the earliest, and its end is rounded up.
    """

    def __init__(self, jobs: Sequence[Job], tick: int, until: int | None, limits: Mapping[str, int | None] | None = None) -> None:
        """`until` ends the replay; `limits`: the longest that a job may run, by team, in seconds."""
        self._tick = tick
        self._until = until
        self._limits = limits or {}
        self.runs = {job.name: Run(job) for job in jobs}
        self._arriving = [(up_to(job.arrives, tick), number, job.name) for number, job in enumerate(jobs)]
        heapq.heapify(self._arriving)
        self._ending: list[tuple[int, int, str]] = []
        self._admissions = 0

    def next(self) -> int | None:
        """The next tick in which something arrives or ends; None where there is none, or none up to `until`."""
        self._drop_outdated()
        times = [queue[0][0] for queue in (self._arriving, self._ending) if queue]
        found = min(times, default=None)
        return None if found is None or (self._until is not None and found > self._until) else found

    def arriving(self, now: int) -> list[Job]:
        """Jobs that arrive up to this tick, each told once, in the trace's order."""
        found = []
        while self._arriving and self._arriving[0][0] <= now:
            found.append(self.runs[heapq.heappop(self._arriving)[2]].job)
        return found

    def ending(self, now: int) -> tuple[list[Job], list[Job]]:
        """Jobs that end up to this tick, each told once: those that are done, and those that have run as long as they may."""
        done: list[Job] = []
        expired: list[Job] = []
        self._drop_outdated()
        while self._ending and self._ending[0][0] <= now:
            run = self.runs[heapq.heappop(self._ending)[2]]
            (expired if self._expires(run) else done).append(run.job)
            self._stop(run, now)
            self._drop_outdated()
        return done, expired

    def admitted(self, name: str, now: int) -> None:
        """The job runs from this tick."""
        run = self.runs[name]
        run.since = now
        left = [seconds for seconds in (run.remaining, self._allowed(run)) if seconds is not None]
        if left:
            self._admissions += 1
            heapq.heappush(self._ending, (up_to(now + min(left), self._tick), self._admissions, name))

    def preempted(self, name: str, now: int) -> None:
        """The job stops, and what it ran since its last checkpoint is lost."""
        run = self.runs[name]
        if run.since is not None:
            every = run.job.checkpoint
            run.done += (now - run.since) // every * every if every else 0
            self._stop(run, now)

    def _stop(self, run: Run, now: int) -> None:
        if run.since is not None:
            run.used += now - run.since
            run.since = None

    def _allowed(self, run: Run) -> int | None:
        limit = self._limits.get(run.job.team)
        return None if limit is None else max(0, limit - run.used)

    def _expires(self, run: Run) -> bool:
        """Whether a running job reaches its limit before it is done."""
        allowed, remaining = self._allowed(run), run.remaining
        return allowed is not None and (remaining is None or allowed < remaining)

    def _drop_outdated(self) -> None:
        """Forget ends of jobs that were preempted meanwhile."""
        while self._ending:
            end, _, name = self._ending[0]
            run = self.runs[name]
            left = [seconds for seconds in (run.remaining, self._allowed(run)) if seconds is not None]
            if run.since is not None and up_to(run.since + min(left), self._tick) == end:
                return
            heapq.heappop(self._ending)
