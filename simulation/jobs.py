"""Workloads as Jobs and Deployments that keep to the job contract: queue, priority, topology, instance type."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from governance import names
from governance.allocatable import allocatable
from governance.jobs.elastic import elastic_parts
from governance.model import ClusterPlan
from governance.quotas import node_resources
from governance.units import CPU, MEMORY, quantity
from sandbox.kwok import RUN_TIME
from simulation.cases import Workload
from simulation.elastic import counts

Manifest = dict[str, Any]

CASE_LABEL: Final = "hyperpod-platform/case"
"""Label of all that a case started; its value is the case's name."""
WORKLOAD_LABEL: Final = "hyperpod-platform/workload"
SPACE_LABEL: Final = "workspace.jupyter.org/workspace-name"
"""Label that the operator of HyperPod's spaces (jupyter-k8s) gives to a space's Deployment and pod."""
_UNTIL_TOLD: Final = 24 * 3600
"""Seconds that a pod runs for which no time is given: longer than any case."""


def job_name(case: str, workload: str) -> str:
    """At most 61 characters."""
    return f"{case}-{workload}"


def node_room(instance_type: str, cluster: ClusterPlan) -> dict[str, int]:
    """What pods can have on a node of this type, in base units: of several groups, what each of them has."""
    kind = cluster.kinds[instance_type]
    groups = [group for group in cluster.groups.values() if group.instance_type == instance_type]
    rooms = [allocatable(node_resources(kind, group.partitions)) for group in groups] or [allocatable(node_resources(kind, {}))]
    return {resource: min(room.get(resource, 0) for room in rooms) for resource in rooms[0]}


def pod_resources(workload: Workload, cluster: ClusterPlan) -> dict[str, int]:
    """What one pod requests, in base units."""
    asked = workload.per_pod
    if asked.whole_node:
        return {resource: amount for resource, amount in node_room(workload.instance_type, cluster).items() if amount}
    resources: dict[str, int] = {}
    if asked.vcpu is not None:
        resources[CPU] = int(Fraction(str(asked.vcpu)) * 1000)
    if asked.memory_gib is not None:
        resources[MEMORY] = int(Fraction(str(asked.memory_gib)) * 1024)
    device = cluster.kinds[workload.instance_type].resource
    if asked.accelerators and device:
        resources[device] = asked.accelerators
    return resources


def manifests(case: str, name: str, workload: Workload, cluster: ClusterPlan) -> list[Manifest]:
    """What the team submits; the team and the type must be in the plan.

    One object, except for an elastic job: its base, then a Job for each step above it.
    """
    if workload.kind != "job":
        return [_deployment(case, name, workload, cluster)]
    if workload.elastic is None:
        return [_job(case, name, workload, cluster)]
    found = []
    for part in elastic_parts(job_name(case, name), counts(workload.elastic), workload.priority, workload.elastic_priority):
        own = workload.model_copy(update={"pods": part.pods, "priority": part.priority})
        job = _job(case, name, own, cluster)
        found.append({**job, "metadata": {**job["metadata"], "name": part.name}})
    return found


def _job(case: str, name: str, workload: Workload, cluster: ClusterPlan) -> Manifest:
    team = cluster.teams[workload.team]
    labels = {**_contract(workload, cluster), **_marks(case, name)}
    if team.max_run_time is not None:
        labels[names.MAX_RUN_TIME_LABEL] = str(team.max_run_time)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job_name(case, name), "namespace": team.namespace, "labels": labels},
        "spec": {
            "parallelism": workload.pods,
            "completions": workload.pods,
            "completionMode": "Indexed",
            "template": {
                "metadata": {"labels": labels, "annotations": _annotations(workload)},
                "spec": _pod(workload, cluster),
            },
        },
    }


def _deployment(case: str, name: str, workload: Workload, cluster: ClusterPlan) -> Manifest:
    """Queue and priority stand on the Deployment alone: Kueue's webhook hands them on to the pods."""
    marks = _marks(case, name)
    space = {SPACE_LABEL: name} if workload.kind == "space" else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": job_name(case, name),
            "namespace": cluster.teams[workload.team].namespace,
            "labels": {**_contract(workload, cluster), **marks, **space},
        },
        "spec": {
            "replicas": workload.pods,
            "selector": {"matchLabels": marks},
            "template": {
                "metadata": {"labels": {**marks, **space}},
                "spec": {**_pod(workload, cluster), "restartPolicy": "Always"},
            },
        },
    }


def _marks(case: str, name: str) -> dict[str, str]:
    return {CASE_LABEL: case, WORKLOAD_LABEL: name}


def _contract(workload: Workload, cluster: ClusterPlan) -> dict[str, str]:
    """Labels that name the queue and the priority class."""
    found = {names.QUEUE_LABEL: cluster.teams[workload.team].local_queue}
    if workload.priority is not None:
        found[names.PRIORITY_LABEL] = next(c.name for c in cluster.priority_classes if c.declared == workload.priority)
    return found


def _annotations(workload: Workload) -> dict[str, str]:
    """Of a job's pods."""
    annotations = {RUN_TIME: f"{workload.runs_for or _UNTIL_TOLD}s"}
    if workload.topology and workload.topology.required:
        annotations[names.REQUIRED_TOPOLOGY] = workload.topology.required
    if workload.topology and workload.topology.preferred:
        annotations[names.PREFERRED_TOPOLOGY] = workload.topology.preferred
    return annotations


def _pod(workload: Workload, cluster: ClusterPlan) -> dict[str, Any]:
    amounts = {resource: quantity(resource, amount) for resource, amount in pod_resources(workload, cluster).items()}
    return {
        "restartPolicy": "Never",
        # Nothing in a fake pod needs time to end.
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {names.INSTANCE_TYPE_LABEL: workload.instance_type},
        "containers": [{"name": "main", "image": "workload", "resources": {"requests": amounts, "limits": amounts}}],
    }
