"""What an update sends: merge patches, and inputs in which ignored properties are as they are."""

from __future__ import annotations

from typing import Any

from sandbox.provider import managed
from sandbox.provider.diffing import Path, parse_path


def merge_patch(old: Any, new: Any) -> dict[str, Any]:
    """The JSON merge patch from ``old`` to ``new``."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        if key in old and isinstance(value, dict) and isinstance(old[key], dict):
            patch |= {key: inner} if (inner := merge_patch(old[key], value)) else {}
        elif key not in old or old[key] != value:
            patch[key] = value
    return patch


def with_ignored(obj: dict[str, Any], live: dict[str, Any], ignored: list[str], manager: str) -> dict[str, Any]:
    """``obj`` with what the program ignores as it is: left out where only others own it, else at its live value."""
    for text in ignored:
        path = parse_path(text)
        if not path or not all(isinstance(step, str) and step != "*" for step in path):
            continue
        found, value = _find(live, path)
        if found:
            obj = _put(obj, path, value, drop=not _owns(live, manager, path))
    return obj


def _find(value: Any, path: Path) -> tuple[bool, Any]:
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return False, None
        value = value[step]
    return True, value


def _put(obj: dict[str, Any], path: Path, value: Any, *, drop: bool) -> dict[str, Any]:
    step, rest = path[0], path[1:]
    if not rest:
        kept = {key: item for key, item in obj.items() if key != step}
        return kept if drop else {**kept, str(step): value}
    inner = obj.get(str(step))
    return {**obj, str(step): _put(inner if isinstance(inner, dict) else {}, rest, value, drop=drop)}


def _owns(live: dict[str, Any], manager: str, path: Path) -> bool:
    for entry in managed.entries(live):
        if entry.get("manager") == manager:
            fields = entry.get("fieldsV1") or {}
            for step in path:
                if f"f:{step}" not in fields:
                    break
                fields = fields[f"f:{step}"]
            else:
                return True
    return False
