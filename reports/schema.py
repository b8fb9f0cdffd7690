"""JSON Schemas of the data files, for editors: made from the models that read them, and never stricter than these.

What JSON Schema can't say (a team's department exists, quotas fit the nodes) is left to `hpctl check`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from config.environment import Environment
from config.team import Team
from reports.schemawords import Schema, defined, definitions, word

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PART = "Part"
"""Ends the name of what is laid over something else, where every key may be missing."""
_NOT_EMPTY = ("Amounts", "BatchSize")
"""Models without any required key that need one of theirs."""
_IDENTITY = ("apiVersion", "name", "only", "environments")
"""Keys of a team's file that can't differ by environment."""


def team_schema() -> Schema:
    """Of `teams/*.yaml`. What an environment's part may still add is required only of a file without such parts."""
    made = _generated(Team)
    whole = made["$defs"]["Team"]
    whole["required"].remove("name")  # the file's own name
    overrides = {"description": "What differs, by environment.", "type": ["object", "null"]}
    whole["properties"]["environments"] = {**overrides, "additionalProperties": {"$ref": "#/$defs/Override"}}
    made = _with_parts(made)
    part = made["$defs"][f"Team{_PART}"]
    differing = {key: value for key, value in part["properties"].items() if key not in _IDENTITY}
    made["$defs"]["Override"] = {**part, "description": "Merged over the rest of the file.", "properties": differing}
    part["required"] = ["apiVersion"]
    return _file(made, "Team", "A team", {"required": ["environments"]})


def environment_schema() -> Schema:
    """Of `environments/*.yaml`. What a base may give is required only of a file without one."""
    made = _with_parts(_generated(Environment))
    return _file(made, "Environment", "An environment", {"properties": {"base": {"type": "string"}}, "required": ["base"]})


def file_schema(model: type[BaseModel], title: str) -> Schema:
    """Of files that are read as they stand."""
    return _file(_generated(model), model.__name__, title)


def _file(made: Schema, name: str, title: str, laid_over: Schema | None = None) -> Schema:
    """The schema of a file that holds the model `name`, or its part where the file fits `laid_over`."""
    whole = {"$ref": f"#/$defs/{name}"}
    rule = {"if": laid_over, "then": {"$ref": f"#/$defs/{name}{_PART}"}, "else": whole} if laid_over else whole
    defs = {**made["$defs"], **definitions()}
    reached = _reached(rule, defs)
    return {
        "$schema": DIALECT,
        "$comment": "Made by `hpctl schema`.",
        "title": title,
        "type": "object",
        **rule,
        "$defs": {key: defs[key] for key in sorted(reached)},
    }


class _Generator(GenerateJsonSchema):
    """pydantic's schema with the words' own patterns, and with what the source says of each field."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> Schema:
        """What is written need not be what the check yields: of one that is not known, nothing is said."""
        made = word(schema["function"]["function"], self.generate_inner(schema["schema"]))
        return {} if made is None else made

    def function_after_schema(self, schema: core_schema.AfterValidatorFunctionSchema) -> Schema:
        inner = self.generate_inner(schema["schema"])
        made = word(schema["function"]["function"], inner)
        return inner if made is None else made

    def dict_schema(self, schema: core_schema.DictSchema) -> Schema:
        made: Schema = {"type": "object", "additionalProperties": self.generate_inner(schema["values_schema"]) or True}
        keys = self.generate_inner(schema["keys_schema"])
        keys.pop("type", None)
        if keys:
            made["propertyNames"] = keys
        self.update_with_validations(made, schema, self.ValidationsMapping.object)
        return made

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        model: type[BaseModel] = schema["cls"]
        made = super().model_schema(schema)
        made.pop("title", None)
        made["description"] = _line(model.__doc__ or "")
        stated = _docstrings(model)
        for name, field in made["properties"].items():
            if name in stated:
                field["description"] = stated[name]
            if name == "waivers":
                field["propertyNames"] = defined("WaivableRule")
        if model.__name__ in _NOT_EMPTY:
            made["minProperties"] = 1
        return made

    def tagged_union_schema(self, schema: core_schema.TaggedUnionSchema) -> Schema:
        """Any of the models: a part without the tag may fit several."""
        return {"anyOf": [self.generate_inner(choice) for choice in schema["choices"].values()]}

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002
        return False


def _generated(model: type[BaseModel]) -> Schema:
    """The model and all that it holds, below `$defs`."""
    made = model.model_json_schema(schema_generator=_Generator)
    defs = {**made.pop("$defs", {}), model.__name__: made}
    return {"$defs": {name: _tidied(schema) for name, schema in defs.items()}}


def _tidied(schema: Any) -> Any:
    """Sizes of lists under their own names, references in place, and no default that says nothing."""
    if isinstance(schema, list):
        return [_tidied(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _tidied(value) for key, value in schema.items()}
    if "x-defined" in made:
        made["$ref"] = f"#/$defs/{made.pop('x-defined')}"
    if made.get("type") == "array":
        for size in ("min", "max"):
            if f"{size}Length" in made:
                made[f"{size}Items"] = made.pop(f"{size}Length")
    if isinstance(made.get("default", ""), (list, type(None))) or made.get("default") == "":
        made.pop("default", None)
    return made


def _with_parts(made: Schema) -> Schema:
    """The same with each definition a second time, as it may be where it is laid over another."""
    defs = made["$defs"]
    return {"$defs": defs | {f"{name}{_PART}": _part(schema, frozenset(defs)) for name, schema in defs.items()}}


def _part(schema: Any, names: frozenset[str]) -> Any:
    """Nothing is required of a map that is merged with another. A list takes the other's place, so that it stays as it is."""
    if not isinstance(schema, dict) or schema.get("type") == "array":
        return schema
    made = {key: value for key, value in schema.items() if key not in ("required", "minProperties")}
    name = str(made.get("$ref", "")).removeprefix("#/$defs/")
    if name in names:
        made["$ref"] = f"#/$defs/{name}{_PART}"
    if "properties" in made:
        made["properties"] = {key: _part(value, names) for key, value in made["properties"].items()}
    if "additionalProperties" in made:
        made["additionalProperties"] = _part(made["additionalProperties"], names)
    if "anyOf" in made:
        made["anyOf"] = [_part(choice, names) for choice in made["anyOf"]]
    return made


def _reached(schema: Any, defs: Mapping[str, Schema]) -> set[str]:
    """Definitions that a schema refers to, by way of others too."""
    found: set[str] = set()
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_references(defs[name]))
    return found


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"].removeprefix("#/$defs/")
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


@cache
def _docstrings(model: type[BaseModel]) -> Mapping[str, str]:
    """What the source says below each field, those of the models above it included."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= dict(_stated(base))
    return found


def _stated(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for definition in ast.parse(dedent(inspect.getsource(model))).body:
        body = definition.body if isinstance(definition, ast.ClassDef) else []
        for field, after in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(after, ast.Expr):
                text = after.value.value if isinstance(after.value, ast.Constant) else None
                if isinstance(text, str):
                    yield field.target.id, _line(text)


def _line(text: str) -> str:
    return " ".join(text.split())
