"""Pulumi's import file: exactly the declared resources that are there already.

Each entry brings its inputs and its state along: what the program declares, with the live value of every declared field. So
`pulumi import` writes a state in which only real differences are left, and what a cluster adds by itself (finalizers, defaults)
is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from governance.adoption.model import Object
from live.adoption.comparing import changes
from live.adoption.registering import Registration
from live.drift.compare import ABSENT, Item
from live.drift.state import Key, key_of


@dataclass(frozen=True, slots=True)
class Known:
    """A resource of AWS that is there."""

    id: str
    """What its provider imports it by."""
    outputs: Mapping[str, Any] | None
    """What its state has beside the inputs; None: the provider reads all of it."""
    inputs: Mapping[str, Any]
    """What is there of the declared inputs."""


def import_file(registered: Iterable[Registration], live: Mapping[Key, Object], known: Mapping[str, Known]) -> dict[str, Any]:
    """The file's content. `live` are the objects that are there; `known` what is there of AWS, by URN."""
    registered = list(registered)
    by_urn = {one.urn: one for one in registered}
    wanted: dict[str, dict[str, Any]] = {}
    providers: dict[str, str] = {}
    for one in registered:
        found = _entry(one, live, known)
        if found is None:
            continue
        if one.provider:
            providers[_provider_name(one.provider)] = one.provider
            found["provider"] = _provider_name(one.provider)
        for ancestor in _ancestors(one, by_urn):
            wanted.setdefault(ancestor.urn, _component(ancestor))
        wanted[one.urn] = found | ({"parent": _name(by_urn[one.parent])} if one.parent else {})
    return {"nameTable": providers, "resources": list(wanted.values())}


def _entry(one: Registration, live: Mapping[Key, Object], known: Mapping[str, Known]) -> dict[str, Any] | None:
    head = {"type": one.type, "name": _name(one), "logicalName": one.name}
    if (there := known.get(one.urn)) is not None:
        inputs = dict(there.inputs)
        told = {} if there.outputs is None else {"outputs": {**inputs, **there.outputs, "__inputs": inputs}}
        return {**head, "id": there.id, "inputs": inputs, **told}
    if not one.custom or one.is_provider or "metadata" not in one.inputs:
        return None
    key = key_of(one.inputs)
    if key not in live:
        return None
    inputs = as_live(one.inputs, live[key])
    state = {**inputs, "__inputs": inputs, "__initialApiVersion": one.inputs["apiVersion"]}
    identity = f"{key.namespace}/{key.name}" if key.namespace else key.name
    return {**head, "id": identity, "inputs": inputs, "outputs": state}


def as_live(declared: dict[str, Any], live: Object) -> dict[str, Any]:
    """The declared object with the live value of every field that differs: what a refresh would make of it.

    A list that differs in its elements is the live one as a whole.
    """
    result: dict[str, Any] = _copied(declared)
    for change in changes(declared, live):
        path: list[str] = []
        value: Any = live
        for step in change.path:
            if isinstance(step, Item) or not isinstance(value, Mapping):
                break
            path.append(step)
            value = value.get(step, ABSENT)
        _put(result, path, value)
    return result


def _put(target: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        target = target.setdefault(step, {})
    if value is ABSENT:
        target.pop(path[-1], None)
    else:
        target[path[-1]] = value


def _copied(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copied(one) for key, one in value.items()}
    return [_copied(one) for one in value] if isinstance(value, list) else value


def _ancestors(one: Registration, by_urn: Mapping[str, Registration]) -> list[Registration]:
    """Components above a resource, the topmost first."""
    found: list[Registration] = []
    while one.parent:
        one = by_urn[one.parent]
        found.insert(0, one)
    return found


def _component(one: Registration) -> dict[str, Any]:
    return {"type": one.type, "name": _name(one), "logicalName": one.name, "component": True, "inputs": one.inputs}


def _name(one: Registration) -> str:
    """A name that is nobody else's in the file: a logical name may be a component's and an object's."""
    return f"{one.type.rpartition(':')[2]} {one.name}"


def _provider_name(urn: str) -> str:
    return f"provider {urn.split('::')[2].rpartition(':')[2]} {urn.rpartition('::')[2]}"
