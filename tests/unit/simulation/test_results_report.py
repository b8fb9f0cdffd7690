"""Simulations for the reader: tables, sentences, JSON."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from replays import G5, admitted, cluster_of, job, replay, trace_of
from rich.console import Console, RenderableType

from governance.model import ClusterPlan
from reports.simulation import about, as_dict, comparison_as_dict, comparison_renderables, renderables
from reports.simulationtables import sections
from simulation.replay.model import Event
from simulation.results.compare import compare
from simulation.results.figures import measure
from simulation.results.model import Figures

HOUR = 3600
RUNS, WAITS, NEVER = job("runs", "nlp"), job("waits", "vision", pods=2), job("never", "vision", pods=9)
TRACE = replace(trace_of(RUNS, WAITS, NEVER), seed=4, notes=("something was assumed",))


@pytest.fixture(scope="module")
def plan() -> ClusterPlan:
    return cluster_of({"nlp": {"quota": {G5: {"instances": 1}}}, "vision": {"quota": {G5: {"instances": 2}}}}, {G5: 3})


def figures(plan: ClusterPlan, wait: int = 600, **other: Any) -> Figures:
    events = [
        *(Event(0, "arrived", name) for name in ("runs", "waits", "never")),
        admitted(0, RUNS),
        Event(wait, "preempted", "runs", by="waits", reason="InCohortReclamation"),
        admitted(wait, WAITS),
    ]
    words = {"runs": "insufficient unused quota"}
    return measure(replay(events, 2 * HOUR, waiting=words, **other), TRACE, plan)


def text(parts: Any) -> str:
    console = Console(file=io.StringIO(), width=200, no_color=True)
    for part in parts:
        one: RenderableType = part
        console.print(one)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def row(lines: str, *begin: str) -> list[str]:
    """The cells of the first line that begins with these words."""
    (line, *_) = [line for line in lines.splitlines() if line.split()[: len(begin)] == list(begin)]
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_tables_tell_what_the_runs_show(plan: ClusterPlan) -> None:
    runs = [figures(plan), figures(plan, wait=1200)]
    shown = text(renderables(runs, about(runs, TRACE, "kueue")))
    assert row(shown, "nlp") == ["nlp", "1", "1", "0s", "0s", "0s", "0", "0", "1", "0", "1", "0", "1 (0.7–1.3)"]
    assert row(shown, "vision")[:5] == ["vision", "2", "0", "15m (10m–20m)", "15m (10m–20m)"]
    assert row(shown, "all", "teams")[:3] == ["all teams", "3", "1"]
    assert row(shown, "vision", "nlp", "InCohortReclamation")[-1] == "1"
    assert "it asks for 36 nvidia.com/gpu on ml.g5.12xlarge; with all others idle team vision can have 12" in shown
    assert row(shown, "nlp", "1", "runs") == ["nlp", "1", "runs", "insufficient unused quota"]


def test_a_wait_that_is_not_over_is_at_least_so_long(plan: ClusterPlan) -> None:
    one = measure(replay([Event(0, "arrived", "runs")], HOUR), trace_of(RUNS), plan)
    assert row(text(renderables([one], [])), "nlp")[3:6] == ["≥ 1h", "≥ 1h", "≥ 1h"]


def test_what_the_figures_are_worth_is_said(plan: ClusterPlan) -> None:
    told = about([figures(plan), figures(plan)], TRACE, "kueue")
    assert told[0] == (
        "3 jobs of by hand, seed 4 over 2 h, replayed 2 times in ticks of 1 min; Kueue 0.16.6 decided on Workload objects alone, "
        "without pods."
    )
    assert "in no order" in told[1]
    assert told[-1] == "Something was assumed."
    assert not any("AWS" in line or "partial" in line for line in told)
    assert any("nearest model" in line for line in about([figures(plan)], TRACE, "managed"))
    assert not any("circle" in line for line in told)
    circling = [replace(figures(plan), circles=("a", "b")), replace(figures(plan), circles=("b", "c", "d"))]
    assert any("in a circle without end around a, b, c, …" in line for line in about(circling, TRACE, "kueue"))
    cut = about([figures(plan, complete=False)], TRACE, "kueue")
    assert "Interrupted: the result is partial, and holds up to 2 h." in cut


def test_data_has_everything_and_its_units(plan: ClusterPlan) -> None:
    data = as_dict([figures(plan)], TRACE, "managed")
    assert json.loads(json.dumps(data)) == data
    assert (data["backend"], data["model"], data["kueue"], data["complete"]) == ("managed", "nearest", "0.16.6", True)
    assert data["trace"] == {"source": "by hand", "jobs": 3, "until_s": None, "seed": 4, "notes": ["something was assumed"]}
    assert data["teams"]["vision"]["wait"]["p95_s"] == 600
    assert data["can_never_run"][0]["job"] == "never"
    assert data["waiting_at_end"] == [{"job": "runs", "team": "nlp", "why": "insufficient unused quota", "since_s": 600}]
    assert data["series"]["use"]["nlp"][G5]["nvidia.com/gpu"] == {"at_s": [0, 600], "within": [4, 0], "borrowed": [0, 0]}
    endings = [ending for ending in data["units"] if ending.startswith("_")]

    def named(part: Any, key: str = "") -> None:
        for name, value in part.items() if isinstance(part, dict) else ():
            if isinstance(value, dict):
                named(value, name)
            elif isinstance(value, float):
                # Whatever isn't a whole number has a unit by its name, or by that of the map it stands in.
                assert name.endswith(tuple(endings)) or key.endswith(tuple(endings)), name

    named({key: data[key] for key in ("overall", "teams", "priority_classes", "compute")})


def test_data_name_environment_and_side_in_both_forms(plan: ClusterPlan) -> None:
    left = as_dict([figures(plan)], TRACE, "kueue", "prod", side="v1", interrupted=True)
    assert (left["environment"], left["side"], left["interrupted"], left["complete"]) == ("prod", "v1", True, True)
    both = compare([figures(plan)], [figures(plan, wait=1800)])
    data = comparison_as_dict(both, TRACE, "kueue", "prod", sides=("v1", "here"))
    assert (data["environment"], data["interrupted"]) == ("prod", False)
    assert (data["before"]["side"], data["after"]["side"]) == ("v1", "here")
    assert {key: left[key] for key in data["before"]} == data["before"], "one side alone has what it has beside another"


def test_a_comparison_says_it_in_words_first(plan: ClusterPlan) -> None:
    found = compare([figures(plan)], [figures(plan, wait=1800)])
    lines = text(comparison_renderables(found, ["About."])).splitlines()
    assert lines[0] == "About."
    assert lines[2] == "• vision waits 20 min more at p95 (10 min → 30 min)."
    table = "\n".join(lines)
    assert row(table, "waits,", "p95") == ["waits, p95", "10m", "30m", "+20m"]
    data = comparison_as_dict(found, TRACE, "kueue")
    assert data["in_words"][0] == lines[2].removeprefix("• ")
    assert (data["before"]["overall"]["wait"]["p95_s"], data["after"]["overall"]["wait"]["p95_s"]) == (600, 1800)
    change = next(one for one in data["changes"] if one["figure"] == "teams.vision.wait.p95_s")
    assert change == {"figure": change["figure"], "before": 600, "after": 1800, "change": 1200, "beyond_spread": True}


def test_sections_fit_their_columns(plan: ClusterPlan) -> None:
    for section in sections([figures(plan), figures(plan, wait=60)]):
        assert section.rows
        assert all(len(line) == len(section.columns) for line in section.rows)
        assert section.numeric <= set(section.columns)
