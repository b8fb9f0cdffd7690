"""Charts as inline SVG, each in two widths: for a desk or paper, and for a phone. The page's style sheet shows one of them.

One unit of a drawing is one CSS pixel at its natural width. The same data give the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from config.findings import printable
from reports.html.palette import DRAWN, INKS
from reports.html.svg import inline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE, NARROW = 1000, 340
"""Natural widths in pixels."""
TOP: Final = 15
"""Bars that a chart shows; the table beside it has all."""
_BAR, _STEP_WIDE, _STEP_NARROW = 16, 34, 50
_LABEL, _VALUE = 290, 205
"""Room beside the bars of a wide chart."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart and what goes with it in the page."""

    title: str
    text: str
    """What it shows, for those who can't see it."""
    wide: str
    narrow: str
    legend: tuple[tuple[str, str], ...]
    """Roles of colours, and what they mean."""
    shown: int = 0
    left_out: int = 0
    """Rows that the table alone has."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A horizontal bar of parts that follow each other."""

    label: str
    detail: str
    value: str
    """The amounts in words, at its right."""
    parts: tuple[tuple[str, float], ...]
    """Roles of colours, with shares of the full width."""


def bar_chart(key: str, title: str, text: str, bars: Sequence[Bar], legend: Sequence[tuple[str, str]]) -> Chart:
    """One bar a row, at most TOP of them."""
    shown = bars[:TOP]

    def draw(width: int) -> str:
        wide = width == WIDE
        left, right = (_LABEL, width - _VALUE) if wide else (0, width)
        step = _STEP_WIDE if wide else _STEP_NARROW
        with drawing(width, step * len(shown) + 4) as (axes, done):
            for row, bar in enumerate(shown):
                top = row * step + (4 if wide else 24)
                _bar(axes, bar, left, right, top)
                _words(axes, bar, (left, right, width), top, wide=wide)
            return done(key if wide else f"{key}-n", title, text)

    return Chart(title, text, draw(WIDE), draw(NARROW), tuple(legend), len(shown), len(bars) - len(shown))


def _bar(axes: Axes, bar: Bar, left: float, right: float, top: float) -> None:
    from matplotlib.patches import Rectangle

    scale = right - left - 2
    axes.add_patch(Rectangle((left + 1, top), scale, _BAR, facecolor=DRAWN["idle"], edgecolor=DRAWN["edge"], linewidth=0.8))
    start = left + 1
    for role, share in bar.parts:
        if share <= 0:
            continue
        part = Rectangle((start, top), share * scale, _BAR, linewidth=0, facecolor=DRAWN[role.removesuffix("/")])
        if role.endswith("/"):
            part.set(facecolor=DRAWN["card"], edgecolor=DRAWN[role.removesuffix("/")], hatch="////", linewidth=0.8)
        axes.add_patch(part)
        start += share * scale


def _words(axes: Axes, bar: Bar, place: tuple[float, float, float], top: float, *, wide: bool) -> None:
    left, right, width = place
    line = top + _BAR / 2 if wide else top - 10
    room = 36 if wide else 22
    label = cut(bar.label, room)
    size = 13 if wide else 12
    write(axes, (0, line), label, fontsize=size, fontweight="bold")
    write(axes, (right + 12 if wide else width, line), bar.value, fontsize=size, ha="left" if wide else "right")
    if wide:
        write(axes, (left - 12, line), bar.detail, "muted", fontsize=12, ha="right")


def cut(text: str, room: int) -> str:
    """At most so many characters, the last a sign that more are left out."""
    return text if len(text) <= room else f"{text[: room - 1]}…"


def write(axes: Axes, place: tuple[float, float], text: str, role: str = "ink", **look: Any) -> None:
    """Words as they are, whoever made them up: no formulas, no characters that a drawing can't hold."""
    axes.text(*place, printable(text), color=DRAWN[role], parse_math=False, **{"va": "center_baseline", **look})


class drawing:  # noqa: N801 - reads as a verb where it is used
    """A context: an empty drawing in pixels from the top left, and what turns it into SVG."""

    def __init__(self, width: int, height: int) -> None:
        self._size = (width, height)

    def __enter__(self) -> tuple[Axes, Callable[[str, str, str], str]]:
        figure = blank(*self._size)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, self._size[0])
        axes.set_ylim(self._size[1], 0)
        return axes, lambda key, title, text: finished(figure, key, title, text)

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""


def blank(width: int, height: int) -> Figure:
    """An empty figure of that many pixels."""
    from matplotlib.figure import Figure

    return Figure((width / 72, height / 72), facecolor="none")


def finished(figure: Figure, key: str, title: str, text: str) -> str:
    """The figure as inline SVG."""
    import matplotlib as mpl

    stream = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "hpctl"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return inline(stream.getvalue(), key, title, text, INKS)
