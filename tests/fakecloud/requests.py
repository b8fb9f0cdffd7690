"""botocore's model of SageMaker requests as an oracle: required members, types, ranges, enumerations and patterns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import regex

from fakecloud.codec import Unknown, has_unknown
from fakecloud.schema import deref, properties_of, resource

OPERATIONS: Final = {
    "AWS::SageMaker::Cluster": "CreateCluster",
    "AWS::SageMaker::ComputeQuota": "CreateComputeQuota",
    "AWS::SageMaker::ClusterSchedulerConfig": "CreateClusterSchedulerConfig",
}
_TYPES: Final = {
    "string": str,
    "integer": int,
    "long": int,
    "float": (int, float),
    "double": (int, float),
    "boolean": bool,
    "list": list,
    "map": dict,
    "structure": dict,
}


@cache
def _model() -> Any:
    import botocore.session

    return botocore.session.get_session().get_service_model("sagemaker")


def check_request(cfn_type: str, value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the API's model has against a create request of these properties; types without an operation pass.

    Members that CloudFormation has and the request lacks (its handler sends them with other operations) are left out.
    """
    if cfn_type not in OPERATIONS:
        return
    shape = _model().operation_model(OPERATIONS[cfn_type]).input_shape
    root = resource(cfn_type)
    request = _as_request(dict(value), shape, root, root)
    if not has_unknown(request):
        from botocore.validate import ParamValidator

        report = ParamValidator().validate(request, shape)
        if report.has_errors():
            yield "", report.generate_report()
    yield from _check(request, shape, "")


def _as_request(value: Any, shape: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    schema = deref(schema, root)
    if shape.type_name == "structure" and isinstance(value, dict):
        known = properties_of(schema, root)
        return {
            key: _as_request(item, shape.members[key], known.get(key, {}), root) if key in shape.members else item
            for key, item in value.items()
            if key in shape.members or key not in known
        }
    if shape.type_name == "list" and isinstance(value, list):
        return [_as_request(item, shape.member, schema.get("items", {}), root) for item in value]
    return value


def _check(value: Any, shape: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Unknown):
        return
    wanted: Any = _TYPES.get(shape.type_name, object)
    if not isinstance(value, wanted) or (isinstance(value, bool) and shape.type_name != "boolean"):
        yield path, f"{value!r} is not a {shape.type_name}"
        return
    yield from ((path, reason) for reason in _limits(value, shape))
    if shape.type_name == "structure":
        yield from _check_members(value, shape, path)
    elif shape.type_name == "list":
        for number, item in enumerate(value):
            yield from _check(item, shape.member, f"{path}[{number}]")
    elif shape.type_name == "map":
        for key, item in value.items():
            yield from _check(key, shape.key, _join(path, key))
            yield from _check(item, shape.value, _join(path, key))


def _check_members(value: Any, shape: Any, path: str) -> Iterator[tuple[str, str]]:
    for name in shape.required_members:
        if name not in value:
            yield _join(path, name), "missing required member"
    for name, item in value.items():
        if name not in shape.members:
            yield _join(path, name), "unknown member"
        else:
            yield from _check(item, shape.members[name], _join(path, name))


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _limits(value: Any, shape: Any) -> Iterator[str]:
    size = len(value) if isinstance(value, (str, list, dict)) else value
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and size < least:
        yield f"{size} is below the minimum of {least}"
    if most is not None and size > most:
        yield f"{size} is above the maximum of {most}"
    if shape.type_name == "string":
        if shape.enum and value not in shape.enum:
            yield f"{value!r} is not one of {', '.join(shape.enum)}"
        pattern = shape.metadata.get("pattern")
        if pattern and not regex.fullmatch(pattern, value):
            yield f"{value!r} does not match {pattern!r}"


@cache
def enumeration(service: str, shape: str) -> frozenset[str]:
    """The values of an enumeration of another service's model."""
    import botocore.session

    return frozenset(botocore.session.get_session().get_service_model(service).shape_for(shape).enum)
