"""Who may use what: the rows of `hpctl quotas`, in base units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from governance.model import ClusterPlan, Plan, TeamPlan
from governance.units import PODS, Resources, quantities


@dataclass(frozen=True, slots=True)
class TypeRow:
    """One instance type of a cluster."""

    cluster: str
    instance_type: str
    nodes: int
    capacity: Resources
    guaranteed: Resources
    """The sum over all teams."""

    @property
    def unowned(self) -> dict[str, int]:
        """Capacity that no team owns."""
        return {r: max(0, amount - self.guaranteed.get(r, 0)) for r, amount in self.capacity.items()}

    @property
    def over(self) -> dict[str, int]:
        """Guarantees above capacity."""
        return {r: amount - self.capacity.get(r, 0) for r, amount in self.guaranteed.items() if amount > self.capacity.get(r, 0)}

    def as_dict(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "instance_type": self.instance_type,
            "nodes": self.nodes,
            "capacity": quantities(self.capacity),
            "guaranteed": quantities(self.guaranteed),
            "unowned": quantities(self.unowned),
            "overcommitted": quantities(self.over),
        }


@dataclass(frozen=True, slots=True)
class TeamRow:
    """What a team has of one instance type."""

    cluster: str
    team: str
    instance_type: str
    guaranteed: Resources
    borrowable: Resources
    """What it can have beyond its guarantee when all others are idle."""
    largest_job: Resources
    """The most that quotas ever allow one job."""
    largest_placeable: Resources
    """The same, but no more than the cluster's nodes hold together."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "team": self.team,
            "instance_type": self.instance_type,
            "guaranteed": quantities(self.guaranteed),
            "borrowable": quantities(self.borrowable),
            "largest_job": quantities(self.largest_job),
            "largest_placeable": quantities(self.largest_placeable),
        }


def type_rows(plan: Plan) -> list[TypeRow]:
    """By cluster, types in the order of the plan."""
    return [row for cluster in plan.clusters.values() for row in _types(cluster)]


def team_rows(plan: Plan) -> list[TeamRow]:
    """By cluster and team, types in the order in which the team's queue tries them."""
    return [row for cluster in plan.clusters.values() for team in cluster.teams.values() for row in _team(cluster, team)]


def _types(cluster: ClusterPlan) -> Iterator[TypeRow]:
    guaranteed: dict[str, dict[str, int]] = {kind: {} for kind in cluster.kinds}
    for team in cluster.teams.values():
        for flavor in team.flavors:
            into = guaranteed[flavor.instance_type]
            for quota in flavor.quotas:
                if quota.resource != PODS:
                    into[quota.resource] = into.get(quota.resource, 0) + quota.nominal
    for kind in cluster.kinds:
        nodes = sum(group.count for group in cluster.groups.values() if group.instance_type == kind)
        yield TypeRow(cluster.name, kind, nodes, cluster.capacity.get(kind, {}), guaranteed[kind])


def _team(cluster: ClusterPlan, team: TeamPlan) -> Iterator[TeamRow]:
    for flavor in team.flavors:
        nominal = flavor.nominal()
        largest = {quota.resource: team.largest[flavor.flavor, quota.resource] for quota in flavor.quotas}
        held = cluster.capacity.get(flavor.instance_type, {})
        yield TeamRow(
            cluster.name,
            team.name,
            flavor.instance_type,
            nominal,
            {r: max(0, team.potential[flavor.flavor, r] - amount) for r, amount in nominal.items()},
            largest,
            {r: most if r == PODS else min(most, held.get(r, 0)) for r, most in largest.items()},
        )
