"""What a queue could have now: the arithmetic of the plan (governance.sharing), done with what is in use taken away.

A queue's reach in a tree from which all usage was taken is what Kueue calls available (pkg/cache/scheduler/resource_node.go):
what a queue uses comes first out of the part that it doesn't lend, and then out of what it shares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from governance.sharing import Cell, Member, Quota, potentials, shared, supplies
from live.podamounts import amount_of
from live.why.objects import Object, holds_quota, uid_of, usage_of
from live.why.snapshot import Snapshot

Usage = Mapping[str, Mapping[Cell, int]]
"""What is used, by queue."""
_NONE: Final[Usage] = {}


@dataclass(frozen=True, slots=True)
class Quotas:
    """The tree of cohorts and queues with what each queue uses."""

    cohorts: tuple[Member, ...]
    queues: Mapping[str, Member]
    weights: Mapping[str, float]
    """Fair-share weights of queues and cohorts; 1 where none is set."""
    held: Mapping[str, tuple[str, Mapping[Cell, int]]] = field(default_factory=dict)
    """By UID of a workload that holds quota, its queue and what it uses."""
    total: Usage = field(default_factory=dict)
    """What all of them use, by queue."""

    def used(self, without: Collection[str] = ()) -> dict[str, dict[Cell, int]]:
        """Usage by queue, without the workloads of these UIDs."""
        found = {queue: dict(cells) for queue, cells in self.total.items()}
        for uid in without:
            queue, cells = self.held.get(uid, ("", {}))
            for cell, amount in cells.items():
                found[queue][cell] -= amount
        return found

    def free(self, queue: str, without: Collection[str] = (), changed: Mapping[Cell, Quota] | None = None) -> dict[Cell, int]:
        """What the queue could have now of each cell, borrowing included; below 0 where it has more than it may.

        `without` as if these workloads (UIDs) had ended, `changed` as if the queue had these quotas.
        """
        used = self.used(without)
        members = [
            _left(
                Member(one.name, one.parent, {**one.cells, **(changed or {})}) if one.name == queue else one,
                used.get(one.name, {}),
            )
            for one in self._near(queue)
        ]
        return potentials(self.cohorts, members)[queue]

    def most(self, queue: str, changed: Mapping[Cell, Quota] | None = None) -> dict[Cell, int]:
        """What it could have with all others idle."""
        members = [
            Member(one.name, one.parent, {**one.cells, **(changed or {})}) if one.name == queue else one
            for one in self._near(queue)
        ]
        return potentials(self.cohorts, members)[queue]

    def _near(self, queue: str) -> list[Member]:
        """The queue and all that share a tree with it."""
        root = self.root(queue)
        return [one for one in self.queues.values() if one.name == queue or (root and self.root(one.name) == root)]

    def path(self, name: str) -> list[str]:
        """Cohorts above a queue, nearest first."""
        parents = {one.name: one.parent for one in self.cohorts}
        found: list[str] = []
        above = self.queues[name].parent
        while above is not None and above not in found:
            found.append(above)
            above = parents.get(above)
        return found

    def root(self, name: str) -> str:
        """The root of a queue's cohorts; empty for one outside."""
        path = self.path(name)
        return path[-1] if path else ""

    def siblings(self, queue: str) -> list[str]:
        """The other queues of its tree."""
        return [one.name for one in self._near(queue) if one.name != queue]

    def share(self, node: str, parent: str, extra: Mapping[str, Mapping[Cell, int]] = _NONE) -> float:
        """By what fair sharing compares a queue or cohort below `parent`: borrowed ÷ lendable ÷ weight, in thousandths.

        The dominant resource counts. 0 for one that borrows nothing, infinite for one of weight 0 that does. `extra` is used
        on top.
        """
        owned, used = self._sums(node, extra)
        lendable: dict[str, int] = {}
        for (_, resource), amount in supplies(self.cohorts, self.queues.values()).get(parent, {}).items():
            lendable[resource] = lendable.get(resource, 0) + amount
        borrowed: dict[str, int] = {}
        for cell, amount in used.items():
            if amount > owned.get(cell, 0):
                borrowed[cell[1]] = borrowed.get(cell[1], 0) + amount - owned.get(cell, 0)
        ratio = max((amount * 1000 / lendable[r] for r, amount in borrowed.items() if lendable.get(r)), default=0.0)
        weight = self.weights.get(node, 1.0)
        if not ratio:
            return 0.0
        return ratio / weight if weight else float("inf")

    def _sums(self, node: str, extra: Usage) -> tuple[Mapping[Cell, int], Mapping[Cell, int]]:
        """What a node owns and shares, and what of that is used; of a cohort, by all queues below it."""
        used = self.used()
        for queue, cells in extra.items():
            into = used.setdefault(queue, {})
            for cell, amount in cells.items():
                into[cell] = into.get(cell, 0) + amount
        if node in self.queues and not any(one.name == node for one in self.cohorts):
            return {cell: quota.nominal for cell, quota in self.queues[node].cells.items()}, used.get(node, {})
        below = [one for one in self.queues.values() if node in self.path(one.name)]
        inner = [_detached(one, node) for one in self.cohorts if one.name == node or self._under(one.name, node)]
        owned = supplies(inner, below)[node]
        left = supplies(inner, [_left(one, used.get(one.name, {})) for one in below])[node]
        return owned, {cell: owned.get(cell, 0) - amount for cell, amount in left.items()}

    def _under(self, cohort: str, above: str) -> bool:
        parents = {one.name: one.parent for one in self.cohorts}
        seen: set[str] = set()
        at: str | None = parents.get(cohort)
        while at is not None and at not in seen:
            if at == above:
                return True
            seen.add(at)
            at = parents.get(at)
        return False


def quotas_of(snapshot: Snapshot) -> Quotas:
    """The tree as it is; a cohort that only queues or cohorts name has no quota of its own."""
    queues = {
        name: Member(name, queue["spec"].get("cohortName") or None, _cells(queue))
        for name, queue in snapshot.cluster_queues.items()
    }
    cohorts = {
        name: Member(name, cohort.get("spec", {}).get("parentName") or None, _cells(cohort))
        for name, cohort in snapshot.cohorts.items()
    }
    for named in (*(one.parent for one in queues.values()), *(one.parent for one in list(cohorts.values()))):
        if named is not None and named not in cohorts:
            cohorts[named] = Member(named, None, {})
    held = {uid_of(one): (snapshot.queue_name(one), usage_of(one)) for one in snapshot.workloads.values() if holds_quota(one)}
    used: dict[str, dict[Cell, int]] = {}
    for queue, cells in held.values():
        into = used.setdefault(queue, {})
        for cell, amount in cells.items():
            into[cell] = into.get(cell, 0) + amount
    weights = {name: _weight(one) for name, one in (*snapshot.cohorts.items(), *snapshot.cluster_queues.items())}
    return Quotas(tuple(cohorts.values()), queues, weights, held, used)


def _cells(item: Object) -> dict[Cell, Quota]:
    return {
        (flavor["name"], resource["name"]): Quota(
            resource["name"],
            amount_of(resource["name"], resource["nominalQuota"]),
            _limit(resource, "borrowingLimit"),
            _limit(resource, "lendingLimit"),
        )
        for group in (item.get("spec") or {}).get("resourceGroups") or ()
        for flavor in group.get("flavors") or ()
        for resource in flavor.get("resources") or ()
    }


def _limit(resource: Object, name: str) -> int | None:
    return None if resource.get(name) is None else amount_of(resource["name"], resource[name])


def _weight(item: Object) -> float:
    from kubernetes.utils.quantity import parse_quantity

    found = ((item.get("spec") or {}).get("fairSharing") or {}).get("weight")
    return 1.0 if found is None else float(parse_quantity(found))


def _left(queue: Member, used: Mapping[Cell, int]) -> Member:
    """The queue with its usage taken away: first from what it keeps, then from what it shares, of which it may be in debt.

    A cohort's limits need no such change: they bound what is left of its part of the tree just as they bound all of it.
    """
    if queue.parent is None:
        cells = {cell: Quota(quota.resource, quota.nominal - used.get(cell, 0)) for cell, quota in queue.cells.items()}
        return Member(queue.name, None, cells)
    cells = {}
    for cell, quota in {**{cell: Quota(cell[1], 0) for cell in used}, **queue.cells}.items():
        kept, amount = quota.nominal - shared(quota), used.get(cell, 0)
        rest = shared(quota) - max(0, amount - kept)
        cells[cell] = Quota(quota.resource, max(0, kept - amount) + rest, quota.borrowing_limit, rest)
    return Member(queue.name, queue.parent, cells)


def _detached(cohort: Member, root: str) -> Member:
    return Member(cohort.name, None if cohort.name == root else cohort.parent, cohort.cells)


def lend_idle(quotas: Quotas, queue: str, cells: Iterable[Cell]) -> dict[Cell, dict[str, int]]:
    """Of each cell, who else of the tree shares how much that isn't used: queues, and cohorts with a pool of their own."""
    used = quotas.used()
    found: dict[Cell, dict[str, int]] = {}
    for cell in cells:
        into = found.setdefault(cell, {})
        for name in quotas.siblings(queue):
            quota = quotas.queues[name].cells.get(cell)
            if quota is not None:
                kept = quota.nominal - shared(quota)
                idle = shared(quota) - max(0, used.get(name, {}).get(cell, 0) - kept)
                if idle > 0:
                    into[name] = idle
        path = quotas.path(queue)
        into.update(
            {
                one.name: one.cells[cell].nominal
                for one in quotas.cohorts
                if one.name in path and cell in one.cells and one.cells[cell].nominal
            }
        )
    return found
