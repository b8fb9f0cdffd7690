"""Judging: the rules that concern a resource or a stack, and what they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from pulumi_policy.proxy import UnknownValueError

from policies.model import Properties, Rule, Stack, Undecided, Violation
from policies.rules import RULES
from policies.settings import Settings

_SHAPE = (AttributeError, KeyError, TypeError, ValueError)
"""What a check raises on properties of another shape. It refuses then: a hole may be in what it could not read."""

_ALIKE = 3
"""How many resources are named beside the first where a rule says the same of all: a hundred teams are no hundred lines."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one rule says. A rule that is kept says nothing."""

    rule: Rule
    kind: Literal["violation", "undecided"]
    text: str
    urn: str = ""
    """Empty for the stack as a whole."""


@dataclass(frozen=True, slots=True)
class Report:
    """An outcome as it counts under the settings."""

    level: Literal["mandatory", "advisory"]
    text: str
    urn: str
    rule: str
    kind: Literal["violation", "undecided"]


class Table:
    """Rules on single resources, by type token: a resource costs what its own rules cost."""

    def __init__(self, rules: Iterable[Rule] = RULES.values()) -> None:
        self._rules = [rule for rule in rules if rule.check is not None]
        self._by_type: dict[str, tuple[Rule, ...]] = {}

    def of(self, type_: str) -> tuple[Rule, ...]:
        """The rules that judge this type."""
        found = self._by_type.get(type_)
        if found is None:
            found = tuple(rule for rule in self._rules if any(fnmatchcase(type_, pattern) for pattern in rule.types))
            self._by_type[type_] = found
        return found


def judge(rules: Iterable[Rule], properties: Properties, urn: str = "") -> Iterator[Outcome]:
    """What rules say of one resource. A rule that meets a value not known yet, and has found nothing so far, is undecided."""
    for rule in rules:
        found: list[Outcome] = []
        try:
            assert rule.check is not None, "a table has rules on resources alone"  # noqa: S101
            found.extend(Outcome(rule, "violation", text, urn) for text in rule.check(properties))
        except UnknownValueError as unknown:
            found = found or [Outcome(rule, "undecided", _path(unknown), urn)]
        except _SHAPE as error:
            found.append(Outcome(rule, "violation", _unreadable(error), urn))
        yield from found


def judge_stack(stack: Stack, rules: Iterable[Rule] = RULES.values()) -> Iterator[Outcome]:
    """What rules say of the whole stack."""
    for rule in rules:
        if rule.whole is None:
            continue
        found: list[Outcome] = []
        try:
            found.extend(_outcome(rule, one) for one in rule.whole(stack))
        except UnknownValueError as unknown:
            found = found or [Outcome(rule, "undecided", _path(unknown))]
        except _SHAPE as error:
            found.append(Outcome(rule, "violation", _unreadable(error)))
        yield from found


def reports(outcomes: Iterable[Outcome], settings: Settings, root: str = "") -> Iterator[Report]:
    """The outcomes as they count here, worded for a reader. `root` is the URN of the stack, which waivers name."""
    for outcome in outcomes:
        rule = outcome.rule
        if settings.level(rule) == "disabled":
            continue
        if outcome.kind == "undecided":
            text = f"[{rule.id}] can't be told: {outcome.text}"
            yield Report("advisory", text, outcome.urn, rule.id, "undecided")
            continue
        verdict = settings.verdict(rule, outcome.urn or root)
        note = f" ({verdict.note})" if verdict.note else ""
        text = f"[{rule.id}] {outcome.text}{note}. {rule.remedy} {rule.url}"
        if verdict.level != "disabled":
            yield Report(verdict.level, text, outcome.urn, rule.id, "violation")


def grouped(found: Iterable[Report]) -> Iterator[Report]:
    """Reports of a stack; what a rule says alike of many resources is said once, at the first of them."""
    alike: dict[tuple[str, str], list[Report]] = {}
    for one in found:
        alike.setdefault((one.level, one.text), []).append(one)
    for group in alike.values():
        first, rest = group[0], [one.urn.rpartition("::")[2] for one in group[1:]]
        if len(rest) < _ALIKE:
            yield from group
        else:
            names = f"{', '.join(rest[:_ALIKE])} and {len(rest) - _ALIKE} more" if len(rest) > _ALIKE else ", ".join(rest)
            yield replace(first, text=f"{first.text} The same of {names}.")


def _outcome(rule: Rule, one: Violation | Undecided) -> Outcome:
    if isinstance(one, Undecided):
        return Outcome(rule, "undecided", one.text)
    return Outcome(rule, "violation", one.text, one.resource.urn if one.resource else "")


def _unreadable(error: Exception) -> str:
    return f"it can't be judged, for its properties have another shape than they should ({type(error).__name__}: {error})"


def _path(unknown: UnknownValueError) -> str:
    return f"`{'.'.join(unknown.props)}` is not known before it is made"
