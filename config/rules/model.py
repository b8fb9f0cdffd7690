"""What a rule is: the meaning of a finding's id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from config.findings import Severity

Base = Literal["kueue", "hyperpod", "managed"]
"""The project that an example changes: an existing cluster or a HyperPod cluster with Kueue, or one with AWS's governance."""


@dataclass(frozen=True, slots=True)
class Example:
    """The least change to a sound project that the rule finds: YAML, merged by key into the files of the base project."""

    base: Base = "kueue"
    environment: str = ""
    team: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One check. Its id is for good: waivers, scripts and pages name it."""

    id: str
    severities: tuple[Severity, ...]
    """That its findings may have, gravest first."""
    title: str
    """What is wrong, as a heading: without a full stop."""
    why: str
    """What would happen without the check, and to whom."""
    remedy: str
    source: str = ""
    """Whose rule it is: the API, documentation or measurement that it comes from; empty where it is ours."""
    waivable: bool = True
    """False where nothing sensible could be built despite it."""
    example: Example | None = None
    """None where no file of the project can show it: running clusters, files that can't be read."""


@dataclass(frozen=True, slots=True)
class Category:
    """Rules that belong together: one page of the documentation."""

    name: str
    """The page's file name without its ending."""
    title: str
    about: str
    rules: tuple[Rule, ...]


def error(
    id_: str, title: str, why: str, remedy: str, *, source: str = "", waivable: bool = True, example: Example | None = None
) -> Rule:
    """A rule whose findings refuse the run."""
    return Rule(id_, (Severity.ERROR,), title, why, remedy, source, waivable, example)


def warning(
    id_: str, title: str, why: str, remedy: str, *, source: str = "", waivable: bool = True, example: Example | None = None
) -> Rule:
    """A rule whose findings inform of a risk."""
    return Rule(id_, (Severity.WARNING,), title, why, remedy, source, waivable, example)


def advice(
    id_: str, title: str, why: str, remedy: str, *, source: str = "", waivable: bool = True, example: Example | None = None
) -> Rule:
    """A rule whose findings inform."""
    return Rule(id_, (Severity.ADVICE,), title, why, remedy, source, waivable, example)
