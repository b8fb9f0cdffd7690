"""Reading a cluster's objects, kind by kind: one list each, wherever the API server serves the kind."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from live.drift.state import Key, Object, key_of

GroupKind = tuple[str, str]
"""An apiVersion and a kind."""
_AT_ONCE = 8


class Source(Protocol):
    """Reads from an API server."""

    def get(self, path: str) -> dict[str, Any] | None: ...
    def items(self, path: str) -> list[dict[str, Any]]: ...


def read(source: Source, kinds: Iterable[GroupKind]) -> tuple[dict[Key, Object], list[GroupKind]]:
    """All objects of the kinds, and the kinds that the server doesn't have. Raises UnreachableError and ApiError."""
    wanted = sorted(set(kinds))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        versions = sorted({version for version, _ in wanted})
        plurals = dict(zip(versions, pool.map(lambda version: _plurals(source, version), versions), strict=True))
        served = [(version, kind) for version, kind in wanted if kind in plurals[version]]
        lists = pool.map(lambda one: source.items(f"{_root(one[0])}/{plurals[one[0]][one[1]]}"), served)
        found: dict[Key, Object] = {}
        for (version, kind), items in zip(served, lists, strict=True):
            for item in items:  # items of a list don't say what they are
                manifest = {"apiVersion": version, "kind": kind, **item}
                found[key_of(manifest)] = manifest
    return found, [one for one in wanted if one not in served]


def _plurals(source: Source, version: str) -> dict[str, str]:
    """Names in URLs by kind."""
    found = source.get(_root(version)) or {}
    return {entry["kind"]: entry["name"] for entry in found.get("resources") or () if "/" not in entry["name"]}


def _root(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"
