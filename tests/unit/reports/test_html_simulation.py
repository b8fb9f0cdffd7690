"""A simulation's page and charts: figures on both sides, averages that keep areas, files that are something else."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import pytest
from html_support import EVIL, NOW
from hypothesis import given
from hypothesis import strategies as st
from simulated import alone, compared

from reports.html.charts import Bar, bar_chart
from reports.html.page import simulation_page
from reports.html.simcharts import thinned
from reports.html.simulation import misfit, simulation_part
from reports.html.svg import inline, styles


def test_both_sides_stand_beside_each_other() -> None:
    (part,) = simulation_part(compared())
    assert part.compared
    assert part.words
    tiles = {tile.name: (tile.figure, tile.of) for tile in part.tiles}
    assert tiles["Preemptions"] == ("0", "was 1")
    assert tiles["Can never run"] == ("1", "unchanged")
    rows = {row.name: row.cells for row in part.teams}
    wait = rows["alpha"][4]
    assert (wait.before, wait.after) == ("2h", "1m"), "the longest wait"
    assert rows["beta"][1].before == "", "what is the same is told once"
    (use,) = [row for row in part.compute if (row.name, row.detail) == ("alpha", "ml.p5.48xlarge, GPUs")]
    assert use.cells[0].after == "8"
    page = simulation_page(compared(), NOW)
    assert "What the change does" in page
    assert "The same charts before the change" in page
    assert "was 2h" in page


def test_one_side_alone_has_no_before() -> None:
    (part,) = simulation_part(alone())
    assert not part.compared
    assert part.before_charts == ()
    assert all(not cell.before for row in (*part.teams, *part.compute) for cell in row.cells)
    page = simulation_page(alone(), NOW)
    assert "Who waits, who runs" in page
    assert "alert(1)" in page, "Kueue's word on the job that waits"
    assert "<script" not in page
    assert EVIL not in page
    assert "<b>Interrupted:</b>" not in page


def test_an_interrupted_one_says_so() -> None:
    found = alone() | {"complete": False}
    assert "<b>Interrupted:</b>" in simulation_page(found, NOW)
    page = simulation_page(alone() | {"interrupted": True, "side": "v1.2", "environment": "prod"}, NOW)
    assert "<b>Interrupted:</b> not all was replayed; these are 1 run of v1.2 alone." in page
    assert "environment <b>prod</b>" in page
    assert "<b>Interrupted:</b>" not in simulation_page(compared() | {"interrupted": False}, NOW)


def _without(*path: str) -> Any:
    found = copy.deepcopy(alone())
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    return found


def _all_numbers(number: float, data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _all_numbers(number, value) for key, value in data.items()}
    if isinstance(data, list):
        return [_all_numbers(number, value) for value in data]
    return number if isinstance(data, int | float) and not isinstance(data, bool) else data


@pytest.mark.parametrize("number", [0, 5e-324, 1e15])
def test_what_is_taken_for_a_simulation_can_be_drawn(number: float) -> None:
    for found in (_all_numbers(number, compared()), alone() | {"until_s": number}):
        assert misfit(found) == ""
        assert "alpha" in simulation_page(found, NOW)


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ([], "no JSON object"),
        ({"clusters": []}, "no cluster"),
        (_without("overall"), "overall: Field required"),
        (_without("teams", "alpha", "wait"), "teams.alpha.wait: Field required"),
        (alone() | {"until_s": float("nan")}, "until_s: "),
        (alone() | {"tick_s": -1}, "tick_s: "),
        (alone() | {"series": {"use": {"a": {"b": {"c": {"at_s": [1], "within": [], "borrowed": [1]}}}}}}, "not equally long"),
        (alone() | {"series": {"use": {"a": {"b": {"c": {"at_s": [2, 1], "within": [1, 1], "borrowed": [1, 1]}}}}}}, "ascend"),
        (compared() | {"after": 1}, "after: "),
        (alone() | {"until_s": 1e308}, "until_s: Input should be less than or equal to"),
        (_all_numbers(1e16, compared()), "before.tick_s: "),
    ],
)
def test_what_is_no_simulation_is_named(figures: Any, words: str) -> None:
    assert words in misfit(figures)


def test_a_simulation_has_no_problem() -> None:
    assert misfit(alone()) == ""
    assert misfit(compared()) == ""
    assert misfit({"clusters": {"main": alone(), "other": compared()}}) == ""


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 300)), max_size=400), st.integers(5001, 9000))
def test_a_thinned_line_keeps_its_area(found: list[tuple[int, int]], until: int) -> None:
    line = [(0.0, 0.0), *sorted({float(at): float(amount) for at, amount in found}.items())]
    thin = thinned(line, until)

    def area(of: list[tuple[float, float]]) -> float:
        return sum(amount * (end - start) for (start, amount), (end, _) in pairwise(of))

    assert area(thin) == pytest.approx(area([*line, (float(until), 0.0)]))
    assert len(thin) <= 162
    assert thin[-1][0] == until


def test_a_chart_takes_any_words() -> None:
    bars = [Bar(f"$\\frac{{1}}$ {EVIL}", "a & b", "<1>", (("own", 0.5), ("borrowed/", 0.25)))]
    chart = bar_chart("key", EVIL, EVIL, bars, [])
    for drawn in (chart.wide, chart.narrow):
        assert "$\\frac{1}$" in drawn, "no formula"
        assert "<script" not in drawn
        assert "\x1b" not in drawn
        assert "var(--own)" in drawn
        assert "#0101" not in drawn, "every colour has become a role"
        assert "style=" not in drawn


def test_a_drawings_styles_become_attributes_or_the_pages() -> None:
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" class="map" viewBox="0 0 10 10"><style>.a{fill:red}</style><title>old</title>'
        '<defs><path id="used" d="M 0.123456 0"/><path id="idle" d="M 0 0"/></defs>'
        '<g class="a"><title>kept</title><rect style="fill: #010203; stroke-width: 1" clip-path="url(#used)"/></g></svg>'
    )
    assert styles(svg) == ".a{fill:red}"
    found = inline(svg, "k", "new", "words", {"#010203": "own"})
    assert "<style" not in found
    assert 'class="chart map"' in found
    assert '<title id="k-t">new</title><desc id="k-d">words</desc>' in found
    assert "<title>kept</title>" in found
    assert "old" not in found
    assert 'fill="var(--own)"' in found
    assert 'id="k-used"' in found
    assert "url(#k-used)" in found
    assert "idle" not in found
    assert "M 0.1 0" in found
