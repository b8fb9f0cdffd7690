"""The resources of the package ``aws``."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from fakecloud import schema, sdk
from fakecloud.calls import AwsError
from fakecloud.codec import UNKNOWN, Secret, flat, has_unknown, plain
from fakecloud.diffing import Change, changes, covers, unordered
from fakecloud.kinds import CREATED, Hook, Inputs, Kind, refuse_duplicate, resolve
from fakecloud.lookups import invoke
from fakecloud.provider import Asked, Instance
from fakecloud.types_base import BASE
from fakecloud.types_ec2 import EC2
from fakecloud.types_eks import EKS
from fakecloud.world import Thing, handles_of

if TYPE_CHECKING:
    from fakecloud.cloud import FakeCloud

KINDS: Final[dict[str, Kind]] = {**EC2, **BASE, **EKS}
_TAG: Final = re.compile(r"[\w\s.:/=+@-]*", re.UNICODE)


def kind_of(token: str) -> Kind:
    """How a type behaves; one that is in no table has made-up identifiers and refers to nothing."""
    known = KINDS.get(token)
    if known is not None:
        return known
    shape = sdk.inputs(token)
    named = "name" if "name" in (shape.fields or {}) else ""
    return Kind(token.rpartition(":")[2], token.rpartition(":")[2].lower(), autoname=named)


def arn_parts(token: str) -> tuple[str, str]:
    """Service and kind of resource in the ARN of a type that is in no table."""
    _, module, name = token.split(":")
    return module.partition("/")[0], re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


class Aws:
    """Carries out what the engine asks of ``aws``; see :class:`fakecloud.provider.Backend`."""

    def __init__(self, cloud: FakeCloud) -> None:
        self._cloud = cloud

    # -- before anything is done -----------------------------------------------------------------------------------------

    def check(self, asked: Asked, news: Inputs, olds: Inputs, seed: bytes) -> tuple[Inputs, Any]:
        try:
            shape, kind = sdk.inputs(asked.token), kind_of(asked.token)
        except LookupError as error:
            return news, [("", str(error))]
        inputs = {key: value for key, value in news.items() if key != "__defaults"}
        if "tags" in (shape.fields or {}) and (asked.instance.tags or "tags" in inputs):
            given = inputs.get("tags") or {}
            given = given.value if isinstance(given, Secret) else given
            inputs["tags"] = {**asked.instance.tags, **given} if isinstance(given, dict) else given
        if kind.autoname and kind.autoname not in inputs and not inputs.get(f"{kind.autoname}Prefix"):
            inputs[kind.autoname] = _autoname(asked, kind, olds, seed)
            inputs["__defaults"] = [kind.autoname]
        failures = list(sdk.check(inputs, shape))
        for name in kind.documents:
            if isinstance(inputs.get(name), dict) and not has_unknown(inputs[name]):
                inputs[name] = json.dumps(plain(inputs[name]))  # as the provider does with typed documents
        return inputs, failures or list(self._limits(kind, plain(inputs)))

    def _limits(self, kind: Kind, inputs: Inputs) -> Iterator[tuple[str, str]]:
        yield from kind.check(inputs)
        if kind.twin:
            values = {key: value for key, value in inputs.items() if key not in kind.documents and kind.renames.get(key) != "-"}
            yield from schema.check_twin(kind.twin, {k: v for k, v in kind.renames.items() if v != "-"}, values)
        for path, (grammar, limit) in kind.documents.items():
            for text in flat(inputs, path):
                yield from ((path, reason) for reason in schema.check_document(text, grammar, limit))
        tags = inputs.get("tags")
        for key, value in tags.items() if isinstance(tags, dict) else ():
            if not 1 <= len(key) <= 128 or key.lower().startswith("aws:") or not _TAG.fullmatch(key):
                yield f"tags.{key}", f"InvalidTag: {key!r} is no key of a tag"
            if isinstance(value, str) and (len(value) > 256 or not _TAG.fullmatch(value)):
                yield f"tags.{key}", f"InvalidTag: {value!r} is no value of a tag"

    def diff(self, asked: Asked, olds: Inputs, news: Inputs) -> Change:
        kind = kind_of(asked.token)

        def same(path: str, old: Any, new: Any) -> bool:
            if any(covers(document, path) for document in kind.documents):
                return _same_json(old, new)
            scalars = isinstance(old, list) and isinstance(new, list) and not any(isinstance(one, dict) for one in [*old, *new])
            return scalars and unordered(old) == unordered(new)

        found = changes(olds, news, same)
        replaces = frozenset(path for path in found if any(covers(one, path) for one in kind.force_new))
        made_up = kind.autoname in (olds.get("__defaults") or []) and kind.autoname in (news.get("__defaults") or [])
        return Change(found, replaces, delete_first=bool(kind.autoname) and not made_up)

    def planned(self, asked: Asked, inputs: Inputs, state: Inputs) -> Inputs:
        kind = kind_of(asked.token)
        if state:
            return {**_merged(state, inputs), **self._tags(asked, inputs)}
        outputs = set(sdk.output_names(asked.token)) - set(inputs)
        known = {key: value for key, value in kind.defaults.items() if key in outputs}
        return {**dict.fromkeys(outputs, UNKNOWN), **known, **inputs, **self._tags(asked, inputs)}

    # -- doing -----------------------------------------------------------------------------------------------------------

    def create(self, asked: Asked, inputs: Inputs) -> tuple[str, Inputs]:
        kind, world, values = kind_of(asked.token), self._cloud.world, plain(inputs)
        values.pop("__defaults", None)
        with world.lock:
            refuse_duplicate(world, kind, values)
            links = resolve(world, kind, values)
            id_ = self._new_id(asked, kind, values)
            if world.get(kind.noun, id_) is not None:
                raise AwsError(kind.conflict, f"{kind.noun} {id_!r} already exists")
            state = self._state(asked, kind, id_, values)
            thing = Thing(kind.noun, asked.token, id_, state, handles_of(id_, state, *kind.handles(id_, state)), values, links)
            world.add(thing)
            try:
                kind.on_create(Hook(world, asked.place, thing))
            except AwsError:
                world.forget(thing)
                raise
        return id_, _merged(thing.properties, inputs)

    def _new_id(self, asked: Asked, kind: Kind, values: Inputs) -> str:
        found = kind.id(asked.place, values) if kind.id else f"{kind.prefix}-{self._cloud.world.new_hex()}"
        if found:
            return found
        digits = self._cloud.world.new_hex(32)
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def _state(self, asked: Asked, kind: Kind, id_: str, values: Inputs) -> Inputs:
        outputs = sdk.output_names(asked.token)
        given = sdk.inputs(asked.token).fields or {}
        service, resource = arn_parts(asked.token)
        made: Inputs = {}
        for name, hint in outputs.items():
            if name == "region":
                made[name] = asked.place.region
            elif name == "arn":
                made[name] = asked.place.arn(service, f"{resource}/{id_}")
            elif name not in given and name != "tagsAll":
                made[name] = _made_up(name, hint, id_)
        defaults = {key: value for key, value in kind.defaults.items() if key in outputs}
        state = {**made, **defaults, **values}
        known = kind.outputs(asked.place, id_, values)
        return {**state, **{key: value for key, value in known.items() if key in outputs}, **self._tags(asked, values)}

    def _tags(self, asked: Asked, inputs: Inputs) -> Inputs:
        return {"tagsAll": inputs.get("tags", {})} if "tagsAll" in sdk.output_names(asked.token) else {}

    def update(self, asked: Asked, id_: str, olds: Inputs, news: Inputs) -> Inputs:
        kind, world, values = kind_of(asked.token), self._cloud.world, plain(news)
        values.pop("__defaults", None)
        with world.lock:
            thing = self._existing(kind, id_)
            before = (thing.inputs, thing.properties, thing.links)
            thing.links = resolve(world, kind, values)
            state = self._state(asked, kind, id_, values)
            thing.properties, thing.inputs = _keep(thing, state), values
            try:
                kind.on_update(Hook(world, asked.place, thing, plain(olds)))
            except AwsError:
                thing.inputs, thing.properties, thing.links = before
                raise
        return _merged(thing.properties, news)

    def _existing(self, kind: Kind, id_: str) -> Thing:
        thing = self._cloud.world.get(kind.noun, id_)
        if thing is None:
            raise AwsError("ResourceNotFoundException", f"{kind.noun} {id_!r} does not exist")
        return thing

    def read(self, asked: Asked, id_: str, inputs: Inputs) -> tuple[Inputs, Inputs] | None:
        kind = kind_of(asked.token)
        thing = self._cloud.world.get(kind.noun, id_)
        if thing is None:
            return None
        given = set(sdk.inputs(asked.token).fields or {})
        found = thing.inputs or {key: value for key, value in thing.properties.items() if key in given}
        kept = {**found, **({"__defaults": inputs["__defaults"]} if "__defaults" in inputs else {})}
        return kept, _merged(thing.properties, found)

    def delete(self, asked: Asked, id_: str) -> None:
        kind, world = kind_of(asked.token), self._cloud.world
        with world.lock:
            thing = world.get(kind.noun, id_)
            if thing is None:
                return
            for one, error in world.referrers(thing):
                own_rule = one.noun == "security group rule" and one.inputs.get("securityGroupId") == id_
                if error and one is not thing and not own_rule:
                    raise AwsError(error, f"{thing.noun} {id_!r} has a dependent object: {one.noun} {one.id!r}")
            kind.on_delete(Hook(world, asked.place, thing))
            world.forget(thing)

    def invoke(self, instance: Instance, token: str, args: Inputs) -> tuple[Inputs, Any]:
        return invoke(self._cloud, instance.place, token, args)


def _autoname(asked: Asked, kind: Kind, olds: Inputs, seed: bytes) -> str:
    """The logical name and seven random digits, as the provider does it; the same as before for what exists."""
    before = plain(olds.get(kind.autoname))
    if isinstance(before, str) and kind.autoname in (olds.get("__defaults") or []):
        return before
    digits = hashlib.sha256(seed + asked.urn.encode()).hexdigest()[:7]
    name = asked.name.rpartition("/")[2] if kind.noun == "bucket" else asked.name
    start = "alias/" if kind.noun == "key alias" else ""
    found = f"{start}{name[: kind.name_limit - 8 - len(start)]}-{digits}"
    return found.lower() if kind.noun == "bucket" else found


def _same_json(old: Any, new: Any) -> bool:
    try:
        return bool(json.loads(old) == json.loads(new))
    except (TypeError, ValueError):
        return False


def _made_up(name: str, hint: Any, id_: str) -> Any:
    """A value of the right form for an output that no table knows."""
    shape = sdk.shape_of(hint) if hint is not None else sdk.Shape("scalar", type=str)
    if shape.kind == "list":
        return []
    if shape.kind in ("map", "object"):
        return {}
    if shape.type is str:
        return CREATED if name.endswith(("At", "Date", "Time")) else f"{id_}-{name}" if name.endswith("Id") else ""
    return {bool: False, int: 0, float: 0.0}.get(shape.type, "")


def _merged(state: Inputs, inputs: Inputs) -> Inputs:
    """The state with the inputs in it as they were given, secrets wrapped, and what the service added to nested objects."""
    found = dict(state)
    for key, value in inputs.items():
        both = key != "tags" and isinstance(value, dict) and isinstance(state.get(key), dict)
        found[key] = _merged(state[key], value) if both else value
    return found


def _keep(thing: Thing, state: Inputs) -> Inputs:
    """The new state, with what the service had added to nested objects (as a cluster's security group) still in them."""
    found = dict(state)
    for key, value in thing.properties.items():
        if isinstance(value, dict) and isinstance(state.get(key), dict) and key in thing.inputs:
            added = {name: item for name, item in value.items() if name not in thing.inputs[key] and name not in state[key]}
            found[key] = {**state[key], **added}
    return found
