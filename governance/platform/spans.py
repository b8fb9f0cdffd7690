"""Findings on jobs that no availability zone holds."""

from __future__ import annotations

from collections.abc import Iterator

from config.catalogue import instance_types
from config.findings import Finding, Severity
from config.hyperpod import HyperPodCluster
from config.load import Platform
from governance.allocatable import allocatable
from governance.amounts import AmountError, problems, request_of
from governance.largest_job import Job
from governance.model import ClusterPlan
from governance.quotas import node_resources
from governance.units import is_device, shown, times, total

ByZone = dict[str, dict[str, int]]


def span_findings(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """Largest jobs of types with EFA that the cluster's nodes hold together, but no zone alone: EFA stays within a zone.

    Only of teams that work on this cluster alone: of others it isn't known where they mean to run the job.
    """
    for name in cluster.teams:
        team = platform.teams[name]
        alone = len(platform.environment.clusters) == 1 or (team.clusters is not None and len(team.clusters) == 1)
        for kind_name, amounts in team.largest_job.items() if alone else ():
            job, zones = Job(team, instance_types()[kind_name], request_of(amounts)), _zones(cluster, kind_name)
            if not job.kind.efa or len(zones) < 2 or any(problems(job.request, job.kind)):
                continue
            asked = job.demand(cluster.covered)
            if _holds(total(zones.values()), asked) and not any(_holds(room, asked) for room in zones.values()):
                tell = next(iter(sorted(asked, key=lambda resource: not is_device(resource))))
                most = max(room.get(tell, 0) for room in zones.values())
                message = (
                    f"team `{name}` plans a job of {shown(tell, asked[tell])} {tell} on {kind_name}; no zone of its groups "
                    f"({', '.join(sorted(zones))}) has more than {shown(tell, most)} for pods, and EFA stays within a zone"
                )
                where = platform.where(name, ("largest_job", kind_name), key=True)
                remedy = "plan a smaller job, or put the type's groups into one zone"
                yield Finding("job-spans-zones", Severity.WARNING, where, message, remedy)


def _holds(room: dict[str, int], asked: dict[str, int]) -> bool:
    return all(room.get(resource, 0) >= amount for resource, amount in asked.items())


def _zones(cluster: ClusterPlan, kind: str) -> ByZone:
    """What pods can have of the type in each zone; nothing where a group's zone isn't known, or its nodes come when asked for."""
    declared = cluster.declared
    own = declared.network.zones if isinstance(declared, HyperPodCluster) else ()
    found: ByZone = {}
    for group in cluster.groups.values():
        if group.instance_type != kind:
            continue
        zone = group.availability_zone or (own[0] if len(own) == 1 else None)
        if zone is None or getattr(group, "autoscaled", False):
            return {}
        try:
            node = node_resources(cluster.kinds[kind], group.partitions)
        except AmountError:
            return {}
        found[zone] = total((found.get(zone, {}), times(allocatable(node), group.count)))
    return found
