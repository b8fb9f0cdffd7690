"""What a team lends, borrows, and can reach at most.

Limits are rounded down to the base unit (one device, 1 m vCPU, 1 MiB). The reach is Kueue's own arithmetic
(pkg/cache/scheduler/resource_node.go), so that the largest job is known before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.team import Sharing
from governance.units import Resources, percent

Cell = tuple[str, str]
"""A flavor and a resource: what Kueue counts."""


@dataclass(frozen=True, slots=True)
class Quota:
    """One resource of one flavor in a queue, in base units; None: no limit of its own."""

    resource: str
    nominal: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None


def limits(
    sharing: Sharing,
    resource: str,
    nominal: int,
    *,
    in_cohort: bool,
    borrow: Resources | None,
    lend: Resources | None,
) -> Quota:
    """The quota with its limits. `borrow` and `lend` are the absolute amounts of this flavor, None where none are declared."""
    if not in_cohort:
        return Quota(resource, nominal)
    if sharing.strategy == "dont_lend":
        return Quota(resource, nominal, 0, 0)
    return Quota(resource, nominal, _borrowing(sharing, resource, nominal, borrow), _lending(sharing, resource, nominal, lend))


def _borrowing(sharing: Sharing, resource: str, nominal: int, borrow: Resources | None) -> int | None:
    if sharing.borrow_unlimited:
        return None
    return (borrow or {}).get(resource, 0) if sharing.borrow else percent(nominal, sharing.borrow_percent)


def _lending(sharing: Sharing, resource: str, nominal: int, lend: Resources | None) -> int | None:
    if lend is not None:
        return min(nominal, lend.get(resource, 0))
    if sharing.lend_limit is not None and sharing.lend_limit < 100:
        return percent(nominal, sharing.lend_limit)
    return None


@dataclass(frozen=True, slots=True)
class Member:
    """A queue or cohort in the tree of cohorts: its own amounts and limits by cell."""

    name: str
    parent: str | None
    cells: Mapping[Cell, Quota]


def potentials(cohorts: Iterable[Member], queues: Iterable[Member]) -> dict[str, dict[Cell, int]]:
    """For each queue and cell, the most that the queue can ever use when all others are idle.

    Linear in the number of cells. A parent must be among the cohorts.
    """
    members = list(queues)
    supply = supplies(cohorts, members)
    return {queue.name: {cell: _reach(queue, cell, quota, supply) for cell, quota in queue.cells.items()} for queue in members}


def supplies(cohorts: Iterable[Member], queues: Iterable[Member]) -> dict[str, dict[Cell, int]]:
    """For each cohort, all that can be had there: what the cohorts of its tree hold and the queues share, within limits."""
    tree = {cohort.name: cohort for cohort in cohorts}
    order = parents_first({name: cohort.parent for name, cohort in tree.items()})
    pool: dict[str, dict[Cell, int]] = {name: {c: q.nominal for c, q in cohort.cells.items()} for name, cohort in tree.items()}
    for queue in queues:
        if queue.parent is not None:
            _add(pool[queue.parent], {cell: shared(quota) for cell, quota in queue.cells.items()})
    for name in reversed(order):
        parent = tree[name].parent
        if parent is not None:
            _add(pool[parent], {cell: shared(quota) for cell, quota in _whole(tree[name], pool[name]).items()})
    for name in order:
        parent = tree[name].parent
        if parent is not None:
            limited = {cell: quota for cell, quota in _whole(tree[name], pool[name]).items() if _has_limits(quota)}
            within = {cell: _within(quota, pool[parent].get(cell, 0)) for cell, quota in limited.items()}
            pool[name] = {**pool[parent], **within} if within else pool[parent]
    return pool


def _whole(cohort: Member, subtree: Mapping[Cell, int]) -> dict[Cell, Quota]:
    """All that a cohort's part of the tree has, under the limits of the cohort."""
    limits_ = {cell: (quota.borrowing_limit, quota.lending_limit) for cell, quota in cohort.cells.items()}
    return {cell: Quota(cell[1], amount, *limits_.get(cell, (None, None))) for cell, amount in subtree.items()}


def _has_limits(quota: Quota) -> bool:
    return quota.borrowing_limit is not None or quota.lending_limit is not None


def parents_first(parents: Mapping[str, str | None]) -> list[str]:
    """Names of a forest, level by level, each level sorted. Nodes on a circle are left out."""
    children: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    result: list[str] = []
    level = sorted(children.get(None, ()))
    while level:
        result += level
        level = sorted(child for name in level for child in children.get(name, ()))
    return result


def _reach(queue: Member, cell: Cell, quota: Quota, supply: Mapping[str, Mapping[Cell, int]]) -> int:
    return quota.nominal if queue.parent is None else _within(quota, supply[queue.parent].get(cell, 0))


def _within(quota: Quota, above: int) -> int:
    """What can be had below a parent that has so much: what is kept comes on top, and the limit bounds both."""
    available = quota.nominal - shared(quota) + above
    return available if quota.borrowing_limit is None else min(quota.nominal + quota.borrowing_limit, available)


def shared(quota: Quota) -> int:
    """What of a quota others may use."""
    return quota.nominal if quota.lending_limit is None else min(quota.nominal, quota.lending_limit)


def _add(into: dict[Cell, int], more: Mapping[Cell, int]) -> None:
    for cell, amount in more.items():
        into[cell] = into.get(cell, 0) + amount
