"""Whether the largest job that a team plans can ever run: against all that it could use, and against the nodes.

A job asks for what pods can have of a node, where quotas count the node's specification. So whole instances ask for their devices
and for allocatable vCPU and memory; other amounts for what they name, and for nothing that would follow by ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache

from config.catalogue import InstanceType, instance_types
from config.findings import Finding, Severity, Where
from config.groups import HyperPodGroup
from config.load import Platform
from config.team import Team
from governance.allocatable import allocatable
from governance.amounts import AmountError, Request, problems, request_of, specification
from governance.extra_quota import any_ended
from governance.model import ClusterPlan, TeamPlan
from governance.quotas import amount_finding, node_resources
from governance.remedies import Supplies, larger_borrowing, words
from governance.units import CPU, MEMORY, Resources, is_device, mig_resource, shown, times, total


@dataclass(frozen=True, slots=True)
class Job:
    """The largest job of a team on one instance type."""

    team: Team
    kind: InstanceType
    request: Request

    def demand(self, covered: Collection[str]) -> dict[str, int]:
        """What it asks for in base units. `covered`: the resources that queues count."""
        implied = times(allocatable(specification(self.kind)), self.request.instances)
        counted = {r: n for r, n in implied.items() if is_device(r) or (r in (CPU, MEMORY) and r in covered)}
        request, partitions = self.request, {mig_resource(profile): n for profile, n in self.request.partitions.items()}
        named = {CPU: request.cpu or 0, MEMORY: request.memory or 0, self.kind.resource or "": request.accelerators or 0}
        asked = total((counted, named, partitions))
        return {resource: amount for resource, amount in asked.items() if amount}


def largest_job_findings(
    platform: Platform, clusters: Collection[ClusterPlan], lasting: Callable[[str], ClusterPlan]
) -> Iterator[Finding]:
    """Jobs that no cluster of their team can ever admit, that no cluster has the nodes for, or that leave nodes no room.

    `lasting` gives a cluster's plan as if no extra quota had ended.
    """
    supplies, earlier = Supplies(), _Earlier(platform, lasting)
    for team in platform.teams.values():
        own = [cluster for cluster in clusters if team.name in cluster.teams]
        for name, amounts in team.largest_job.items():
            job, path = Job(team, instance_types()[name], request_of(amounts)), ("largest_job", name)
            wrong = list(problems(job.request, job.kind))
            yield from (amount_finding(error, platform, team.name, path) for error in wrong)
            if not wrong:
                where = platform.where(team.name, path, key=True)
                yield from _whole_nodes(job, where)
                yield from _possible(job, own, where, supplies, earlier)


class _Earlier:
    """Whether a job was possible while extra quota counted that has ended since, the team's own or a lender's.

    A day that passes takes the amount away. It must not refuse everybody's deployment as well.
    """

    def __init__(self, platform: Platform, lasting: Callable[[str], ClusterPlan]) -> None:
        self._lasting = cache(lasting)
        self._ended = {team.name for team in platform.teams.values() if any_ended(team, platform.today)}

    def possible(self, job: Job, clusters: Collection[ClusterPlan]) -> bool:
        changed = [cluster.name for cluster in clusters if not self._ended.isdisjoint(cluster.teams)]
        return any(not _short(job, self._lasting(name)) for name in changed)


def _possible(
    job: Job, clusters: Collection[ClusterPlan], where: Where, supplies: Supplies, earlier: _Earlier
) -> Iterator[Finding]:
    """Nothing where one of the clusters can run it: a job runs on one."""
    admitting = [cluster for cluster in clusters if not _short(job, cluster)]
    if clusters and not admitting:
        best = min(clusters, key=lambda cluster: (max(_short(job, cluster).values()), cluster.name))
        severity = Severity.WARNING if earlier.possible(job, clusters) else Severity.ERROR
        yield _never(job, best, severity, where, supplies)
    lacking = [_lacking(job, cluster) for cluster in admitting]
    if lacking and all(lacking):
        message = f"team `{job.team.name}` plans a job of {lacking[0]}; quotas would admit it, and it would wait for nodes"
        needed = _nodes_needed(job)
        nodes = f"add nodes: it needs {needed}" if needed else "add nodes with these partitions"
        remedy = f"{nodes}; or plan a smaller one"
        yield Finding("largest-job-no-nodes", Severity.WARNING, where, message, remedy)


def _short(job: Job, cluster: ClusterPlan) -> dict[str, float]:
    """How many times over the job asks for what it can't have there, by resource; devices first."""
    reach = _reach(job, cluster.teams[job.team.name])
    asked = job.demand(cluster.covered)
    short = {r: n / (reach.get(r, 0) or 0.5) for r, n in asked.items() if n > reach.get(r, 0)}
    return dict(sorted(short.items(), key=lambda item: not is_device(item[0])))


def _reach(job: Job, queue: TeamPlan) -> dict[str, int]:
    """The most that the team can ever have of the type."""
    found = [flavor for flavor in queue.flavors if flavor.instance_type == job.kind.name]
    return {quota.resource: queue.largest[flavor.flavor, quota.resource] for flavor in found for quota in flavor.quotas}


def _never(job: Job, cluster: ClusterPlan, severity: Severity, where: Where, supplies: Supplies) -> Finding:
    queue, asked = cluster.teams[job.team.name], job.demand(cluster.covered)
    tell, reach = next(iter(_short(job, cluster))), _reach(job, queue)
    own = next((f.nominal() for f in queue.flavors if f.instance_type == job.kind.name), {}).get(tell, 0)
    most = reach.get(tell, 0)
    parts = f": {shown(tell, own)} guaranteed, {shown(tell, most - own)} borrowed" if most > own else ""
    message = (
        f"team `{job.team.name}` plans a job of {shown(tell, asked[tell])} {tell} on {job.kind.name}; with all others idle "
        f"it can have {shown(tell, most)} on the cluster `{cluster.name}`{parts}"
    )
    borrowing = larger_borrowing(job.team, job.kind, asked, cluster, supplies.of(cluster))
    remedy = f"raise the quota to {words(job.team.largest_job[job.kind.name])}, or plan a smaller job"
    return Finding("largest-job-never", severity, where, message, f"{borrowing}, {remedy}" if borrowing else remedy)


def _lacking(job: Job, cluster: ClusterPlan) -> str:
    """What of the job the cluster's nodes can't hold, in words; empty where they can, or where they come as jobs need them."""
    groups = [group for group in cluster.groups.values() if group.instance_type == job.kind.name]
    if any(isinstance(group, HyperPodGroup) and group.autoscaled for group in groups):
        return ""
    entire = sum(group.count for group in groups if not group.partitions)
    if job.request.instances > entire:
        return f"{job.request.instances} whole {job.kind.name}, of which `{cluster.name}` has {entire}"
    room = total(times(allocatable(_node(job.kind, group.partitions)), group.count) for group in groups)
    for resource, amount in job.demand(cluster.covered).items():
        if amount > room.get(resource, 0):
            about = "" if is_device(resource) else "about "
            there = f"`{cluster.name}` has {about}{shown(resource, room.get(resource, 0))} for pods"
            return f"{shown(resource, amount)} {resource} on {job.kind.name}, of which {there}"
    return ""


def _node(kind: InstanceType, partitions: Resources) -> dict[str, int]:
    """Nothing where the partitions are wrong, which is a finding already."""
    try:
        return node_resources(kind, partitions)
    except AmountError:
        return {}


def _nodes_needed(job: Job) -> int:
    """The fewest nodes that hold it; 0 where it asks for partitions, whose nodes hold what their groups say."""
    node = allocatable(specification(job.kind))
    return 0 if job.request.partitions else max(-(-amount // node[r]) for r, amount in job.demand(node).items())


def _whole_nodes(job: Job, where: Where) -> Iterator[Finding]:
    """Whole specifications, of which the kubelet keeps a part: no pod of that size ever starts.

    How much it keeps is an estimate, so a little less than everything is not told.
    """
    full, request = specification(job.kind), job.request
    named = {job.kind.resource or "": request.accelerators, CPU: request.cpu, MEMORY: request.memory}
    first = next((resource for resource, amount in named.items() if amount), None)
    if request.instances or request.partitions or first is None:
        return
    nodes, rest = divmod(named[first] or 0, full[first])
    if rest:
        return
    room = times(allocatable(full), nodes)
    for resource in (CPU, MEMORY):
        if named[resource] and named[resource] == full[resource] * nodes:
            message = (
                f"a job of {shown(resource, full[resource] * nodes)} {resource} fills {nodes} {job.kind.name}, where pods can "
                f"have about {shown(resource, room[resource])}: a pod for each whole node never starts"
            )
            remedy = f"write instances: {nodes}, which asks for what pods can have; or lower it"
            yield Finding("largest-job-full-node", Severity.WARNING, where, message, remedy)
            return
