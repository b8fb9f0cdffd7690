"""One HTML file that stands alone: nothing is fetched, no script runs, and whatever anybody wrote is shown as text."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from config.findings import Severity, printable
from reports.html import sections, words
from reports.html.model import Report
from reports.html.palette import ROLES, variables
from reports.html.simdata import results
from reports.html.simtables import JOB_COLUMNS, USE_COLUMNS
from reports.html.simulation import simulation_part
from reports.html.svg import inline, styles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from jinja2 import Environment

_TEMPLATES: Final = Path(__file__).parent / "templates"
FOLDED_ABOVE: Final = 40
"""Rows of a table from which on it is folded away until somebody opens it; printed it is open."""


def report_page(report: Report) -> str:
    """The page of `hpctl report`."""
    charts = [sections.capacity_chart(report), sections.guarantee_chart(report)]
    usage = [sections.type_usage_chart(report), sections.usage_chart(report)] if report.live else []
    ranks = {severity: rank for rank, severity in enumerate(Severity)}
    return _page(
        "report.html",
        report=report,
        many=len(report.clusters) > 1,
        totals=sections.totals(report),
        tiles=sections.tiles(report),
        capacity_chart=charts[0],
        guarantee_chart=charts[1],
        usage_charts=usage,
        findings=sorted((f for f in report.findings if not f.waived), key=lambda one: ranks[one.severity]),
        waived=[f for f in report.findings if f.waived],
        drawings=[(one, inline(one.svg, f"map{index}", one.title, one.text, {})) for index, one in enumerate(report.drawings)],
        more_style="".join(dict.fromkeys(styles(one.svg) for one in report.drawings)),
        **_simulation(report.simulation, (report.environment, [one.name for one in report.clusters])),
    )


def simulation_page(figures: Mapping[str, Any], made_at: datetime) -> str:
    """The page of `hpctl simulate --html`. `figures`: what its `--json` prints; `made_at` in UTC."""
    compared = any(result.before for result in results(figures))
    heading = "What the change does" if compared else "Who waits, who runs"
    return _page("simulation.html", heading=heading, made_at=made_at, **_simulation(figures))


def _simulation(figures: Mapping[str, Any] | None, report: tuple[str, list[str]] | None = None) -> dict[str, Any]:
    if figures is None:
        return {"simulation": None}
    return {"simulation": simulation_part(figures, report), "job_columns": JOB_COLUMNS, "use_columns": USE_COLUMNS}


def _page(template: str, more_style: str = "", **values: Any) -> str:
    """`more_style` is of drawings; the page's own comes after it, and prevails."""
    style = more_style + _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _environment().get_template(template).render(style=style, digest=digest, folded_above=FOLDED_ABOVE, **values)


@cache
def _style() -> str:
    """The one style sheet, with the colours of both themes."""
    keys = "".join(f".key-{role}{{--key:var(--{role})}}" for role in ROLES)
    text = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    return text.replace("COLOURS", variables()).replace("KEYS", keys)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    made.filters |= {
        "amount": lambda number, resource: words.amount(resource, number),
        "unit": words.unit,
        "duration": words.duration,
        "percent": words.percent,
        "utc": words.utc,
        "plural": words.plural,
    }
    return made


def _visible(value: Any) -> Any:
    """Text without characters that act on the reader's screen: controls, and marks that turn the direction of writing."""
    return printable(value) if type(value) is str else value
