"""Turning pydantic's errors into findings with a place and a remedy."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from config.findings import Finding, Severity, did_you_mean
from config.yamlsource import Key, Layered, Path_

_TYPE_WORDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "tuple_type": "a list",
    "list_type": "a list",
}


def findings_of(error: ValidationError, model: type[BaseModel], source: Layered, prefix: Path_ = ()) -> list[Finding]:
    """Every complaint of one validation, each at its line."""
    return [_finding(details, model, source, prefix) for details in error.errors(include_url=False)]


def _finding(details: ErrorDetails, model: type[BaseModel], source: Layered, prefix: Path_) -> Finding:
    loc = tuple(part for part in details["loc"] if part not in ("existing", "hyperpod"))
    on_key = bool(loc) and loc[-1] == "[key]"
    path = prefix + (loc[:-1] if on_key else loc)
    kind = details["type"]
    where = source.where(path, key=on_key or kind == "extra_forbidden")
    message, remedy = _words(details, loc, model)
    return Finding(kind.replace("_", "-"), Severity.ERROR, where, message, remedy)


def _words(details: ErrorDetails, loc: tuple[Key, ...], model: type[BaseModel]) -> tuple[str, str]:
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    name = ".".join(str(part) for part in loc if part != "[key]") or "the file"
    if "text" in context:
        prefix = f"{name}: " if loc and not str(context["text"]).startswith(f"`{loc[-1]}`") else ""
        return f"{prefix}{context['text']}", str(context["remedy"])
    if kind == "extra_forbidden":
        return f"unknown key `{loc[-1]}`", did_you_mean(str(loc[-1]), sorted(_fields_at(model, loc[:-1])))
    if kind == "missing":
        return f"`{loc[-1]}` is missing{_inside(loc)}", "add it"
    if kind in ("literal_error", "union_tag_invalid"):
        known = _expected(context)
        return f"{name}: {_shown(value)} is not one of {', '.join(f'`{k}`' for k in known)}", did_you_mean(str(value), known)
    if kind == "union_tag_not_found":
        return f"{name}: `kind` is missing", "add it"
    if kind in _TYPE_WORDS:
        return f"{name}: {_shown(value)} is not {_TYPE_WORDS[kind]}", _type_remedy(kind, value)
    return f"{name}: {_shown(value)}: {details['msg'][:1].lower()}{details['msg'][1:]}", ""


def _inside(loc: tuple[Key, ...]) -> str:
    return f" in `{'.'.join(str(part) for part in loc[:-1])}`" if len(loc) > 1 else ""


def _expected(context: dict[str, Any]) -> list[str]:
    text = str(context.get("expected") or context.get("expected_tags") or "")
    return [part.strip().strip("'") for part in text.replace(" or ", ", ").split(",") if part.strip()]


def _type_remedy(kind: str, value: Any) -> str:
    if kind == "string_type" and isinstance(value, (int, float)):
        return f'quote it: "{str(value).lower() if isinstance(value, bool) else value}"'
    if kind in ("int_type", "float_type") and isinstance(value, str) and value.replace(".", "", 1).isdigit():
        return "remove the quotes"
    if kind == "tuple_type" and isinstance(value, str):
        return f"write a list: [{value}]"
    return ""


def _shown(value: Any) -> str:
    text = "nothing" if value is None else f"`{str(value).lower() if isinstance(value, bool) else value}`"
    if isinstance(value, dict):
        return "a map"
    if isinstance(value, (list, tuple)):
        return "a list"
    return text if len(text) <= 80 else text[:77] + "…`"


def _fields_at(model: type[BaseModel], loc: tuple[Key, ...]) -> set[str]:
    """Names of the fields that a place of the declaration may have."""
    annotations: list[Any] = [model]
    for part in loc:
        annotations = [child for annotation in annotations for child in _step(annotation, part)]
    return {name for annotation in annotations if _is_model(annotation) for name in annotation.model_fields}


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _step(annotation: Any, part: Key) -> Iterator[Any]:
    if _is_model(annotation):
        field = annotation.model_fields.get(str(part))
        if field is not None:
            yield from _plain(field.annotation)
        return
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        yield from _plain(arguments[1])
    elif get_origin(annotation) in (tuple, list):
        yield from _plain(arguments[0])


def _plain(annotation: Any) -> Iterator[Any]:
    """The alternatives of an annotation without its Annotated and Union wrapping."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _plain(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for alternative in get_args(annotation):
            yield from _plain(alternative)
    elif origin is not Literal and annotation is not type(None):
        yield annotation
