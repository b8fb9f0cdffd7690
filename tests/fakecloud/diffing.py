"""Differences of checked inputs, by property path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pulumi.runtime.proto import provider_pb2

from fakecloud.codec import plain


@dataclass(frozen=True)
class Change:
    """``kinds`` tells of each changed path what became of it (add, delete, update); ``replaces`` are those that replace."""

    kinds: dict[str, str]
    replaces: frozenset[str] = frozenset()
    delete_first: bool = False

    def without(self, ignored: list[str]) -> Change:
        """Leave out what is under an ignored path."""
        kept = {path: kind for path, kind in self.kinds.items() if not any(covers(one, path) for one in ignored)}
        return replace(self, kinds=kept, replaces=self.replaces & set(kept))

    def answer(self) -> Any:
        response = provider_pb2.DiffResponse
        detailed = {path: self._property(kind, path in self.replaces) for path, kind in self.kinds.items()}
        return response(
            changes=response.DIFF_SOME if self.kinds else response.DIFF_NONE,
            diffs=sorted({path.partition(".")[0].partition("[")[0] for path in self.kinds}),
            replaces=sorted({path.partition(".")[0].partition("[")[0] for path in self.replaces}),
            deleteBeforeReplace=self.delete_first and bool(self.replaces),
            detailedDiff=detailed,
            hasDetailedDiff=True,
        )

    def _property(self, kind: str, replaces: bool) -> Any:
        name = f"{kind}_REPLACE" if replaces else kind
        return provider_pb2.PropertyDiff(kind=getattr(provider_pb2.PropertyDiff, name.upper()), inputDiff=True)


def covers(pattern: str, path: str) -> bool:
    """Whether a path is at or below another, in which ``*`` stands for any one key or index."""
    wanted, given = _parts(pattern), _parts(path)
    return len(given) >= len(wanted) and all(one in ("*", other) for one, other in zip(wanted, given, strict=False))


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("[", ".").replace("]", "").split(".") if part]


def changes(old: Any, new: Any, same: Callable[[str, Any, Any], bool] = lambda path, old, new: False) -> dict[str, str]:
    """The changed leaves; ``same`` may call two values at a path equal that are not."""
    return dict(_changes(plain(old), plain(new), "", same))


def _changes(old: Any, new: Any, path: str, same: Callable[[str, Any, Any], bool]) -> Iterator[tuple[str, str]]:
    if old == new or (path and same(path, old, new)):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new} - {"__defaults"}):
            where = f"{path}.{key}" if path else key
            if key not in old:
                yield where, "add"
            elif key not in new:
                yield where, "delete"
            else:
                yield from _changes(old[key], new[key], where, same)
    elif isinstance(old, list) and isinstance(new, list):
        for number in range(max(len(old), len(new))):
            where = f"{path}[{number}]"
            if number >= len(old):
                yield where, "add"
            elif number >= len(new):
                yield where, "delete"
            else:
                yield from _changes(old[number], new[number], where, same)
    else:
        yield path, "update"


def unordered(value: Any) -> Any:
    """A form in which lists of the same items in any order are equal."""
    if isinstance(value, dict):
        return {key: unordered(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted((unordered(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True, default=repr))
    return value
