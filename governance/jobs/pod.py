"""Metadata and pods of a job, as its contract wants them: the same for every kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from governance import names
from governance.jobs.model import PodSet, Resolved
from governance.units import PODS, quantity

ELASTIC_LABEL: Final = "hyperpod-platform/elastic"
"""On all parts of an elastic job: the job's name."""
PART_LABEL: Final = "hyperpod-platform/elastic-part"
"""`base`, or the number of the growth."""
_MASTER_PORT: Final = 29500
"""PyTorch's own default."""
_HEALTHY: Final = "Schedulable"
_DEEP_CHECK: Final = "sagemaker.amazonaws.com/deep-health-check-status"
_MIG_STATE: Final = "nvidia.com/mig.config.state"

Manifest = dict[str, Any]


def contract(job: Resolved, priority: str | None = None) -> dict[str, str]:
    """The labels that put work into the team's queue; they stand on the job and on its pods."""
    chosen = priority or (job.priority.name if job.priority else None)
    return {names.QUEUE_LABEL: job.team.local_queue} | ({names.PRIORITY_LABEL: chosen} if chosen else {})


def metadata(job: Resolved, name: str | None = None, labels: Mapping[str, str] | None = None) -> Manifest:
    """Metadata of the job's object. How long it may run stands here alone: Kueue reads it from the object that it queues."""
    limit = {names.MAX_RUN_TIME_LABEL: str(job.run_time)} if job.run_time is not None else {}
    return {
        "name": name or job.order.name,
        "namespace": job.team.namespace,
        "labels": {**(labels or contract(job)), **limit},
    }


def template(
    job: Resolved,
    pods: PodSet,
    *,
    container: str,
    labels: Mapping[str, str] | None = None,
    restart: str | None = "Never",
    extra: Mapping[str, Any] | None = None,
) -> Manifest:
    """A pod template; topology is the workers' alone."""
    found: Manifest = {"labels": dict(labels or contract(job))}
    annotations = topology(job) if pods is job.workers else {}
    if annotations:
        found["annotations"] = annotations
    return {"metadata": found, "spec": spec(job, pods, container=container, restart=restart, extra=extra)}


def topology(job: Resolved) -> dict[str, str]:
    """The annotation of the pod template that Kueue places by."""
    return {job.topology[0]: job.topology[1]} if job.topology else {}


def spec(
    job: Resolved, pods: PodSet, *, container: str, restart: str | None = "Never", extra: Mapping[str, Any] | None = None
) -> Manifest:
    """A pod's specification."""
    found: Manifest = {"restartPolicy": restart} if restart else {}
    found |= {"nodeSelector": node_selector(job, pods)}
    if job.labelled_nodes:
        found["affinity"] = affinity()
    return {**found, "containers": [{"name": container, **body(job, pods)}], **(extra or {})}


def body(job: Resolved, pods: PodSet) -> Manifest:
    """What the container runs, with what."""
    found: Manifest = {"image": job.order.image} if job.order.image else {}
    if pods is job.workers:
        if job.command:
            found["command"] = list(job.command)
        if job.env:
            found["env"] = env(job.env)
        if job.order.port is not None:
            found["ports"] = [{"containerPort": job.order.port}]
    return {**found, "resources": resources(pods)}


def env(values: Mapping[str, str]) -> list[Manifest]:
    return [{"name": name, "value": value} for name, value in values.items()]


def meet(job: Resolved, pod: Manifest, host: str) -> None:
    """Tell the template's container where PyTorch's processes meet, unless the job's environment does."""
    master = {"MASTER_ADDR": host, "MASTER_PORT": str(_MASTER_PORT)}
    (container,) = pod["spec"]["containers"]
    container["env"] = [*env({name: value for name, value in master.items() if name not in job.env}), *container.get("env", [])]


def resources(pods: PodSet) -> Manifest:
    """Requests and limits. Devices can't be overcommitted; equal amounts of the rest make the pod the last to be evicted."""
    amounts = {resource: quantity(resource, amount) for resource, amount in pods.resources.items() if resource != PODS}
    return {"requests": amounts, "limits": dict(amounts)}


def node_selector(job: Resolved, pods: PodSet) -> dict[str, str]:
    """The instance type; on HyperPod, nodes whose GPUs are partitioned already where partitions are asked for."""
    found = {names.INSTANCE_TYPE_LABEL: pods.instance_type}
    if job.order.partition and pods is job.workers and job.cluster.declared.kind == "hyperpod":
        found[_MIG_STATE] = "success"
    return found


def affinity() -> Manifest:
    """Nodes that HyperPod calls healthy; of those, first such as have passed deep checks (AWS, running jobs on HyperPod)."""
    healthy = {"key": names.HEALTH_LABEL, "operator": "In", "values": [_HEALTHY]}
    deep = {"key": _DEEP_CHECK, "operator": "In", "values": ["Passed"]}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [healthy]}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": {"matchExpressions": [deep]}}],
        }
    }
