"""Findings: what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

_SHOWN = 80
"""Characters of a value that a message shows."""
_FEW = 12
"""Known words that a remedy lists in full."""


class Severity(StrEnum):
    """`error` refuses the run, `warning` and `advice` only inform."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True, order=True)
class Where:
    """A place in a file; line and column count from 1, 0 where there is no such file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a user should know before anything is touched.

    Message and remedy are one printable line each, whatever bytes the file holds: control characters are written as escapes.
    """

    id: str
    severity: Severity
    where: Where
    message: str
    remedy: str = ""
    waived: str = ""
    """The reason of the waiver that covers the finding; it then refuses nothing."""

    def __post_init__(self) -> None:
        for name in ("message", "remedy"):
            text = getattr(self, name)
            if not text.isprintable():
                object.__setattr__(self, name, printable(text))

    @property
    def docs(self) -> str:
        """The page of the finding's rule below the project's folder; empty for an id that is no rule."""
        from config.rules import page_of  # a good run shows no finding

        return page_of(self.id)

    def as_dict(self) -> dict[str, Any]:
        """The finding as flat, JSON-ready data."""
        data = asdict(self)
        where = data.pop("where")
        return {**data, "severity": str(self.severity), **where, "docs": self.docs}


class ConfigError(Exception):
    """The declaration can't be used; carries every finding of the run."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        errors = [f for f in self.findings if f.severity is Severity.ERROR and not f.waived]
        super().__init__("\n".join(f"{f.where}: {f.message}" + (f" ({f.remedy})" if f.remedy else "") for f in errors))


def problem_at(id_: str, where: Where, message: str, remedy: str) -> Finding:
    """A finding that refuses the run."""
    return Finding(id_, Severity.ERROR, where, message, remedy)


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(f.severity is Severity.ERROR and not f.waived for f in findings)


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in reading order, by file, line and column; each once."""
    return sorted(dict.fromkeys(findings), key=lambda f: (f.where, f.id, f.message))


def printable(text: str) -> str:
    """The text with escapes for what a terminal would act on or can't show."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def quoted(value: object) -> str:
    """A value of a file as messages show it: `value`, cut where it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"`{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}`"


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """The nearest known word, or all of them where none is near and they are few; empty if neither."""
    from difflib import get_close_matches  # only for messages: not worth its import on a good run

    cutoff = 0.6 if len(known) <= _FEW else 0.7  # among many, some are a little like any word
    near = get_close_matches(word.lower(), known, n=1, cutoff=cutoff) if len(word) <= _SHOWN else []
    near = near or (get_close_matches(word, known, n=1, cutoff=cutoff) if len(word) <= _SHOWN else [])
    if near:
        return f"did you mean `{near[0]}`?"
    if 0 < len(known) <= _FEW:
        return "known: " + ", ".join(f"`{k}`" for k in sorted(known))
    return ""
