"""What a live object says of the inputs that it was made from: only what the program set, as it stands now."""

from __future__ import annotations

import base64
import binascii
import re
from decimal import Decimal
from typing import Any, Final

from sandbox.provider import managed
from sandbox.provider.managed import Fields
from sandbox.provider.names import Kind

_SERVER_METADATA: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def live_inputs(old: dict[str, Any], live: dict[str, Any]) -> dict[str, Any]:
    """The old inputs with the values that the live object has in their place.

    What the program never set is left out, so defaults and status are no drift. An element is matched by its keys where the list
    merges by keys; elements added to any other list are part of it. Quantities that mean the same are the same.
    """
    found = _Projection(live).of_map(old, live, managed.owned(live), ())
    if live.get("kind") == "Secret" and "stringData" in old:
        found["stringData"] = _string_data(old["stringData"], live.get("data") or {})
    return found


def imported_inputs(live: dict[str, Any], kind: Kind) -> dict[str, Any]:
    """The inputs of an object that the program did not make: all of it but what only the server writes."""
    found = {key: value for key, value in live.items() if key != "status"}
    meta = {key: value for key, value in found.get("metadata", {}).items() if key not in _SERVER_METADATA}
    if _LAST_APPLIED in meta.get("annotations", {}):
        kept = {key: value for key, value in meta["annotations"].items() if key != _LAST_APPLIED}
        meta = {**meta, "annotations": kept} if kept else {k: v for k, v in meta.items() if k != "annotations"}
    return {"apiVersion": kind.api_version, "kind": kind.name, **found, "metadata": meta}


def without_managed_fields(live: dict[str, Any]) -> dict[str, Any]:
    """The object as it is kept in the state."""
    meta = {key: value for key, value in live.get("metadata", {}).items() if key != "managedFields"}
    return {**live, "metadata": meta}


def _string_data(old: Any, data: dict[str, Any]) -> Any:
    if not isinstance(old, dict):
        return old
    return {key: _decoded(data[key]) for key in old if key in data}


def _decoded(text: Any) -> str:
    try:
        return base64.b64decode(str(text)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


class _Projection:
    """Walks old inputs and live object together."""

    def __init__(self, live: dict[str, Any]) -> None:
        # The admission plugins of the API server add tolerations, volumes and the like to pods.
        self._ignores_extra = live.get("kind") == "Pod"

    def of(self, old: Any, live: Any, fields: Fields, path: tuple[str, ...]) -> Any:
        if isinstance(old, dict) and isinstance(live, dict):
            return self.of_map(old, live, fields, path)
        if isinstance(old, list) and isinstance(live, list):
            return self._of_list(old, live, fields, path)
        return old if same_scalar(old, live, quantities=path[:1] == ("spec",)) else live

    def of_map(self, old: dict[str, Any], live: dict[str, Any], fields: Fields, path: tuple[str, ...]) -> dict[str, Any]:
        found = {}
        for key, value in old.items():
            if key in live:
                found[key] = self.of(value, live[key], managed.child(fields, key), (*path, key))
            elif not value:  # servers drop empty values
                found[key] = value
        return found

    def _of_list(self, old: list[Any], live: list[Any], fields: Fields, path: tuple[str, ...]) -> list[Any]:
        keyed = managed.list_keys(fields)
        if keyed:
            return self._of_keyed(old, live, keyed, path)
        if managed.is_set(fields):
            return [value for value in old if value in live]
        pairs = [self.of(one, other, {}, path) for one, other in zip(old, live, strict=False)]
        return pairs if self._ignores_extra else [*pairs, *live[len(old) :]]

    def _of_keyed(
        self, old: list[Any], live: list[Any], keyed: list[tuple[dict[str, Any], Fields]], path: tuple[str, ...]
    ) -> list[Any]:
        names = list(keyed[0][0])
        found = []
        for value in old:
            wanted = [value.get(name) for name in names if name in value] if isinstance(value, dict) else None
            for other in live:
                if isinstance(other, dict) and wanted == [other.get(name) for name in names if name in value]:
                    fields = next((under for keys, under in keyed if keys.items() <= other.items()), {})
                    found.append(self.of(value, other, fields, path))
                    break
        return found


_QUANTITY: Final = re.compile(r"([+-]?\d+(?:\.\d*)?)(?:(e[+-]?\d+)|([KMGTPE]i|[numkMGTPE]))?", re.IGNORECASE)
_SUFFIX: Final[dict[str, Decimal]] = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(10) ** 3,
    **{letter: Decimal(10) ** (3 * power) for power, letter in enumerate("MGTPE", start=2)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}


def quantity(value: Any) -> Decimal | None:
    """The number that a Kubernetes quantity (``500m``, ``1Gi``, ``2``) stands for; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        return None
    number, exponent, suffix = match.groups()
    if suffix is not None and suffix not in _SUFFIX:
        return None
    return Decimal(number + (exponent or "")) * (_SUFFIX[suffix] if suffix else 1)


def same_scalar(one: Any, other: Any, *, quantities: bool) -> bool:
    """Whether two values mean the same; with ``quantities``, ``1024Mi`` and ``1Gi`` do."""
    if isinstance(one, bool) is isinstance(other, bool) and one == other:
        return True
    if not quantities:
        return False
    left = quantity(one)
    return left is not None and left == quantity(other)
