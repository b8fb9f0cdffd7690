"""What a replay shows, in numbers.

Times are seconds of the trace's own time; for amounts see `simulation.results.amounts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulation.replay.model import Fidelity
from simulation.results.amounts import Held, Measured, Use, hours, nested


@dataclass(frozen=True, slots=True)
class Waiting:
    """From arrival to the first admission. Jobs that can never run, or were refused, don't count."""

    jobs: int = 0
    at_once: int = 0
    """Admitted in the tick in which they arrived."""
    p50: int | None = None
    p95: int | None = None
    most: int | None = None
    mean: float | None = None
    still: int = 0
    """Never admitted up to the end: they count as long as they have waited until then."""
    at_least: tuple[str, ...] = ()
    """Figures that may be longer in truth, because of those."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "jobs": self.jobs,
            "admitted_at_once": self.at_once,
            "p50_s": self.p50,
            "p95_s": self.p95,
            "max_s": self.most,
            "mean_s": None if self.mean is None else round(self.mean, 1),
            "still_waiting": self.still,
            "at_least": list(self.at_least),
        }


@dataclass(frozen=True, slots=True)
class Jobs:
    """Figures of some jobs: a team's, a priority class's, all. The fates from `finished` to `absent` add up to `jobs`."""

    jobs: int
    finished: int
    running: int
    """At the end."""
    waiting: int
    """At the end; those that can never run are told apart."""
    expired: int
    """Stopped for good: they ran as long as their team's jobs may."""
    never: int
    """Can never run, whoever else is there; of these none was ever admitted."""
    refused: int
    """By the API server or Kueue's webhooks."""
    absent: int
    """Hadn't arrived when the replay ended."""
    wait: Waiting
    waited_again: int
    """Seconds after preemptions, of all jobs together."""
    preempted: int
    """Preemptions suffered."""
    jobs_preempted: int
    """Jobs that suffered them."""
    caused: int
    """Preemptions of others, of its own team's jobs too, that were made for these jobs."""
    evicted: int
    """Evictions for another reason than a job."""
    lost: Mapping[str, int]
    """What was computed in vain, by resource: since the last checkpoint before a preemption or eviction."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "jobs": self.jobs,
            "finished": self.finished,
            "running": self.running,
            "waiting": self.waiting,
            "stopped_at_max_run_time": self.expired,
            "can_never_run": self.never,
            "refused": self.refused,
            "not_arrived": self.absent,
            "wait": self.wait.as_dict(),
            "waited_again_s": self.waited_again,
            "preemptions_suffered": self.preempted,
            "jobs_preempted": self.jobs_preempted,
            "preemptions_caused": self.caused,
            "other_evictions": self.evicted,
            "lost_h": {resource: hours(resource, amount) for resource, amount in self.lost.items()},
        }


@dataclass(frozen=True, slots=True)
class Team:
    """One team's figures."""

    jobs: Jobs
    use: Mapping[Measured, Use]

    def as_dict(self) -> dict[str, Any]:
        return {**self.jobs.as_dict(), "compute": nested(self.use)}


@dataclass(frozen=True, slots=True)
class Stuck:
    """A job that can never run, or waits at the end."""

    job: str
    team: str
    why: str
    """Why it can never run; of a job that waits, Kueue's last word on it."""
    since: int
    """When it arrived, or was last stopped."""

    def as_dict(self) -> dict[str, Any]:
        return {"job": self.job, "team": self.team, "why": self.why, "since_s": self.since}


@dataclass(frozen=True, slots=True)
class Pair:
    """Preemptions of one team's jobs for another's."""

    team: str
    by: str | None
    """None: Kueue doesn't say for whom."""
    reason: str
    times: int

    def as_dict(self) -> dict[str, Any]:
        return {"team": self.team, "by": self.by, "reason": self.reason, "times": self.times}


@dataclass(frozen=True, slots=True)
class Line:
    """An amount over time for a plot: from each of `times` (seconds) on, the values beside it; before the first, 0."""

    times: tuple[int, ...]
    values: Mapping[str, tuple[int, ...]]

    def as_dict(self) -> dict[str, Any]:
        return {"at_s": list(self.times), **{name: list(values) for name, values in self.values.items()}}


@dataclass(frozen=True, slots=True)
class Series:
    """Over time: by team and instance type what was used `within` the guarantee and `borrowed`, in base units; how many wait."""

    use: Mapping[str, Mapping[Measured, Line]] = field(default_factory=dict)
    waiting: Mapping[str, Line] = field(default_factory=dict)
    """By team, `jobs`."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "use": {team: nested(lines) for team, lines in self.use.items()},
            "waiting": {team: line.as_dict() for team, line in self.waiting.items()},
        }


@dataclass(frozen=True, slots=True)
class Figures:
    """One replay's."""

    cluster: str
    kueue: str
    tick: int
    fidelity: Fidelity
    until: int
    complete: bool
    seconds: float
    """Of the wall clock."""
    admissions: int
    overall: Jobs
    teams: Mapping[str, Team]
    classes: Mapping[str, Jobs]
    """By priority class as declared; jobs without one under `(none)`."""
    held: Mapping[Measured, Held]
    pairs: tuple[Pair, ...]
    never: tuple[Stuck, ...]
    waiting: tuple[Stuck, ...]
    series: Series
    circles: tuple[str, ...] = ()
    """Jobs that Kueue preempted in a circle, which was cut."""

    def numbers(self) -> dict[str, Any]:
        """The figures that runs are compared by, nested."""
        return {
            "overall": self.overall.as_dict(),
            "teams": {name: team.as_dict() for name, team in self.teams.items()},
            "priority_classes": {name: jobs.as_dict() for name, jobs in self.classes.items()},
            "compute": nested(self.held),
        }


Runs = Sequence[Figures]
"""Figures of the same trace on the same plan, replayed several times."""
