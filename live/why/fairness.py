"""Who has a claim to what is borrowed: Kueue's fair sharing (pkg/cache/scheduler/fair_sharing.go, pkg/scheduler/preemption)."""

from __future__ import annotations

from collections.abc import Iterator

from live.why.context import Context, Need
from live.why.model import Shortage

_NAMED = 4


def claim(context: Context, need: Need, short: Shortage) -> str:
    """Why fair sharing gives the workload no claim to what others borrow, in words; empty where it has one, or nobody borrows.

    Kueue would take from a borrower whose share is larger than the workload's queue would have with it.
    """
    cell = (short.flavor, short.resource)
    behind = []
    for other, mine, theirs in shares(context, need):
        used = context.quotas.total.get(other, {}).get(cell, 0)
        quota = context.quotas.queues[other].cells.get(cell)
        if quota is None or used <= quota.nominal:
            continue
        if mine < theirs and context.reclaim() != "Never":
            return ""
        behind.append((other, mine, theirs))
    if not behind:
        return ""
    named = ", ".join(f"{context.owner(other)} {_share(theirs)}" for other, _, theirs in behind[:_NAMED])
    mine = max(share for _, share, _ in behind)
    return f"{context.who} would have a share of {_share(mine)} with it, those that borrow have no larger one ({named})"


def shares(context: Context, need: Need) -> Iterator[tuple[str, float, float]]:
    """For each other queue of the tree: the own share with the workload, and the other's, where their ways to the root meet."""
    quotas, own = context.quotas, context.name
    extra = {own: need.total()}
    for other in quotas.siblings(own):
        ways = [own, *quotas.path(own)], [other, *quotas.path(other)]
        meet = next(name for name in ways[0] if name in ways[1])
        mine, theirs = (way[way.index(meet) - 1] for way in ways)
        yield other, quotas.share(mine, meet, extra), quotas.share(theirs, meet)


def _share(value: float) -> str:
    """As Kueue's status shows it: thousandths of what can be lent, by weight."""
    return "without bound (weight 0)" if value == float("inf") else f"{value:.0f}"
