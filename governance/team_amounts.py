"""What a cluster holds, and a team's amounts on it by instance type: guaranteed, borrowed, lent, and what extra quota leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from config.catalogue import instance_types
from config.cluster import InstanceGroup
from config.environment import Cluster
from config.findings import Finding
from config.load import Platform
from config.team import Team
from governance.amounts import Request, problems
from governance.extra_quota import any_ended, as_if_none_had_ended
from governance.quotas import ByType, absolute, capacity, guarantees, sum_by_type


@dataclass(frozen=True, slots=True)
class TeamAmounts:
    """One team's amounts by instance type."""

    nominal: ByType
    borrow: ByType
    lend: ByType
    whole: frozenset[str]
    """Types whose guarantee is of whole instances alone."""
    outlived: ByType
    """What it was guaranteed while extra quota that has ended counted: its types stay in the queue, with nothing to use."""
    clusters: int = 1
    """How many clusters they are the sum of."""

    def listed(self) -> tuple[ByType, ...]:
        """All that brings types and resources into the team's queue."""
        return self.nominal, self.borrow, self.outlived


@dataclass(frozen=True, slots=True)
class ClusterAmounts:
    """What teams share out on one cluster."""

    groups: Mapping[str, InstanceGroup]
    """Nodes that their jobs run on."""
    capacity: ByType
    teams: Mapping[str, TeamAmounts]


def cluster_amounts(name: str, cluster: Cluster, platform: Platform, findings: list[Finding]) -> ClusterAmounts:
    """Those of a cluster that runs jobs itself; what can't be resolved becomes a finding and counts for nothing."""
    teams = [team for team in platform.teams.values() if team.clusters is None or name in team.clusters]
    amounts = {team.name: team_amounts(team, name, cluster, platform, findings) for team in teams}
    return ClusterAmounts(cluster.instance_groups, capacity(name, cluster.instance_groups, platform, findings), amounts)


def together(found: Mapping[str, ClusterAmounts]) -> ClusterAmounts:
    """The sum over clusters, each given by its name."""
    groups = {f"{name}/{group}": one for name, cluster in found.items() for group, one in cluster.groups.items()}
    parts: dict[str, list[TeamAmounts]] = {}
    for cluster in found.values():
        for team, amounts in cluster.teams.items():
            parts.setdefault(team, []).append(amounts)
    held = sum_by_type(cluster.capacity for cluster in found.values())
    return ClusterAmounts(groups, held, {team: _sum(parts[team]) for team in sorted(parts)})


def _sum(parts: Iterable[TeamAmounts]) -> TeamAmounts:
    listed = list(parts)
    return TeamAmounts(
        nominal=sum_by_type(part.nominal for part in listed),
        borrow=sum_by_type(part.borrow for part in listed),
        lend=sum_by_type(part.lend for part in listed),
        whole=frozenset[str]()
        .union(*(part.whole for part in listed))
        .difference(*(part.nominal.keys() - part.whole for part in listed)),
        outlived=sum_by_type(part.outlived for part in listed),
        clusters=len(listed),
    )


def team_amounts(team: Team, name: str, cluster: Cluster, platform: Platform, findings: list[Finding]) -> TeamAmounts:
    """What the declaration says of the cluster of that name; what can't be resolved becomes a finding and counts for nothing."""
    nominal, whole = guarantees(team, name, cluster, platform, findings)
    borrow = absolute(team, "borrow", platform, findings)
    lend = absolute(team, "lend", platform, findings)
    return TeamAmounts(nominal, borrow, lend, whole, _outlived(team, name, cluster, platform))


def _outlived(team: Team, name: str, cluster: Cluster, platform: Platform) -> ByType:
    """What was guaranteed while the ended entries counted too; nothing where none has ended.

    Workloads may still hold quota of these types and resources. Kueue forgets what they hold once the queue lists them no more.
    So the cluster refuses such a queue, and a day that passes must not make one.
    """
    if not any_ended(team, platform.today):
        return {}
    found, _ = guarantees(team, name, cluster, as_if_none_had_ended(platform), [])  # what is wrong with them is told no more
    return {kind: resources for kind, resources in found.items() if not any(problems(Request(), instance_types()[kind]))}
