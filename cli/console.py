"""What the user sees: findings, progress, tables. Data goes to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from config.findings import Finding, Severity

if TYPE_CHECKING:
    from rich.console import Console

_STYLE = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.ADVICE: "cyan"}
_settings = {"color": True}


def no_color() -> None:
    """Switch colours off; the environment variable NO_COLOR does so too."""
    _settings["color"] = False


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


def print_findings(findings: Iterable[Finding]) -> None:
    """Each finding with its place, what is wrong, and what to do."""
    from rich.text import Text

    shown = console()
    for finding in findings:
        line = Text.assemble(
            (str(finding.where), "bold"), ": ", (str(finding.severity), _STYLE[finding.severity]), f": {finding.message}"
        )
        line.append(f" [{finding.id}]", style="dim")
        shown.print(line)
        if finding.remedy:
            shown.print(Text(f"    {finding.remedy}", style="dim"))


def count_words(findings: Iterable[Finding]) -> str:
    """`2 errors, 1 warning`, or `nothing found`."""
    found = list(findings)
    words = []
    for severity, one, many in (
        (Severity.ERROR, "error", "errors"),
        (Severity.WARNING, "warning", "warnings"),
        (Severity.ADVICE, "piece of advice", "pieces of advice"),
    ):
        number = sum(f.severity is severity for f in found)
        if number:
            words.append(f"{number} {one if number == 1 else many}")
    return ", ".join(words) or "nothing found"


class ConsoleProgress:
    """Progress on standard error: one living line on a terminal, a line a step elsewhere."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self._console = console()
        self._live = self._console.is_terminal
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._task = self._progress.add_task("", total=None, count="")
        self._said = -10
        self._text = ""

    def step(self, text: str) -> None:
        """A new piece of work begins."""
        self._text, self._said = text, -10
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
            say(f"{self._text}: {done}/{total}")

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
