"""Charts of a simulation: usage over time, and how long jobs waited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log1p
from typing import TYPE_CHECKING, Any, Final

from governance.units import CPU
from reports.html.charts import NARROW, TOP, WIDE, Chart, blank, cut, drawing, finished, write
from reports.html.palette import DRAWN
from reports.html.simdata import Line, Side
from reports.html.words import duration, unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS: Final = 12
"""Small charts beside each other; those that are used most."""
_POINTS: Final = 160
"""Moments of a line: what is finer becomes the average between them."""
_MARKS: Final = (60, 300, 900, 3600, 4 * 3600, 12 * 3600, 86_400, 3 * 86_400, 7 * 86_400, 30 * 86_400)
"""Seconds that the scale of waits names."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Waiting times of one team on one side, in seconds; None where no job counts."""

    p50: float | None
    p95: float | None
    most: float | None


@dataclass(frozen=True, slots=True)
class _Panel:
    """Usage over time of one instance type, or of one team on it; in devices or vCPUs."""

    title: str
    resource: str
    own: list[tuple[float, float]]
    """From each moment on, an amount."""
    borrowed: list[tuple[float, float]]
    level: float
    """Capacity, or the guarantee."""

    @property
    def weight(self) -> float:
        return sum(amount * (end - start) for line in (self.own, self.borrowed) for (start, amount), (end, _) in pairwise(line))


def type_panels(key: str, side: Side, title: str) -> Chart | None:
    """How full each instance type was over time."""
    found = []
    for kind, resources in side.compute.items():
        for resource, held in resources.items():
            lines = [line for teams in side.series.use.values() if (line := teams.get(kind, {}).get(resource))]
            if lines:
                own, borrowed = _sum(side, resource, lines)
                found.append(_Panel(kind, resource, own, borrowed, held.capacity_amount))
    legend = (("own", "within guarantees"), ("borrowed", "borrowed"), ("idle", "idle, up to the capacity"))
    return _panels(key, title, found, side.until_s, legend, idle=True)


def team_panels(key: str, side: Side, title: str) -> Chart | None:
    """What each team used over time; those that used most."""
    found = []
    for team, kinds in side.series.use.items():
        for kind, resources in kinds.items():
            for resource, line in resources.items():
                use = side.teams[team].compute.get(kind, {}).get(resource) if team in side.teams else None
                own, borrowed = _sum(side, resource, [line])
                found.append(_Panel(f"{team} · {kind}", resource, own, borrowed, use.guarantee_amount if use else 0))
    legend = (("own", "within the guarantee"), ("borrowed", "borrowed"), ("level", "guarantee"))
    return _panels(key, title, found, side.until_s, legend, idle=False)


def _sum(side: Side, resource: str, lines: Sequence[Line]) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Lines added up and thinned, in devices or vCPUs."""
    scale = 1000 if resource == CPU else 1
    sums = []
    for name in ("within", "borrowed"):
        changes: dict[float, float] = {}
        for line in lines:
            last = 0.0
            for at, amount in zip(line.at_s, getattr(line, name), strict=True):
                changes[at] = changes.get(at, 0) + amount - last
                last = amount
        total, steps = 0.0, [(0.0, 0.0)]
        for at in sorted(changes):
            total += changes[at]
            steps.append((at, total / scale))
        sums.append(thinned(steps, side.until_s))
    return sums[0], sums[1]


def thinned(steps: list[tuple[float, float]], until: float) -> list[tuple[float, float]]:
    """The same line with at most so many moments, ending at `until`; what is finer is averaged, so that areas stay."""
    inside = [(at, amount) for at, amount in steps if at < until] or [(0.0, 0.0)]
    if len(inside) <= _POINTS:
        return [*inside, (until, inside[-1][1])]
    width = until / _POINTS
    areas = [0.0] * _POINTS
    for (start, amount), (end, _) in pairwise([*inside, (until, 0.0)]):
        first, last = int(start / width), min(int(end / width), _POINTS - 1)
        for index in range(first, last + 1):
            areas[index] += amount * max(0.0, min(end, (index + 1) * width) - max(start, index * width))
    found = [(index * width, area / width) for index, area in enumerate(areas)]
    return [*found, (until, found[-1][1])]


def _panels(
    key: str, title: str, panels: list[_Panel], until: float, legend: tuple[tuple[str, str], ...], *, idle: bool
) -> Chart | None:
    shown = sorted(panels, key=lambda one: (-one.weight, one.title))[:PANELS]
    if not shown or until <= 0:
        return None
    text = f"{len(shown)} small charts over {duration(until)} of the trace: {', '.join(panel.title for panel in shown)}"
    drawn = []
    for width, name in ((WIDE, key), (NARROW, f"{key}-n")):
        columns = min(3, len(shown)) if width == WIDE else 1
        rows = -(-len(shown) // columns)
        figure = blank(width, rows * 150 + 6)
        for index, panel in enumerate(shown):
            axes = _place(figure, width, rows * 150 + 6, columns, index)
            _draw(axes, panel, until, idle=idle)
        drawn.append(finished(figure, name, title, text))
    return Chart(title, text, drawn[0], drawn[1], legend, len(shown), len(panels) - len(shown))


def _place(figure: Figure, width: int, height: int, columns: int, index: int) -> Axes:
    column, row = index % columns, index // columns
    each, left, top, gap = width / columns, 40, 26, 18
    box = (column * each + left) / width, 1 - (row * 150 + 124) / height, (each - left - gap) / width, (124 - top) / height
    return figure.add_axes(box)


def _draw(axes: Axes, panel: _Panel, until: float, *, idle: bool) -> None:
    moments = sorted({at for at, _ in (*panel.own, *panel.borrowed)})
    own, borrowed = list(_at(panel.own, moments)), list(_at(panel.borrowed, moments))
    both = [one + other for one, other in zip(own, borrowed, strict=True)]
    top = max([panel.level, *both]) or 1
    if idle:
        axes.fill_between([0, until], 0, panel.level, color=DRAWN["idle"], linewidth=0)
    axes.fill_between(moments, own, both, step="post", color=DRAWN["borrowed"], linewidth=0)
    axes.fill_between(moments, 0, own, step="post", color=DRAWN["own"], linewidth=0)
    if panel.level:
        axes.plot([0, until], [panel.level] * 2, color=DRAWN["ink"], linewidth=1, linestyle=(0, (4, 3)))
    axes.patch.set_visible(False)
    axes.set_xlim(0, until)
    axes.set_ylim(0, top * 1.06)
    axes.set_yticks([0, top], ["0", f"{top:,.4g}"])
    axes.set_xticks([0, until / 2, until], ["0", duration(until / 2), duration(until)])
    first, _, last = axes.get_xticklabels()
    first.set_horizontalalignment("left")
    last.set_horizontalalignment("right")
    axes.tick_params(colors=DRAWN["muted"], labelsize=11, length=0, pad=4)
    for name, spine in axes.spines.items():
        spine.set(visible=name == "bottom", color=DRAWN["edge"], linewidth=0.8)
    look: dict[str, Any] = {"transform": axes.transAxes, "va": "bottom"}
    write(axes, (0, 1.04), cut(panel.title, 34), fontsize=12, fontweight="bold", **look)
    write(axes, (1, 1.04), unit(panel.resource), "muted", fontsize=11, ha="right", **look)


def _at(line: list[tuple[float, float]], moments: Sequence[float]) -> Iterator[float]:
    index, amount = 0, 0.0
    for moment in moments:
        while index < len(line) and line[index][0] <= moment:
            amount, index = line[index][1], index + 1
        yield amount


def waits_chart(key: str, rows: Sequence[tuple[str, tuple[Waits | None, Waits]]]) -> Chart | None:
    """By team: half of the jobs waited no longer than the dot, 95 % no longer than the bar, none longer than the line."""
    known = [row for row in rows if any(one and one.p95 is not None for one in row[1])]
    if not known:
        return None
    known.sort(key=lambda row: (-max(one.p95 or 0 for one in row[1] if one), row[0]))
    shown, compared = known[:TOP], any(before for _, (before, _) in known)
    longest = max([60.0, *(one.most or 0 for _, pair in shown for one in pair if one)])
    text = "; ".join(f"{team}: {_words(pair)}" for team, pair in shown[:8])
    step = 52 if compared else 36
    drawn = []
    for width, name in ((WIDE, key), (NARROW, f"{key}-n")):
        wide = width == WIDE
        left, right, each = (190, width - 150, step) if wide else (5, width - 2, step + 20)
        with drawing(width, each * len(shown) + 28) as (axes, done):
            _scale(axes, left, right, (each * len(shown) + 28, longest), every=1 if wide else 3)
            for index, (team, pair) in enumerate(shown):
                _row(axes, team, pair, (left, right, width), (28 + index * each, longest))
            drawn.append(done(name, "Waiting times by team", text))
    legend = ((("before", "before"),) if compared else ()) + (("after", "after" if compared else "waiting times"),)
    return Chart("Waiting times by team", text, drawn[0], drawn[1], legend, len(shown), len(known) - len(shown))


def _x(seconds: float, left: float, right: float, longest: float) -> float:
    """Logarithmic from a minute on: minutes and days side by side."""
    return left + (right - left) * log1p(seconds / 60) / log1p(longest / 60)


def _scale(axes: Axes, left: float, right: float, size: tuple[float, float], every: int) -> None:
    bottom, longest = size
    marks = [0, *(mark for mark in _MARKS if mark <= longest)]
    for index, mark in enumerate(marks):
        x = _x(mark, left, right, longest)
        axes.plot([x, x], [20, bottom], color=DRAWN["line"], linewidth=1)
        if index % every == 0 and x < right - 18:
            write(axes, (x, 10), duration(mark) if mark else "0", "muted", fontsize=11, ha="center" if mark else "left")


def _row(
    axes: Axes, team: str, pair: tuple[Waits | None, Waits], place: tuple[float, float, float], at: tuple[float, float]
) -> None:
    left, right, width = place
    (top, longest), wide = at, width == WIDE
    sides = [(role, one) for role, one in zip(("before", "after"), pair, strict=True) if one]
    middle = top + 8 * len(sides) + 6 if wide else top + 8
    write(axes, (0, middle), cut(team, 22), fontsize=13 if wide else 12, fontweight="bold")
    write(axes, (width, middle), f"p95 {_words(pair)}", fontsize=12, ha="right")
    for index, (role, one) in enumerate(sides):
        y = top + 14 + index * 16 + (0 if wide else 18)
        if one.p95 is None:
            continue
        start, far = (_x(value or 0, left, right, longest) for value in (one.p50, one.most))
        end = _x(one.p95, left, right, longest)
        axes.plot([left, far], [y, y], color=DRAWN[role], linewidth=1.2)
        axes.plot([left, end], [y, y], color=DRAWN[role], linewidth=9, solid_capstyle="butt")
        axes.plot([far, far], [y - 4, y + 4], color=DRAWN[role], linewidth=1.2)
        axes.plot([start], [y], marker="o", markersize=8, color=DRAWN["card"], markeredgecolor=DRAWN["ink"], linewidth=0)


def _words(pair: tuple[Waits | None, Waits]) -> str:
    return " → ".join("–" if one.p95 is None else duration(one.p95) for one in pair if one)
