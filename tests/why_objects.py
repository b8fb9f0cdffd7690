"""Objects in the shape that Kueue 0.16 and Kubernetes write them, for the tests of why."""

from __future__ import annotations

from typing import Any

from live.why.find import Found
from live.why.snapshot import Snapshot, by_name

GPU = "nvidia.com/gpu"
NOW = "2026-11-21T12:00:00Z"
EARLY = "2026-11-21T11:00:00Z"
Object = dict[str, Any]


def condition(kind: str, status: str, reason: str = "", message: str = "", at: str = EARLY) -> Object:
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at}


def queue(name: str, nominal: int, cohort: str | None = "pool", borrow: int | None = None, **spec: Any) -> Object:
    """A ClusterQueue with GPUs of flavor h100."""
    quota = {"name": GPU, "nominalQuota": str(nominal), **({} if borrow is None else {"borrowingLimit": str(borrow)})}
    groups = [{"coveredResources": [GPU], "flavors": [{"name": "h100", "resources": [quota]}]}]
    known: Object = {"resourceGroups": groups, "namespaceSelector": {}, "preemption": {"reclaimWithinCohort": "Any"}}
    if cohort is not None:
        known["cohortName"] = cohort
    status = {"conditions": [condition("Active", "True", "Ready")]}
    return {"metadata": {"name": name, "labels": {"hyperpod-platform/team": name}}, "spec": known | spec, "status": status}


def local_queue(name: str, cluster_queue: str, space: str = "ns", **spec: Any) -> Object:
    return {"metadata": {"name": name, "namespace": space}, "spec": {"clusterQueue": cluster_queue, **spec}}


def pod_spec(gpus: int = 1, **more: Any) -> Object:
    return {"containers": [{"name": "c", "resources": {"requests": {GPU: str(gpus)}}}], **more}


def workload(
    job: str,
    gpus: int = 8,
    *,
    pods: int = 1,
    at: str = "",
    held: bool = False,
    conditions: tuple[Object, ...] = (),
    kind: str = "Job",
    topology: Object | None = None,
    spec: Object | None = None,
    pod: Object | None = None,
    **status: Any,
) -> Object:
    """The Workload of a job in namespace ns, in the LocalQueue named `at`, else `lq`."""
    pod_set = {"name": "main", "count": pods, "template": {"spec": pod or pod_spec(gpus)}}
    if topology:
        pod_set["topologyRequest"] = topology
    if held:
        usage = {GPU: str(gpus * pods)}
        assigned = {"name": "main", "count": pods, "flavors": {GPU: "h100"}, "resourceUsage": usage, **status.pop("assigned", {})}
        status["admission"] = {"clusterQueue": status.pop("cluster_queue", "q"), "podSetAssignments": [assigned]}
        conditions = (condition("QuotaReserved", "True"), condition("Admitted", "True"), *conditions)
    return {
        "metadata": {
            "name": f"job-{job}",
            "namespace": "ns",
            "uid": f"uid-{job}",
            "creationTimestamp": EARLY,
            "ownerReferences": [{"kind": kind, "name": job, "uid": f"job-{job}", "controller": True}],
        },
        "spec": {"podSets": [pod_set], "queueName": at or "lq", "priority": 0, **(spec or {})},
        "status": {"conditions": list(conditions), **status},
    }


SHORT = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor h100, 1 more needed"


def pending(message: str = SHORT, **more: str) -> Object:
    return condition("QuotaReserved", "False", "Pending", message, **more)


def node(name: str, gpus: int = 8, *, ready: bool = True, labels: Object | None = None, **spec: Any) -> Object:
    known = {"kubernetes.io/hostname": name, "type": "h100", "block": "b0"} if labels is None else labels
    return {
        "metadata": {"name": name, "labels": known},
        "spec": spec,
        "status": {
            "allocatable": {GPU: str(gpus), "cpu": "100", "pods": "50"},
            "conditions": [condition("Ready", "True" if ready else "False")],
        },
    }


def flavor(topology: str | None = None, **spec: Any) -> Object:
    known: Object = {"nodeLabels": {"type": "h100"}, **spec}
    if topology:
        known["topologyName"] = topology
    return {"metadata": {"name": "h100"}, "spec": known}


TOPOLOGY = {
    "metadata": {"name": "blocks"},
    "spec": {"levels": [{"nodeLabel": "block"}, {"nodeLabel": "kubernetes.io/hostname"}]},
}


def snapshot(*workloads: Object, queues: tuple[Object, ...] = (), **more: Any) -> Snapshot:
    """One queue `q` of 8 GPUs outside any cohort unless others are given; namespace `ns` with the LocalQueue `lq` of it."""
    known: dict[str, Any] = {
        "cluster_queues": by_name(queues or (queue("q", 8, cohort=None),)),
        "local_queues": by_name(more.pop("local_queues", (local_queue("lq", "q"),))),
        "flavors": by_name(more.pop("flavors", (flavor(),))),
        "namespaces": by_name([{"metadata": {"name": "ns", "labels": {"team": "q"}}}]),
        "workloads": by_name(workloads),
        "nodes": by_name(more.pop("nodes", ())),
        "topologies": by_name(more.pop("topologies", (TOPOLOGY,))),
        "classes": by_name(more.pop("classes", ())),
        "now": NOW,
    }
    return Snapshot(**(known | more))


def of(found: Object) -> Found:
    return Found("ns", found, None)
