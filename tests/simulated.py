"""Figures of a small simulation, of replays made up by hand: what `hpctl simulate --json` prints."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from html_support import EVIL, planned, project

from governance.units import GPU
from simulation.replay.model import Event, Replay
from simulation.results.compare import compare
from simulation.results.figures import measure
from simulation.results.model import Figures
from simulation.results.spread import as_dict
from simulation.traces.model import Job, Trace

KIND = "ml.p5.48xlarge"
HOUR = 3600
TRACE = Trace(
    "by hand",
    (
        Job("first", "alpha", 0, 2 * HOUR, 2, {GPU: 8}, KIND, "low"),
        Job("second", "beta", HOUR, HOUR, 2, {GPU: 8}, KIND, "high"),
        Job("third", "alpha", HOUR, HOUR, 1, {GPU: 8}, KIND),
        Job("giant", "gamma", HOUR, HOUR, 9, {GPU: 8}, "ml.g6.12xlarge"),
    ),
)


def _figures(wait: int) -> Figures:
    """`third` waits so many seconds; `first` borrows 8 GPUs and gives way to `second` where that wait is long."""
    with tempfile.TemporaryDirectory() as folder:
        _, plan = planned(project(Path(folder)))
    whole = {(plan.clusters["main"].flavors[KIND].name, GPU): 16}
    half = dict.fromkeys(whole, 8)
    events = [
        Event(0, "arrived", "first"),
        Event(0, "admitted", "first", whole),
        *(Event(HOUR, "arrived", name) for name in ("second", "third", "giant")),
        Event(HOUR, "admitted", "second", whole),
        *([Event(HOUR, "preempted", "first", by="second", reason="InCohortReclamation")] if wait > HOUR else []),
        Event(2 * HOUR, "finished", "second"),
        *([] if wait > HOUR else [Event(2 * HOUR, "finished", "first")]),
        Event(HOUR + wait, "admitted", "third", half),
        Event(2 * HOUR + wait, "finished", "third"),
    ]
    replay = Replay(
        "main", tuple(sorted(events, key=lambda one: one.at)), 8 * HOUR, 60, "workloads", "0.16.6", {"first": f"waits {EVIL}"}
    )
    return measure(replay, TRACE, plan.clusters["main"])


def alone() -> dict[str, Any]:
    """One side."""
    found: dict[str, Any] = json.loads(json.dumps(as_dict([_figures(2 * HOUR)])))
    return found


def compared() -> dict[str, Any]:
    """Before, `third` waits two hours and `first` is preempted; after, it waits a minute."""
    found: dict[str, Any] = json.loads(json.dumps(compare([_figures(2 * HOUR)], [_figures(60)]).as_dict()))
    return found
