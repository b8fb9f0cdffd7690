"""A team's amounts on one cluster by instance type: guaranteed, borrowed, lent, and what extra quota leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

from config.catalogue import instance_types
from config.environment import Cluster
from config.findings import Finding
from config.load import Platform
from config.team import Team
from governance.amounts import Request, problems
from governance.extra_quota import any_ended, as_if_none_had_ended
from governance.quotas import ByType, absolute, guarantees


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

    def listed(self) -> tuple[ByType, ...]:
        """All that brings types and resources into the team's queue."""
        return self.nominal, self.borrow, self.outlived


def team_amounts(team: Team, cluster: Cluster, platform: Platform, findings: list[Finding]) -> TeamAmounts:
    """What the declaration says; what can't be resolved becomes a finding and counts for nothing."""
    nominal, whole = guarantees(team, cluster, platform, findings)
    borrow = absolute(team, "borrow", platform, findings)
    lend = absolute(team, "lend", platform, findings)
    return TeamAmounts(nominal, borrow, lend, whole, _outlived(team, cluster, platform))


def _outlived(team: Team, cluster: Cluster, platform: Platform) -> ByType:
    """What was guaranteed while the ended entries counted too; nothing where none has ended.

    Workloads may still hold quota of these types and resources. Kueue forgets what they hold once the queue lists them no more.
    So the cluster refuses such a queue, and a day that passes must not make one.
    """
    if not any_ended(team, platform.today):
        return {}
    found, _ = guarantees(team, cluster, as_if_none_had_ended(platform), [])  # what is wrong with them is told no more
    return {kind: resources for kind, resources in found.items() if not any(problems(Request(), instance_types()[kind]))}
