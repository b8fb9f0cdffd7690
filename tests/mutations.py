"""Declarations that are wrong in one place, twice over: as data for the checks, and as models that no validator has seen.

The second half lets a server judge what the checks would never let through.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from strategies import ProjectData

from config.load import Platform

Key = str | int
Path_ = tuple[Key, ...]

_DURATION = re.compile(r"(-?\d+)s\Z")
_NUMBERS = (-1, 0, 101, 501, 2**31, -(2**31) - 1, 10**12)
_WORDS = ("", "x" * 300, "-a-", "A b", "ä", "a/b/c/d", "a" * 64, "default", "system:masters")
_MANY = 70


class InexpressibleError(Exception):
    """No model holds such a value, validated or not."""


@dataclass(frozen=True)
class Mutation:
    """One changed place. `file`: a team's name, or "" for the environment."""

    file: str
    path: Path_
    value: Any

    @property
    def field(self) -> str:
        return f"{'team' if self.file else 'environment'}.{generalised(self.path)}"

    def data(self, project: ProjectData) -> ProjectData:
        """The project's files with the change."""
        if not self.file:
            return replace(project, environment=_put(project.environment, self.path, self.value))
        return replace(project, teams=project.teams | {self.file: _put(project.teams[self.file], self.path, self.value)})

    def platform(self, platform: Platform) -> Platform:
        """The project's models with the change. Raises InexpressibleError."""
        root: Any = platform.teams[self.file] if self.file else platform.environment
        changed = _put(root, self.path, _as_model(_get(root, self.path), self.value))
        if self.file:
            return replace(platform, teams={**platform.teams, self.file: changed})
        return replace(platform, environment=changed)


def mutations(project: ProjectData) -> Iterator[Mutation]:
    """Every place of every file with every value that may be too much for somebody."""
    for file, data in {"": project.environment, **project.teams}.items():
        for path, value in places(data):
            for wrong in _hostile(value):
                yield Mutation(file, path, wrong)


def places(data: Any, path: Path_ = ()) -> Iterator[tuple[Path_, Any]]:
    """All values below, the maps and lists themselves included."""
    if path:
        yield path, data
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from places(value, (*path, index))


def _hostile(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, (int, float)):
        yield from (number for number in _NUMBERS if number != value)
    elif isinstance(value, str):
        if re.fullmatch(r"(\d+[dhms])+", value):
            yield from ("0s", "-5s", f"{2**31}s", f"{10**12}s")
        else:
            yield from _WORDS
    elif isinstance(value, list):
        yield []
        yield [*value, *value[:1]]
        if value and isinstance(value[0], str):
            yield [f"{value[0]}{number}" for number in range(_MANY)]
        elif value:
            yield value * _MANY
    elif isinstance(value, dict) and value:
        first = next(iter(value.values()))
        yield {}
        yield {f"many-{number}": first for number in range(_MANY)}
        yield from ({word: first} for word in _WORDS)


def generalised(path: Path_) -> str:
    """A path with `*` for each index, as in `access.groups.*`; names that users choose stay."""
    return ".".join("*" if isinstance(part, int) else part for part in path)


# -- data and models -----------------------------------------------------------------------------------------------------------


def _get(root: Any, path: Path_) -> Any:
    for part in path:
        try:
            root = getattr(root, str(part)) if isinstance(root, BaseModel) else root[part]
        except (AttributeError, KeyError, IndexError, TypeError) as error:
            raise InexpressibleError(path) from error
    return root


def _put(root: Any, path: Path_, value: Any) -> Any:
    """A copy with the change."""
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(root, BaseModel):
        return root.model_copy(update={str(part): _put(getattr(root, str(part)), rest, value)})
    if isinstance(root, Mapping):
        return {**root, part: _put(root[part], rest, value)}
    items = list(root)
    items[int(part)] = _put(items[int(part)], rest, value)
    return tuple(items) if isinstance(root, tuple) else items


def _as_model(now: Any, value: Any) -> Any:
    """The value as the model would hold it, were it valid; `now` is what stands there."""
    if isinstance(now, bool) or isinstance(value, bool):
        return _same(now, value, bool)
    if isinstance(now, (int, float)) and isinstance(value, str):  # a duration
        if not (match := _DURATION.match(value)):
            raise InexpressibleError(value)
        return int(match[1])
    if isinstance(now, (int, float)):
        return _same(now, value, (int, float))
    if isinstance(now, str):
        return _same(now, value, str)
    if isinstance(now, tuple) and isinstance(value, list):
        return tuple(_item(now, item, index) for index, item in enumerate(value))
    if isinstance(now, Mapping) and isinstance(value, dict):
        first = next(iter(now.values()), None)
        return dict.fromkeys(value, first)
    raise InexpressibleError(value)


def _item(now: tuple[Any, ...], item: Any, index: int) -> Any:
    """An entry of a changed list: what is no single word is one of those that stand there, repeated."""
    return item if isinstance(item, (str, int, float)) else now[index % len(now)]


def _same(now: Any, value: Any, kind: Any) -> Any:
    if not isinstance(now, kind) or not isinstance(value, kind):
        raise InexpressibleError(value)
    return value


# -- all fields ----------------------------------------------------------------------------------------------------------------


def fields(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """Every field below a model; `*` stands for an index or for a name that users choose."""
    for name, field in model.model_fields.items():
        yield from _below(field.annotation, f"{path}.{name}" if path else name)


def _below(annotation: Any, path: str) -> Iterator[str]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _below(arguments[0], path)
    elif origin in (Union, types.UnionType):
        yield from (found for one in arguments if one is not types.NoneType for found in _below(one, path))
    elif origin is dict:
        yield from _below(arguments[1], f"{path}.*")
    elif origin in (tuple, list):
        yield from _below(arguments[0], f"{path}.*")
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield from fields(annotation, path)
    elif origin is not Literal or path:
        yield path


def reached(data: Any, model: type[BaseModel]) -> set[str]:
    """The fields of the model that the data names."""
    given = {tuple(map(str, path)) for path, _ in places(data)}
    return {field for field in set(fields(model)) if any(_matches(field.split("."), path) for path in given)}


def _matches(field: list[str], path: tuple[str, ...]) -> bool:
    return len(field) == len(path) and all(a in ("*", b) for a, b in zip(field, path, strict=True))
