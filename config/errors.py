"""Turning pydantic's errors into findings with a place and a remedy."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from config.findings import Finding, did_you_mean, problem_at, quoted
from config.yamlsource import Key, Path_, Places

_KEY = "[key]"
"""What pydantic appends to the place of a map's key."""
_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "tuple_type": "a list",
}
_BOUNDS = {
    "greater_than": ("gt", "more than {}"),
    "greater_than_equal": ("ge", "at least {}"),
    "less_than": ("lt", "less than {}"),
    "less_than_equal": ("le", "at most {}"),
}
_SIZES = {
    "string_too_short": ("min_length", "at least {} characters"),
    "string_too_long": ("max_length", "at most {} characters"),
    "too_short": ("min_length", "at least {} entries"),
    "too_long": ("max_length", "at most {} entries"),
}


def findings_of(error: ValidationError, model: type[BaseModel], source: Places, also: tuple[str, ...] = ()) -> list[Finding]:
    """Every complaint of one validation, each at its line. `also`: keys of the file that the model itself doesn't have."""
    return [_finding(details, model, source, also) for details in error.errors(include_url=False)]


def _finding(details: ErrorDetails, model: type[BaseModel], source: Places, also: tuple[str, ...]) -> Finding:
    kind, on_key = details["type"], details["loc"][-1:] == (_KEY,)
    loc = details["loc"][:-1] if on_key else details["loc"]
    path, _ = _walk(loc, model)
    if kind == "extra_forbidden":
        known = sorted({*_fields_at(model, loc[:-1]), *(also if len(path) == 1 else ())})
        remedy = did_you_mean(str(path[-1]), known) or "remove it"
        return problem_at("unknown-key", source.where(path, key=True), f"unknown key {quoted(path[-1])}{_inside(path)}", remedy)
    if kind in ("missing", "union_tag_not_found"):
        place = path if kind == "missing" else (*path, "kind")
        return problem_at("missing-key", source.where(place), f"`{place[-1]}` is missing{_inside(place)}", f"add `{place[-1]}:`")
    if kind == "union_tag_invalid":
        path, kind = (*path, "kind"), "literal_error"
    message, remedy = _words(details, path)
    return problem_at(kind.replace("_", "-"), source.where(path, key=on_key), message, remedy)


def _words(details: ErrorDetails, path: Path_) -> tuple[str, str]:
    kind, context, value = details["type"], details.get("ctx", {}), details["input"]
    name = f"{dotted(path)}: " if path else ""
    if "text" in context:
        return f"{name}{context['text']}", str(context["remedy"])
    if kind in ("literal_error", "union_tag_invalid"):
        word = context.get("tag", value)
        known = _expected(context)
        return f"{name}{quoted(word)} is not one of {', '.join(f'`{k}`' for k in known)}", did_you_mean(
            str(word), known
        ) or "use one of them"
    if kind in _TYPES:
        return f"{name}{quoted(value)} is not {_TYPES[kind]}", _type_remedy(kind, value)
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{name}{quoted(value)} is out of range", words.format(f"{context[key]:,}")
    if kind in _SIZES:
        key, words = _SIZES[kind]
        return (
            f"{name}{quoted(value)} is {'empty' if not value else kind.replace('_', ' ').removeprefix('string ')}",
            words.format(context[key]),
        )
    if kind == "string_pattern_mismatch":
        return f"{name}{quoted(value)} is not of the form asked for", f"the form is {context['pattern']}"
    return f"{name}{quoted(value)}: {details['msg'][:1].lower()}{details['msg'][1:]}", "change the value"


def dotted(path: Path_) -> str:
    """A place in words; long keys are cut."""
    return ".".join(text if len(text := str(part)) <= 63 else text[:62] + "…" for part in path)


def _inside(path: Path_) -> str:
    return f" in `{dotted(path[:-1])}`" if len(path) > 1 else ""


def _expected(context: dict[str, Any]) -> list[str]:
    text = str(context.get("expected") or context.get("expected_tags") or "")
    return [part.strip().strip("'") for part in text.replace(" or ", ", ").split(",") if part.strip()]


def _type_remedy(kind: str, value: Any) -> str:
    if value is None:
        return "write a value, or remove the key"
    if kind == "string_type" and isinstance(value, (bool, int, float)):
        return f'quote it: "{str(value).lower() if isinstance(value, bool) else value}"'
    if kind in ("int_type", "float_type") and isinstance(value, str) and value.replace(".", "", 1).isdecimal():
        return "remove the quotes"
    if kind == "tuple_type" and isinstance(value, (str, int, float)):
        return f"write a list: [{str(value)[:63]}]"
    return f"write {_TYPES[kind]}"


def _walk(loc: tuple[Key, ...], model: type[BaseModel]) -> tuple[Path_, list[Any]]:
    """pydantic's place as a path in the file, and the annotations there.

    The two differ where one of several models was chosen by a tag: pydantic's place names the tag, the file has no such level.
    """
    path: list[Key] = []
    options: list[Any] = [model]
    for part in loc:
        models = [option for option in options if _is_model(option)]
        if len(models) > 1 and (tagged := [m for m in models if _has_tag(m, part)]):
            options = tagged
            continue
        options = [child for option in options for child in _step(option, part)]
        path.append(part)
    return tuple(path), options


def _fields_at(model: type[BaseModel], loc: tuple[Key, ...]) -> set[str]:
    """Names of the fields that a place of the declaration may have."""
    return {name for option in _walk(loc, model)[1] if _is_model(option) for name in option.model_fields}


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _has_tag(model: type[BaseModel], tag: Key) -> bool:
    return any(
        tag in get_args(field.annotation) for field in model.model_fields.values() if get_origin(field.annotation) is Literal
    )


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
