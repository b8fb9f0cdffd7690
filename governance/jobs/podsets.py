"""The pods of a job beside its workers: the head of a Ray cluster, and what submits to it."""

from __future__ import annotations

from typing import Final

from config.catalogue import instance_types
from governance.jobs.kinds import Kind
from governance.jobs.model import PodSet
from governance.model import ClusterPlan, TeamPlan
from governance.units import CPU, MEMORY

HEAD: Final = {CPU: 2000, MEMORY: 8 * 1024}
"""Enough for Ray's control processes and dashboard; it runs no tasks."""
SUBMITTER: Final = {CPU: 500, MEMORY: 512}
"""Starts the entry point and follows its log."""


def pod_sets(kind: Kind, workers: PodSet, cluster: ClusterPlan, team: TeamPlan) -> tuple[tuple[PodSet, ...], tuple[str, ...]]:
    """All pods of the job, workers first, and what to tell of the others."""
    if kind.name != "rayjob":
        return (workers,), ()
    home = _small(cluster, team) or workers.instance_type
    sets = (workers, PodSet("head", 1, HEAD, home), PodSet("submitter", 1, SUBMITTER, home))
    where = f"on {home}"
    if home == workers.instance_type:
        where += ", beside the workers: the queue has no type without accelerators"
    return sets, (f"head: 2 vCPU, 8 GiB, and the pod that submits: 0.5 vCPU, 0.5 GiB, {where}",)


def _small(cluster: ClusterPlan, team: TeamPlan) -> str | None:
    """The queue's first type without accelerators that has room for head and submitter, where the cluster has nodes of it."""
    for flavor in team.flavors:
        type_ = instance_types()[flavor.instance_type]
        there = any(group.count for group in cluster.groups.values() if group.instance_type == type_.name)
        held = all(
            team.largest.get((flavor.flavor, resource), 0) >= amount + SUBMITTER[resource] for resource, amount in HEAD.items()
        )
        if not type_.accelerators and there and held:
            return type_.name
    return None
