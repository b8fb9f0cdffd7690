"""A simulation on a page: what changes in words, figures, charts, and tables of all teams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from governance.units import CPU, is_device
from reports.html.charts import Bar, Chart, bar_chart
from reports.html.sections import Tile
from reports.html.simcharts import Waits, team_panels, type_panels, waits_chart
from reports.html.simdata import Jobs, Result, Side, Stuck, Use, results
from reports.html.words import duration, percent, unit


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure of a table, on one or both sides."""

    before: str
    """Empty where there is one side only, or both are the same."""
    after: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    name: str
    detail: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """One cluster's simulation."""

    side: Side
    """After the change, or alone."""
    compared: bool
    words: tuple[str, ...]
    tiles: tuple[Tile, ...]
    charts: tuple[Chart, ...]
    before_charts: tuple[Chart, ...]
    """Of the side before, folded away."""
    teams: tuple[Row, ...]
    compute: tuple[Row, ...]
    never: tuple[Stuck, ...]
    waiting: tuple[Stuck, ...]


JOB_COLUMNS = ("Jobs", "At once", "Wait p50", "Wait p95", "Wait max", "Preempted", "Preempts", "Still waiting", "Never run")
USE_COLUMNS = ("Guarantee", "Used of it", "Borrowed", "Unused", "Share of what was contested", "Fair share")


def problem(figures: Any) -> str:
    """Why this is no output of `hpctl simulate --json`; empty where it is."""
    try:
        results(figures)
    except ValueError as error:
        return str(error)
    return ""


def simulation_part(figures: Any) -> list[Part]:
    """What a page shows, by cluster. Raises ValueError as `results` does."""
    return [_part(index, one) for index, one in enumerate(results(figures))]


def _part(index: int, one: Result) -> Part:
    before, after = one.before, one.after
    names = list(dict.fromkeys((*(before.teams if before else ()), *after.teams)))
    pairs = [(name, (before.teams.get(name) if before else None, after.teams.get(name))) for name in names]
    waits = [
        (name, (_waits(old) if old else None, _waits(new) if new else Waits(None, None, None))) for name, (old, new) in pairs
    ]
    when = " after the change" if before else ""
    charts = (
        waits_chart(f"waits{index}", waits),
        _held(f"held{index}", after, f"What the accelerators did{when}"),
        type_panels(f"types{index}", after, f"Usage over time{when}, by instance type"),
        team_panels(f"lines{index}", after, f"Usage over time{when}, by team"),
    )
    earlier = (
        (
            _held(f"held{index}b", before, "What the accelerators did before"),
            type_panels(f"types{index}b", before, "Usage over time before, by instance type"),
            team_panels(f"lines{index}b", before, "Usage over time before, by team"),
        )
        if before
        else ()
    )
    return Part(
        after,
        before is not None,
        one.in_words,
        tuple(_tiles(before, after)),
        tuple(chart for chart in charts if chart),
        tuple(chart for chart in earlier if chart),
        tuple(
            Row(name, "", _job_cells(old, new)) for name, (old, new) in (("all teams", (_overall(before), after.overall)), *pairs)
        ),
        tuple(_uses(names, before, after)),
        after.can_never_run,
        after.waiting_at_end,
    )


def _overall(side: Side | None) -> Jobs | None:
    return side.overall if side else None


def _waits(jobs: Jobs) -> Waits:
    return Waits(jobs.wait.p50_s, jobs.wait.p95_s, jobs.wait.max_s)


def _tiles(before: Side | None, after: Side) -> Iterable[Tile]:
    def tile(name: str, value: Callable[[Side], str], aside: str) -> Tile:
        was = value(before) if before else ""
        return Tile(name, value(after), f"was {was}" if was and was != value(after) else "unchanged" if was else "", aside)

    yield tile("Admitted at once", lambda side: _share(side.overall), "of the jobs that can run")
    yield tile("Wait, p95", lambda side: _time(side.overall.wait.p95_s), "19 of 20 jobs wait no longer")
    yield tile("Preemptions", lambda side: _count(side.overall.preemptions_suffered), "of running jobs for others")
    yield tile("Accelerators used", _used, "of the time of all")
    yield tile("Can never run", lambda side: _count(side.overall.can_never_run), "jobs, whoever else is there")


def _share(jobs: Jobs) -> str:
    return percent(jobs.wait.admitted_at_once, jobs.wait.jobs)


def _used(side: Side) -> str:
    held = [one for kinds in side.compute.values() for resource, one in kinds.items() if is_device(resource)]
    busy = sum(one.within_guarantee_h + one.borrowed_h - one.beyond_capacity_h for one in held)
    return percent(busy, busy + sum(one.idle_h for one in held))


def _job_cells(before: Jobs | None, after: Jobs | None) -> tuple[Cell, ...]:
    values: Sequence[Callable[[Jobs], str]] = (
        lambda jobs: _count(jobs.jobs),
        _share,
        lambda jobs: _time(jobs.wait.p50_s, "p50_s" in jobs.wait.at_least),
        lambda jobs: _time(jobs.wait.p95_s, "p95_s" in jobs.wait.at_least),
        lambda jobs: _time(jobs.wait.max_s, "max_s" in jobs.wait.at_least),
        lambda jobs: _count(jobs.preemptions_suffered),
        lambda jobs: _count(jobs.preemptions_caused),
        lambda jobs: _count(jobs.waiting),
        lambda jobs: _count(jobs.can_never_run),
    )
    return tuple(_cell(value(before) if before else "", value(after) if after else "–") for value in values)


def _cell(before: str, after: str) -> Cell:
    return Cell("" if before == after else before, after)


def _uses(names: Sequence[str], before: Side | None, after: Side) -> Iterable[Row]:
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
        lambda use: _count(use.guarantee_amount),
        lambda use: _hours(use.within_guarantee_h),
        lambda use: _hours(use.borrowed_h),
        lambda use: _hours(use.unused_guarantee_h),
        lambda use: _part_of(use.contested_borrowed_share),
        lambda use: _part_of(use.fair_share),
    )
    return tuple(_cell(value(before) if before else "", value(after) if after else "–") for value in values)


def _held(key: str, side: Side, title: str) -> Chart | None:
    bars = []
    for kind, resources in side.compute.items():
        for resource, one in resources.items():
            whole = one.within_guarantee_h + one.borrowed_h + one.idle_h
            if whole:
                parts = (("own", one.within_guarantee_h / whole), ("borrowed", one.borrowed_h / whole))
                hours = "vCPU-hours" if resource == CPU else f"{unit(resource).removesuffix('s')}-hours"
                used = one.within_guarantee_h + one.borrowed_h
                bars.append(Bar(kind, percent(used, whole), f"{used:,.0f} of {whole:,.0f} {hours}", parts))
    legend = (("own", "within guarantees"), ("borrowed", "borrowed"), ("idle", "idle"))
    words = "; ".join(f"{bar.label}: {bar.value} used" for bar in bars[:8])
    return bar_chart(key, title, words, bars, legend) if bars else None


def _count(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,.1f}"


def _hours(number: float) -> str:
    return f"{number:,.0f} h" if number >= 100 or number == int(number) else f"{number:,.1f} h"


def _time(seconds: float | None, least: bool = False) -> str:
    return "–" if seconds is None else f"{'≥ ' if least else ''}{duration(seconds)}"


def _part_of(share: float | None) -> str:
    return "–" if share is None else percent(share, 1)
