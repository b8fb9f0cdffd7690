"""Property values on the wire: protobuf structs with the engine's markers for secrets and unknowns, and plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf import struct_pb2  # type: ignore[import-untyped]

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a marker of the wire format, no secret
_ASSETS: Final = frozenset({"c44067f5952c0a294b673a41bacd8c17", "0def7320c3a5731c473e5ecbe6d01bc7"})
_OUTPUT_VALUE: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_UNKNOWNS: Final = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
_UNKNOWN_WIRE: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


class UnsupportedValueError(ValueError):
    """A value that no Kubernetes object can hold (an asset or an archive)."""


class Unknown:
    """The value of an output that is not known before the update has run."""

    def __repr__(self) -> str:
        return "<unknown>"


UNKNOWN: Final = Unknown()


class Secret:
    """A value that the engine encrypts in the state and hides on screen. Its representation never shows the value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<secret>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


def decode(struct: struct_pb2.Struct) -> dict[str, Any]:
    """The Python form of a struct: secrets as ``Secret``, unknowns as ``UNKNOWN``, nulls left out, whole numbers as int."""
    found = {key: _decode_value(value) for key, value in struct.fields.items()}
    return {key: value for key, value in found.items() if value is not None}


def _decode_value(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        text = value.string_value
        return UNKNOWN if text in _UNKNOWNS else text
    if kind == "struct_value":
        return _decode_struct(value.struct_value)
    if kind == "list_value":
        return [_decode_value(item) for item in value.list_value.values]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return value.bool_value if kind == "bool_value" else None


def _decode_struct(struct: struct_pb2.Struct) -> Any:
    if SIGNATURE not in struct.fields:
        return decode(struct)
    marker = struct.fields[SIGNATURE].string_value
    if marker == _SECRET:
        return Secret(_decode_value(struct.fields["value"]))
    if marker == _OUTPUT_VALUE:
        return _decode_value(struct.fields["value"]) if "value" in struct.fields else UNKNOWN
    if marker in _ASSETS:
        raise UnsupportedValueError("assets and archives cannot be part of a Kubernetes object")
    return decode(struct)


def encode(values: dict[str, Any]) -> struct_pb2.Struct:
    """The wire form of ``values``; the reverse of :func:`decode`."""
    struct = struct_pb2.Struct()
    _fill(struct, values)
    return struct


def _fill(struct: struct_pb2.Struct, values: dict[str, Any]) -> None:
    for key, value in values.items():
        _set(struct.fields[key], value)


def _set(slot: struct_pb2.Value, value: Any) -> None:
    if isinstance(value, str):
        slot.string_value = value
    elif isinstance(value, bool):
        slot.bool_value = value
    elif isinstance(value, (int, float)):
        slot.number_value = value
    elif value is None:
        slot.null_value = struct_pb2.NULL_VALUE
    elif isinstance(value, dict):
        _fill(slot.struct_value, value)
        slot.struct_value.SetInParent()
    elif isinstance(value, list):
        slot.list_value.SetInParent()
        for item in value:
            _set(slot.list_value.values.add(), item)
    elif isinstance(value, Secret):
        _fill(slot.struct_value, {SIGNATURE: _SECRET, "value": value.value})
    elif isinstance(value, Unknown):
        slot.string_value = _UNKNOWN_WIRE
    else:
        raise UnsupportedValueError(f"a {type(value).__name__} cannot be part of a Kubernetes object")


def plain(value: Any) -> Any:
    """A copy of ``value`` without the secret wrappers; unknowns stay."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return plain(value.value) if isinstance(value, Secret) else value


def has_unknown(value: Any) -> bool:
    """Whether an unknown is somewhere in ``value``."""
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return has_unknown(value.value) if isinstance(value, Secret) else isinstance(value, Unknown)


def has_secret(value: Any) -> bool:
    """Whether a secret is somewhere in ``value``."""
    if isinstance(value, dict):
        return any(has_secret(item) for item in value.values())
    if isinstance(value, list):
        return any(has_secret(item) for item in value)
    return isinstance(value, Secret)


def mark_secrets(target: dict[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """``target`` with the secretness of ``source``: maps key by key, anything else as a whole.

    The contents of a ``kind: Secret`` are secret in any case, ``data`` as well as ``stringData``.
    """
    marked = dict(target)
    if marked.get("kind") == "Secret":
        for key in ("data", "stringData"):
            if key in marked and not isinstance(marked[key], Secret):
                marked[key] = Secret(plain(marked[key]))
    for key, value in source.items():
        if key not in marked or isinstance(marked[key], Secret) or not has_secret(value):
            continue
        both_maps = isinstance(marked[key], dict) and isinstance(value, dict)
        marked[key] = mark_secrets(marked[key], value) if both_maps else Secret(plain(marked[key]))
    return marked


def secret_texts(value: Any, inside: bool = False) -> Iterator[str]:
    """Every string inside a secret of ``value``, for :func:`redact`."""
    if isinstance(value, Secret):
        yield from secret_texts(value.value, inside=True)
    elif isinstance(value, dict):
        for item in value.values():
            yield from secret_texts(item, inside)
    elif isinstance(value, list):
        for item in value:
            yield from secret_texts(item, inside)
    elif inside and isinstance(value, str) and len(value) > 2:
        yield value


def redact(message: str, values: dict[str, Any]) -> str:
    """``message`` with every secret string of ``values`` replaced by ``[secret]`` (servers quote the values they refuse)."""
    for text in sorted(set(secret_texts(mark_secrets(values, values))), key=len, reverse=True):
        message = message.replace(text, "[secret]")
    return message
