"""Field ownership: reading ``metadata.managedFields`` of an object, and taking over the fields of earlier managers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

Fields = dict[str, Any]

# Whose fields an update takes over without a conflict, as the plugin does: kubectl's in every spelling, and what was written
# before server-side apply was in use.
_KUBECTL: Final = "kubectl"
_BEFORE_APPLY: Final = frozenset({"before-first-apply", "pulumi-kubernetes", "pulumi-resource-kubernetes"})


def entries(obj: dict[str, Any]) -> list[dict[str, Any]]:
    """The object's managedFields entries."""
    meta = obj.get("metadata")
    found = meta.get("managedFields") if isinstance(meta, dict) else None
    return found if isinstance(found, list) else []


def is_managed_by(obj: dict[str, Any], manager: str) -> bool:
    """Whether ``manager`` has ever written the object itself (not only a subresource) and still owns a field of it."""
    return any(entry.get("manager") == manager and not entry.get("subresource") for entry in entries(obj))


def yields_to(manager: str, operation: str, ours: str) -> bool:
    """Whether an update by ``ours`` takes the fields of this manager over instead of reporting a conflict."""
    if manager == ours:
        return operation == "Update"
    return manager.startswith(_KUBECTL) or (operation == "Update" and manager in _BEFORE_APPLY)


def takeover(obj: dict[str, Any], ours: str) -> list[dict[str, Any]] | None:
    """The managedFields in which ``ours`` has applied what the managers that yield to it own; None if there are none."""
    taken = [entry for entry in entries(obj) if _yielding(entry, ours)]
    if not taken:
        return None
    rest = [entry for entry in entries(obj) if entry not in taken]
    own = [entry for entry in rest if _is_own_apply(entry, ours)]
    fields: Fields = {}
    for entry in [*own, *taken]:
        fields = union(fields, entry.get("fieldsV1") or {})
    merged = {**taken[0], "manager": ours, "operation": "Apply", "fieldsV1": fields}
    return [*(entry for entry in rest if entry not in own), merged]


def _yielding(entry: dict[str, Any], ours: str) -> bool:
    return not entry.get("subresource") and yields_to(entry.get("manager", ""), entry.get("operation", ""), ours)


def _is_own_apply(entry: dict[str, Any], ours: str) -> bool:
    return entry.get("manager") == ours and entry.get("operation") == "Apply" and not entry.get("subresource")


def union(one: Fields, other: Fields) -> Fields:
    """The fields of both sets."""
    merged = dict(one)
    for key, children in other.items():
        merged[key] = union(merged[key], children) if key in merged else children
    return merged


def owned(obj: dict[str, Any]) -> Fields:
    """All fields that anybody owns: the only description of an object's lists that is at hand without its schema."""
    fields: Fields = {}
    for entry in entries(obj):
        fields = union(fields, entry.get("fieldsV1") or {})
    return fields


def child(fields: Fields, key: str) -> Fields:
    """What lies under property ``key``."""
    found = fields.get(f"f:{key}")
    return found if isinstance(found, dict) else {}


def list_keys(fields: Fields) -> list[tuple[dict[str, Any], Fields]]:
    """For a list that merges by keys, each element's keys and fields; empty for any other list."""
    return [(json.loads(name[2:]), children) for name, children in fields.items() if name.startswith("k:")]


def is_set(fields: Fields) -> bool:
    """Whether the list is a set, to which several managers can add."""
    return any(name.startswith("v:") for name in fields)


def conflicting_managers(causes: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Manager and field of each cause of a server-side apply conflict, in the server's words (``conflict with "x" using v1``)."""
    found = []
    for cause in causes:
        parts = str(cause.get("message", "")).split('"')
        found.append((parts[1] if len(parts) > 2 else str(cause.get("message", "")), str(cause.get("field", ""))))
    return found
