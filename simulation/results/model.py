"""What a replay shows, in numbers.

Times are seconds of the trace's own time. Amounts × time are base units (see `governance.units`) × seconds, exact; `hours` makes
accelerator-hours, or vCPU-hours, of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from governance.units import CPU, MEMORY
from simulation.replay.model import Fidelity

Measured = tuple[str, str]
"""An instance type, and the resource in which people count it: its accelerators, or vCPUs where it has none."""

UNITS: Mapping[str, str] = {
    "_s": "seconds of the trace's time",
    "_h": "accelerator-hours; vCPU-hours where the resource is cpu",
    "_share": "a part of the whole, from 0 to 1",
    "_amount": "accelerators; vCPUs where the resource is cpu",
    "other": "jobs, or times that something happened",
}
"""Units by the ending of a figure's name."""


def hours(resource: str, amount: int) -> float:
    """Base units × seconds as what people say: accelerator-hours, vCPU-hours, GiB-hours."""
    return round(amount / (3600 * {CPU: 1000, MEMORY: 1024}.get(resource, 1)), 3)


def amount_of(resource: str, amount: int) -> float | int:
    """Base units as what people say."""
    return amount / 1000 if resource == CPU else amount


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
class Use:
    """What a team used of one instance type; all but `guarantee` are amounts × time."""

    resource: str
    guarantee: int
    """The amount that it owns."""
    within: int
    """Used of its own."""
    borrowed: int
    unused: int
    """Of its own; others may have borrowed it."""
    contested: int
    """Borrowed while a team that may borrow waited for the same."""
    borrowed_share: float | None
    """Of all that was borrowed."""
    contested_share: float | None
    """Of what was borrowed while it was contested: the one to hold against the fair share."""
    fair_share: float | None
    """That the team's weight gives it among all that may borrow; None where idle compute goes by arrival."""

    def as_dict(self) -> dict[str, Any]:
        own = self.within + self.unused
        return {
            "guarantee_amount": amount_of(self.resource, self.guarantee),
            "within_guarantee_h": hours(self.resource, self.within),
            "borrowed_h": hours(self.resource, self.borrowed),
            "unused_guarantee_h": hours(self.resource, self.unused),
            "contested_borrowed_h": hours(self.resource, self.contested),
            "guarantee_used_share": round(self.within / own, 4) if own else None,
            "borrowed_share": _rounded(self.borrowed_share),
            "contested_borrowed_share": _rounded(self.contested_share),
            "fair_share": _rounded(self.fair_share),
        }


@dataclass(frozen=True, slots=True)
class Held:
    """What the cluster's nodes of one instance type were used for: within + borrowed + idle - over = capacity × time."""

    resource: str
    capacity: int
    """The amount."""
    within: int
    borrowed: int
    idle: int
    over: int
    """Admitted beyond the nodes: where guarantees are above capacity."""

    def as_dict(self) -> dict[str, Any]:
        whole = self.within + self.borrowed + self.idle - self.over
        return {
            "capacity_amount": amount_of(self.resource, self.capacity),
            "within_guarantee_h": hours(self.resource, self.within),
            "borrowed_h": hours(self.resource, self.borrowed),
            "idle_h": hours(self.resource, self.idle),
            "beyond_capacity_h": hours(self.resource, self.over),
            "used_share": round((self.within + self.borrowed - self.over) / whole, 4) if whole else None,
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

    def numbers(self) -> dict[str, Any]:
        """The figures that runs are compared by, nested."""
        return {
            "overall": self.overall.as_dict(),
            "teams": {name: team.as_dict() for name, team in self.teams.items()},
            "priority_classes": {name: jobs.as_dict() for name, jobs in self.classes.items()},
            "compute": nested(self.held),
        }


def nested(by: Mapping[Measured, Any]) -> dict[str, Any]:
    """By instance type, then resource, JSON-ready."""
    result: dict[str, Any] = {}
    for (kind, resource), one in by.items():
        result.setdefault(kind, {})[resource] = one.as_dict()
    return result


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)


Runs = Sequence[Figures]
"""Figures of the same trace on the same plan, replayed several times."""
