"""A simulation for the terminal, and as data.

`renderables(runs, told)` and `comparison_renderables(comparison, told)` give tables and lines of text, `as_dict` and
`comparison_as_dict` one JSON document; `about(…)` says in sentences what decided, and what the figures are worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from reports.simulationtables import comparison_sections, sections
from simulation.results import spread
from simulation.results.compare import Comparison, duration
from simulation.results.model import Runs
from simulation.traces.model import Trace

if TYPE_CHECKING:
    from rich.console import RenderableType


def about(runs: Runs, trace: Trace, backend: str) -> list[str]:
    """What was replayed, who decided, and what the figures are worth: a sentence each."""
    first = runs[0]
    ended = max(figures.until for figures in runs)
    times = "once" if len(runs) == 1 else f"{len(runs)} times"
    seed = "" if trace.seed is None else f", seed {trace.seed}"
    what = {
        "workloads": "on Workload objects alone, without pods",
        "pods": "on Jobs whose pods are placed on fake nodes",
    }[first.fidelity]
    jobs = f"{len(trace.jobs):,} jobs of {trace.source}{seed} over {duration(ended)}"
    told = [f"{jobs}, replayed {times} in ticks of {duration(first.tick)}; Kueue {first.kueue} decided {what}."]
    if not all(figures.complete for figures in runs):
        told.append(f"Interrupted: the result is partial, and holds up to {duration(min(figures.until for figures in runs))}.")
    if circles := sorted({job for figures in runs for job in figures.circles}):
        some = ", ".join(circles[:3]) + (", …" if len(circles) > 3 else "")
        told.append(f"Kueue preempted in a circle without end around {some}: such a job sits out the rest of the tick.")
    if backend == "managed":
        told.append(
            "Under AWS's task governance another Kueue decides, whose objects AWS makes: this one with the same plan is the "
            "nearest model."
        )
    told.append(
        "What arrives or ends within a tick is applied together, in no order; "
        + (
            "of one run, nobody sees how much that matters."
            if len(runs) == 1
            else "figures in brackets are the least and the most."
        )
    )
    return [*told, *(f"{note[:1].upper()}{note[1:]}." for note in trace.notes)]


def as_dict(
    runs: Runs, trace: Trace, backend: str, environment: str = "", *, side: str = "", interrupted: bool = False
) -> dict[str, Any]:
    """One simulation, JSON-ready; also what an interrupted comparison leaves of one side.

    `side`: a revision, or the working tree; `interrupted`: whether the whole was, even where this side's figures are complete.
    """
    return {
        **_head(runs, trace, backend, environment, interrupted=interrupted),
        "side": side,
        **spread.as_dict(runs),
    }


def comparison_as_dict(
    found: Comparison,
    trace: Trace,
    backend: str,
    environment: str = "",
    *,
    sides: Sequence[str] = ("", ""),
    interrupted: bool = False,
) -> dict[str, Any]:
    """Two sides and what changes, JSON-ready. `backend`: the one after the change; `sides`: names of before and after."""
    data = found.as_dict()
    named = {key: {"side": name, **data[key]} for key, name in zip(("before", "after"), sides, strict=True)}
    return {**_head(found.after, trace, backend, environment, interrupted=interrupted), **data, **named}


def renderables(runs: Runs, told: Sequence[str]) -> Iterator[RenderableType]:
    """Lines and tables. `told`: what `about` says."""
    from reports.diff import table

    yield from _lines(told)
    for section in sections(runs):
        yield table(section)


def comparison_renderables(found: Comparison, told: Sequence[str]) -> Iterator[RenderableType]:
    """What changes, in words first."""
    from rich.text import Text

    from reports.diff import table

    yield from _lines(told)
    for sentence in found.sentences:
        yield Text(f"• {sentence}", style="bold")
    for section in comparison_sections(found):
        yield table(section)


def _lines(told: Sequence[str]) -> Iterator[RenderableType]:
    from rich.text import Text

    yield from (Text(line) for line in told)
    yield Text("")


def _head(runs: Runs, trace: Trace, backend: str, environment: str, *, interrupted: bool) -> dict[str, Any]:
    return {
        "environment": environment,
        "interrupted": interrupted,
        "trace": _trace(trace),
        **_model(backend),
        "about": about(runs, trace, backend),
    }


def _trace(trace: Trace) -> dict[str, Any]:
    return {
        "source": trace.source,
        "jobs": len(trace.jobs),
        "until_s": trace.until,
        "seed": trace.seed,
        "notes": list(trace.notes),
    }


def _model(backend: str) -> dict[str, str]:
    """Whether the Kueue that decided is the environment's own kind."""
    return {"backend": backend, "model": "nearest" if backend == "managed" else "same"}
