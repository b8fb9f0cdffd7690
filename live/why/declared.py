"""What the declaration knows of a live queue: its team, and the field of which file gives it more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from config.catalogue import instance_types
from config.load import Platform
from config.team import Team
from governance.amounts import specification
from governance.extra_quota import declared_at
from governance.model import ClusterPlan, FlavorQuota, TeamPlan
from governance.remedies import Supplies, borrowing_for, larger_borrowing
from governance.sharing import Cell, Quota
from governance.units import CPU, MEMORY, is_device, mig_resource, percent, shown

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one field of a team's file."""

    file: str
    field: str
    value: str
    text: str
    quotas: Mapping[Cell, Quota]
    """The queue's quotas with it, in Kueue's units."""
    over: bool = False
    """Whether guarantees are then above the cluster's capacity."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One cluster of an environment."""

    platform: Platform
    cluster: ClusterPlan

    def team(self, cluster_queue: str) -> TeamPlan | None:
        return next((team for team in self.cluster.teams.values() if team.cluster_queue == cluster_queue), None)

    def file(self, team: str) -> str:
        """The team's file, from the project's folder."""
        return str(self.platform.where(team).file)

    def raised(self, queue: str, flavor: str, wanted: Mapping[str, int], live: Mapping[Cell, Quota]) -> Change | None:
        """The team's quota raised so that its own is at least `wanted` of these resources of the flavor."""
        plan = self.team(queue)
        found = next((one for one in plan.flavors if one.flavor == flavor), None) if plan else None
        if plan is None or found is None:
            return None
        team, kind = self.platform.teams[plan.name], instance_types()[found.instance_type]
        path = declared_at(team, kind.name, self.platform.today, self.cluster.name)
        asked = {r: -(-n // _MIB) if r == MEMORY else n for r, n in wanted.items()}
        if kind.name in plan.whole:
            whole = specification(kind)
            if any(not whole.get(resource) for resource in asked):
                return None
            value = f"instances: {max(-(-n // whole[r]) for r, n in asked.items())}"
        else:
            value = _amounts(asked)
        where = self.platform.where(plan.name, path, key=True)
        name = ".".join(str(part) for part in path)
        text = f"raise {name} to at least {value} ({where})"
        over = self._over(plan, found, asked)
        if over:
            text += f"; guarantees are then {over} above the cluster's capacity"
        changed = {(flavor, r): _raised(live[flavor, r], n) for r, n in wanted.items() if (flavor, r) in live}
        return Change(str(where.file), name, value, text, changed, bool(over)) if value else None

    def _over(self, plan: TeamPlan, flavor: FlavorQuota, asked: Mapping[str, int]) -> str:
        """How far the guarantees of the flavor's type would be above what the cluster has; empty where they aren't."""
        held = self.cluster.capacity.get(flavor.instance_type, {})
        own = flavor.nominal()
        for resource, amount in asked.items():
            others = sum(
                one.nominal().get(resource, 0)
                for team in self.cluster.teams.values()
                if team.name != plan.name
                for one in team.flavors
                if one.flavor == flavor.flavor
            )
            beyond = others + max(amount, own.get(resource, 0)) - held.get(resource, 0)
            if beyond > 0:
                return f"{shown(resource, beyond)} {resource}"
        return ""

    def borrowing(self, queue: str, flavor: str, wanted: Mapping[str, int], live: Mapping[Cell, Quota]) -> Change | None:
        """The team's borrow limit raised so that it can reach `wanted` with others idle."""
        plan = self.team(queue)
        found = next((one for one in plan.flavors if one.flavor == flavor), None) if plan else None
        if plan is None or found is None:
            return None
        team, kind = self.platform.teams[plan.name], instance_types()[found.instance_type]
        asked = {r: -(-n // _MIB) if r == MEMORY else n for r, n in wanted.items()}
        supply = Supplies().of(self.cluster)
        limit = borrowing_for(team, kind, asked, self.cluster, supply)
        if limit is None:
            return None
        where = self.platform.where(plan.name, _sharing(team), key=True)
        changed: dict[Cell, Quota] = {}
        for resource, amount in wanted.items():
            cell = (flavor, resource)
            if cell in live:
                own = live[cell]
                more = percent(own.nominal, limit.percent) if limit.percent is not None else amount - own.nominal
                changed[cell] = Quota(resource, own.nominal, max(more, own.borrowing_limit or 0), own.lending_limit)
        words = larger_borrowing(team, kind, asked, self.cluster, supply)
        name, value = ("sharing.borrow_limit", str(limit.percent)) if limit.percent is not None else ("sharing.borrow", words)
        return Change(str(where.file), name, value, f"{words} ({where})", changed)


def _sharing(team: Team) -> tuple[str, ...]:
    return ("sharing",) if "sharing" in team.model_fields_set else ()


def _raised(quota: Quota, nominal: int) -> Quota:
    return Quota(quota.resource, max(nominal, quota.nominal), quota.borrowing_limit, quota.lending_limit)


def _amounts(asked: Mapping[str, int]) -> str:
    """As a declaration says them; devices alone bring vCPU and memory by proportion."""
    named = []
    for resource, amount in sorted(asked.items(), key=lambda one: not is_device(one[0])):
        if resource == CPU:
            named.append(f"vcpu: {-(-amount // 1000)}")
        elif resource == MEMORY:
            named.append(f"memory_gib: {-(-amount // 1024)}")
        elif is_device(resource):
            mig = resource.removeprefix(mig_resource(""))
            named.append(f"partitions: {{{mig}: {amount}}}" if mig.startswith("mig-") else f"accelerators: {amount}")
    return ", ".join(named)
