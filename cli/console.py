"""What the user sees: findings, progress, tables. Data goes to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from config.findings import Finding, Severity, printable

if TYPE_CHECKING:
    from rich.console import Console

    from reports.excerpt import Sources

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.ADVICE: "cyan"}
_WIDEST = 160
"""Columns of a source line that are shown on a terminal that has more."""
_WORTH_TELLING = 15
"""Seconds that are left of a piece of work, from which on it is said."""
_NONE: Mapping[str, str] = MappingProxyType({})
_settings: dict[str, Any] = {"color": True, "root": None}


def no_color() -> None:
    """Switch colours off; the environment variable NO_COLOR does so too."""
    _settings["color"] = False


def sources_at(root: Path) -> None:
    """Where the project lies whose lines findings show."""
    _settings["root"] = root


def console(*, out: bool = False) -> Console:
    """A console on standard error, or on standard output."""
    from rich.console import Console

    plain = not _settings["color"] or bool(os.environ.get("NO_COLOR"))
    stream = sys.stdout if out else sys.stderr
    width = None if stream.isatty() else int(os.environ.get("COLUMNS", "160"))
    return Console(file=stream, no_color=plain, highlight=False, soft_wrap=not stream.isatty(), width=width)


def say(text: str) -> None:
    """One line for the reader."""
    from rich.markup import escape

    console().print(escape(text))


def print_json(data: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def print_findings(findings: Iterable[Finding], *, waived: bool = False, unwritten: Mapping[str, str] = _NONE) -> None:
    """Each finding with its place, what is wrong, the line it stands on where it can be read, and what to do.

    Where a rule is explained is told once, after the first findings of that rule. Those that are set aside are left out, or are
    a line each with `waived`. `unwritten`: the texts of files that are not on the disk.
    """
    from itertools import groupby

    from rich.text import Text

    from reports.excerpt import Sources

    shown, sources = console(), Sources(_settings["root"], unwritten)
    told: set[str] = set()
    for page, group in groupby((f for f in findings if waived or not f.waived), key=lambda f: f.docs):
        for finding in group:
            _print_finding(finding, shown, sources)
        if page and page not in told and not finding.waived:
            shown.print(Text(f"    see {page}", style="dim"))
            told.add(page)


def _print_finding(finding: Finding, shown: Console, sources: Sources) -> None:
    from rich.text import Text

    if finding.waived:
        shown.print(Text(f"{finding.where}: waived: {finding.message} [{finding.id}] ({printable(finding.waived)})", style="dim"))
        return
    style = _STYLE[finding.severity]
    line = Text.assemble((str(finding.where), "bold"), ": ", (str(finding.severity), style), f": {finding.message}")
    shown.print(line.append(f" [{finding.id}]", style="dim"))
    excerpt = sources.excerpt(finding.where, min(shown.width, _WIDEST))
    if excerpt is not None:
        source, mark = excerpt.lines()
        bar = source.index("|") + 1
        for text, colour in ((source, ""), (mark, style)):
            shown.print(Text.assemble((text[:bar], "dim"), (text[bar:], colour)), no_wrap=True, crop=False)
    if finding.remedy:
        shown.print(Text(f"    {finding.remedy}", style="dim"))


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings there are of each severity; those that are set aside apart, as `waived`."""
    found = Counter("waived" if finding.waived else str(finding.severity) for finding in findings)
    return {name: found[name] for name in (*map(str, Severity), "waived")}


def count_words(findings: Iterable[Finding]) -> str:
    """`2 errors, 1 warning, 1 waived`, or `nothing found`."""
    number = counts(findings)
    words = [
        f"{number[severity]} {one if number[severity] == 1 else many}"
        for severity, one, many in (
            (Severity.ERROR, "error", "errors"),
            (Severity.WARNING, "warning", "warnings"),
            (Severity.ADVICE, "piece of advice", "pieces of advice"),
            ("waived", "waived", "waived"),
        )
        if number[severity]
    ]
    return ", ".join(words) or "nothing found"


class Ended(Exception):  # noqa: N818 - no error
    """The verb is over and has said everything."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ConsoleProgress:
    """Progress on standard error: one living line on a terminal, a line a step elsewhere."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._console = console()
        self._live = self._console.is_terminal
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(compact=True),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, count="")
        self._said = -10
        self._text = ""
        self._began = time.monotonic()

    def step(self, text: str) -> None:
        """A new piece of work begins."""
        self._text, self._said, self._began = text, -10, time.monotonic()
        if self._live:
            self._progress.reset(self._task, description=text, total=None, count="")
        else:
            say(text)

    def update(self, done: int, total: int) -> None:
        """How far the current piece of work is."""
        if self._live:
            self._progress.update(self._task, completed=done, total=total, count=f"{done}/{total}")
        elif total and done * 100 // total >= self._said + 10:
            self._said = done * 100 // total
            say(f"{self._text}: {done}/{total}{self._left(done, total)}")

    def _left(self, done: int, total: int) -> str:
        """What is left of a longer piece of work, at the pace so far."""
        left = (time.monotonic() - self._began) / done * (total - done) if done else 0.0
        if left < _WORTH_TELLING:
            return ""
        return f", about {left / 60:.0f} min left" if left >= 90 else f", about {left:.0f} s left"

    def __enter__(self) -> ConsoleProgress:
        if self._live:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._progress.stop()


def progress() -> ConsoleProgress:
    """Progress for the length of a block."""
    return ConsoleProgress()
