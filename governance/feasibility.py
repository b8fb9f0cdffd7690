"""Findings on what can be deployed and has no effect, or not the one that its author expects."""

from __future__ import annotations

from collections.abc import Iterator

from config.catalogue import instance_types
from config.findings import Finding, Severity
from config.load import Platform
from config.team import Team
from config.yamlsource import Path_
from governance.extra_quota import declared_at
from governance.model import ClusterPlan, FlavorQuota, TeamPlan
from governance.sharing import Quota
from governance.units import CPU, MEMORY, is_device


def feasibility_findings(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """What the resolved numbers of one cluster say of weights, borrowing, and what queues try first."""
    yield from _weights(platform, cluster)
    for queue in cluster.teams.values():
        team = platform.teams[queue.name]
        yield from _borrowing(platform, team, cluster, queue)
        yield from _order(platform, team, queue)
        yield from _topologies(platform, team, cluster, queue)
        yield from _devices(platform, team, cluster, queue)


def _weights(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """Fair share that has nothing to go by: the default weight is 0."""
    if platform.environment.governance.idle_compute != "fair_share":
        return
    borrowers = [queue for queue in cluster.teams.values() if queue.cohort and queue.sharing.strategy == "lend_and_borrow"]
    if len(borrowers) > 1 and not any(queue.weight for queue in borrowers):
        where = platform.where("", ("governance", "idle_compute"))
        message = f"idle compute goes by fair share, and all {len(borrowers)} teams that borrow on `{cluster.name}` have weight 0"
        remedy = "give each team a weight; the same for all where they shall be equal"
        yield Finding("weights-all-zero", Severity.ADVICE, where, message, remedy)


def _borrowing(platform: Platform, team: Team, cluster: ClusterPlan, queue: TeamPlan) -> Iterator[Finding]:
    """A limit that somebody wrote, on what nobody lends. The default percentage says nothing about intentions."""
    sharing = team.sharing
    if sharing.strategy != "lend_and_borrow" or not (sharing.borrow or sharing.borrow_limit or sharing.borrow_unlimited):
        return
    useless = [flavor for flavor in queue.flavors if _may_borrow(flavor) and not _can_borrow(flavor, queue)]
    if not sharing.borrow and len(useless) < sum(_may_borrow(flavor) for flavor in queue.flavors):
        return  # one limit for all types, and some of them are lent
    limit = "borrow_unlimited" if sharing.borrow_unlimited else "borrow_limit"
    for flavor in useless if sharing.borrow else useless[:1]:
        kinds = flavor.instance_type if sharing.borrow else ", ".join(found.instance_type for found in useless)
        path: Path_ = ("sharing", "borrow", flavor.instance_type) if sharing.borrow else ("sharing", limit)
        message = f"team `{team.name}` may borrow {kinds} on the cluster `{cluster.name}`, where nobody lends any"
        remedy = "remove the limit until others lend, or set governance.idle_sharing: true where nodes are nobody's"
        yield Finding("borrow-from-nobody", Severity.ADVICE, platform.where(team.name, path, key=True), message, remedy)


def _may_borrow(flavor: FlavorQuota) -> bool:
    return any(quota.borrowing_limit is None or quota.borrowing_limit for quota in _counted(flavor))


def _can_borrow(flavor: FlavorQuota, queue: TeamPlan) -> bool:
    return any(queue.largest[flavor.flavor, quota.resource] > quota.nominal for quota in _counted(flavor))


def _counted(flavor: FlavorQuota) -> list[Quota]:
    """Quotas of what jobs on the type are after: devices, where it has some."""
    devices = [quota for quota in flavor.quotas if is_device(quota.resource)]
    return devices if instance_types()[flavor.instance_type].accelerators else [q for q in flavor.quotas if q.resource == CPU]


def _order(platform: Platform, team: Team, queue: TeamPlan) -> Iterator[Finding]:
    """A type with accelerators before one without: jobs that need none then take its vCPUs first."""
    if not team.flavors:
        return
    usable = [flavor.instance_type for flavor in queue.flavors if queue.largest.get((flavor.flavor, CPU))]
    kinds = [instance_types()[name] for name in usable]
    first = next((index for index, kind in enumerate(kinds) if kind.accelerators), len(kinds))
    after = next((kind.name for kind in kinds[first:] if not kind.accelerators), None)
    if after is not None:
        name = kinds[first].name
        where = platform.where(team.name, ("flavors", team.flavors.index(name)))
        message = f"{name} is tried before {after}: jobs of team `{team.name}` without accelerators take the vCPUs of its nodes"
        yield Finding("flavors-cpu-last", Severity.WARNING, where, message, f"name {after} first")


def _topologies(platform: Platform, team: Team, cluster: ClusterPlan, queue: TeamPlan) -> Iterator[Finding]:
    """Derived flavors have a topology all or none; adopted ones have what was found."""
    with_ = [flavor.instance_type for flavor in queue.flavors if cluster.flavors[flavor.instance_type].topology]
    without = [flavor.instance_type for flavor in queue.flavors if flavor.instance_type not in with_]
    if with_ and without:
        where = platform.where(team.name, ("quota",), key=True)
        message = (
            f"the queue of team `{team.name}` has a topology for {', '.join(with_)}, and none for {', '.join(without)}: "
            "jobs that ask for no topology are not admitted to the former"
        )
        remedy = "give all flavors of the queue a topology, or none"
        yield Finding("topology-on-some-flavors", Severity.WARNING, where, message, remedy)


def _devices(platform: Platform, team: Team, cluster: ClusterPlan, queue: TeamPlan) -> Iterator[Finding]:
    """Amounts of vCPU or memory alone bring no accelerators."""
    for flavor in queue.flavors:
        kind = instance_types()[flavor.instance_type]
        if not kind.accelerators:
            continue
        own = flavor.nominal()
        held = any(own.get(resource) for resource in (CPU, MEMORY))
        if held and not any(queue.largest[flavor.flavor, resource] for resource in own if is_device(resource)):
            where = platform.where(team.name, declared_at(team, kind.name, platform.today, cluster.name), key=True)
            message = f"team `{team.name}` has vCPUs and memory of {kind.name}, and can use none of its accelerators"
            remedy = "give accelerators or instances; or quota of a type without accelerators"
            yield Finding("quota-without-devices", Severity.ADVICE, where, message, remedy)
