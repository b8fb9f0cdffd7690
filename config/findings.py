"""Findings: what is wrong, where, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """`error` refuses the run, `warning` and `advice` only inform."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True, order=True)
class Where:
    """A place in a file; line and column count from 1, 0 where the finding has no line."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a user should know before anything is touched."""

    id: str
    severity: Severity
    where: Where
    message: str
    remedy: str = ""
    docs: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The finding as flat, JSON-ready data."""
        data = asdict(self)
        where = data.pop("where")
        return {**data, "severity": str(self.severity), **where}


class ConfigError(Exception):
    """The declaration can't be used; carries every finding of the run."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        errors = [f for f in self.findings if f.severity is Severity.ERROR]
        super().__init__("\n".join(f"{f.where}: {f.message}" + (f" ({f.remedy})" if f.remedy else "") for f in errors))


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(f.severity is Severity.ERROR for f in findings)


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    """Findings in reading order: by file, line and column."""
    return sorted(findings, key=lambda f: (f.where, f.id, f.message))


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A remedy for a mistyped word, or the list of what is known if nothing is near (and the list is short)."""
    near = get_close_matches(word, known, n=1, cutoff=0.6) or get_close_matches(
        word.lower(), [k for k in known if k.lower() == k], n=1, cutoff=0.6
    )
    if near:
        return f"did you mean `{near[0]}`?"
    if 0 < len(known) <= 12:
        return "known: " + ", ".join(f"`{k}`" for k in sorted(known))
    return ""
