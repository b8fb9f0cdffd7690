"""Published schemas as oracles: CloudFormation's as cfn-lint carries them, and IAM's grammar of policy documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import regex
from jsonschema import Draft202012Validator, ValidationError, validators

from fakecloud.codec import Unknown, has_unknown, plain

REGION: Final = "us-east-1"
"""Where all types exist."""
_COMBINE: Final = frozenset({"oneOf", "anyOf", "allOf", "not", "uniqueItems", "if", "const", "contains"})


@cache
def resource(cfn_type: str) -> dict[str, Any]:
    """The CloudFormation schema of a type. Raises LookupError for an unknown one."""
    from cfnlint.exceptions import CfnLintExitException
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER, ResourceNotFoundError

    try:
        return dict(PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, cfn_type).schema)
    except (ResourceNotFoundError, CfnLintExitException):
        raise LookupError(f"no CloudFormation type {cfn_type}") from None


def deref(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a ``$ref`` within its document leads to."""
    while "$ref" in schema:
        found: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def to_cfn(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """A value in the SDK's spelling in CloudFormation's, as the schema spells its properties."""
    value, schema = plain(value), deref(schema, root)
    if isinstance(value, list):
        return [to_cfn(item, schema.get("items", {}), root) for item in value]
    if not isinstance(value, dict):
        return value
    known = properties_of(schema, root)
    spelled = {name.lower(): name for name in known}
    if not known:
        return {key: to_cfn(item, {}, root) for key, item in value.items()}
    found = {}
    for key, item in value.items():
        name = spelled.get(key.lower(), key)
        found[name] = to_cfn(item, known.get(name, {}), root)
    return found


def properties_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of an object, those of its alternatives too."""
    found = dict(schema.get("properties", {}))
    for word in ("oneOf", "anyOf", "allOf"):
        for one in schema.get(word, []):
            found.update(properties_of(deref(one, root), root))
    return found


# -- validation ----------------------------------------------------------------------------------------------------------------


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not regex.search(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _required_xor(validator: Any, names: list[str], instance: Any, schema: Any) -> Iterator[ValidationError]:
    given = [name for name in names if isinstance(instance, dict) and name in instance]
    if isinstance(instance, dict) and len(given) != 1:
        yield ValidationError(f"exactly one of {', '.join(names)} is required")


def _required_or(validator: Any, names: list[str], instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, dict) and not any(name in instance for name in names):
        yield ValidationError(f"one of {', '.join(names)} is required")


def _excluded(validator: Any, rules: Mapping[str, list[str]], instance: Any, schema: Any) -> Iterator[ValidationError]:
    for name, others in rules.items() if isinstance(instance, dict) else ():
        for other in others:
            if name in instance and other in instance:
                yield ValidationError(f"{other} may not be given beside {name}")


def _unique_keys(validator: Any, names: list[str], instance: Any, schema: Any) -> Iterator[ValidationError]:
    for name in names:
        given = [item[name] for item in instance if isinstance(item, dict) and name in item] if isinstance(instance, list) else []
        if len(given) != len(set(map(str, given))):
            yield ValidationError(f"{name} is given twice")


Validator: Final = validators.extend(
    Draft202012Validator,  # the documents have keywords beside `$ref`
    {
        "pattern": _pattern,
        "requiredXor": _required_xor,
        "requiredOr": _required_or,
        "dependentExcluded": _excluded,
        "uniqueKeys": _unique_keys,
    },
)


def violations(value: Any, schema: Mapping[str, Any], registry: Any = None) -> Iterator[tuple[str, str]]:
    """Path and reason of each violation; what depends on an unknown value passes."""
    for error in Validator(schema, **({} if registry is None else {"registry": registry})).iter_errors(value):
        yield from _told(error)


def _told(error: ValidationError) -> Iterator[tuple[str, str]]:
    if isinstance(error.instance, Unknown) or (error.validator in _COMBINE and has_unknown(error.instance)):
        return
    deeper = max(error.context or [], key=lambda one: len(one.absolute_path), default=None)
    if deeper is not None and error.validator in ("oneOf", "anyOf") and len(deeper.absolute_path) > len(error.absolute_path):
        yield from _told(deeper)
        return
    parts = list(error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = set(error.schema.get("properties", {}))
        patterns = error.schema.get("patternProperties", {})
        extra = [key for key in error.instance if key not in known and not any(regex.search(one, key) for one in patterns)]
        yield from ((path_text([*parts, key]), f"unknown property {key!r}") for key in extra)
    else:
        yield path_text(parts), error.message[:500]


def path_text(parts: Any) -> str:
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def check_resource(cfn_type: str, value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Violations of a type's whole schema, its read-only properties given included."""
    schema = resource(cfn_type)
    for pointer in schema.get("readOnlyProperties", []):
        for path in _present(value, pointer.removeprefix("/properties/").split("/")):
            yield path_text(path), "is read-only"
    yield from violations(value, schema)


def _present(value: Any, parts: list[str], before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if not parts:
        yield before
    elif parts[0] == "*":
        for number, item in enumerate(value if isinstance(value, list) else []):
            yield from _present(item, parts[1:], (*before, number))
    elif isinstance(value, dict) and parts[0] in value:
        yield from _present(value[parts[0]], parts[1:], (*before, parts[0]))


def check_twin(cfn_type: str, renames: Mapping[str, str], values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Violations of the properties that mean the same in CloudFormation: scalars, and lists of them."""
    root = resource(cfn_type)
    spelled = {name.lower(): name for name in root["properties"]}
    for key, value in values.items():
        name = renames.get(key, spelled.get(key.lower(), ""))
        if not name or value is None:
            continue
        schema = dict(deref(root["properties"][name], root))
        simple = [schema, deref(schema.get("items", {}), root)] if schema.get("type") == "array" else [schema]
        if any("properties" in one or "oneOf" in one or one.get("type") in ("object", ["object", "string"]) for one in simple):
            continue
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict) for item in value)):
            continue
        found = violations(plain(value), {**schema, "definitions": root.get("definitions", {})})
        yield from ((key + (f".{path}" if path else ""), reason) for path, reason in found if "is not of type" not in reason)


# -- IAM documents -------------------------------------------------------------------------------------------------------------


@cache
def _policies() -> Any:
    import cfnlint
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT202012

    folder = Path(str(cfnlint.__file__)).parent / "data" / "schemas" / "other" / "iam"
    registry: Any = Registry()
    for file in folder.glob("*.json"):
        if file.stem.endswith("_ecr"):
            continue  # calls itself by another's name
        content = json.loads(file.read_text())
        registry = registry.with_resource(content["$id"], Resource(content, DRAFT202012))
    return registry


def check_document(text: Any, kind: str, limit: int) -> Iterator[str]:
    """What IAM has against a policy document: ``kind`` is identity, resource or trust, ``limit`` in characters without spaces."""
    if isinstance(text, Unknown) or has_unknown(text):
        return
    if not isinstance(text, (str, dict)):
        yield f"a policy document is JSON text, not {text!r}"
        return
    try:
        document = json.loads(text) if isinstance(text, str) else text
    except ValueError as error:
        yield f"MalformedPolicyDocument: {error}"
        return
    size = len("".join(json.dumps(document, separators=(",", ":")).split()))
    if size > limit:
        yield f"LimitExceeded: {size} characters, the quota is {limit}"
    for path, reason in violations(document, {"$ref": kind}, _policies()):
        yield f"MalformedPolicyDocument: {path}: {reason}"
