"""Property values on the wire, with what Kubernetes objects never hold: assets and references to resources."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from google.protobuf import struct_pb2  # type: ignore[import-untyped]

from sandbox.provider import values
from sandbox.provider.values import SIGNATURE, UNKNOWN, Secret, Unknown, has_unknown, plain

__all__ = ["UNKNOWN", "Asset", "Reference", "Secret", "Unknown", "decode", "encode", "flat", "has_unknown", "overlay", "plain"]

_ASSET: Final = "c44067f5952c0a294b673a41bacd8c17"
_ARCHIVE: Final = "0def7320c3a5731c473e5ecbe6d01bc7"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"
_REFERENCE: Final = "5cf8f73096256a8f31e491e813e4eb8e"
_OUTPUT_VALUE: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"


@dataclass(frozen=True)
class Asset:
    """A file or text to upload; two of the same content are equal."""

    signature: str
    hash: str
    fields: tuple[tuple[str, str], ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asset) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)


@dataclass(frozen=True)
class Reference:
    """A resource of the program; ``id`` is UNKNOWN before it exists."""

    urn: str
    id: Any
    version: str = ""


def decode(struct: struct_pb2.Struct) -> dict[str, Any]:
    """The Python form of a struct; nulls are left out."""
    found = {key: _decoded(value) for key, value in struct.fields.items()}
    return {key: value for key, value in found.items() if value is not None}


def _decoded(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return [_decoded(item) for item in value.list_value.values]
    if kind == "struct_value":
        return _special(value.struct_value) if SIGNATURE in value.struct_value.fields else decode(value.struct_value)
    holder = struct_pb2.Struct()
    holder.fields["x"].CopyFrom(value)
    return values.decode(holder).get("x")


def _special(struct: struct_pb2.Struct) -> Any:
    marker = struct.fields[SIGNATURE].string_value
    if marker == _SECRET:
        return Secret(_decoded(struct.fields["value"]))
    if marker == _OUTPUT_VALUE:
        if "value" not in struct.fields:
            return UNKNOWN
        inner = _decoded(struct.fields["value"])
        return Secret(inner) if struct.fields["secret"].bool_value else inner
    if marker == _REFERENCE:
        found = _decoded(struct.fields["id"]) if "id" in struct.fields else ""
        return Reference(struct.fields["urn"].string_value, found or UNKNOWN, struct.fields["packageVersion"].string_value)
    if marker in (_ASSET, _ARCHIVE):
        fields = {key: item.string_value for key, item in struct.fields.items() if key not in (SIGNATURE, "hash")}
        return Asset(marker, struct.fields["hash"].string_value, tuple(sorted(fields.items())))
    raise ValueError(f"unknown kind of value {marker}")


def encode(found: dict[str, Any]) -> struct_pb2.Struct:
    """The wire form; the reverse of :func:`decode`."""
    return values.encode(_encodable(found))


def _encodable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(item) for item in value]
    if isinstance(value, Secret):
        return Secret(_encodable(value.value))
    if isinstance(value, Asset):
        return {SIGNATURE: value.signature, "hash": value.hash, **dict(value.fields)}
    if isinstance(value, Reference):
        known = {} if isinstance(value.id, Unknown) else {"id": value.id}
        return {SIGNATURE: _REFERENCE, "urn": value.urn, "packageVersion": value.version, "id": "", **known}
    return value


def flat(value: Any, path: str) -> list[Any]:
    """The values at a dotted path, through lists; without secrets' wrappers, unknowns and what is not there."""
    found = [plain(value)]
    for part in path.split("."):
        found = [item[part] for item in found if isinstance(item, dict) and item.get(part) is not None]
        found = [item for one in found for item in (one if isinstance(one, list) else [one])]
    return [item for item in found if not isinstance(item, Unknown)]


def overlay(made: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """What the service made up, with what it was given in its place; maps are merged, so that a part made up stays."""
    return {
        **made,
        **{key: overlay(made[key], value) if both_maps(made.get(key), value) else value for key, value in given.items()},
    }


def both_maps(one: Any, other: Any) -> bool:
    return isinstance(one, dict) and isinstance(other, dict)
