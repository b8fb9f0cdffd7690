"""Findings on the resolved numbers of one cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from config.catalogue import instance_types
from config.findings import Finding, Severity, Where, problem_at
from config.load import Platform
from config.team import Amounts, Team
from config.yamlsource import Path_
from governance import names
from governance.amounts import request_of
from governance.extra_quota import declared_at, entries, has_ended
from governance.feasibility import feasibility_findings
from governance.model import ClusterPlan, FlavorQuota, TeamPlan
from governance.units import CPU, MEMORY, Resources, is_device, mig_resource, percent, shown

_OVERCOMMIT = {"warn": Severity.WARNING, "forbid": Severity.ERROR}
MAX_FLAVORS = 64
"""Most flavors in one resource group of a ClusterQueue (Kueue)."""
MAX_COVERED = 64
"""Most resources in one resource group (Kueue)."""
MAX_CELLS = 512
"""Most quotas in one resource group, flavors × resources (Kueue)."""
MAX_TOLERATIONS = 8
"""Most tolerations of a ResourceFlavor (Kueue)."""
_SMALLER = "use fewer instance types or MIG profiles"


def cluster_findings(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """What the resolved numbers of one cluster say."""
    yield from _flavors(platform, cluster)
    for team in cluster.teams.values():
        yield from _queue_shape(platform, team)
    if cluster.dispatch is not None:
        return  # a manager's numbers are sums of its workers', of which the rest is told
    yield from _overcommit(platform, cluster)
    yield from _weights(platform, cluster)
    yield from _same_names(platform, list(cluster.teams.values()))
    for team in cluster.teams.values():
        yield from _quota_none(platform, cluster, platform.teams[team.name])
        yield from _limits(platform, platform.teams[team.name], team)
    yield from feasibility_findings(platform, cluster)


def _groups(platform: Platform, cluster: ClusterPlan) -> Where:
    return platform.where("", ("clusters", cluster.name, "instance_groups"), key=True)


def _overcommit(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """Guarantees above capacity, by type; the resource that people count in is told."""
    severity = _OVERCOMMIT.get(platform.environment.governance.overcommit)
    if severity is None:
        return
    guaranteed: dict[tuple[str, str], int] = {}
    owners: dict[str, list[str]] = {}
    for team in cluster.teams.values():
        for flavor in team.flavors:
            for quota in flavor.quotas:
                cell = (flavor.instance_type, quota.resource)
                guaranteed[cell] = guaranteed.get(cell, 0) + quota.nominal
            if any(quota.nominal for quota in flavor.quotas):
                owners.setdefault(flavor.instance_type, []).append(team.name)
    grouped = {group.instance_type for group in cluster.groups.values()}
    for kind in cluster.kinds:
        held = cluster.capacity.get(kind, {})
        over = [r for r in cluster.covered if guaranteed.get((kind, r), 0) > held.get(r, 0)]
        if not over:
            continue
        tell = next((r for r in over if is_device(r)), over[0])
        amount = f"{kind}: {shown(tell, guaranteed[kind, tell])} of {tell} are guaranteed"
        if kind in grouped:
            message = (
                f"{amount}, the cluster `{cluster.name}` has {shown(tell, held.get(tell, 0))}; jobs beyond it wait for nodes"
            )
            remedy = "lower the quotas, add nodes, or set governance.overcommit: allow"
            yield Finding("overcommit", severity, _groups(platform, cluster), message, remedy)
            continue
        # Who declares the groups can plan ahead with one of no instances: a type without a group is a mistake there.
        built = cluster.declared.kind == "hyperpod"
        group = "add a group (count: 0 while its nodes are still to come)" if built else "add a group"
        message = f"{amount}, yet no instance group of the cluster `{cluster.name}` has the type; jobs wait for nodes"
        remedy = f"{group}, correct the type, limit the team's clusters, or set governance.overcommit: allow"
        for owner in owners[kind]:
            declared = declared_at(platform.teams[owner], kind, platform.today, cluster.name)
            where = platform.where(owner, declared, key=True)
            yield Finding("overcommit-no-group", Severity.ERROR if built else severity, where, message, remedy)


def _flavors(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    ours = platform.environment.governance.backend == "kueue"
    for flavor in cluster.flavors.values() if ours else ():
        if len(flavor.tolerations) > MAX_TOLERATIONS:
            message = (
                f"groups of {flavor.instance_type} have {len(flavor.tolerations)} taints; a flavor tolerates {MAX_TOLERATIONS}"
            )
            yield problem_at("flavor-tolerations", _groups(platform, cluster), message, "use fewer taints")
    for problem in _group_limits(cluster.cohorts[0].pool, cluster.covered):
        where = platform.where("", ("governance", "idle_sharing"), key=True)
        yield problem_at("queue-too-large", where, f"the idle capacity has {problem}", _SMALLER)
    for group_name, group in cluster.groups.items():
        if instance_types()[group.instance_type].efa is None:
            where = platform.where("", ("clusters", cluster.name, "instance_groups", group_name, "instance_type"))
            yield _efa_unknown(where, group.instance_type)
    for team in cluster.teams.values():
        for quota in team.flavors:
            if instance_types()[quota.instance_type].efa is None:
                path = declared_at(platform.teams[team.name], quota.instance_type, platform.today, _told_of(cluster))
                yield _efa_unknown(platform.where(team.name, path, key=True), quota.instance_type)


def _told_of(cluster: ClusterPlan) -> str | None:
    """The cluster whose entries are told of: all of them for a manager, whose numbers are sums."""
    return None if cluster.dispatch is not None else cluster.name


def _efa_unknown(where: Where, kind: str) -> Finding:
    message = f"how many EFA interfaces {kind} has is not published: its nodes and quotas count none"
    return Finding("efa-unknown", Severity.ADVICE, where, message, "let jobs on it ask for no vpc.amazonaws.com/efa")


def _weights(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """A weight of 0 loses to every sibling's: fine when all are 0, a trap beside others."""
    if platform.environment.governance.idle_compute != "fair_share":
        return
    siblings: dict[str, list[tuple[int, str, str, Path_]]] = {}
    for team in cluster.teams.values():
        if team.cohort is not None and platform.teams[team.name].sharing.strategy == "lend_and_borrow":
            siblings.setdefault(team.cohort, []).append((team.weight, f"team `{team.name}`", team.name, ("weight",)))
    for cohort in cluster.cohorts:
        if cohort.parent is not None and cohort.weight is not None:
            path: Path_ = ("governance", "departments", cohort.name, "weight")
            siblings.setdefault(cohort.parent, []).append((cohort.weight, f"department `{cohort.name}`", "", path))
    for members in siblings.values():
        if any(weight for weight, *_ in members):
            for weight, name, file, path in members:
                if weight == 0:
                    message = f"{name} has fair-share weight 0 and loses idle compute to every other with a weight"
                    remedy = "give it a weight of 1 or more"
                    yield Finding("weight-zero", Severity.WARNING, platform.where(file, path), message, remedy)


def _same_names(platform: Platform, teams: Sequence[TeamPlan]) -> Iterator[Finding]:
    """Two teams must not share a namespace or a queue, whatever names they adopt."""
    for attribute in ("namespace", "cluster_queue"):
        owner: dict[str, str] = {}
        for team in teams:
            name = getattr(team, attribute)
            if name in owner:
                where = platform.where(team.name, ("names", attribute))
                message = f"the {attribute.replace('_', ' ')} `{name}` is team `{owner[name]}`'s too"
                yield problem_at("name-shared", where, message, "each team needs its own")
            owner[name] = team.name


def _quota_none(platform: Platform, cluster: ClusterPlan, team: Team) -> Iterator[Finding]:
    if team.sharing.borrow or any(_some(amounts) for _, _, amounts in entries(team, platform.today, cluster.name)):
        return
    own = cluster.name in team.cluster_quota
    where = platform.where(team.name, ("cluster_quota", cluster.name) if own else ("quota",), key=True)
    there = f" on the cluster `{cluster.name}`" if own else ""
    message = f"team `{team.name}` has no quota{there} and may borrow none: no job of it will ever start{' there' if own else ''}"
    yield Finding("quota-none", Severity.WARNING, where, message, "give it a quota, or absolute limits in sharing.borrow")


def _queue_shape(platform: Platform, queue: TeamPlan) -> Iterator[Finding]:
    team = platform.teams[queue.name]
    for problem in _group_limits(queue.flavors, queue.covered):
        where = platform.where(team.name, ("quota",), key=True)
        yield problem_at("queue-too-large", where, f"the queue of team `{team.name}` has {problem}", _SMALLER)
    if team.default_queue and queue.local_queue == names.DEFAULT_LOCAL_QUEUE:
        place = platform.where(team.name, ("default_queue",))
        yield problem_at("default-queue-twice", place, "the team's queue is named `default` already", "remove one of the two")
    kinds = {flavor.instance_type for flavor in queue.flavors}
    for index, kind in enumerate(team.flavors):
        if kind not in kinds and not has_ended(team, kind, platform.today):
            place = platform.where(team.name, ("flavors", index))
            message = f"team `{team.name}` has no quota of {kind}"
            yield problem_at("flavor-without-quota", place, message, "remove it from flavors, or add a quota")


def _some(amounts: Amounts) -> bool:
    return bool(amounts.instances or amounts.accelerators or amounts.vcpu or amounts.memory_gib or amounts.partitions)


def _group_limits(flavors: Sequence[FlavorQuota], covered: Sequence[str]) -> Iterator[str]:
    """What is more than one resource group holds, in words."""
    for number, most, words in (
        (len(flavors), MAX_FLAVORS, "instance types"),
        (len(covered), MAX_COVERED, "resources"),
        (len(flavors) * len(covered), MAX_CELLS, "quotas (types × resources)"),
    ):
        if flavors and number > most:
            yield f"{number} {words}; Kueue holds {most}"


def _limits(platform: Platform, team: Team, queue: TeamPlan) -> Iterator[Finding]:
    yield from _borrowing(platform, team, queue)
    nominal = {flavor.instance_type: flavor.nominal() for flavor in queue.flavors}
    for kind in team.sharing.lend:
        if has_ended(team, kind, platform.today):
            continue
        where = platform.where(team.name, ("sharing", "lend", kind), key=True)
        if kind not in nominal:
            message = f"team `{team.name}` has no quota of {kind} to lend"
            yield problem_at("lend-without-quota", where, message, "remove the limit, or add a quota")
        elif any(nominal[kind].values()):
            for resource, amount in _given(team, kind).items():
                own = nominal[kind].get(resource, 0)
                if amount > own:
                    limit = f"the lending limit of {shown(resource, amount)} {resource}"
                    message = f"{kind}: {limit} is above the quota of {shown(resource, own)}"
                    yield problem_at("lend-above-quota", where, message, "lend at most the quota")


def _given(team: Team, kind: str) -> Resources:
    """What a lending limit names itself, without what follows by ratio."""
    request, spec = request_of(team.sharing.lend[kind]), instance_types()[kind]
    named: dict[str, int | None] = {CPU: request.cpu, MEMORY: request.memory}
    if spec.resource:
        named[spec.resource] = (request.accelerators or 0) + request.instances * (spec.accelerators or 0)
    elif request.instances and spec.vcpu:
        named[CPU] = (request.cpu or 0) + request.instances * spec.vcpu * 1000
    named |= {mig_resource(profile): count for profile, count in request.partitions.items()}
    return {resource: amount for resource, amount in named.items() if amount}


def _borrowing(platform: Platform, team: Team, queue: TeamPlan) -> Iterator[Finding]:
    """A percentage of few devices rounds down to none."""
    share = team.sharing.borrow_percent
    for flavor in queue.flavors if share and queue.cohort is not None else ():
        for quota in flavor.quotas:
            if is_device(quota.resource) and quota.nominal and not percent(quota.nominal, share):
                message = (
                    f"{share} % of {quota.nominal} {quota.resource} of {flavor.instance_type} rounds down to none: "
                    f"team `{team.name}` can't borrow any"
                )
                remedy = "raise borrow_limit, or give an absolute limit in sharing.borrow"
                where = platform.where(team.name, ("sharing",), key=True)
                yield Finding("borrow-rounds-to-none", Severity.WARNING, where, message, remedy)
