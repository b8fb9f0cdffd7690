"""The tree of cohorts: which is the root, and what departments there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from config.environment import ROOT_COHORT
from governance.adoption.amounts import base_units
from governance.adoption.model import Object, name_of, spec_of


@dataclass(frozen=True, slots=True)
class Cohorts:
    """Cohorts as the environment declares them."""

    root: str | None
    """None where no queue is in any."""
    departments: Mapping[str, dict[str, Any]]

    def settings(self) -> dict[str, Any]:
        """What `governance` says of them."""
        return {"departments": dict(self.departments)} if self.departments else {}


def cohorts(objects: Iterable[Object], queues: Iterable[Object]) -> Cohorts:
    """The cohorts that exist, and those that only a queue or a child names: Kueue makes no difference.

    The root is the one without a parent below which most queues stand; others without a parent stand alone.
    """
    parents: dict[str, str | None] = {}
    weights: dict[str, Any] = {}
    for found in objects:
        spec = spec_of(found)
        parents[name_of(found)] = spec.get("parentName")
        weights[name_of(found)] = (spec.get("fairSharing") or {}).get("weight")
    members = [str(spec_of(queue)["cohortName"]) for queue in queues if spec_of(queue).get("cohortName")]
    for name in (*members, *(parent for parent in list(parents.values()) if parent)):
        parents.setdefault(name, None)
    tops = {name: _top(name, parents) for name in parents}
    if not tops:
        return Cohorts(None, {})
    below = Counter(tops[name] for name in members)
    root = min(set(tops.values()), key=lambda name: (name != ROOT_COHORT, -below[name], name))
    departments = {name: _department(name, parents, root, weights.get(name)) for name in sorted(parents) if name != root}
    return Cohorts(root, departments)


def _top(name: str, parents: Mapping[str, str | None]) -> str:
    seen = {name}
    while (parent := parents.get(name)) and parent not in seen:
        seen.add(parent)
        name = parent
    return name


def _department(name: str, parents: Mapping[str, str | None], root: str, weight: Any) -> dict[str, Any]:
    parent = parents[name]
    if parent is None:
        return {"alone": True}
    found: dict[str, Any] = {} if weight is None else {"weight": min(100, base_units("", weight))}
    return found if parent == root else {**found, "parent": parent}
