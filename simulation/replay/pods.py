"""The fidelity `pods`: Jobs, whose pods the scheduler places and kwok runs, and which end when the replay's clock says so."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any, Final

from governance import names
from governance.model import ClusterPlan
from governance.units import quantity
from sandbox.kwok import RUN_TIME
from simulation.replay import workloads
from simulation.replay.server import MERGE_PATCH, RefusedError, Server
from simulation.traces.model import Job

Object = dict[str, Any]
_JOB_LABEL: Final = "batch.kubernetes.io/job-name"
_FOR_EVER: Final = "8760h"
_NOT_FOUND: Final = 404
_HEARD_WITHIN: Final = 0.5
"""Seconds after which the scheduler, too, knows that a pod is gone; until then it counts pods as hopeless that aren't."""
_QUEUES: Final = ('"active"', '"backoff"', '"gated"')
"""The scheduler's queues of pods that it has still to look at."""


def manifest(job: Job, cluster: ClusterPlan) -> Object:
    """The Job; team and priority class must be in the plan. Its pods run until they are told to end."""
    team = cluster.teams[job.team]
    labels = {names.QUEUE_LABEL: team.local_queue}
    if job.priority is not None:
        labels[names.PRIORITY_LABEL] = next(one.name for one in cluster.priority_classes if one.declared == job.priority)
    annotations = {RUN_TIME: _FOR_EVER}
    if job.topology is not None and job.topology.required:
        annotations[names.REQUIRED_TOPOLOGY] = job.topology.required
    if job.topology is not None and job.topology.preferred:
        annotations[names.PREFERRED_TOPOLOGY] = job.topology.preferred
    amounts = {resource: quantity(resource, amount) for resource, amount in job.per_pod.items() if amount}
    pod: Object = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "workload", "resources": {"requests": amounts, "limits": amounts}}],
    }
    if job.instance_type is not None:
        pod["nodeSelector"] = {names.INSTANCE_TYPE_LABEL: job.instance_type}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job.name, "namespace": team.namespace, "labels": labels},
        "spec": {
            "suspend": True,
            "parallelism": job.pods,
            "completions": job.pods,
            "completionMode": "Indexed",
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
        },
    }


class PodActor:
    """A whole sandbox's controllers do the rest; see `simulation.replay.actors.Actor`."""

    kinds: tuple[str, ...] = ("/api/v1/pods",)
    returns_quota = False

    def __init__(self, server: Server, cluster: ClusterPlan, scheduler_metrics: str) -> None:
        self._server = server
        self._cluster = cluster
        self._metrics = scheduler_metrics
        self._pods: defaultdict[str, dict[str, Object]] = defaultdict(dict)
        self._freed = time.monotonic()

    def create(self, job: Job) -> None:
        made = manifest(job, self._cluster)
        self._server.request("POST", self._jobs(made["metadata"]["namespace"]), made)

    def finish(self, job: Job, _workload: Object) -> None:
        for pod in list(self._pods[job.name].values()):
            path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/status"
            try:
                self._server.request("PATCH", path, {"status": {"phase": "Succeeded"}}, MERGE_PATCH)
            except RefusedError as error:
                if error.status != _NOT_FOUND:
                    raise

    def release(self, _workload: Object) -> bool:
        return False

    def job_of(self, workload: Object) -> str:
        owners = workload["metadata"].get("ownerReferences") or ({"name": workload["metadata"]["name"]},)
        return str(owners[0]["name"])

    def see(self, kind: str, item: Object) -> None:
        name = (item["metadata"].get("labels") or {}).get(_JOB_LABEL)
        if name is None:
            return
        over = kind == "DELETED" or item["status"].get("phase") in ("Succeeded", "Failed")
        if over:
            self._freed = time.monotonic()
            self._pods[name].pop(item["metadata"]["name"], None)
        else:
            self._pods[name][item["metadata"]["name"]] = item

    def placed(self, name: str, pods: int) -> bool:
        return sum(_runs(pod) for pod in self._pods[name].values()) == pods == len(self._pods[name])

    def undecided(self, name: str, pods: int) -> bool:
        found = self._pods[name].values()
        return len(found) != pods or any(not _runs(pod) and not _unplaced(pod) for pod in found)

    def at_rest(self) -> bool:
        if time.monotonic() - self._freed < _HEARD_WITHIN:
            return False
        lines = self._server.plain(self._metrics).decode().splitlines()
        told = [line for line in lines if line.startswith("scheduler_pending_pods{")]
        return all(float(line.rpartition(" ")[2]) == 0 for line in told if any(queue in line for queue in _QUEUES))

    def words(self, name: str) -> str:
        without = [pod for pod in self._pods[name].values() if not _runs(pod)]
        if not without:
            return ""
        why = workloads.condition(without[0], "PodScheduled").get("message", "")
        return f"admitted, but {len(without)} of {len(self._pods[name])} pods have no node: {why}"

    def clear(self) -> list[str]:
        namespaces = [team.namespace for team in self._cluster.teams.values()]
        self._server.each(self._empty, namespaces)
        return ["/apis/batch/v1/jobs", "/api/v1/pods", f"{workloads.GROUP}/workloads"]

    def _empty(self, namespace: str) -> None:
        self._server.request("DELETE", f"{self._jobs(namespace)}?propagationPolicy=Background")
        self._server.request("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
        self._server.request("DELETE", workloads.collection(namespace))

    def _jobs(self, namespace: str) -> str:
        return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def _runs(pod: Object) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]


def _unplaced(pod: Object) -> bool:
    """Whether the scheduler has found no node for it."""
    told = workloads.condition(pod, "PodScheduled")
    return told.get("status") == "False" and told.get("reason") == "Unschedulable"
