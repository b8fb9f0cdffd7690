"""What would let a team run a job that it can't have today: the borrow limit that is enough, where others lend enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.catalogue import InstanceType
from config.team import Amounts, Team
from governance.backends import MANAGED_BORROW_LIMIT
from governance.model import ClusterPlan, cells
from governance.sharing import Cell, Member, Quota, shared, supplies
from governance.units import CPU, MEMORY, Resources, mig_resource

_MOST_PERCENT = 10_000
"""Largest borrow limit of a declaration."""
Supply = Mapping[str, Mapping[Cell, int]]
"""What can be had in the tree of each cohort."""


class Supplies:
    """The supply of each cluster, computed when it is first asked for: most runs need none."""

    def __init__(self) -> None:
        self._found: dict[str, Supply] = {}

    def of(self, cluster: ClusterPlan) -> Supply:
        if cluster.name not in self._found:
            cohorts = [Member(cohort.name, cohort.parent, cells(cohort.pool)) for cohort in cluster.cohorts]
            queues = [Member(team.name, team.cohort, cells(team.flavors)) for team in cluster.teams.values()]
            self._found[cluster.name] = supplies(cohorts, queues)
        return self._found[cluster.name]


@dataclass(frozen=True, slots=True)
class Borrowing:
    """A borrow limit: a percentage, or amounts of the type as they are declared."""

    percent: int | None = None
    amounts: Mapping[str, Any] | None = None


def larger_borrowing(team: Team, kind: InstanceType, asked: Resources, cluster: ClusterPlan, supply: Supply) -> str:
    """How the team would have to borrow for a job of this demand, in words; empty where no borrowing is enough."""
    found = borrowing_for(team, kind, asked, cluster, supply)
    if found is None:
        return ""
    if found.percent is not None:
        change = f"sharing.borrow_limit to {found.percent}"
    else:
        change = f"sharing.borrow.{kind.name} to {_shown(found.amounts or {})}"
    return (
        f"set {change}" if team.sharing.strategy == "lend_and_borrow" else f"set sharing.strategy to lend_and_borrow and {change}"
    )


def borrowing_for(team: Team, kind: InstanceType, asked: Resources, cluster: ClusterPlan, supply: Supply) -> Borrowing | None:
    """The least borrow limit with which a job of this demand can be admitted while all others are idle.

    None where others don't share enough, and for a team that neither lends nor borrows: that is its choice.
    """
    queue, flavor = cluster.teams[team.name], cluster.flavors.get(kind.name)
    if queue.cohort is None or flavor is None or team.sharing.strategy == "dont_lend":
        return None
    own = cells(queue.flavors)
    quotas = {resource: own.get((flavor.name, resource), Quota(resource, 0, 0)) for resource in asked}
    tree = supply[queue.cohort]
    if any(asked[r] > q.nominal - shared(q) + tree.get((flavor.name, r), 0) for r, q in quotas.items()):
        return None
    missing = {resource: max(0, amount - quotas[resource].nominal) for resource, amount in asked.items()}
    most = MANAGED_BORROW_LIMIT if cluster.policy.backend == "managed" else _MOST_PERCENT
    if not team.sharing.borrow and all(quotas[resource].nominal for resource, amount in missing.items() if amount):
        share = max(-(-100 * amount // quotas[resource].nominal) for resource, amount in missing.items() if amount)
        if share <= most:
            return Borrowing(percent=share)
    # Absolute limits take the place of the percentage for every type: only for a team that has them, or this type alone.
    if team.sharing.borrow or {found.instance_type for found in queue.flavors} <= {kind.name}:
        return Borrowing(amounts=_amounts(kind, missing))
    return None


def _amounts(kind: InstanceType, missing: Resources) -> dict[str, Any]:
    """The missing amounts as a declaration says them, in whole vCPUs and GiB."""
    named = {
        "accelerators": missing.get(kind.resource or "", 0),
        "vcpu": -(-missing.get(CPU, 0) // 1000),
        "memory_gib": -(-missing.get(MEMORY, 0) // 1024),
    }
    partitions = {profile: n for profile in kind.mig_profiles if (n := missing.get(mig_resource(profile), 0))}
    return {name: amount for name, amount in named.items() if amount} | ({"partitions": partitions} if partitions else {})


def words(amounts: Amounts) -> str:
    """The amounts as they are declared: `accelerators: 8, vcpu: 96`."""
    return _shown({name: value for name, value in amounts.model_dump().items() if value})


def _shown(amounts: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name}: {{{_shown(value)}}}" if isinstance(value, dict) else f"{name}: {value:g}" for name, value in amounts.items()
    )
