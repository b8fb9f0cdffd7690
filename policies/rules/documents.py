"""IAM documents, read: statements, actions, resources and principals."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from policies.model import has

Statement = Mapping[str, Any]


def statements(document: Any) -> list[Statement]:
    """The statements of a document, given as JSON, as a map, or not at all. Raises ValueError for what is no JSON."""
    if document is None:
        return []
    if isinstance(document, str):
        document = json.loads(document)
    found = document.get("Statement", ())
    return [found] if isinstance(found, Mapping) else list(found)


def allowed(document: Any) -> Iterator[Statement]:
    """The statements that allow something."""
    return (statement for statement in statements(document) if statement.get("Effect") == "Allow")


def listed(statement: Statement, key: str) -> list[str]:
    """A field that IAM takes as one text or many."""
    found = statement.get(key, ())
    return [found] if isinstance(found, str) else [str(one) for one in found]


def principals(statement: Statement) -> Iterator[tuple[str, str]]:
    """Kind and name of each principal; `*` alone is one of every kind."""
    found = statement.get("Principal", {})
    if isinstance(found, str):
        yield "*", found
        return
    for kind, names in found.items():
        for name in [names] if isinstance(names, str) else names:
            yield str(kind), str(name)


def is_everybody(principal: str) -> bool:
    """Whether the principal is whoever asks."""
    return principal == "*"


def matches(patterns: Sequence[str], action: str) -> bool:
    """Whether an action is among those of a statement, which may have wildcards and any case."""
    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)


def conditions(statement: Statement) -> dict[str, dict[str, Any]]:
    """Condition keys, in lower case, with their values by operator."""
    found: dict[str, dict[str, Any]] = {}
    for operator, tests in (statement.get("Condition") or {}).items():
        for key, value in tests.items():
            found.setdefault(str(key).lower(), {})[str(operator)] = value
    return found


def everywhere(statement: Statement) -> bool:
    """Whether the statement is about every resource, or about all but some."""
    return "*" in listed(statement, "Resource") or has(statement, "NotResource")


def covers(statement: Statement, action: str) -> bool:
    """Whether an action is among those that the statement names, or among all but those that it names."""
    if has(statement, "NotAction"):
        return not matches(listed(statement, "NotAction"), action)
    return matches(listed(statement, "Action"), action)


def label(statement: Statement) -> str:
    """How a message names the statement."""
    return f"statement `{statement['Sid']}`" if statement.get("Sid") else "a statement without a Sid"
