"""Who judges what we send: botocore's model of the SageMaker API, and CloudFormation's schemas.

Both are read from the published packages when a test runs; nothing of ours is an oracle.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.loaders
import botocore.model
import botocore.validate
import jsonschema
import regex

CLUSTER = "AWS::SageMaker::Cluster"
COMPUTE_QUOTA = "AWS::SageMaker::ComputeQuota"
SCHEDULER_CONFIG = "AWS::SageMaker::ClusterSchedulerConfig"


@cache
def api() -> botocore.model.ServiceModel:
    return botocore.model.ServiceModel(botocore.loaders.Loader().load_service_model("sagemaker", "service-2"))


def complaints(operation: str, payload: Mapping[str, Any]) -> list[str]:
    """All that the API's model says against a request."""
    shape = api().operation_model(operation).input_shape
    report = botocore.validate.ParamValidator().validate(payload, shape)
    return [report.generate_report()] if report.has_errors() else list(_breaches(shape, payload))


def _breaches(shape: Any, value: Any, path: str = "") -> Iterator[str]:
    """What botocore's validator leaves to the service: enumerations, patterns and upper bounds."""
    meta = shape.metadata
    if shape.type_name == "structure":
        for name, item in value.items():
            yield from _breaches(shape.members[name], item, f"{path}.{name}")
        return
    if shape.type_name == "list":
        for item in value:
            yield from _breaches(shape.member, item, f"{path}[]")
    if shape.type_name == "map":
        for key, item in value.items():
            yield from _breaches(shape.key, key, f"{path}.{key}")
            yield from _breaches(shape.value, item, f"{path}.{key}")
    size = len(value) if isinstance(value, str | list | dict) else value
    if not meta.get("min", float("-inf")) <= size <= meta.get("max", float("inf")):
        yield f"{path}: {value!r} is not within {meta.get('min')}..{meta.get('max')}"
    if meta.get("enum") and value not in meta["enum"]:
        yield f"{path}: {value!r} is none of its values"
    if "pattern" in meta and not regex.fullmatch(meta["pattern"], value):
        yield f"{path}: {value!r} is not like {meta['pattern']}"


@cache
def schema(type_: str) -> dict[str, Any]:
    """CloudFormation's schema of a type in us-east-1, which has all of ours."""
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

    found = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", type_).schema
    return {key: value for key, value in json.loads(json.dumps(found)).items() if key != "$schema"}


class _Pattern:
    """JSON Schema's `pattern`, in a dialect that knows Unicode's classes as Java's does."""

    @staticmethod
    def check(_: Any, pattern: str, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
        if isinstance(value, str) and not regex.search(pattern, value):
            yield jsonschema.ValidationError(f"{value!r} is not like {pattern}")


_CHECKER = jsonschema.validators.extend(jsonschema.Draft7Validator, {"pattern": _Pattern.check})


@cache
def _checker(type_: str) -> Any:
    return _CHECKER(schema(type_))


def refused(type_: str, payload: Mapping[str, Any]) -> list[str]:
    """All that CloudFormation's schema says against a resource."""
    return [f"{list(error.absolute_path)}: {error.message}" for error in _checker(type_).iter_errors(payload)]


# -- CloudFormation's spelling -------------------------------------------------------------------------------------------------


def resolved(type_: str, node: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A schema's node behind its reference, and the name of that definition."""
    name = node.get("$ref", "").rpartition("/")[2]
    return name, schema(type_)["definitions"][name] if name else dict(node)


def properties(node: Mapping[str, Any]) -> dict[str, Any]:
    """Properties of an object, those of its alternatives included."""
    found = dict(node.get("properties", {}))
    for alternative in node.get("oneOf", ()):
        found |= alternative.get("properties", {})
    return found


def spelt(type_: str, args: Mapping[str, Any], seen: set[str] | None = None) -> dict[str, Any]:
    """Arguments in CloudFormation's spelling. Notes every property that they have in `seen`, as `Definition.Property`."""
    found: dict[str, Any] = _spelt(type_, dict(args), schema(type_), type_.rpartition("::")[2], seen)
    return found


def _spelt(type_: str, value: Any, node: Mapping[str, Any], name: str, seen: set[str] | None) -> Any:
    if isinstance(value, list):
        inner, definition = resolved(type_, node["items"])
        return [_spelt(type_, item, definition, inner, seen) for item in value]
    if not isinstance(value, dict) or "patternProperties" in node:
        return value
    known = {proper.lower(): proper for proper in properties(node)}
    result = {}
    for key, item in value.items():
        proper = known.get(key.replace("_", "").lower())
        assert proper is not None, f"{name} has no property {key}"
        if seen is not None:
            seen.add(f"{name}.{proper}")
        inner, definition = resolved(type_, properties(node)[proper])
        result[proper] = _spelt(type_, item, definition, inner or proper, seen)
    return result
