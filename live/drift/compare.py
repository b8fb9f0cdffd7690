"""The difference between two descriptions of a thing, property by property: what we say of it, and what is there.

Only what we say is compared, as server-side apply does. Lists are ours as a whole: their elements are matched by key, and one
that came on top is a difference. Whether anything else that is there besides counts, the rules of the kind say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

SECRET: Final = "4dabf18193072939515e22adb298388d"  # noqa: S105 - a marker of the state's format, no secret
"""The key by which Pulumi's state marks a value that it has encrypted (or something else that is no plain value)."""


class Absent:
    """What stands in place of a value that one side doesn't have."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = Absent()


@dataclass(frozen=True, slots=True)
class Item:
    """A step into a list: the element's key in words, and the element itself."""

    label: str
    element: Any = field(compare=False, default=None)


Path = tuple[str | Item, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A property that differs; ABSENT where a side lacks it."""

    path: Path
    want: Any
    have: Any


def _nothing_counts(_: Path, __: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Rules:
    """How things of a kind are compared."""

    same: Callable[[Path, Any, Any], bool]
    """Whether two scalars mean the same."""
    counts: Callable[[Path, Any], bool] = _nothing_counts
    """Whether something counts that only the second side has."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By a list's name, the fields that tell its elements apart; `name` for all others."""
    ordered: frozenset[str] = frozenset()
    """Names of lists whose order means something."""


def differences(want: Any, have: Any, rules: Rules, path: Path = ()) -> Iterator[Change]:
    """Every property in which `have` is not as wanted, each at the highest place where a side lacks it."""
    if is_secret(want) or is_secret(have):
        return  # encrypted: there is nothing to compare with
    if isinstance(want, Mapping) and isinstance(have, Mapping):
        yield from _maps(want, have, rules, path)
    elif isinstance(want, list) and isinstance(have, list):
        yield from _lists(want, have, rules, path)
    elif not rules.same(path, want, have):
        yield Change(path, want, have)


def is_secret(value: Any) -> bool:
    """Whether the state holds the value in a form of its own: encrypted, as a rule."""
    return isinstance(value, Mapping) and SECRET in value


def is_empty(value: Any) -> bool:
    """Whether servers may as well leave the value away."""
    return value is None or (isinstance(value, str | Mapping | list) and len(value) == 0)


def _maps(want: Mapping[str, Any], have: Mapping[str, Any], rules: Rules, path: Path) -> Iterator[Change]:
    for key, value in want.items():
        if have.get(key) is not None:
            yield from differences(value, have[key], rules, (*path, key))
        elif not is_empty(value) and not is_secret(value):
            yield Change((*path, key), value, ABSENT)
    for key, value in have.items():
        if value is not None and key not in want and rules.counts((*path, key), value):
            yield Change((*path, key), ABSENT, value)


def _lists(want: list[Any], have: list[Any], rules: Rules, path: Path) -> Iterator[Change]:
    name = next((step for step in reversed(path) if isinstance(step, str)), "")
    if not any(isinstance(one, Mapping | list) for one in (*want, *have)):
        if (want if name in rules.ordered else _sorted(want)) != (have if name in rules.ordered else _sorted(have)):
            yield Change(path, want, have)
        return
    left, right = _keyed(want, have, rules.keys.get(name, ("name",)))
    for label, value in left.items():
        if label in right:
            yield from differences(value, right[label], rules, (*path, Item(label, value)))
        else:
            yield Change((*path, Item(label, value)), value, ABSENT)
    for label, value in right.items():
        step = (*path, Item(label, value))
        if label not in left and rules.counts(step, value):
            yield Change(step, ABSENT, value)
    before, after = [one for one in left if one in right], [one for one in right if one in left]
    if name in rules.ordered and before != after:
        yield Change((*path, "order"), before, after)


def value_at(value: Any, path: Path, keys: Mapping[str, tuple[str, ...]]) -> Any:
    """What stands at a path, elements of lists found by their keys; ABSENT where nothing does."""
    name = ""
    for step in path:
        if isinstance(step, Item) and isinstance(value, list):
            value = _element(value, step.label, keys.get(name, ("name",)))
        elif isinstance(step, str) and isinstance(value, Mapping):
            name, value = step, value.get(step, ABSENT)
        else:
            return ABSENT
    return value


def _element(values: list[Any], label: str, fields: tuple[str, ...]) -> Any:
    labelled = {_label(one, fields) or str(index): one for index, one in enumerate(values)}
    return labelled.get(label, ABSENT)


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values, key=lambda value: (str(type(value)), str(value)))


def _keyed(want: list[Any], have: list[Any], fields: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Elements by key; by position where any has no key, or two have the same."""
    left, right = ([_label(one, fields) for one in values] for values in (want, have))
    keyed = None not in (*left, *right) and len({*left}) == len(left) and len({*right}) == len(right)
    if keyed:
        return {str(key): one for key, one in zip(left, want, strict=True)}, {
            str(key): one for key, one in zip(right, have, strict=True)
        }
    return {str(index): one for index, one in enumerate(want)}, {str(index): one for index, one in enumerate(have)}


def _label(element: Any, fields: tuple[str, ...]) -> str | None:
    """The element's key in words; None where it has none."""
    if not isinstance(element, Mapping):
        return None
    found = []
    for name in fields:
        value: Any = element
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        found.append(",".join(sorted(map(str, value))) if isinstance(value, list) else "" if value is None else str(value))
    return "/".join(found).strip("/") or None


def written(path: Path) -> str:
    """A path as people write it: ``spec.resourceGroups[0].flavors[ml.p5.48xlarge].name``."""
    text = ""
    for step in path:
        if isinstance(step, Item):
            text += f"[{step.label}]"
        elif re.search(r"[./\[\]]", step):
            text += f'["{step}"]'
        else:
            text += f".{step}" if text else step
    return text
