"""Who uses what on a cluster now: queues and tasks, as Kueue's own objects tell it.

Read from `kueue.x-k8s.io/v1beta2`, or v1beta1 where a server has no newer one. Amounts are in base units, see `governance.units`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import ROUND_CEILING
from functools import lru_cache
from typing import Any, Final, Protocol

from governance.sharing import Cell
from governance.units import CPU, MEMORY
from live.tasks import Task, task

_VERSIONS: Final = ("v1beta2", "v1beta1")
"""Of Kueue's API, the wanted first."""
_SCALE: Final = {CPU: (1000, 1), MEMORY: (1, 1 << 20)}
"""Base units in one of what a bare quantity counts, as a fraction."""


class Source(Protocol):
    """Reads lists from an API server."""

    def items(self, path: str) -> list[dict[str, Any]]: ...
    def pages(self, path: str) -> Iterable[dict[str, Any]]: ...
    def get(self, path: str) -> dict[str, Any] | None: ...


class NoKueueError(Exception):
    """The cluster has no Kueue; the message says so."""


@dataclass(frozen=True, slots=True)
class Used:
    """One resource of one flavor in a queue."""

    nominal: int
    """Guaranteed, as the live queue says it."""
    used: int
    """Reserved by tasks, borrowed amounts included."""
    borrowed: int
    lendable: int
    """The most of the guarantee that others may use; 0 outside every cohort."""

    @property
    def own(self) -> int:
        """Used within the guarantee."""
        return self.used - self.borrowed

    @property
    def idle(self) -> int:
        """Guaranteed and not used by the queue itself; others may be using it."""
        return max(0, self.nominal - self.own)


@dataclass(frozen=True, slots=True)
class QueueUse:
    """A ClusterQueue."""

    name: str
    cohort: str | None
    active: bool
    """Whether Kueue admits tasks to it."""
    message: str
    """Why not, in Kueue's words."""
    pending: int
    reserving: int
    """Tasks that hold quota, admitted or about to be."""
    admitted: int
    cells: Mapping[Cell, Used]


@dataclass(frozen=True, slots=True)
class Usage:
    """A cluster at one moment."""

    read_at: datetime
    """In UTC."""
    queues: Mapping[str, QueueUse]
    pools: Mapping[str, Mapping[Cell, int]] = field(default_factory=dict)
    """What cohorts hold of their own, that is of nobody's, by cohort."""
    parents: Mapping[str, str] = field(default_factory=dict)
    """The cohort above, by cohort; roots have none."""
    local_queues: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The ClusterQueue by namespace and LocalQueue."""
    classes: Mapping[str, int] = field(default_factory=dict)
    """Values of WorkloadPriorityClasses."""
    tasks: tuple[Task, ...] = ()
    """All Workloads that the server still keeps."""

    def root(self, cohort: str) -> str:
        """The cohort at the top of a cohort's tree: borrowing goes as far."""
        seen = {cohort}
        while (above := self.parents.get(cohort)) and above not in seen:
            seen.add(above)
            cohort = above
        return cohort


def read_usage(source: Source, now: datetime | None = None) -> Usage:
    """Usage of a cluster at the moment. Raises NoKueueError, ApiError, UnreachableError."""
    base = served(source)
    moment = now or datetime.now(UTC)
    cohorts = source.items(f"{base}/cohorts")
    locals_ = source.items(f"{base}/localqueues")
    queue_of = {
        (one["metadata"]["namespace"], one["metadata"]["name"]): _name(one["spec"].get("clusterQueue")) for one in locals_
    }
    return Usage(
        moment,
        {one["metadata"]["name"]: _queue(one) for one in source.items(f"{base}/clusterqueues")},
        {one["metadata"]["name"]: _nominal(one) for one in cohorts},
        {one["metadata"]["name"]: parent for one in cohorts if (parent := _parent(one))},
        queue_of,
        {one["metadata"]["name"]: int(one.get("value") or 0) for one in source.items(f"{base}/workloadpriorityclasses")},
        tuple(task(one, moment, queue_of) for one in source.pages(f"{base}/workloads")),
    )


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    return item["metadata"]["namespace"], item["metadata"]["name"]


def served(source: Source) -> str:
    """The API path of Kueue's objects in the newest version that the server has. Raises NoKueueError."""
    group = source.get("/apis/kueue.x-k8s.io") or {}
    served = {one["version"] for one in group.get("versions", ())}
    for version in _VERSIONS:
        if version in served:
            return f"/apis/kueue.x-k8s.io/{version}"
    raise NoKueueError(f"the cluster serves none of Kueue's API versions {', '.join(_VERSIONS)}")


def _queue(item: Mapping[str, Any]) -> QueueUse:
    status, spec = item.get("status") or {}, item["spec"]
    cohort = spec.get("cohortName") or spec.get("cohort") or None
    used = {
        (flavor["name"], resource["name"]): resource
        for flavor in status.get("flavorsReservation") or ()
        for resource in flavor.get("resources") or ()
    }
    cells = {}
    for cell, quota in _quotas(item):
        nominal, held = base_units(cell[1], quota.get("nominalQuota", "0")), used.get(cell, {})
        limit = quota.get("lendingLimit")
        lendable = nominal if limit is None else min(nominal, base_units(cell[1], limit))
        total, borrowed = (base_units(cell[1], held.get(name) or "0") for name in ("total", "borrowed"))
        cells[cell] = Used(nominal, total, borrowed, lendable if cohort else 0)
    state: Mapping[str, Any] = next((one for one in status.get("conditions") or () if one["type"] == "Active"), {})
    active = state.get("status") == "True"
    pending, reserving, admitted = (int(status.get(f"{name}Workloads") or 0) for name in ("pending", "reserving", "admitted"))
    why = "" if active else str(state.get("message", ""))
    return QueueUse(item["metadata"]["name"], cohort, active, why, pending, reserving, admitted, cells)


def _quotas(item: Mapping[str, Any]) -> Iterable[tuple[Cell, Mapping[str, Any]]]:
    for group in item.get("spec", {}).get("resourceGroups") or ():
        for flavor in group["flavors"]:
            for resource in flavor["resources"]:
                yield (flavor["name"], resource["name"]), resource


def _nominal(cohort: Mapping[str, Any]) -> dict[Cell, int]:
    return {cell: base_units(cell[1], quota.get("nominalQuota", "0")) for cell, quota in _quotas(cohort)}


def _parent(cohort: Mapping[str, Any]) -> str:
    spec = cohort.get("spec") or {}
    return _name(spec.get("parentName") or spec.get("parent"))


def _name(value: object) -> str:
    return str(value or "")


@lru_cache(maxsize=4096)
def base_units(resource: str, quantity: str | int) -> int:
    """A Kubernetes quantity in base units, parts of one rounded up: what is partly used isn't free."""
    from live.connection import load_client

    load_client()
    from kubernetes.utils.quantity import parse_quantity

    up, down = _SCALE.get(resource, (1, 1))
    return int((parse_quantity(quantity) * up / down).to_integral_value(ROUND_CEILING))
