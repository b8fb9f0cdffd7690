"""What a project decides about the rules: levels, waivers, and facts that no resource tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from policies.model import LEVELS, Level, Parameters, Rule
from policies.rules import RULES
from policies.rules.capacity import amount_of

FILE = Path(__file__).parent / "settings.yaml"
_KEYS = ("levels", "waivers", "tags", "instances", "capacity", "lifecycle_buckets")
_WAIVER_KEYS = ("rule", "resource", "stack", "reason", "until")
_WAIVER_TEXTS = {"rule": "", "reason": "", "resource": "*", "stack": "*"}
"""Fields of a waiver that are texts, with their defaults."""
_SHORTEST_REASON = 10


class SettingsError(ValueError):
    """What is wrong with the settings, a sentence for each mistake."""

    def __init__(self, where: str, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{where}: {problem}" for problem in self.problems))


@dataclass(frozen=True, slots=True)
class Waiver:
    """Violations of one rule that are set aside for a while."""

    rule: str
    reason: str
    until: date
    """The last day on which it holds."""
    resource: str = "*"
    """Logical name of the resource, as a shell pattern."""
    stack: str = "*"

    def covers(self, rule: str, urn: str) -> bool:
        """Whether it is about this rule and resource, held or not."""
        if rule != self.rule:
            return False
        _, _, rest = urn.partition("urn:pulumi:")
        return fnmatchcase(rest.partition("::")[0], self.stack) and fnmatchcase(urn.rpartition("::")[2], self.resource)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a violation means here."""

    level: Level
    note: str = ""
    """Of a waiver: why, and until when."""


@dataclass(frozen=True, slots=True)
class Settings:
    """All decisions, validated."""

    levels: Mapping[str, Level] = field(default_factory=dict)
    waivers: tuple[Waiver, ...] = ()
    parameters: Parameters = field(default_factory=Parameters)

    def level(self, rule: Rule) -> Level:
        """The rule's level here."""
        return self.levels.get(rule.id, rule.level)

    def verdict(self, rule: Rule, urn: str, today: date | None = None) -> Verdict:
        """The level of a violation: a waiver that holds makes it advisory, one that has ended changes nothing but the message."""
        level, day = self.level(rule), today or datetime.now(UTC).date()
        own = [waiver for waiver in self.waivers if waiver.covers(rule.id, urn)]
        for waiver in own:
            if day <= waiver.until:
                return Verdict("advisory", f"waived until {waiver.until}: {waiver.reason}")
        return Verdict(level, f"its waiver ended on {max(waiver.until for waiver in own)}" if own else "")


def load(path: Path = FILE) -> Settings:
    """The settings in a file. Raises SettingsError with every mistake, and where the file can't be read."""
    import yaml  # not for those who give all by configuration

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(str(path), [f"can't be read: {error.strerror}"]) from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a day that no calendar has, or other bytes than UTF-8
        raise SettingsError(str(path), [f"is no YAML: {' '.join(str(error).split())}"]) from None
    return parse(data or {}, str(path))


def parse(data: Any, where: str) -> Settings:
    """Settings from plain data, as a file or the pack's configuration has them. Raises SettingsError."""
    if not isinstance(data, Mapping):
        raise SettingsError(where, ["must be a map"])
    problems = [*_unknown(data, _KEYS, "setting"), *_levels(data.get("levels", {})), *_shapes(data)]
    waivers: list[Waiver] = []
    given = data.get("waivers", [])
    for index, item in enumerate(given if isinstance(given, list) else []):
        waiver, found = _waiver(item)
        problems += [f"waivers[{index}]: {problem}" for problem in found]
        waivers += [waiver] if waiver else []
    if problems:
        raise SettingsError(where, problems)
    parameters = Parameters(
        tags=tuple(data.get("tags", ())),
        instances=data.get("instances", {}),
        capacity=data.get("capacity", {}),
        lifecycle_buckets=tuple(data.get("lifecycle_buckets", ())),
    )
    return Settings(dict(data.get("levels", {})), tuple(waivers), parameters)


def over(base: Settings, data: Mapping[str, Any], where: str) -> Settings:
    """The settings of a file with a run's configuration over them: levels and facts by key, waivers in addition."""
    own = parse(data, where)
    parameters = Parameters(
        tags=own.parameters.tags if "tags" in data else base.parameters.tags,
        instances={**base.parameters.instances, **own.parameters.instances},
        capacity={**base.parameters.capacity, **own.parameters.capacity},
        lifecycle_buckets=(*base.parameters.lifecycle_buckets, *own.parameters.lifecycle_buckets),
    )
    return Settings({**base.levels, **own.levels}, (*base.waivers, *own.waivers), parameters)


def _unknown(data: Mapping[str, Any], known: tuple[str, ...], what: str) -> Iterator[str]:
    for key in data:
        if key not in known:
            yield f"{what} `{key}` is unknown; there are {', '.join(known)}"


def _levels(levels: Any) -> Iterator[str]:
    if not isinstance(levels, Mapping):
        yield "levels must be a map of rules to levels"
        return
    for rule, level in levels.items():
        if rule not in RULES:
            yield f"levels: there is no rule `{rule}`"
        if level not in LEVELS:
            yield f"levels.{rule}: `{level}` is no level; there are {', '.join(LEVELS)}"


def _shapes(data: Mapping[str, Any]) -> Iterator[str]:
    for key in ("tags", "lifecycle_buckets"):
        found = data.get(key, [])
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            yield f"{key} must be a list of texts"
    if not isinstance(data.get("waivers", []), list):
        yield "waivers must be a list"
    for key in ("instances", "capacity"):
        found = data.get(key, {})
        if not isinstance(found, Mapping) or not all(isinstance(one, Mapping) for one in found.values()):
            yield f"{key} must be a map of maps"
        elif not all(_is_amount(amount) for one in found.values() for amount in one.values()):
            yield f"{key} must hold amounts, as 8, 500m or 192Gi"


def _is_amount(value: Any) -> bool:
    try:
        amount_of(value)
    except ValueError:
        return False
    return True


def _waiver(item: Any) -> tuple[Waiver | None, list[str]]:
    if not isinstance(item, Mapping):
        return None, ["must be a map"]
    problems = list(_unknown(item, _WAIVER_KEYS, "field"))
    texts = {key: item.get(key, default) for key, default in _WAIVER_TEXTS.items()}
    wrong = [key for key, value in texts.items() if not isinstance(value, str)]
    problems += (f"{key} must be a text" for key in wrong)
    if "rule" not in wrong and texts["rule"] not in RULES:
        problems.append(f"there is no rule `{texts['rule']}`")
    if "reason" not in wrong and len(texts["reason"]) < _SHORTEST_REASON:
        problems.append(f"give a reason of {_SHORTEST_REASON} characters or more: somebody reads it when the day has come")
    until = item.get("until")
    try:
        # A time of day is a date too, to Python, but can't be compared with one.
        day = until if isinstance(until, date) and not isinstance(until, datetime) else date.fromisoformat(str(until))
    except ValueError:
        day = date.min
        problems.append(f"until: `{until}` is no day; write one as 2027-03-31")
    if problems:
        return None, problems
    return Waiver(until=day, **texts), []
