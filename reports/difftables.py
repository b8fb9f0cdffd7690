"""A comparison as tables and lines of words: what the terminal and a pull request's comment are made of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from config.findings import Finding, printable
from governance.promotion.model import (
    FAIR_SHARE,
    Amount,
    Comparison,
    GroupChange,
    Loss,
    TeamChange,
    TypeChange,
    Value,
    VersionChange,
)
from governance.promotion.projects import EnvironmentDiff
from governance.units import CPU, is_device, shown

_LONGEST = 160
"""Characters of a value that are shown."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table with a title; cells of the columns in `numeric` are numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()
    urgent: bool = False
    """To be read before anything is merged."""


def sections(found: Comparison, *, every: bool = False) -> Iterator[Section]:
    """Everything that differs. `every`: all resources; otherwise accelerators, and vCPUs of types that have none."""
    columns: tuple[str, ...] = ("cluster", "what", "why", "lost", "")
    if found.losses:
        yield Section("Replaced or lost", columns, tuple(map(_loss, found.losses)), urgent=True)
    if found.unsafe:
        columns = ("cluster", "what", "before", "after", "why")
        steps = tuple((*_version(step), printable(step.warning)) for step in found.unsafe)
        yield Section("Version steps that can't be made", columns, steps, urgent=True)
    yield from _table("Clusters", ("cluster", ""), ((name, what) for name, what in found.clusters))
    numbers = frozenset(("before", "after", "change"))
    columns = ("cluster", "instance type", "resource", "team", "before", "after", "change", "largest job")
    yield from _table("Who gains and who loses (guaranteed)", columns, _balance(found, every=every), numbers)
    columns = ("cluster", "instance type", "resource", "nodes", "capacity", "guaranteed", "above capacity")
    yield from _table("Capacity", columns, (_type(one) for one in _chosen_types(found.types, every=every)))
    yield from _table("Teams", ("cluster", "team", "what", "before", "after"), _teams(found.teams, every=every))
    yield from _table("Fair shares", ("cluster", "team", "before", "after"), _shares(found.teams), frozenset(("before", "after")))
    yield from _table("Instance groups", ("cluster", "group", "what", "before", "after"), _groups(found.groups))
    yield from _table("Priority classes", ("class", "before", "after"), map(_cells, found.classes))
    yield from _table("Versions", ("cluster", "what", "before", "after"), map(_version, found.versions))
    yield from _table("Other settings", ("setting", "before", "after"), map(_cells, found.settings))
    yield from _table("Findings", ("", "severity", "place", "finding"), _findings(found))


def headline(diff: EnvironmentDiff) -> str:
    """What differs, in one line."""
    if diff.status == "errors":
        return f"{diff.environment}: can't be compared, for a side has errors"
    if diff.comparison is None:
        holds = ", ".join(f"{number} {name if number != 1 else name[:-1]}" for name, number in diff.holds.items())
        kept = "" if diff.status == "new" else "; what it has deployed stays until `hpctl down`, run before it is gone"
        return f"{diff.environment}: the environment is {diff.status}, with {holds}{kept}"
    return f"{diff.environment}: {', '.join(_counted(diff.comparison)) or 'nothing differs'}"


def _counted(found: Comparison) -> Iterator[str]:
    for number, one, many in (
        (len(found.losses), "thing is replaced or lost", "things are replaced or lost"),
        (len(found.unsafe), "version step can't be made", "version steps can't be made"),
        (_number(found, "new"), "team is new", "teams are new"),
        (_number(found, "removed"), "team is removed", "teams are removed"),
        (_number(found, "changed"), "team changes", "teams change"),
        (_number(found, "affected"), "other team is affected", "other teams are affected"),
        (len(found.clusters), "cluster on one side only", "clusters on one side only"),
        (len(found.groups), "instance group differs", "instance groups differ"),
        (len(found.versions), "version differs", "versions differ"),
        (len(found.classes), "priority class differs", "priority classes differ"),
        (len(found.settings), "other setting differs", "other settings differ"),
        (len(found.come), "new finding", "new findings"),
        (len(found.gone), "finding is gone", "findings are gone"),
    ):
        if number:
            yield f"{number} {one if number == 1 else many}"


def _number(found: Comparison, what: str) -> int:
    return len({change.team for change in found.teams if change.what == what})


def words(value: Any) -> str:
    """A value in words, on one line."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        value = ", ".join(value)
    text = "–" if value is None else value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    text = printable(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _table(
    title: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], numeric: frozenset[str] = frozenset()
) -> Iterator[Section]:
    found = tuple(rows)
    if found:
        yield Section(title, columns, found, numeric)


def _cells(value: Value) -> tuple[str, str, str]:
    return value.field, words(value.before), words(value.after)


def _version(step: VersionChange) -> tuple[str, ...]:
    return step.cluster, step.what, words(step.before), words(step.after)


def _loss(loss: Loss) -> tuple[str, ...]:
    fate = "made again, empty" if loss.again else "not made again"
    return loss.cluster, loss.what, loss.why, loss.lost, f"{fate}; refused while protected" if loss.protected else fate


def _amounts(amounts: Iterable[Amount], *, every: bool) -> list[Amount]:
    """Those that people count in: devices; vCPUs where no device differs; else all that differ."""
    return _preferred(list(amounts), lambda amount: amount.instance_type, every=every)


def _chosen_types(types: Iterable[TypeChange], *, every: bool) -> list[TypeChange]:
    return _preferred(list(types), lambda one: (one.cluster, one.instance_type), every=every)


def _preferred(found: list[Any], key: Callable[[Any], Any], *, every: bool) -> list[Any]:
    if every:
        return found
    devices = {key(one) for one in found if is_device(one.resource)}
    cpus = {key(one) for one in found if one.resource == CPU} - devices
    return [
        one
        for one in found
        if (is_device(one.resource) if key(one) in devices else one.resource == CPU if key(one) in cpus else True)
    ]


def _balance(found: Comparison, *, every: bool) -> Iterator[tuple[str, ...]]:
    """Teams by type, who gains most first, with the totals below."""
    rows: dict[tuple[str, str, str], list[tuple[int, int, tuple[str, ...]]]] = {}
    for change in found.teams:
        pairs: dict[tuple[str, str], dict[str, Amount]] = {}
        for amount in _amounts(change.amounts, every=every):
            pairs.setdefault((amount.instance_type, amount.resource), {})[amount.measure] = amount
        for (kind, resource), measures in pairs.items():
            own, job = measures.get("guaranteed"), measures.get("largest job")
            if own is None and job is None:
                continue
            step, reach = own.after - own.before if own else 0, job.after - job.before if job else 0
            numbers = (shown(resource, own.before), shown(resource, own.after), signed(resource, step)) if own else ("", "", "")
            cells = (change.team, *numbers, _step(resource, job.before, job.after) if job else "")
            rows.setdefault((change.cluster, kind, resource), []).append((step, reach, cells))
    totals = {(one.cluster, one.instance_type, one.resource): one.guaranteed for one in found.types}
    for key, teams in sorted(rows.items()):
        for row in sorted(teams, key=lambda row: (-row[0], -row[1], row[2])):
            yield (*key, *row[2])
        if key in totals:
            (old, new), resource = totals[key], key[2]
            yield (*key, "all teams", shown(resource, old), shown(resource, new), signed(resource, new - old), "")


def signed(resource: str, amount: int) -> str:
    """The amount with its sign; nothing for none."""
    return f"{'+' if amount > 0 else '−'}{shown(resource, abs(amount))}" if amount else ""


def _step(resource: str, before: int, after: int) -> str:
    return shown(resource, after) if before == after else f"{shown(resource, before)} → {shown(resource, after)}"


def _type(one: TypeChange) -> tuple[str, ...]:
    nodes = str(one.nodes[1]) if one.nodes[0] == one.nodes[1] else f"{one.nodes[0]} → {one.nodes[1]}"
    over = _step(one.resource, *one.over) if any(one.over) else ""
    return (
        one.cluster,
        one.instance_type,
        one.resource,
        nodes,
        _step(one.resource, *one.capacity),
        _step(one.resource, *one.guaranteed),
        over,
    )


def _teams(changes: Sequence[TeamChange], *, every: bool) -> Iterator[tuple[str, ...]]:
    """What was declared otherwise, and what follows for the same team."""
    for change in changes:
        if change.what == "affected":
            continue
        if change.what != "changed":
            yield change.cluster, change.team, f"the team is {change.what}", "", ""
        for value in change.values:
            if value.field != FAIR_SHARE:
                yield change.cluster, change.team, *_cells(_access(value))
        for amount in _amounts(change.amounts, every=every):
            what = f"{amount.instance_type} {amount.resource} {amount.measure}"
            yield (
                change.cluster,
                change.team,
                what,
                *(shown(amount.resource, number) for number in (amount.before, amount.after)),
            )


def _access(value: Value) -> Value:
    """Groups and roles that lose and get access; none is nothing."""
    if value.field != "access":
        return value
    return Value("access", value.before or None, value.after or None)


def _shares(changes: Iterable[TeamChange]) -> Iterator[tuple[str, ...]]:
    """Who gains most first."""
    found = [(change, value) for change in changes for value in change.values if value.field == FAIR_SHARE]
    for change, value in sorted(found, key=lambda one: (one[0].cluster, _gap(one[1]), one[0].team)):
        yield change.cluster, change.team, _percent(value.before), _percent(value.after)


def _gap(value: Value) -> Fraction:
    return Fraction(value.before or 0) - Fraction(value.after or 0)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1f} %"


def _groups(changes: Iterable[GroupChange]) -> Iterator[tuple[str, ...]]:
    for change in changes:
        before, after = (f"{number} × {change.instance_type}" for number in change.count)
        if change.what == "new":
            yield change.cluster, change.group, "new", "", after
        elif change.what == "removed":
            yield change.cluster, change.group, "removed", before, ""
        else:
            if change.count[0] != change.count[1]:
                yield change.cluster, change.group, "instances", str(change.count[0]), str(change.count[1])
            for value in change.values:
                yield change.cluster, change.group, *_cells(value)


def _findings(found: Comparison) -> Iterator[tuple[str, ...]]:
    for what, findings in (("new", found.come), ("gone", found.gone)):
        yield from ((what, _severity(one), str(one.where), f"{one.message} [{one.id}]") for one in findings)


def _severity(finding: Finding) -> str:
    return f"{finding.severity}, waived" if finding.waived else str(finding.severity)
