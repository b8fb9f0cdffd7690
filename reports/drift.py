"""A look for drift as text, as Markdown for a pull request or a chat, and as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from config.findings import printable
from live.drift.compare import ABSENT
from live.drift.kube import quantity
from live.drift.model import Author, Finding, Kind, PlatformChange, Property, Report
from reports.markdown import code, row, shown

_GIB = 2**30
Show = Callable[[str], str]
"""How a value is written, which anybody may have made up."""


def as_dict(report: Report) -> dict[str, Any]:
    """The whole report, JSON-ready."""
    found: dict[str, Any] = {
        "stack": report.stack,
        "environment": report.environment,
        "backend": report.backend,
        "deployed": report.deployed,
        "with_state": report.with_state,
        "compared": dict(report.compared),
        "drift": [one.as_dict() for one in report.drift],
        "pending": [one.as_dict() for one in report.pending if not one.drifted],
        "unreachable": [{"cluster": one.cluster, "what": one.what, "message": one.message} for one in report.failures],
        "notes": list(report.notes),
    }
    if report.platform is not None:
        found["platform"] = [one.as_dict() for one in report.platform]
    return found


def text(report: Report) -> Iterator[str]:
    """The report in lines, of printable characters."""
    yield from map(printable, _report(report))


def _report(report: Report) -> Iterator[str]:
    for one in report.drift:
        yield f"{one.thing}: {_kinds(one)}"
        for line in _lines(one, report):
            yield f"    {line}"
    if report.pending:
        yield "not deployed yet (no drift; `hpctl up` tells it in words):"
        for one in report.pending:
            yield f"    {one.thing}: {_pending(one)}"
    for change in report.platform or ():
        yield f"platform: {change.type} {change.name}: {_platform(change)}"
    yield from report.notes
    for failure in report.failures:
        yield f"{failure.cluster}: {failure.what} could not be read: {failure.message}"
    yield summary(report)


def summary(report: Report) -> str:
    """What was compared and found, in a sentence."""
    if not report.deployed:
        return f"{report.stack}: not deployed: the backend that Pulumi asked holds nothing of it"
    total = sum(report.compared.values())
    counts = Counter(kind for one in report.findings for kind in one.kinds)
    words = [f"{counts[kind]} {kind}" for kind in Kind if kind is not Kind.PENDING and counts[kind]]
    said = f"{report.stack}: {total} object{'s' * (total != 1)} compared on {', '.join(report.compared) or 'no cluster'}: "
    said += ", ".join(words) if words else "no drift"
    if counts[Kind.PENDING]:
        said += f"; {counts[Kind.PENDING]} not deployed yet"
    if report.platform is not None:
        said += f"; platform: {len(report.platform) or 'no'} change{'s' * (len(report.platform) != 1)}"
    return said + (f"; {len(report.failures)} could not be read" if report.failures else "")


def markdown(report: Report) -> str:
    """The report as a comment: one table, a row a property."""
    lines = [f"### Drift of {code(report.stack)}", "", shown(summary(report)), ""]
    if report.drift:
        lines += ["| Object | What | Deployed → live | Declared now | Changed by |", "|---|---|---|---|---|"]
        lines += [row(cells) for one in report.drift for cells in _cells(one)]
        lines.append("")
    if report.pending:
        lines += ["Not deployed yet:", "", *(f"- {code(str(one.thing))}: {_pending(one, shown)}" for one in report.pending), ""]
    lines += [f"- platform: {code(f'{one.type} {one.name}')}: {_platform(one, shown)}" for one in report.platform or ()]
    lines += [f"- {shown(note)}" for note in report.notes]
    lines += [f"- {shown(one.cluster)}: {one.what} could not be read: {code(one.message)}" for one in report.failures]
    return "\n".join(lines).rstrip() + "\n"


def _lines(one: Finding, report: Report) -> Iterator[str]:
    for prop in one.properties:
        yield f"{prop.path}: {_change(prop)}{_declared(prop, report)}"
        if prop.author:
            yield f"    by {_author(prop.author)}"
    if one.remark:
        yield one.remark
    if one.author:
        yield f"{one.author.action} by {one.author.name}{_when(one.author)}"


def _cells(one: Finding) -> Iterator[list[str]]:
    """Rows of Markdown, all of it escaped."""
    who = _author(one.author, shown) if one.author else ""
    if not one.properties:
        yield [code(str(one.thing)), _kinds(one), shown(one.remark), "", who]
    for prop in one.properties:
        declared = "" if prop.declared is ABSENT else shown(_value(prop.declared, prop.unit))
        author = _author(prop.author, shown) if prop.author else who
        yield [code(str(one.thing)), code(prop.path), _change(prop, shown), declared, author]


def _platform(change: PlatformChange, show: Show = str) -> str:
    """What happened to a resource of the platform."""
    if change.what == "delete":
        return "missing"
    return f"changed outside: {', '.join(map(show, change.paths))}" if change.paths else "changed outside"


def _kinds(one: Finding) -> str:
    return ", ".join(str(kind) for kind in one.kinds)


def _pending(one: Finding, show: Show = str) -> str:
    if len(one.pending) == 1 and not one.pending[0].path:
        return "to be made" if one.pending[0].state is ABSENT else "to be removed"
    return "; ".join(_waits(prop, show) for prop in one.pending)


def _waits(prop: Property, show: Show) -> str:
    change = f"{show(prop.path)}: {show(_value(prop.state, prop.unit))} → {show(_value(prop.declared, prop.unit))}"
    return change + (f" (a refresh has taken it over from {_author(prop.author, show)})" if prop.author else "")


def _change(prop: Property, show: Show = str) -> str:
    return f"{show(_value(prop.state, prop.unit))} → {show(_value(prop.live, prop.unit))}"


def _declared(prop: Property, report: Report) -> str:
    """What the declaration says, where that isn't what was deployed."""
    if not report.with_state or prop.declared == prop.state:
        return ""
    return " (declared so by now)" if prop.declared == prop.live else f" (declared now: {_value(prop.declared, prop.unit)})"


def _author(author: Author, show: Show = str) -> str:
    return f"{show(author.name)} ({show(author.action)}{', ' + show(author.time) if author.time else ''})"


def _when(author: Author) -> str:
    return f" at {author.time}" if author.time else ""


def _value(value: Any, unit: str) -> str:
    """A value in words: amounts in their unit, maps and lists on one line."""
    if value is ABSENT:
        return "none"
    if isinstance(value, str | int | float) and not isinstance(value, bool) and unit:
        amount = quantity(value)
        if unit == "GiB" and isinstance(value, str) and amount is not None:
            amount /= _GIB
        return f"{value} {unit}" if amount is None else f"{_plain(amount)} {unit}"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _plain(amount: Any) -> str:
    """Without exponent and trailing zeros; a fraction of three digits."""
    text = f"{amount:.3f}"
    return text.rstrip("0").rstrip(".")
