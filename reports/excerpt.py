"""The line that a finding points to, with a mark below the place."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from config.files import ENVIRONMENTS, TEAMS
from config.findings import Where, printable
from config.yamlsource import MAX_BYTES

SHOWN = (f"{ENVIRONMENTS}/", f"{TEAMS}/", "workloads/", ".github/")
"""Folders whose files are shown. Stack files and kubeconfigs are not: a secret may stand in them."""
_TAB = 4
_BREAKS = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""What ends a line for YAML, by which findings count."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'')
_WORD = re.compile(r"[^\s,\[\]{}\"'#:]+(?::[^\s,\[\]{}\"'#:]+)*")
_LEAST = 20
"""Columns of text that are shown however narrow the terminal."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A source line and what to put below it, both of printable characters and the same columns."""

    number: int
    text: str
    mark: str

    def lines(self) -> tuple[str, str]:
        """The two lines, with the line's number before them."""
        number = f"{self.number:>6}"
        return f"{number} | {self.text}".rstrip(), f"{' ' * len(number)} | {self.mark}"


class Sources:
    """Files below a project's folder, each read once; what can't be shown is left out without a word."""

    def __init__(self, root: Path | None, unwritten: Mapping[str, str] = MappingProxyType({})) -> None:
        """`unwritten`: files by name whose text isn't on the disk."""
        self._root = root
        self._files = {file: _BREAKS.split(text) for file, text in unwritten.items()}

    def excerpt(self, where: Where, width: int = 120) -> Excerpt | None:
        """The place in at most `width` columns; None where it has no line that can be shown."""
        if self._root is None or not where.line or not where.file.startswith(SHOWN):
            return None
        if where.file not in self._files:
            self._files[where.file] = _lines(self._root, where.file)
        lines = self._files[where.file]
        return excerpt(lines[where.line - 1], where, width - 9) if where.line <= len(lines) else None


def _lines(root: Path, file: str) -> list[str]:
    path = root / file
    try:
        if not path.resolve().is_relative_to(root.resolve()) or not stat.S_ISREG(path.stat().st_mode):
            return []
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return []
    return _BREAKS.split(raw.decode("utf-8-sig", "replace")) if len(raw) <= MAX_BYTES else []


def excerpt(line: str, where: Where, width: int) -> Excerpt:
    """The line with a mark below the word at the column; cut around it where it is longer than `width` columns."""
    start = min(max(where.column, 1) - 1, len(line))
    end = max(start + 1, _end(line, start))
    cells = [_cell(character) for character in line]
    width = max(width, _LEAST)
    first, last = _window([_columns(cell) for cell in cells], start, width)
    before, after = "…" * (first > 0), "…" * (last < len(cells))
    gap = sum(_columns(cell) for cell in cells[first:start]) + len(before)
    marked = sum(_columns(cell) for cell in cells[start : min(end, last)])
    return Excerpt(where.line, before + "".join(cells[first:last]) + after, " " * gap + "^" * max(1, marked))


def _end(line: str, start: int) -> int:
    """Where the word that begins at `start` ends; a quoted text is one word."""
    found = _QUOTED.match(line, start) or _WORD.match(line, start)
    return found.end() if found else start


def _cell(character: str) -> str:
    """A character as it is shown: a tab as spaces, what a terminal would act on as an escape."""
    return " " * _TAB if character == "\t" else printable(character)


def _columns(cell: str) -> int:
    from rich.cells import cell_len  # knows wide characters and those without width

    return cell_len(cell)


def _window(columns: list[int], start: int, width: int) -> tuple[int, int]:
    """The first and last character to show: the whole line, or a part that begins a third of the width before the mark."""
    if sum(columns) <= width:
        return 0, len(columns)
    first, room = start, width // 3
    while first > 0 and columns[first - 1] <= room:
        first -= 1
        room -= columns[first]
    last, room = first, width - 2  # an ellipsis at either end
    while last < len(columns) and columns[last] <= room:
        room -= columns[last]
        last += 1
    return first, last
