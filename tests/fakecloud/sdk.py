"""What the published SDK packages say of a type: its inputs, nested ones too, and its outputs."""

from __future__ import annotations

import inspect
import threading
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Final

from pulumi import _types

from fakecloud.codec import Asset, Reference, Unknown, plain

_PACKAGES: Final = {"aws": "pulumi_aws", "aws-native": "pulumi_aws_native", "eks": "pulumi_eks"}
_LOCK: Final = threading.RLock()
"""Modules that import each other may not be imported by two threads at once."""


@dataclass(frozen=True)
class Shape:
    """A value's form: ``fields`` of an object, ``item`` of a list or map, else a scalar's Python ``type`` (None: anything)."""

    kind: str
    fields: Mapping[str, Any] | None = None
    required: frozenset[str] = frozenset()
    item: Any = None
    type: Any = None


def _class_of(token: str) -> Any:
    package, module, name = token.split(":")
    module = module.partition("/")[0]
    path = _PACKAGES[package] if module == "index" else f"{_PACKAGES[package]}.{module.replace('lambda', 'lambda_')}"
    with _LOCK:
        try:
            return getattr(import_module(path), name)
        except (ImportError, AttributeError):
            raise LookupError(f"{token} is not a resource type of the installed {_PACKAGES[package]}") from None


def _beside(token: str, suffix: str, prefix: str = "") -> Any:
    found = _class_of(token)
    return getattr(import_module(found.__module__), f"{prefix}{found.__name__}{suffix}", None)


@cache
def inputs(token: str) -> Shape:
    """The inputs of a resource type. Raises LookupError for a type that the SDK lacks."""
    found = _beside(token, "InitArgs") or _beside(token, "Args")  # the first where a nested type has the usual name
    if found is None:
        raise LookupError(f"{token} has no inputs in the SDK")
    with _LOCK:
        return _object(found)


@cache
def output_names(token: str) -> Mapping[str, Any]:
    """Types of the properties that a program can read, by name."""
    with _LOCK:
        state = _beside(token, "State", "_")
        if state is not None:
            return dict(_types.input_type_types(state))
        found = _class_of(token)
        names = {
            getattr(member.fget, "_pulumi_name", name): None
            for name, member in inspect.getmembers(found, lambda one: isinstance(one, property))
            if name not in ("urn", "id", "pulumi_resource_name", "pulumi_resource_type")
        }
        return {name.rstrip("_"): kind for name, kind in names.items()}


@cache
def _object(cls: Any) -> Shape:
    names = _types.input_type_py_to_pulumi_names(cls)
    hints = _types.input_type_types(cls)
    parameters = inspect.signature(cls.__init__).parameters.values()
    required = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    fields = {name: hints[name] for name in names.values() if name in hints}
    return Shape("object", fields, frozenset(names[one] for one in required))


@cache
def shape_of(hint: Any) -> Shape:
    """The shape that a type hint of the SDK stands for."""
    shapes: dict[str, Shape] = {}
    for one in _leaves(hint):
        origin = typing.get_origin(one)
        if isinstance(one, type) and _types.is_input_type(one):
            shapes.setdefault("object", _object(one))
        elif isinstance(origin, type) and issubclass(origin, Mapping):
            shapes.setdefault("map", Shape("map", item=typing.get_args(one)[1]))
        elif isinstance(origin, type) and issubclass(origin, Sequence):
            shapes.setdefault("list", Shape("list", item=typing.get_args(one)[0]))
        elif one in (str, bool, int, float):
            shapes["scalar"] = Shape("scalar", type=None if "scalar" in shapes else one)
    if "object" in shapes:
        shapes.pop("map", None)
    if len(shapes) > 1:
        return Shape("either", item=tuple(shapes.values()))
    return next(iter(shapes.values()), Shape("scalar"))


def _chosen(value: Any, shape: Shape) -> Shape:
    """Of the shapes that a value may have, the one that it looks like; else the first."""
    wanted = ("object", "map") if isinstance(value, dict) else ("list",) if isinstance(value, list) else ("scalar",)
    return next((one for one in shape.item if one.kind in wanted), shape.item[0])


def _leaves(hint: Any) -> Iterator[Any]:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        for one in typing.get_args(hint):
            yield from _leaves(one)
    elif hint not in (type(None), Any) and not (isinstance(origin, type) and origin.__name__ in ("Awaitable", "Output")):
        yield hint


def check(value: Any, shape: Shape, path: str = "") -> Iterator[tuple[str, str]]:
    """What the SDK's types say against a value: unknown, missing and wrongly formed properties. Unknown values pass."""
    value = plain(value)
    if isinstance(value, (Unknown, Asset, Reference)) or value is None:
        return
    if shape.kind == "either":
        yield from check(value, _chosen(value, shape), path)
    elif shape.kind == "object":
        yield from _check_object(value, shape, path)
    elif shape.kind in ("map", "list"):
        yield from _check_items(value, shape, path)
    elif shape.type is not None and not _fits(value, shape.type):
        yield path, f"{value!r} is not of type {shape.type.__name__}"


def _check_items(value: Any, shape: Shape, path: str) -> Iterator[tuple[str, str]]:
    wanted: Any = dict if shape.kind == "map" else list
    if not isinstance(value, wanted):
        yield path, f"a {shape.kind} is expected, not {value!r}"
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from check(item, shape_of(shape.item), f"{path}.{key}")
    else:
        for number, item in enumerate(value):
            yield from check(item, shape_of(shape.item), f"{path}[{number}]")


def _check_object(value: Any, shape: Shape, path: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        yield path, f"an object is expected, not {value!r}"
        return
    fields = shape.fields or {}
    for name, item in value.items():
        where = f"{path}.{name}" if path else name
        if name == "__defaults":
            continue
        if name not in fields:
            yield where, f"unknown property {name!r}"
        else:
            yield from check(item, shape_of(fields[name]), where)
    for name in sorted(shape.required - set(value)):
        yield f"{path}.{name}" if path else name, f"missing required property {name!r}"


def _fits(value: Any, wanted: Any) -> bool:
    if wanted is bool or isinstance(value, bool):
        return wanted is bool and isinstance(value, bool)
    if wanted is int:
        return isinstance(value, int)
    if wanted is float:
        return isinstance(value, (int, float))
    return isinstance(value, wanted)


@cache
def provider_inputs(package: str) -> frozenset[str]:
    """Names of a provider's own settings."""
    with _LOCK:
        module = import_module(f"{_PACKAGES[package]}.provider")
        return frozenset(_types.input_type_py_to_pulumi_names(module.ProviderArgs).values())


@cache
def release_inputs() -> Shape:
    """The inputs of a Helm release."""
    with _LOCK:
        return _object(import_module("pulumi_kubernetes.helm.v3").ReleaseArgs)
