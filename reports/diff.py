"""A comparison for the terminal, as data, and as Markdown for a pull request's comment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from config.findings import Finding
from governance.promotion.projects import EnvironmentDiff
from reports.difftables import Section, headline, sections

if TYPE_CHECKING:
    from rich.console import RenderableType

_ROWS = 60
"""Rows of a table in a comment; a change that touches everybody has more."""
_PLAIN = re.compile(r"[A-Za-z0-9 .,:;/%+()×–−→'-]*\Z")
"""Text in which Markdown, HTML and GitHub see nothing of theirs."""


def as_dict(before: str, after: str, diffs: Sequence[EnvironmentDiff], *, as_of: date | None = None) -> dict[str, Any]:
    """The whole comparison, JSON-ready; amounts are Kubernetes quantities. `as_of`: see `base_day`."""
    return {
        "before": before,
        **({"before_as_of": as_of.isoformat()} if as_of else {}),
        "after": after,
        "differs": any(diff.differs for diff in diffs),
        "environments": [diff.as_dict() for diff in diffs],
    }


def base_day(base: str, as_of: date) -> str:
    """The day that the base's dates are held against, in a sentence."""
    return f"The base {base} is as of {as_of}, the day of its commit: what has ended since then counts as a change."


def renderables(diff: EnvironmentDiff, *, every: bool) -> Iterator[RenderableType]:
    """Tables and lines for a terminal."""
    from rich.text import Text

    yield Text(headline(diff), style="bold")
    if diff.comparison is None:
        return
    for section in sections(diff.comparison, every=every):
        yield table(section)


def table(section: Section) -> RenderableType:
    """A section for a terminal."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(
        title=section.title,
        title_justify="left",
        title_style="bold red" if section.urgent else "bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    for name in section.columns:
        made.add_column(name, justify="right" if name in section.numeric else "left", overflow="fold")
    last: tuple[str, ...] = ()
    for row in section.rows:
        cells = [Text(cell, style=_style(name, cell)) for name, cell in zip(section.columns, row, strict=True)]
        for index in range(min(2, len(row) - 2)):  # what a row shares with the one above is said once
            if row[: index + 1] == last[: index + 1]:
                cells[index] = Text("")
        made.add_row(*cells)
        last = row
    return made


def _style(column: str, cell: str) -> str:
    if column == "change":
        return "green" if cell.startswith("+") else "red"
    return "yellow" if column == "above capacity" else ""


def markdown(before: str, after: str, diffs: Sequence[EnvironmentDiff], *, every: bool = False, as_of: date | None = None) -> str:
    """A summary line for each environment, and its tables folded away; what is destroyed or can't be done stands open."""
    lines = [f"### What changes: {_cell(before)} → {_cell(after)}", ""]
    if as_of is not None:
        lines += [base_day(_cell(before), as_of), ""]
    if not any(diff.differs or diff.status == "errors" for diff in diffs):
        lines += [f"Nothing differs in {', '.join(_cell(diff.environment) for diff in diffs)}.", ""]
    for diff in diffs:
        if diff.differs or diff.status == "errors":
            lines += [*_environment(diff, every=every), ""]
    return "\n".join(lines).rstrip() + "\n"


def _environment(diff: EnvironmentDiff, *, every: bool) -> Iterator[str]:
    name, _, rest = headline(diff).partition(": ")
    yield f"**{_cell(name)}**: {_escaped(rest)}"
    yield from (_finding(finding) for finding in diff.findings)
    if diff.comparison is None:
        return
    for section in sections(diff.comparison, every=every):
        yield ""
        yield from (_open(section) if section.urgent else _folded(section))


def _open(section: Section) -> Iterator[str]:
    yield f"> [!WARNING]\n> **{section.title}**"
    yield ""
    yield from _rows(section)


def _folded(section: Section) -> Iterator[str]:
    yield f"<details><summary>{section.title} ({len(section.rows)})</summary>"
    yield ""
    yield from _rows(section)
    yield ""
    yield "</details>"


def _rows(section: Section) -> Iterator[str]:
    yield _line(name.replace("_", " ") for name in section.columns)
    yield _line("---:" if name in section.numeric else "---" for name in section.columns)
    yield from (_line(map(_cell, row)) for row in section.rows[:_ROWS])
    if len(section.rows) > _ROWS:
        yield ""
        yield f"and {len(section.rows) - _ROWS} more rows: `hpctl diff` shows all of them."


def _line(cells: Iterator[str] | map[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(text: str) -> str:
    """The text, as code where it could mean something to Markdown or call somebody by name."""
    if _PLAIN.match(text):
        return text
    return "`" + " ".join(text.split()).replace("`", "'").replace("|", "\\|") + "`"


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("@", "&#64;")


def _finding(finding: Finding) -> str:
    return f"- {_cell(str(finding.where))}: {finding.severity}: {_cell(finding.message)}"
