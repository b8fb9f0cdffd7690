"""The resources of the package ``aws-native``: any CloudFormation type, typed or as ExtensionResource."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from fakecloud import schema, sdk
from fakecloud.calls import AwsError
from fakecloud.codec import UNKNOWN, Secret, Unknown, plain
from fakecloud.diffing import Change, changes, covers, unordered
from fakecloud.kinds import CREATED, Hook, Inputs, Kind, refuse_duplicate, resolve
from fakecloud.provider import Asked, CreateFailedError, Instance
from fakecloud.requests import check_request
from fakecloud.schema import deref
from fakecloud.types_native import NATIVE
from fakecloud.world import Place, Thing

if TYPE_CHECKING:
    from fakecloud.cloud import FakeCloud

EXTENSION: Final = "aws-native:index:ExtensionResource"


@cache
def cfn_type(token: str) -> str:
    """The CloudFormation type of a typed resource. Raises LookupError."""
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

    _, service, name = token.split(":")
    wanted = f"AWS::{service}::{name}".lower()
    found = [one for one in PROVIDER_SCHEMA_MANAGER.get_resource_types(schema.REGION) if one.lower() == wanted]
    if not found:
        raise LookupError(f"{token} has no CloudFormation type")
    return str(found[0])


def kind_of(type_: str) -> Kind:
    """How a CloudFormation type behaves; one without a table entry has a made-up identifier and refers to nothing."""
    return NATIVE.get(type_) or Kind(type_, type_.rpartition("::")[2].lower())


def create_only(type_: str) -> list[str]:
    """The paths whose change needs a new resource, in CloudFormation's spelling."""
    pointers = schema.resource(type_).get("createOnlyProperties", [])
    return [pointer.removeprefix("/properties/").replace("/", ".") for pointer in pointers]


class Native:
    """Carries out what the engine asks of ``aws-native``; see :class:`fakecloud.provider.Backend`."""

    def __init__(self, cloud: FakeCloud) -> None:
        self._cloud = cloud

    # -- before anything is done -----------------------------------------------------------------------------------------

    def check(self, asked: Asked, news: Inputs, olds: Inputs, seed: bytes) -> tuple[Inputs, Any]:
        try:
            shape = sdk.inputs(asked.token)
            failures = list(sdk.check(news, shape))
            if failures:
                return news, failures
            if asked.token == EXTENSION:
                return news, list(self._check_extension(news))
            inputs = _named(asked, shape, _tagged(asked, shape, news), olds, seed)
            type_ = cfn_type(asked.token)
            root = schema.resource(type_)
            return inputs, list(_sdk_paths(_violations(type_, schema.to_cfn(inputs, root, root)), inputs))
        except LookupError as error:
            return news, [("", str(error))]

    def _check_extension(self, news: Inputs) -> Iterator[tuple[str, str]]:
        type_, properties = plain(news["type"]), plain(news["properties"])
        if isinstance(type_, Unknown) or isinstance(properties, Unknown):
            return
        for path, reason in _violations(type_, properties):
            yield f"properties.{path}" if path else "properties", reason
        top = {path.partition(".")[0] for path in create_only(type_)}
        for name in plain(news.get("createOnly")) or []:
            if name not in top:
                yield "createOnly", f"{name!r} is not among the create-only properties {', '.join(sorted(top))}"

    def diff(self, asked: Asked, olds: Inputs, news: Inputs) -> Change:
        if asked.token == EXTENSION:
            found = changes(olds, news)
            only = [f"properties.{name}" for name in plain(news.get("createOnly")) or []]
            return Change(found, frozenset(p for p in found if p == "type" or any(covers(one, p) for one in only)))
        type_ = cfn_type(asked.token)
        root = schema.resource(type_)
        same = _same_sets(root)
        found = changes(_canonical(olds, root, root), _canonical(news, root, root), same)
        only = [one.lower() for one in create_only(type_)]
        replaces = frozenset(path for path in found if any(covers(one, path.lower()) for one in only))
        return Change(found, replaces, delete_first=root.get("replacementStrategy") == "delete_then_create")

    def planned(self, asked: Asked, inputs: Inputs, state: Inputs) -> Inputs:
        if asked.token == EXTENSION:
            return {"outputs": UNKNOWN, **inputs}
        if state:
            return {**state, **inputs}
        return {**dict.fromkeys(sdk.output_names(asked.token), UNKNOWN), **inputs}

    # -- doing -----------------------------------------------------------------------------------------------------------

    def _model(self, asked: Asked, inputs: Inputs) -> tuple[str, Inputs]:
        """Type and properties as Cloud Control gets them."""
        if asked.token == EXTENSION:
            return str(plain(inputs["type"])), plain(inputs["properties"])
        type_ = cfn_type(asked.token)
        root = schema.resource(type_)
        return type_, schema.to_cfn(inputs, root, root)

    def create(self, asked: Asked, inputs: Inputs) -> tuple[str, Inputs]:
        type_, values = self._model(asked, inputs)
        kind, world = kind_of(type_), self._cloud.world
        with world.lock:
            refuse_duplicate(world, kind, values)
            links = resolve(world, kind, values)
            id_ = _new_arn(asked.place, type_, kind, world.new_hex(12))
            state = _state(asked.place, type_, kind, id_, values)
            handles = frozenset({id_, *kind.handles(id_, state)} - {""})
            thing = Thing(kind.noun, type_, id_, state, handles, values, links, status="Created")
            world.add(thing)
            try:
                kind.on_create(Hook(world, asked.place, thing))
            except AwsError:
                world.forget(thing)
                raise
            failing = self._cloud.takes_create_failed(asked.name)
            if failing:
                thing.status = state["Status"] = "CreateFailed"
        if failing:
            message = f"operation CREATE failed with 'GeneralServiceException': {id_} is in the status CreateFailed"
            raise CreateFailedError(
                "GeneralServiceException", message, id_, {**self._told(asked, thing, inputs), "__inputs": inputs}
            )
        self._cloud.changed(kind.noun, "create", thing)
        return id_, self._told(asked, thing, inputs)

    def update(self, asked: Asked, id_: str, olds: Inputs, news: Inputs) -> Inputs:
        type_, values = self._model(asked, news)
        kind, world = kind_of(type_), self._cloud.world
        with world.lock:
            thing = world.get(kind.noun, id_)
            if thing is None:
                raise AwsError("ResourceNotFoundException", f"{id_} does not exist")
            for path in changes(thing.inputs, values, _same_sets(schema.resource(type_))):
                if any(covers(one, path) for one in create_only(type_)):
                    raise AwsError("NotUpdatableException", f"[{path}] cannot be updated")
            before = (thing.inputs, thing.properties, thing.links)
            thing.links = resolve(world, kind, values)
            thing.inputs, thing.properties = values, _state(asked.place, type_, kind, id_, values)
            try:
                kind.on_update(Hook(world, asked.place, thing, before[0]))
            except AwsError:
                thing.inputs, thing.properties, thing.links = before
                raise
        self._cloud.changed(kind.noun, "update", thing)
        return self._told(asked, thing, news)

    def read(self, asked: Asked, id_: str, inputs: Inputs) -> tuple[Inputs, Inputs] | None:
        thing = next((one for one in self._cloud.world if one.id == id_ and "::" in one.type), None)
        if thing is None:
            return None
        if asked.token == EXTENSION:
            found = {**inputs, "type": thing.type, "properties": thing.inputs}
        else:
            found = _spelled(thing.inputs, sdk.inputs(asked.token))
        return found, self._told(asked, thing, found)

    def delete(self, asked: Asked, id_: str) -> None:
        world = self._cloud.world
        with world.lock:
            thing = next((one for one in world if one.id == id_ and "::" in one.type), None)
            if thing is None:
                return
            kind_of(thing.type).on_delete(Hook(world, asked.place, thing))
            world.remove(thing)
        self._cloud.changed(thing.noun, "delete", thing)

    def _told(self, asked: Asked, thing: Thing, inputs: Inputs) -> Inputs:
        """What the engine gets: the inputs as they are, and the service's own properties in the SDK's spelling."""
        if asked.token == EXTENSION:
            return {**inputs, "outputs": dict(thing.properties)}
        own = {key: value for key, value in thing.properties.items() if key not in thing.inputs}
        spelled = {name.lower(): name for name in sdk.output_names(asked.token)}
        told = {spelled[key.lower()]: value for key, value in own.items() if key.lower() in spelled}
        return {**inputs, **_counted(inputs), **told}

    def invoke(self, instance: Instance, token: str, args: Inputs) -> tuple[Inputs, Any]:
        place = instance.place
        plain_answers: dict[str, Inputs] = {
            "getAccountId": {"accountId": place.account},
            "getRegion": {"region": place.region},
            "getPartition": {"partition": place.partition, "dnsSuffix": place.suffix},
        }
        name = token.rpartition(":")[2]
        if name not in plain_answers:
            raise AwsError("NotImplemented", f"the fake cloud has no function {token}")
        return plain_answers[name], []


def _violations(type_: str, values: Inputs) -> Iterator[tuple[str, str]]:
    found = [*schema.check_resource(type_, values), *check_request(type_, values), *kind_of(type_).check(values)]
    yield from dict.fromkeys(found)


def _sdk_paths(found: Iterator[tuple[str, str]], inputs: Inputs) -> Iterator[tuple[str, str]]:
    """The same with paths spelled as the program spells them."""
    for path, reason in found:
        parts = re.findall(r"\[\d+\]|[^.\[\]]+", path)
        at: Any = plain(inputs)
        told = ""
        for part in parts:
            if part.startswith("["):
                told, at = told + part, at[int(part[1:-1])] if isinstance(at, list) else None
                continue
            name = next(
                (key for key in (at if isinstance(at, dict) else {}) if key.lower() == part.lower()), part[0].lower() + part[1:]
            )
            told, at = (f"{told}.{name}" if told else name), at.get(name) if isinstance(at, dict) else None
        yield told, reason


def _tagged(asked: Asked, shape: sdk.Shape, news: Inputs) -> Inputs:
    """With the provider's default tags."""
    given = news.get("tags", [])
    if "tags" not in (shape.fields or {}) or not asked.instance.tags or not isinstance(plain(given), list):
        return news
    own = given.value if isinstance(given, Secret) else given
    keys = {plain(one).get("key") for one in own}
    return {
        **news,
        "tags": [*own, *({"key": key, "value": value} for key, value in asked.instance.tags.items() if key not in keys)],
    }


def _named(asked: Asked, shape: sdk.Shape, news: Inputs, olds: Inputs, seed: bytes) -> Inputs:
    """With a made-up name where the type has one and the program gives none."""
    own = asked.token.rpartition(":")[2]
    name = next((one for one in ("name", f"{own[0].lower()}{own[1:]}Name") if one in (shape.fields or {})), "")
    if not name or name in news:
        return news
    if isinstance(plain(olds.get(name)), str):
        return {**news, name: olds[name]}
    digits = hashlib.sha256(seed + asked.urn.encode()).hexdigest()[:7]
    return {**news, name: f"{asked.name[:55]}-{digits}"}


def _same_sets(root: Mapping[str, Any]) -> Callable[[str, Any, Any], bool]:
    """Tells whether lists whose order means nothing have the same items."""

    def same(path: str, old: Any, new: Any) -> bool:
        if not isinstance(old, list) or not isinstance(new, list):
            return False
        at: Mapping[str, Any] = root
        for part in re.findall(r"\[\d+\]|[^.\[\]]+", path):
            at = deref(at, root)
            if part.startswith("["):
                at = at.get("items", {})
            else:
                known = schema.properties_of(at, root)
                at = next((value for key, value in known.items() if key.lower() == part.lower()), {})
        return deref(at, root).get("insertionOrder", True) is False and unordered(old) == unordered(new)

    return same


def _canonical(value: Any, spec: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """With lists whose order means nothing, of objects, in the order of what they hold; so one change in one item is one."""
    value, spec = plain(value), deref(spec, root)
    if isinstance(value, dict):
        known = {key.lower(): item for key, item in schema.properties_of(spec, root).items()}
        return {key: _canonical(item, known.get(key.lower(), {}), root) for key, item in value.items()}
    if isinstance(value, list):
        items = [_canonical(item, spec.get("items", {}), root) for item in value]
        named = all(isinstance(item, dict) for item in items)
        return sorted(items, key=_sort_key) if named and spec.get("insertionOrder", True) is False else items
    return value


def _sort_key(item: dict[str, Any]) -> str:
    """Names and keys first, which stay while other things change."""
    first = [str(value) for key, value in sorted(item.items()) if key.lower().endswith(("name", "key", "instancetype"))]
    return repr((first, unordered(item)))


def _counted(inputs: Inputs) -> Inputs:
    found = {}
    for groups in ("instanceGroups", "restrictedInstanceGroups"):
        if isinstance(inputs.get(groups), list):
            found[groups] = [{**one, "currentCount": one.get("instanceCount", 0)} for one in inputs[groups]]
    return found


def _new_arn(place: Place, type_: str, kind: Kind, digits: str) -> str:
    service = type_.split("::")[1].lower()
    return place.arn(service, f"{kind.prefix}/{digits}")


def _state(place: Place, type_: str, kind: Kind, id_: str, values: Inputs) -> Inputs:
    """The inputs and all read-only properties."""
    root = schema.resource(type_)
    made: Inputs = {}
    for pointer in root.get("readOnlyProperties", []):
        name = pointer.removeprefix("/properties/")
        if "/" in name:
            continue
        wanted = deref(root["properties"].get(name, {}), root).get("type")
        made[name] = {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}.get(
            wanted, id_ if name.lower().endswith(("arn", "id")) else CREATED if name.endswith("Time") else ""
        )
    return {**made, **values, **kind.outputs(place, id_, values)}


def _spelled(value: Any, shape: sdk.Shape) -> Any:
    """A value in CloudFormation's spelling in the SDK's."""
    if shape.kind == "object" and isinstance(value, dict):
        names = {name.lower(): name for name in shape.fields or {}}
        found = {}
        for key, item in value.items():
            name = names.get(key.lower(), key)
            found[name] = _spelled(item, sdk.shape_of((shape.fields or {})[name])) if name in (shape.fields or {}) else item
        return found
    if shape.kind == "list" and isinstance(value, list):
        return [_spelled(item, sdk.shape_of(shape.item)) for item in value]
    return value
