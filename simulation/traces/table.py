"""Traces as CSV: a line a job, under a header that names the columns. Plain numbers of a duration's column are seconds."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from config.files import validated
from config.findings import Finding, Where, did_you_mean, problem_at, quoted
from config.vocabulary import List, Model
from config.yamlsource import Key, Path_, text_of
from simulation.traces.file import Entry
from simulation.traces.sound import Numbered, sound_entries

Words = Callable[[str], Any]
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
"""A duration holds no more digits."""
_CELL: Final = re.compile(r'"(?:[^"]|"")*"|[^,]*')
"""A quote opens a cell at its start alone; within another cell it stands for itself."""
_FIELD: Final = re.compile(r"^jobs\.[0-9]+\.([a-z_.]+): ")
_MISSING: Final = re.compile(r"`([a-z_]+)` is missing in `jobs\.[0-9]+`")
"""How findings of models name a job's field."""


def _whole(text: str) -> Any:
    return int(text) if _WHOLE.fullmatch(text) else text


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _seconds(text: str) -> Any:
    return f"{text}s" if _SECONDS.fullmatch(text) else text


def _truth(text: str) -> Any:
    return {"true": True, "false": False}.get(text.lower(), text)


COLUMNS: Final[Mapping[str, tuple[Path_, Words]]] = MappingProxyType(
    {
        "name": (("name",), str),
        "team": (("team",), str),
        "arrives": (("arrives",), _seconds),
        "runs_for": (("runs_for",), _seconds),
        "pods": (("pods",), _whole),
        "whole_node": (("per_pod", "whole_node"), _truth),
        "accelerators": (("per_pod", "accelerators"), _whole),
        "vcpu": (("per_pod", "vcpu"), _number),
        "memory_gib": (("per_pod", "memory_gib"), _number),
        "instance_type": (("instance_type",), str),
        "priority": (("priority",), str),
        "required_topology": (("topology", "required"), str),
        "preferred_topology": (("topology", "preferred"), str),
        "checkpoint": (("checkpoint",), _seconds),
        "count": (("count",), _whole),
        "every": (("every",), _seconds),
    }
)
"""Columns by name: the job's field, and how its text is read. An empty cell is as if the column weren't there."""


class _Rows(Model):
    jobs: List(Entry) = ()  # type: ignore[valid-type]


@dataclass(frozen=True, slots=True)
class TablePlaces:
    """Where the fields of a table's jobs stand."""

    file: str
    lines: Sequence[str]
    header: Sequence[str]
    numbers: Sequence[int]
    """The line of each job, from 1."""

    def where(self, path: Path_ = (), *, key: bool = False) -> Where:  # noqa: ARG002 - cells have no keys
        """The cell of ("jobs", number, field, …); the line where there is no such column."""
        if len(path) < 2 or not isinstance(path[1], int) or path[1] >= len(self.numbers):
            return Where(self.file, 1, 1)
        line = self.numbers[path[1]]
        column = self._column(path[2:])
        return Where(self.file, line, 1 if column is None else _start(self.lines[line - 1], column))

    def _column(self, field: tuple[Key, ...]) -> int | None:
        """The first column of the field, or of a part of it."""
        found = (
            index
            for index, name in enumerate(self.header)
            if field and name in COLUMNS and COLUMNS[name][0][: len(field)] == field[:2]
        )
        return next(found, None)


@dataclass(frozen=True, slots=True)
class Table:
    """What a CSV file holds."""

    entries: list[Numbered]
    findings: list[Finding]
    places: TablePlaces


def read_table(path: Path, shown: str, limit: int) -> Table:
    """Read a CSV file of at most `limit` bytes; never raises for what it says."""
    text = text_of(path, shown, limit)
    if isinstance(text, Finding):
        return Table([], [text], TablePlaces(shown, (), (), ()))
    lines = _LINE_END.split(text)
    header, rows, findings = _split(lines, shown)
    places = TablePlaces(shown, lines, header, [line for line, _ in rows])
    findings += _header_findings(header, places)
    if not rows and not findings:
        findings.append(problem_at("jobs-none", Where(shown, 1, 1), "there is no job below the header", "write a line a job"))
    if any(finding.id in ("csv-header", "missing-key", "unknown-key") for finding in findings):
        return Table([], findings, places)
    raw = [_entry(header, cells) for _, cells in rows]
    checked, wrong = validated(_Rows, {"jobs": raw}, places, [])
    if checked is not None:
        return Table([Numbered(*one) for one in enumerate(checked.jobs)], findings, places)
    return Table(sound_entries(raw), [*findings, *wrong], places)


def by_column(finding: Finding) -> Finding:
    """The finding in a table's words: a table has no maps and keys but columns."""
    if missing := _MISSING.fullmatch(finding.message):
        names = [name for name, (path, _) in COLUMNS.items() if path[0] == missing[1]]
        message = f"nothing stands in {' or '.join(f'`{name}`' for name in names)}"
        return replace(finding, message=message, remedy="fill it" if len(names) == 1 else "fill one of these columns")
    return replace(finding, message=_FIELD.sub(_column_of, finding.message))


def _column_of(found: re.Match[str]) -> str:
    names = (name for name, (path, _) in COLUMNS.items() if ".".join(map(str, path)) == found[1])
    return f"column `{next(names, found[1])}`: "


def _split(lines: Sequence[str], shown: str) -> tuple[list[str], list[tuple[int, list[str]]], list[Finding]]:
    """Header and rows with their lines; empty lines and lines that begin with # are passed over."""
    findings: list[Finding] = []
    header: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    for number, cells, problem in _records(lines):
        where = Where(shown, number, 1)
        if problem:
            findings.append(problem_at("csv-row", where, f"not CSV: {problem}", "look for a quote that isn't closed"))
        elif not header:
            header = [cell.strip() for cell in cells]
        elif len(cells) != len(header):
            message = f"the line has {len(cells)} cells, the header {len(header)}"
            findings.append(problem_at("csv-row", where, message, "write a cell for each column, empty where nothing is meant"))
        else:
            rows.append((number, cells))
    if not header and not findings:
        findings.append(problem_at("csv-header", Where(shown, 1, 1), "the file is empty", "write a header and a line a job"))
    return header, rows, findings


def _records(lines: Sequence[str]) -> Iterator[tuple[int, list[str], str]]:
    """Line number, cells, and what is wrong. A record stands on one line, so that a quote left open harms no other line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            yield number, next(csv.reader([line], strict=True)), ""
        except csv.Error as error:
            yield number, [], str(error)


def _header_findings(header: Sequence[str], places: TablePlaces) -> Iterator[Finding]:
    line = next((number for number, _, problem in _records(places.lines) if not problem), 1)
    for index, name in enumerate(header):
        where = Where(places.file, line, _start(places.lines[line - 1], index))
        if name not in COLUMNS:
            remedy = did_you_mean(name, list(COLUMNS)) or f"remove the column; known are {', '.join(COLUMNS)}"
            yield problem_at("unknown-key", where, f"unknown column {quoted(name)}", remedy)
        elif name in header[:index]:
            yield problem_at("csv-header", where, f"the column {quoted(name)} stands twice", "keep one")
    for wanted in ("team", "arrives"):
        if header and wanted not in header:
            yield problem_at("missing-key", Where(places.file, line, 1), f"the column `{wanted}` is missing", "add it")


def _entry(header: Sequence[str], cells: Sequence[str]) -> dict[str, Any]:
    """A row as a job's map."""
    entry: dict[str, Any] = {}
    for name, cell in zip(header, cells, strict=True):
        text = cell.strip()
        if not text:
            continue
        path, read = COLUMNS[name]
        into: dict[Any, Any] = entry if len(path) == 1 else entry.setdefault(str(path[0]), {})
        into[path[-1]] = read(text)
    return entry


def _start(line: str, column: int) -> int:
    """The place at which a cell begins, from 1; 1 for a cell that the line doesn't have."""
    at = 0
    for _ in range(column):
        found = _CELL.match(line, at)
        at = found.end() + 1 if found else at
    return at + 1 if at <= len(line) else 1
