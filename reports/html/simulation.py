"""A simulation on a page: what changes in words, figures, charts, and tables of all teams."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from config.findings import printable
from governance.units import CPU, is_device
from reports.html.charts import Bar, Chart, bar_chart
from reports.html.sections import Tile
from reports.html.simcharts import Waits, team_panels, type_panels, waits_chart
from reports.html.simdata import Jobs, Result, Side, Stuck, results
from reports.html.simtables import Row, count, job_rows, part_at_once, time, use_rows
from reports.html.words import percent, unit


@dataclass(frozen=True, slots=True)
class Part:
    """One cluster's simulation."""

    side: Side
    """After the change, or alone."""
    compared: bool
    words: tuple[str, ...]
    about: tuple[str, ...]
    tiles: tuple[Tile, ...]
    charts: tuple[Chart, ...]
    before_charts: tuple[Chart, ...]
    """Of the side before, folded away."""
    teams: tuple[Row, ...]
    compute: tuple[Row, ...]
    never: tuple[Stuck, ...]
    waiting: tuple[Stuck, ...]
    environment: str
    """Empty where the file doesn't say."""
    cut: bool
    """Whether an interruption left fewer runs or sides than were asked for, each in full."""
    foreign: str
    """Where it stands on a report on something else: that it does; empty otherwise."""


def misfit(figures: Any) -> str:
    """Why this is no output of `hpctl simulate --json`; empty where it is."""
    try:
        results(figures)
    except ValueError as error:
        return str(error)
    return ""


def simulation_part(figures: Any, report: tuple[str, Collection[str]] | None = None) -> list[Part]:
    """What a page shows, by cluster. `report`: the environment and clusters of the page. Raises ValueError as `results` does."""
    return [_cluster(index, one, _foreign(one, *report) if report else "") for index, one in enumerate(results(figures))]


def foreign(figures: Any, environment: str, clusters: Collection[str]) -> list[str]:
    """Sentences on simulations of another environment, or of a cluster that a report on these doesn't show."""
    return [printable(said) for one in results(figures) if (said := _foreign(one, environment, clusters))]


def _foreign(one: Result, environment: str, clusters: Collection[str]) -> str:
    if one.environment and one.environment != environment:
        of = f"environment {one.environment}, cluster {one.after.cluster}"
        return f"the simulation is of {of}; this report is on {environment}."
    if one.after.cluster not in clusters:
        return f"the simulation is of cluster {one.after.cluster}; this report is on {environment}: {', '.join(clusters)}."
    return ""


def _cluster(index: int, one: Result, elsewhere: str) -> Part:
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
        one.about,
        tuple(_tiles(before, after)),
        tuple(chart for chart in charts if chart),
        tuple(chart for chart in earlier if chart),
        tuple(job_rows((("all teams", (before.overall if before else None, after.overall)), *pairs), after)),
        tuple(use_rows(names, before, after)),
        after.can_never_run,
        after.waiting_at_end,
        one.environment,
        one.interrupted and after.complete,
        elsewhere,
    )


def _waits(jobs: Jobs) -> Waits:
    return Waits(jobs.wait.p50_s, jobs.wait.p95_s, jobs.wait.max_s)


def _tiles(before: Side | None, after: Side) -> Iterable[Tile]:
    def tile(name: str, value: Callable[[Side], str], aside: str) -> Tile:
        was = value(before) if before else ""
        return Tile(name, value(after), f"was {was}" if was and was != value(after) else "unchanged" if was else "", aside)

    yield tile("Admitted at once", lambda side: part_at_once(side.overall), "of the jobs that can run")
    yield tile(
        "Wait, p95",
        lambda side: time(side.overall.wait.p95_s, least="p95_s" in side.overall.wait.at_least),
        "19 of 20 jobs wait no longer",
    )
    yield tile("Preemptions", lambda side: count(side.overall.preemptions_suffered), "of running jobs for others")
    yield tile("Accelerators used", _used, "of the time of all")
    yield tile("Can never run", lambda side: count(side.overall.can_never_run), "jobs, whoever else is there")


def _used(side: Side) -> str:
    held = [one for kinds in side.compute.values() for resource, one in kinds.items() if is_device(resource)]
    busy = sum(one.within_guarantee_h + one.borrowed_h - one.beyond_capacity_h for one in held)
    return percent(busy, busy + sum(one.idle_h for one in held))


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
