"""A whole simulation: a trace, replayed several times on one plan, or on those before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from config.findings import ConfigError, Where, problem_at
from governance.model import ClusterPlan
from simulation.replay.model import Fidelity, Replay, Settings
from simulation.replay.stage import Interrupted, Stage
from simulation.results.figures import measure
from simulation.results.model import Figures
from simulation.traces.model import Trace
from simulation.traces.sides import submittable

TICKS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""Seconds of the ticks that are chosen among."""
_ARRIVALS: Final = 150
"""Ticks with arrivals that a trace may have by default: each takes up to a second."""


class Progress(Protocol):
    """Where progress is shown."""

    def step(self, text: str) -> None: ...
    def update(self, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Options:
    """How to simulate."""

    runs: int = 3
    """How often each side is replayed, from 1."""
    tick: int | None = None
    """Seconds, from 1; None: as the trace allows, see `tick_of`."""
    until: int | None = None
    """Seconds of the trace's time; None: as the trace says."""
    fidelity: Fidelity = "workloads"


@dataclass(frozen=True, slots=True)
class Side:
    """What is simulated."""

    name: str
    """For the reader: a git revision, or `the working tree`."""
    plan: ClusterPlan


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of it."""

    sides: tuple[tuple[Figures, ...], ...]
    """By side, the figures of its runs; a side that an interruption left without any is missing."""
    trace: Trace
    """What was replayed: without the jobs that arrive after its end."""
    complete: bool


def tick_of(trace: Trace) -> int:
    """The shortest tick with which the trace arrives in at most 150 ticks, of those from a second to an hour."""
    arrivals = {job.arrives for job in trace.jobs}
    return next((tick for tick in TICKS if len({at // tick for at in arrivals}) <= _ARRIVALS), TICKS[-1])


def simulate(sides: Sequence[Side], trace: Trace, options: Options, progress: Progress) -> Simulated:
    """Replay the trace on each side. An interruption ends it with what there is, the last run in part.

    Raises ConfigError where there is nothing to replay, SandboxError where a sandbox fails.
    """
    trace = trace.ending(options.until)
    if not trace.jobs:
        where = Where(trace.source if options.until is None else "--until")
        raise ConfigError([problem_at("jobs-none", where, "no job arrives before the trace's end", "replay for longer")])
    tick = options.tick or tick_of(trace)
    done = _Done(trace, [])
    try:
        for side in sides:
            done.begin()
            jobs = submittable(trace, side.plan).jobs
            with Stage(side.plan, f"side-{len(done.figures)}", options.fidelity, progress) as stage:
                progress.step(_title(side, sides, options.runs))
                for run in range(options.runs):
                    try:
                        told = partial(_tell, progress, run, options.runs)
                        replay = stage.run(jobs, Settings(tick, trace.until), told)
                    except Interrupted as interrupted:
                        done.add(interrupted.replay, side)
                        raise
                    done.add(replay, side)
    except KeyboardInterrupt:
        if not any(done.figures):
            raise
        return done.result(complete=False)
    return done.result(complete=True)


def _title(side: Side, sides: Sequence[Side], runs: int) -> str:
    which = f" on {side.name}" if len(sides) > 1 else ""
    return f"replaying{which}" + (f", {runs} runs" if runs > 1 else "")


def _tell(progress: Progress, run: int, runs: int, done: int, total: int) -> None:
    """How far all runs of a side are together."""
    progress.update(run * total + done, runs * total)


@dataclass(slots=True)
class _Done:
    trace: Trace
    figures: list[list[Figures]]

    def begin(self) -> None:
        self.figures.append([])

    def add(self, replay: Replay, side: Side) -> None:
        self.figures[-1].append(measure(replay, self.trace, side.plan))

    def result(self, *, complete: bool) -> Simulated:
        return Simulated(tuple(tuple(runs) for runs in self.figures if runs), self.trace, complete)
