"""Findings on what a declaration means, beyond its syntax."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from config.findings import Finding, Severity, did_you_mean
from config.load import Platform
from config.team import Team
from config.yamlsource import Path_
from governance import names
from governance.model import ClusterPlan, TeamPlan
from governance.units import is_device, percent, shown

_OVERCOMMIT = {"warn": Severity.WARNING, "forbid": Severity.ERROR}
MAX_FLAVORS = 64
"""Most flavors in one resource group of a ClusterQueue (Kueue)."""
MAX_TOLERATIONS = 8
"""Most tolerations of a ResourceFlavor (Kueue)."""


def platform_findings(platform: Platform) -> Iterator[Finding]:
    """What can be said without resolving a quota."""
    governance = platform.environment.governance
    for team in platform.teams.values():
        yield from _references(platform, team)
    yield from _weights(platform)
    if governance.backend == "managed":
        for name in platform.environment.clusters:
            yield Finding(
                "managed-needs-hyperpod",
                Severity.ERROR,
                platform.where("", ("governance", "backend")),
                f"the managed backend needs a HyperPod cluster; `{name}` is of kind existing",
                "use the kueue backend",
            )


def _references(platform: Platform, team: Team) -> Iterator[Finding]:
    """Names that must exist elsewhere in the declaration."""
    governance = platform.environment.governance
    if team.default_priority is not None and team.default_priority not in governance.priority_classes:
        yield _unknown(
            platform, team, ("default_priority",), "priority class", team.default_priority, governance.priority_classes
        )
    if team.department is not None and team.department not in governance.departments:
        yield _unknown(platform, team, ("department",), "department", team.department, governance.departments)
    for index, cluster in enumerate(team.clusters or ()):
        if cluster not in platform.environment.clusters:
            yield _unknown(platform, team, ("clusters", index), "cluster", cluster, platform.environment.clusters)


def _unknown(platform: Platform, team: Team, path: Path_, what: str, name: str, known: Iterable[str]) -> Finding:
    message = f"there is no {what} `{name}` in the environment `{platform.name}`"
    kind = f"{what.replace(' ', '-')}-unknown"
    return Finding(kind, Severity.ERROR, platform.where(team.name, path), message, did_you_mean(name, list(known)))


def _weights(platform: Platform) -> Iterator[Finding]:
    """A weight of 0 loses to every other: fine when all are 0, a trap beside others."""
    if platform.environment.governance.idle_compute != "fair_share":
        return
    sharing = [team for team in platform.teams.values() if team.sharing.strategy == "lend_and_borrow"]
    if not any(team.weight for team in sharing):
        return
    for team in sharing:
        if team.weight == 0:
            yield Finding(
                "weight-zero",
                Severity.WARNING,
                platform.where(team.name, ("weight",)),
                f"team `{team.name}` has fair-share weight 0 and loses idle compute to every team with a weight",
                "give it a weight of 1 or more",
            )


def cluster_findings(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """What the resolved numbers of one cluster say."""
    yield from _overcommit(platform, cluster)
    yield from _tolerations(platform, cluster)
    yield from _same_names(platform, list(cluster.teams.values()))
    for team in cluster.teams.values():
        yield from _team_limits(platform, platform.teams[team.name], team)


def _overcommit(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """Guarantees above capacity, by type and resource; the widest gap of a type is told."""
    severity = _OVERCOMMIT.get(platform.environment.governance.overcommit)
    if severity is None:
        return
    guaranteed: dict[tuple[str, str], int] = {}
    for team in cluster.teams.values():
        for flavor in team.flavors:
            for quota in flavor.quotas:
                cell = (flavor.instance_type, quota.resource)
                guaranteed[cell] = guaranteed.get(cell, 0) + quota.nominal
    for kind in cluster.kinds:
        held = cluster.capacity.get(kind, {})
        over = [r for r in cluster.covered if guaranteed.get((kind, r), 0) > held.get(r, 0)]
        if not over:
            continue
        tell = next((r for r in over if is_device(r)), over[0])
        amounts = (
            f"{shown(tell, guaranteed[kind, tell])} of {tell} are guaranteed, the cluster has {shown(tell, held.get(tell, 0))}"
        )
        yield Finding(
            "overcommit",
            severity,
            platform.where("", ("clusters", cluster.name, "instance_groups"), key=True),
            f"{kind}: {amounts}; jobs beyond it wait for nodes",
            "lower the quotas, add nodes, or set governance.overcommit: allow",
        )


def _tolerations(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    for flavor in cluster.flavors.values():
        if len(flavor.tolerations) > MAX_TOLERATIONS:
            yield Finding(
                "flavor-tolerations",
                Severity.ERROR,
                platform.where("", ("clusters", cluster.name, "instance_groups"), key=True),
                f"groups of {flavor.instance_type} have {len(flavor.tolerations)} taints; a flavor tolerates {MAX_TOLERATIONS}",
                "use fewer taints",
            )


def _same_names(platform: Platform, teams: Sequence[TeamPlan]) -> Iterator[Finding]:
    """Two teams must not share a namespace or a queue, whatever names they adopt."""
    for attribute in ("namespace", "cluster_queue"):
        owner: dict[str, str] = {}
        for team in teams:
            name = getattr(team, attribute)
            if name in owner:
                words = attribute.replace("_", " ")
                yield Finding(
                    "name-shared",
                    Severity.ERROR,
                    platform.where(team.name, ("names", attribute)),
                    f"the {words} `{name}` is team `{owner[name]}`'s too",
                    "each team needs its own",
                )
            owner[name] = team.name


def _team_limits(platform: Platform, team: Team, queue: TeamPlan) -> Iterator[Finding]:
    if len(queue.flavors) > MAX_FLAVORS:
        message = f"{len(queue.flavors)} instance types; a queue holds {MAX_FLAVORS}"
        yield Finding(
            "flavors-too-many", Severity.ERROR, platform.where(team.name, ("quota",), key=True), message, "name fewer types"
        )
    if team.default_queue and queue.local_queue == names.DEFAULT_LOCAL_QUEUE:
        message = "the team's queue is named `default` already"
        yield Finding(
            "default-queue-twice", Severity.ERROR, platform.where(team.name, ("default_queue",)), message, "remove one of the two"
        )
    for index, kind in enumerate(team.flavors):
        if all(flavor.instance_type != kind for flavor in queue.flavors):
            where = platform.where(team.name, ("flavors", index))
            message = f"team `{team.name}` has no quota of {kind}"
            yield Finding("flavor-without-quota", Severity.ERROR, where, message, "remove it from flavors, or add a quota")
    share = team.sharing.borrow_percent
    for flavor in queue.flavors:
        for quota in flavor.quotas:
            if share and is_device(quota.resource) and quota.nominal and not percent(quota.nominal, share):
                yield Finding(
                    "borrow-rounds-to-none",
                    Severity.WARNING,
                    platform.where(team.name, ("sharing",), key=True),
                    f"{share} % of {quota.nominal} {quota.resource} of {flavor.instance_type} rounds down to none: "
                    f"team `{team.name}` can't borrow any",
                    "raise borrow_limit, or give an absolute limit in sharing.borrow",
                )
