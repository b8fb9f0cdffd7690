"""What the first `up` would change of what is there: declared objects against live ones, in all that is declared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from governance.adoption.model import Object
from live.drift.compare import ABSENT, Change, Item, Path, Rules, differences, written
from live.drift.kube import same
from live.drift.state import Key, key_of

_ORDERED: Final = frozenset({"flavors", "levels", "coveredResources", "resources"})
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "levels": ("nodeLabel",),
    "rules": ("apiGroups", "resources"),
    "subjects": ("kind", "namespace", "name"),
    "tolerations": ("key", "operator", "effect"),
    "validations": ("expression",),
}


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of an object that `up` would write otherwise than it is."""

    subject: str
    field: str
    live: str
    declared: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `up` would do to the cluster."""

    differences: tuple[Difference, ...]
    made: tuple[str, ...]
    """Objects that aren't there yet."""
    there: Mapping[Key, Object]
    """Declared objects that are there."""


def compare(manifests: Iterable[Mapping[str, Any]], live: Mapping[Key, Object]) -> Comparison:
    """Every declared object against the live one of its name."""
    found: list[Difference] = []
    made: list[str] = []
    there: dict[Key, Object] = {}
    for manifest in manifests:
        key = key_of(manifest)
        if key not in live:
            made.append(subject_of(key))
            continue
        there[key] = live[key]
        found += (_difference(subject_of(key), change) for change in changes(manifest, live[key]))
    return Comparison(tuple(found), tuple(made), there)


def changes(manifest: Mapping[str, Any], live: Object) -> Iterator[Change]:
    """Declared fields that the live object has otherwise, elements of lists that it has on top included."""
    yield from differences(dict(manifest), live, Rules(same, _counts, _KEYS, _ORDERED))


def subject_of(key: Key) -> str:
    """`ClusterQueue research`, `LocalQueue lab/jobs`."""
    return f"{key.kind} {key.namespace}/{key.name}" if key.namespace else f"{key.kind} {key.name}"


def _counts(path: Path, _: Any) -> bool:
    """Elements that only the live list has: lists are written as a whole, and limits of a quota with them."""
    return any(isinstance(step, Item) for step in path)


def _difference(subject: str, change: Change) -> Difference:
    return Difference(subject, written(change.path), _text(change.have), _text(change.want))


def _text(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    if isinstance(value, Mapping | list):
        import json

        return json.dumps(value, sort_keys=True)
    return str(value)
