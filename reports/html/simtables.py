"""A simulation's tables: what became of each team's jobs, and what it computed, before and after a change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from reports.html.simdata import Jobs, Side, Spread, Use
from reports.html.words import duration, percent, unit

_LEAST = "≥ "


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a table, on one or both sides."""

    before: str
    """Empty where there is one side only, or both are the same."""
    after: str
    spread: str = ""
    """Least and most of the runs, where they differ."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    name: str
    detail: str
    cells: tuple[Cell, ...]


USE_COLUMNS = ("Guarantee", "Used of it", "Borrowed", "Unused", "Share of what was contested", "Fair share")


def job_rows(pairs: Sequence[tuple[str, tuple[Jobs | None, Jobs | None]]], after: Side) -> Iterable[Row]:
    """A row a name. `pairs`: jobs before and after, of all teams together and of each."""
    for name, (old, new) in pairs:
        path = "overall" if new is after.overall else f"teams.{name}"
        yield Row(name, "", tuple(_job_cell(figure, old, new, after.spread.get(f"{path}.{figure.path}")) for figure in FIGURES))


def _job_cell(figure: Figure, before: Jobs | None, after: Jobs | None, spread: Spread | None) -> Cell:
    was = figure.form(figure.of(before), before) if before else ""
    if after is None:
        return _cell(was, "–")
    now = figure.form(figure.of(after), after)
    within = tuple(figure.form(value, after).removeprefix(_LEAST) for value in (spread.min, spread.max)) if spread else ()
    return replace(_cell(was, now), spread="–".join(within) if len(set(within)) > 1 else "")


def _cell(before: str, after: str) -> Cell:
    return Cell("" if before == after else before, after)


def use_rows(names: Sequence[str], before: Side | None, after: Side) -> Iterable[Row]:
    """A row for each instance type of each team."""
    for name in names:
        old, new = (_compute(side, name) for side in (before, after))
        for kind, resource in dict.fromkeys((*old, *new)):
            what = f"{kind}, {unit(resource)}"
            yield Row(name, what, _use_cells(old.get((kind, resource)), new.get((kind, resource))))


def _compute(side: Side | None, team: str) -> dict[tuple[str, str], Use]:
    found = side.teams.get(team) if side else None
    return {(kind, resource): use for kind, uses in found.compute.items() for resource, use in uses.items()} if found else {}


def _use_cells(before: Use | None, after: Use | None) -> tuple[Cell, ...]:
    values: Sequence[Callable[[Use], str]] = (
        lambda use: count(use.guarantee_amount),
        lambda use: hours(use.within_guarantee_h),
        lambda use: hours(use.borrowed_h),
        lambda use: hours(use.unused_guarantee_h),
        lambda use: _part_of(use.contested_borrowed_share),
        lambda use: _part_of(use.fair_share),
    )
    return tuple(_cell(value(before) if before else "", value(after) if after else "–") for value in values)


def part_at_once(jobs: Jobs) -> str:
    """Of the jobs that can run, those that were admitted in the tick of their arrival."""
    return percent(jobs.wait.admitted_at_once, jobs.wait.jobs)


def count(number: float) -> str:
    """A number of jobs; medians may be halves."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def hours(number: float) -> str:
    """Accelerator-hours, or vCPU-hours."""
    return f"{number:,.0f} h" if number >= 100 or number == int(number) else f"{number:,.1f} h"


def time(seconds: float | None, *, least: bool = False) -> str:
    """A duration; `least`: it may be longer in truth."""
    return "–" if seconds is None else f"{_LEAST if least else ''}{duration(seconds)}"


def _part_of(share: float | None) -> str:
    return "–" if share is None else percent(share, 1)


@dataclass(frozen=True, slots=True)
class Figure:
    """A column of the table of jobs."""

    column: str
    path: str
    """Where the figure stands, below a team's."""
    form: Callable[[float | None, Jobs], str]

    def of(self, jobs: Jobs) -> float | None:
        """The figure of some jobs."""
        found: float | None = reduce(getattr, self.path.split("."), jobs)  # type: ignore[assignment]
        return found


def _plain(number: float | None, _: Jobs) -> str:
    return count(number or 0)


def _part(number: float | None, jobs: Jobs) -> str:
    return percent(number or 0, jobs.wait.jobs)


def _wait(name: str) -> Callable[[float | None, Jobs], str]:
    return lambda seconds, jobs: time(seconds, least=name in jobs.wait.at_least)


FIGURES = (
    Figure("Jobs", "jobs", _plain),
    Figure("At once", "wait.admitted_at_once", _part),
    *(Figure(f"Wait {name}", f"wait.{name}_s", _wait(f"{name}_s")) for name in ("p50", "p95", "max")),
    Figure("Preempted", "preemptions_suffered", _plain),
    Figure("Preempts", "preemptions_caused", _plain),
    Figure("Waiting", "waiting", _plain),
    Figure("Never", "can_never_run", _plain),
)
JOB_COLUMNS = tuple(figure.column for figure in FIGURES)
