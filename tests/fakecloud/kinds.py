"""How a type of thing behaves at the service: what it is called, what it refers to, what it answers with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from fakecloud.calls import AwsError
from fakecloud.codec import flat
from fakecloud.world import Place, Thing, World

Inputs = dict[str, Any]
Findings = Iterable[tuple[str, str]]
"""Of Check: property path and reason."""
CREATED: Final = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class Ref:
    """An input that names another thing. ``blocks``: the error for deleting that one meanwhile; empty where AWS allows it."""

    path: str
    noun: str
    blocks: str = ""
    missing: str = "InvalidParameterValue"


@dataclass(frozen=True)
class Hook:
    """What the service looks at when it carries out an operation."""

    world: World
    place: Place
    thing: Thing
    old: Inputs = field(default_factory=dict)
    """The inputs before an update."""

    @property
    def inputs(self) -> Inputs:
        return self.thing.inputs

    def linked(self, noun: str) -> list[Thing]:
        """The things of a kind that this one refers to."""
        return [one for one, _ in self.thing.links if one.noun == noun]


def _nothing(hook: Hook) -> None:
    return None


@dataclass(frozen=True)
class Kind:
    """``id`` makes the identifier, ``prefix`` one out of digits. ``unique`` are the inputs that no two may share; ``autoname`` is
    the input that the provider makes up from the logical name; ``force_new`` are the inputs whose change needs a replacement.
    ``documents`` are IAM documents by input: the schema's name and the quota in characters."""

    noun: str
    prefix: str = ""
    id: Callable[[Place, Inputs], str] | None = None
    unique: tuple[str, ...] = ()
    conflict: str = "AlreadyExistsException"
    autoname: str = ""
    name_limit: int = 64
    force_new: tuple[str, ...] = ()
    refs: tuple[Ref, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    outputs: Callable[[Place, str, Inputs], dict[str, Any]] = lambda place, id_, inputs: {}
    handles: Callable[[str, Inputs], tuple[str, ...]] = lambda id_, properties: ()
    twin: str = ""
    renames: Mapping[str, str] = field(default_factory=dict)
    documents: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    check: Callable[[Inputs], Findings] = lambda inputs: ()
    on_create: Callable[[Hook], None] = _nothing
    on_update: Callable[[Hook], None] = _nothing
    on_delete: Callable[[Hook], None] = _nothing


def resolve(world: World, kind: Kind, inputs: Inputs) -> tuple[tuple[Thing, str], ...]:
    """The things that inputs refer to. Raises AwsError for one that is not there."""
    found: dict[tuple[int, str], tuple[Thing, str]] = {}
    for ref in kind.refs:
        for value in flat(inputs, ref.path):
            if not isinstance(value, str) or not value or _is_public(ref.noun, value):
                continue
            thing = world.by(ref.noun, value)
            if thing is None:
                raise AwsError(ref.missing, f"{ref.path}: the {ref.noun} {value!r} does not exist")
            found[id(thing), ref.blocks] = (thing, ref.blocks)
    return tuple(found.values())


def _is_public(noun: str, value: str) -> bool:
    """Whether it is everybody's, and so always there."""
    return noun == "policy" and ":iam::aws:policy/" in value


def refuse_duplicate(world: World, kind: Kind, inputs: Inputs) -> None:
    """Raises AwsError where something has the same unique inputs."""
    if not kind.unique:
        return
    key = [inputs.get(name) for name in kind.unique]
    for one in world.of(kind.noun):
        if [one.inputs.get(name, one.properties.get(name)) for name in kind.unique] == key:
            raise AwsError(
                kind.conflict, f"{kind.noun} {', '.join(str(part) for part in key if part is not None)} already exists"
            )
