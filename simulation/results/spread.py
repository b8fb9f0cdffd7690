"""Figures of several replays of the same: least, median and most of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from simulation.results.amounts import UNITS
from simulation.results.model import Runs

Path = tuple[str, ...]
"""The keys that lead to a figure: ("teams", "nlp", "wait", "p95_s")."""
Number = int | float


@dataclass(frozen=True, slots=True)
class Range:
    """One figure over all runs that have it."""

    least: Number
    median: Number
    most: Number

    @property
    def same(self) -> bool:
        """Whether all runs agree."""
        return self.least == self.most


def ranges(runs: Runs) -> dict[Path, Range]:
    """Every figure by its path."""
    values: dict[Path, list[Number]] = {}
    for figures in runs:
        for path, value in _leaves(figures.numbers(), ()):
            values.setdefault(path, []).append(value)
    return {path: Range(min(found), _median(found), max(found)) for path, found in values.items()}


def as_dict(runs: Runs) -> dict[str, Any]:
    """JSON-ready: medians of all figures, what differs between the runs, and the first run's series and jobs that wait.

    `spread` has the figures that differ, by dotted path.
    """
    first, found = runs[0], ranges(runs)
    return {
        "cluster": first.cluster,
        "kueue": first.kueue,
        "fidelity": first.fidelity,
        "tick_s": first.tick,
        "until_s": max(figures.until for figures in runs),
        "runs": len(runs),
        "complete": all(figures.complete for figures in runs),
        "admissions": [figures.admissions for figures in runs],
        "wall_clock_seconds": [round(figures.seconds, 1) for figures in runs],
        "units": dict(UNITS),
        **_medians(first.numbers(), found, ()),
        "spread": {
            ".".join(path): {"min": one.least, "median": one.median, "max": one.most}
            for path, one in found.items()
            if not one.same
        },
        "preemptions": [pair.as_dict() for pair in first.pairs],
        "can_never_run": [stuck.as_dict() for stuck in first.never],
        "waiting_at_end": [stuck.as_dict() for stuck in first.waiting],
        "series": first.series.as_dict(),
    }


def _leaves(data: Mapping[str, Any], path: Path) -> Iterator[tuple[Path, Number]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key))
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield (*path, key), value


def _medians(data: Mapping[str, Any], found: Mapping[Path, Range], path: Path) -> dict[str, Any]:
    """The same shape with the median in each number's place."""
    result: dict[str, Any] = {}
    for key, value in data.items():
        here = (*path, key)
        result[key] = _medians(value, found, here) if isinstance(value, dict) else found[here].median if here in found else value
    return result


def _median(values: list[Number]) -> Number:
    middle = median(values)
    return int(middle) if middle == int(middle) and all(isinstance(value, int) for value in values) else round(middle, 4)
