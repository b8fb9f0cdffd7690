"""What a look for drift has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from live.drift.compare import ABSENT

TO_BE_MADE = "to be made"
"""The remark on what is declared, and on no other side."""
NONE, DIFFERENCE, UNREACHABLE = 0, 3, 4
"""Exit codes."""


class Kind(StrEnum):
    """What is the matter with an object."""

    CHANGED = "changed outside"
    """It is not as it was deployed."""
    MISSING = "missing"
    """It was deployed and is gone."""
    UNMANAGED = "unmanaged"
    """It belongs to what the stack governs, and no deployment made it."""
    PENDING = "not deployed yet"
    """The declaration has changed since the last deployment. No drift."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who changed something last, as far as the system records it."""

    name: str
    """A field manager of Kubernetes, that is a program's name; or an identity of IAM."""
    action: str
    """`Apply` or `Update` of a field; `created` or `changed` of the thing."""
    time: str
    """As the system writes it, in UTC."""

    def as_dict(self) -> dict[str, str]:
        return {"name": self.name, "action": self.action, "time": self.time}


@dataclass(frozen=True, slots=True)
class Property:
    """One property on all three sides; ABSENT where a side lacks it."""

    path: str
    declared: Any
    state: Any
    live: Any
    unit: str = ""
    """What a bare number counts, where that isn't plain: `vCPU`, `GiB`."""
    author: Author | None = None

    def as_dict(self) -> dict[str, Any]:
        sides = {"declared": self.declared, "state": self.state, "live": self.live}
        found = {"path": self.path, **{name: value for name, value in sides.items() if value is not ABSENT}}
        return found | ({"changed_by": self.author.as_dict()} if self.author else {})


@dataclass(frozen=True, slots=True)
class Thing:
    """Which object: a Kubernetes object, a compute quota, a scheduler configuration."""

    cluster: str
    kind: str
    name: str
    namespace: str = ""
    team: str = ""

    def __str__(self) -> str:
        return f"{self.cluster}: {self.kind} {f'{self.namespace}/' if self.namespace else ''}{self.name}"

    def as_dict(self) -> dict[str, str]:
        found = {name: getattr(self, name) for name in ("cluster", "kind", "name", "namespace", "team")}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class Finding:
    """An object that is not the same on all three sides."""

    thing: Thing
    kinds: tuple[Kind, ...]
    properties: tuple[Property, ...] = ()
    """Changed outside."""
    pending: tuple[Property, ...] = ()
    """Changed in the declaration."""
    author: Author | None = None
    """Of the object as a whole."""
    remark: str = ""

    @property
    def drifted(self) -> bool:
        """Whether anybody but a deployment has changed it."""
        return any(kind is not Kind.PENDING for kind in self.kinds)

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {**self.thing.as_dict(), "status": [str(kind) for kind in self.kinds]}
        found |= {"properties": [one.as_dict() for one in self.properties], "pending": [one.as_dict() for one in self.pending]}
        found |= {"changed_by": self.author.as_dict()} if self.author else {}
        return found | ({"remark": self.remark} if self.remark else {})


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be read."""

    cluster: str
    what: str
    message: str


@dataclass(frozen=True, slots=True)
class PlatformChange:
    """A resource of the platform that a refresh would change in the state."""

    type: str
    name: str
    what: str
    """`update` or `delete`."""
    paths: tuple[str, ...] = ()
    """Properties that differ, where the engine tells them."""

    def as_dict(self) -> dict[str, Any]:
        return {"type": self.type, "name": self.name, "what": self.what, "paths": list(self.paths)}


@dataclass(frozen=True, slots=True)
class Report:
    """The whole look."""

    stack: str
    environment: str
    backend: str
    deployed: bool
    """Whether the state knows any resource of the stack; one that was lost, or is looked for in another backend, knows none."""
    with_state: bool
    """Without, the declaration stands in for the state."""
    compared: Mapping[str, int] = field(default_factory=dict)
    """Objects by cluster."""
    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    platform: tuple[PlatformChange, ...] | None = None
    """None where it was not asked for."""
    notes: tuple[str, ...] = ()

    @property
    def drift(self) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.drifted)

    @property
    def pending(self) -> tuple[Finding, ...]:
        """What waits for a deployment, whether or not it has drifted as well."""
        return tuple(one for one in self.findings if Kind.PENDING in one.kinds)

    def exit_code(self, *, pending: bool = False) -> int:
        """4 where something could not be read, else 3 for drift (with `pending`, for undeployed changes too), else 0."""
        if self.failures:
            return UNREACHABLE
        differs = self.drift or self.platform or (pending and (self.pending or not self.deployed))
        return DIFFERENCE if differs else NONE
