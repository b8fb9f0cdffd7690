"""The keys of CRD schemas that programs spell differently: ``x_kubernetes_…`` where the server says ``x-kubernetes-…``."""

from __future__ import annotations

from typing import Any, Final

_DASHED: Final = tuple(
    f"x-kubernetes-{name}"
    for name in (
        "embedded-resource",
        "int-or-string",
        "list-map-keys",
        "list-type",
        "map-type",
        "preserve-unknown-fields",
        "validations",
    )
)
_TO_SERVER: Final = {key.replace("-", "_"): key for key in _DASHED}
_TO_PROGRAM: Final = {key: key.replace("-", "_") for key in _DASHED}


def to_server(obj: dict[str, Any]) -> dict[str, Any]:
    """An object as it is sent."""
    return _respelled(obj, _TO_SERVER)


def to_program(obj: dict[str, Any]) -> dict[str, Any]:
    """An object as programs and the state spell it."""
    return _respelled(obj, _TO_PROGRAM)


def _respelled(obj: dict[str, Any], table: dict[str, str]) -> dict[str, Any]:
    if obj.get("kind") != "CustomResourceDefinition" or "spec" not in obj:
        return obj
    return {**obj, "spec": _renamed(obj["spec"], table)}


def _renamed(value: Any, table: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {table.get(key, key): _renamed(item, table) for key, item in value.items()}
    return [_renamed(item, table) for item in value] if isinstance(value, list) else value
