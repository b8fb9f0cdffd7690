"""Before and after a change: `compare(before, after) -> Comparison`, from the figures of the same trace on two plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from simulation.results.amounts import amount_of
from simulation.results.model import Runs
from simulation.results.spread import Path, Range, as_dict, ranges

_NOTHING = Range(0, 0, 0)
_FATES = (
    ("can_never_run", "can never run", "can never run"),
    ("waiting", "still waits at the end", "still wait at the end"),
    ("finished", "finishes", "finish"),
)
"""Figures that are told in words, as one job does it and as several do."""


@dataclass(frozen=True, slots=True)
class Delta:
    """One figure on both sides; None: the side doesn't have it."""

    path: Path
    before: Range | None
    after: Range | None

    @property
    def change(self) -> float:
        """Of the medians; a side without the figure counts as 0."""
        return round((self.after or _NOTHING).median - (self.before or _NOTHING).median, 4)

    @property
    def certain(self) -> bool:
        """Whether no run of one side reaches any of the other: the change is more than the spread of the runs."""
        before, after = self.before or _NOTHING, self.after or _NOTHING
        return after.least > before.most or after.most < before.least

    def as_dict(self) -> dict[str, Any]:
        return {
            "figure": ".".join(self.path),
            "before": None if self.before is None else self.before.median,
            "after": None if self.after is None else self.after.median,
            "change": self.change,
            "beyond_spread": self.certain,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides. Figures that are the same on both are left out of the deltas."""

    before: Runs
    after: Runs
    deltas: Mapping[Path, Delta]
    sentences: tuple[str, ...]
    """Who waits less or more, loses and gains, in words; only what goes beyond the spread of the runs."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "before": as_dict(self.before),
            "after": as_dict(self.after),
            "changes": [delta.as_dict() for delta in self.deltas.values()],
            "in_words": list(self.sentences),
        }


def compare(before: Runs, after: Runs) -> Comparison:
    """Both sides must have replayed the same trace with the same tick."""
    old, new = ranges(before), ranges(after)
    both = {path: Delta(path, old.get(path), new.get(path)) for path in dict.fromkeys((*old, *new))}
    differing = {path: delta for path, delta in both.items() if delta.before != delta.after}
    return Comparison(before, after, differing, tuple(_sentences(before, after, differing)))


def _sentences(before: Runs, after: Runs, deltas: Mapping[Path, Delta]) -> Iterator[str]:
    teams = list(dict.fromkeys((*before[0].teams, *after[0].teams)))
    tick = after[0].tick
    told = {team: ", ".join(_team(team, before, after, deltas, tick)) for team in teams}
    for team in sorted((team for team in teams if told[team]), key=lambda team: (-_moved(team, deltas), team)):
        yield f"{team} {told[team]}."
    if not any(told.values()):
        yield "Nothing changes for any team beyond the spread of the runs."
        return
    same = [team for team in teams if not told[team] and before[0].teams[team].jobs.jobs]
    if same:
        yield f"Nothing that goes beyond the spread of the runs changes for {', '.join(same)}."


def _moved(team: str, deltas: Mapping[Path, Delta]) -> float:
    delta = deltas.get(("teams", team, "wait", "p95_s"))
    return abs(delta.change) if delta else 0.0


def _team(team: str, before: Runs, after: Runs, deltas: Mapping[Path, Delta], tick: int) -> Iterator[str]:
    """What changes for one team, as the ends of a sentence that begins with its name."""
    if team not in before[0].teams or team not in after[0].teams:
        yield "is new" if team in after[0].teams else "is gone"
        return
    yield from _guarantees(team, before, after)
    path: Path = ("teams", team)
    yield from _waits(team, before, after, deltas, tick)
    for name, does in (("preemptions_suffered", "is preempted"), ("preemptions_caused", "preempts other jobs")):
        delta = deltas.get((*path, name))
        if delta is not None and delta.certain:
            number = abs(delta.change)
            word = "more" if delta.change > 0 else "less"
            yield f"{does} {number:g} {'time' if number == 1 else 'times'} {word} ({_pair(delta)})"
    for name, one, many in _FATES:
        delta = deltas.get((*path, name))
        if delta is not None and delta.certain:
            number = abs(delta.change)
            word = "more" if delta.change > 0 else "fewer"
            yield f"{number:g} {word} {f'job {one}' if number == 1 else f'jobs {many}'} ({_pair(delta)})"


def _guarantees(team: str, before: Runs, after: Runs) -> Iterator[str]:
    """Exact: the plans say it, not the runs."""
    old, new = before[0].teams[team].use, after[0].teams[team].use
    for measured in dict.fromkeys((*old, *new)):
        kind, resource = measured
        was, becomes = (amount_of(resource, side[measured].guarantee) if measured in side else 0 for side in (old, new))
        if was != becomes:
            what = (
                "vCPUs" if resource == "cpu" else resource.rpartition("/")[2].replace("gpu", "GPUs").replace("device", " devices")
            )
            verb = "gains" if becomes > was else "loses"
            yield f"{verb} {abs(becomes - was):g} {what} of guarantee on {kind} ({was:g} → {becomes:g})"


def _waits(team: str, before: Runs, after: Runs, deltas: Mapping[Path, Delta], tick: int) -> Iterator[str]:
    """The 95th percentile, or the mean where that doesn't change; less than a tick is nothing."""
    for name, where in (("p95_s", "at p95"), ("mean_s", "on average")):
        delta = deltas.get(("teams", team, "wait", name))
        if delta is not None and delta.before and delta.after and delta.certain and abs(delta.change) >= tick:
            word = "more" if delta.change > 0 else "less"
            sides = ((before, delta.before), (after, delta.after))
            steps = " → ".join(f"{_at_least(runs, team, name)}{duration(value.median)}" for runs, value in sides)
            yield f"waits {duration(abs(delta.change))} {word} {where} ({steps})"
            return


def _at_least(runs: Runs, team: str, name: str) -> str:
    return "at least " if any(name in figures.teams[team].jobs.wait.at_least for figures in runs) else ""


def _pair(delta: Delta) -> str:
    return f"{(delta.before or _NOTHING).median:g} → {(delta.after or _NOTHING).median:g}"


def duration(seconds: float) -> str:
    """Seconds as people say them, two units at most: `45 s`, `12 min`, `1 h 20 min`, `2 d 3 h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    parts = []
    for size, name in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        number, whole = divmod(whole, size)
        if number:
            parts.append((size, f"{number} {name}"))
    first = parts[0][0]
    near = [text for size, text in parts[:2] if first // size <= 60]
    return " ".join(near)
