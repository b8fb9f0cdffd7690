"""How a ClusterQueue shares, in a team's words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.catalogue import instance_types
from config.team import DEFAULT_BORROW_PERCENT
from governance.adoption.amounts import base_units, entry, share

MOST_BORROWED = 10_000
"""Largest borrow limit in percent that a declaration takes."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A quota in base units; None: no limit."""

    nominal: int
    borrow: int | None
    lend: int | None


def cell(resource: str, quota: Mapping[str, Any]) -> Cell:
    """A quota as the API writes it, in base units."""
    limits = (quota.get("borrowingLimit"), quota.get("lendingLimit"))
    borrow, lend = (None if limit is None else base_units(resource, limit) for limit in limits)
    return Cell(base_units(resource, quota["nominalQuota"]), borrow, lend)


ByType = Mapping[str, Mapping[str, Cell]]
"""Quotas by instance type and resource, pods left out."""


def sharing(cells: ByType, *, in_cohort: bool, in_department: bool) -> dict[str, Any] | str | None:
    """The team's `sharing`; None for the default. Mixtures that no declaration yields come out as near as they can."""
    if not in_cohort:
        return "dont_lend"
    every = [one for of_type in cells.values() for one in of_type.values()]
    if every and in_department and all((one.borrow, one.lend) == (0, 0) for one in every):
        return "dont_lend"
    found = _borrowing(cells, every) | _lending(cells, every)
    if found == {"strategy": "lend"}:
        return "lend"
    return found or None


def _borrowing(cells: ByType, every: list[Cell]) -> dict[str, Any]:
    if any(one.borrow is None for one in every):
        return {"borrow_unlimited": True}
    if not any(one.borrow for one in every):
        return {"strategy": "lend"} if every else {}
    percent = share(((one.nominal, one.borrow or 0) for one in every), MOST_BORROWED)
    if percent is not None:
        return {} if percent == DEFAULT_BORROW_PERCENT else {"borrow_limit": percent}
    limits = {kind: {resource: one.borrow or 0 for resource, one in of_type.items()} for kind, of_type in cells.items()}
    return {"borrow": {kind: entry(of_type, instance_types()[kind]) for kind, of_type in limits.items() if any(of_type.values())}}


def _lending(cells: ByType, every: list[Cell]) -> dict[str, Any]:
    if all(one.lend is None for one in every):
        return {}
    if all(one.lend is not None for one in every):
        percent = share(((one.nominal, one.lend or 0) for one in every), 99)
        if percent is not None:
            return {"lend_limit": percent}
    limits = {
        kind: {resource: one.nominal if one.lend is None else one.lend for resource, one in of_type.items()}
        for kind, of_type in cells.items()
        if any(one.lend is not None for one in of_type.values())
    }
    return {"lend": {kind: entry(of_type, instance_types()[kind]) for kind, of_type in limits.items()}}
