"""Who wrote a field of a Kubernetes object: reading `metadata.managedFields`.

Kubernetes records programs (field managers), not people, and nothing of who deletes a field or an object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from live.drift.compare import Item, Path
from live.drift.model import Author

_DEPLOYMENTS: Final = re.compile(r"pulumi-kubernetes(-[0-9a-f]{8}|-[0-9a-f]{12})?")
"""Names that deployments give themselves: 8 digits by Pulumi's provider, 12 by the offline one; none with client-side apply."""


def is_ours(author: Author, manager: str = "") -> bool:
    """Whether a deployment wrote it. `manager`: whom the state records; where it records nobody, the name's form must do."""
    return author.name == manager if manager else _DEPLOYMENTS.fullmatch(author.name) is not None


def records_owners(live: Mapping[str, Any]) -> bool:
    """Whether the object says who wrote its fields. Anybody who may write it can take that away."""
    return next(_entries(live), None) is not None


def owners(live: Mapping[str, Any], path: Path) -> list[Author]:
    """The managers that own a property, or the list or map that it is an unseparable part of; the newest first."""
    found = [_author(entry) for entry in _entries(live) if _owns(entry.get("fieldsV1") or {}, path)]
    return sorted(found, key=lambda author: author.time, reverse=True)


def author_of(live: Mapping[str, Any], path: Path, manager: str = "") -> Author | None:
    """Who is most likely to have changed a property: an owner other than a deployment, else the last deployment."""
    found = owners(live, path)
    return next((author for author in found if not is_ours(author, manager)), found[0] if found else None)


def creator(live: Mapping[str, Any]) -> Author | None:
    """Who made the object, as far as its oldest entry tells."""
    entries = sorted(_entries(live), key=lambda entry: str(entry.get("time", "")))
    made = str(live.get("metadata", {}).get("creationTimestamp") or "")
    return Author(str(entries[0].get("manager", "")), "created", made) if entries else None


def _entries(live: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Entries on the object itself: subresources hold status and scale."""
    for entry in live.get("metadata", {}).get("managedFields") or ():
        if entry.get("manager") and not entry.get("subresource"):
            yield entry


def _author(entry: Mapping[str, Any]) -> Author:
    return Author(str(entry["manager"]), str(entry.get("operation", "")), str(entry.get("time", "")))


def _owns(fields: Mapping[str, Any], path: Path) -> bool:
    """Whether a set of fields (format FieldsV1) holds the property, something in it, or all of something around it."""
    if not fields:
        return False
    for step in path:
        below = {key: value for key, value in fields.items() if key != "."}
        if not below:
            return True  # an atomic list or map: owned as a whole
        found = _below(below, step)
        if found is None:
            return False
        fields = found
    return True


def _below(fields: Mapping[str, Any], step: str | Item) -> Mapping[str, Any] | None:
    if isinstance(step, str):
        found = fields.get(f"f:{step}")
        return found if isinstance(found, Mapping) else None
    for key, value in fields.items():
        if key.startswith("k:") and isinstance(step.element, Mapping):
            if json.loads(key[2:]).items() <= step.element.items():
                return dict(value)
        elif key in (f"v:{json.dumps(step.element)}", f"i:{step.label}") and not isinstance(step.element, Mapping):
            return dict(value)
    return None
