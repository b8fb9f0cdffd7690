"""Amounts × time of instance types: base units (see `governance.units`) × seconds, exact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from governance.units import CPU, MEMORY

Measured = tuple[str, str]
"""An instance type, and the resource in which people count it: its accelerators, or vCPUs where it has none."""

UNITS: Mapping[str, str] = {
    "_s": "seconds of the trace's time",
    "_h": "accelerator-hours; vCPU-hours where the resource is cpu",
    "_share": "a part of the whole, from 0 to 1",
    "_amount": "accelerators; vCPUs where the resource is cpu",
    "other": "jobs, or times that something happened",
}
"""Units by the ending of a figure's name."""


def hours(resource: str, amount: int) -> float:
    """Base units × seconds as what people say: accelerator-hours, vCPU-hours, GiB-hours."""
    return round(amount / (3600 * {CPU: 1000, MEMORY: 1024}.get(resource, 1)), 3)


def amount_of(resource: str, amount: int) -> float | int:
    """Base units as what people say."""
    return amount / 1000 if resource == CPU else amount


@dataclass(frozen=True, slots=True)
class Use:
    """What a team used of one instance type; all but `guarantee` are amounts × time."""

    resource: str
    guarantee: int
    """The amount that it owns."""
    within: int
    """Used of its own."""
    borrowed: int
    unused: int
    """Of its own; others may have borrowed it."""
    contested: int
    """Borrowed while a team that may borrow waited for the same."""
    borrowed_share: float | None
    """Of all that was borrowed."""
    contested_share: float | None
    """Of what was borrowed while it was contested: the one to hold against the fair share."""
    fair_share: float | None
    """That the team's weight gives it among all that may borrow; None where idle compute goes by arrival."""

    def as_dict(self) -> dict[str, Any]:
        own = self.within + self.unused
        return {
            "guarantee_amount": amount_of(self.resource, self.guarantee),
            "within_guarantee_h": hours(self.resource, self.within),
            "borrowed_h": hours(self.resource, self.borrowed),
            "unused_guarantee_h": hours(self.resource, self.unused),
            "contested_borrowed_h": hours(self.resource, self.contested),
            "guarantee_used_share": round(self.within / own, 4) if own else None,
            "borrowed_share": _rounded(self.borrowed_share),
            "contested_borrowed_share": _rounded(self.contested_share),
            "fair_share": _rounded(self.fair_share),
        }


@dataclass(frozen=True, slots=True)
class Held:
    """What the cluster's nodes of one instance type were used for: within + borrowed + idle - over = capacity × time."""

    resource: str
    capacity: int
    """The amount."""
    within: int
    borrowed: int
    idle: int
    over: int
    """Admitted beyond the nodes: where guarantees are above capacity."""

    def as_dict(self) -> dict[str, Any]:
        whole = self.within + self.borrowed + self.idle - self.over
        return {
            "capacity_amount": amount_of(self.resource, self.capacity),
            "within_guarantee_h": hours(self.resource, self.within),
            "borrowed_h": hours(self.resource, self.borrowed),
            "idle_h": hours(self.resource, self.idle),
            "beyond_capacity_h": hours(self.resource, self.over),
            "used_share": round((self.within + self.borrowed - self.over) / whole, 4) if whole else None,
        }


def nested(by: Mapping[Measured, Any]) -> dict[str, Any]:
    """By instance type, then resource, JSON-ready."""
    result: dict[str, Any] = {}
    for (kind, resource), one in by.items():
        result.setdefault(kind, {})[resource] = one.as_dict()
    return result


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, 4)
