"""What can still be checked of a map with mistakes: its sound fields, so that all that is wrong is told at the same time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from simulation.traces.file import Entry

_M = TypeVar("_M", bound=BaseModel)
_NEAR: Final = 0.6
"""How alike a misspelt key and a field's name are at least, from 0 to 1; as for other suggestions."""


class Numbered(NamedTuple):
    """An entry with its number in the file, from 0."""

    number: int
    entry: Entry
    unsound: frozenset[str] = frozenset()
    """Fields of which the file says something that can't be read; the entry holds their defaults."""


def sound(model: type[_M], data: Any) -> tuple[_M, frozenset[str]]:
    """The model of the fields without a mistake, and the names of the others. Every field of the model must have a default."""
    if not isinstance(data, dict):
        return model(), frozenset(model.model_fields)
    try:
        return model.model_validate(data), frozenset()
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        wrong = {str(one["loc"][0]) for one in details if one["loc"]}
    kept = {key: value for key, value in data.items() if key not in wrong}
    return model.model_validate(kept), _meant(wrong, data, model)


def sound_entries(data: Any) -> list[Numbered]:
    """The sound fields of each job of a list; what is no map is left out."""
    items: Sequence[Any] = data if isinstance(data, list) else ()
    return [Numbered(index, *sound(Entry, item)) for index, item in enumerate(items) if isinstance(item, dict)]


def _meant(wrong: set[str], data: Mapping[str, Any], model: type[BaseModel]) -> frozenset[str]:
    """Fields with a mistake. A misspelt key stands for the field nearest to it; where none is near, for any that isn't said."""
    from difflib import get_close_matches  # a good run needs no guess

    fields = frozenset(model.model_fields)
    absent = [name for name in model.model_fields if name not in data]
    found = fields & wrong
    for key in wrong - fields:
        found |= frozenset(get_close_matches(key.lower(), absent, n=1, cutoff=_NEAR) or absent)
    return found
