"""Kueue's Workload (`kueue.x-k8s.io/v1beta2`): made of a trace's job, and read as Kueue decides on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, Literal

from governance import names
from governance.adoption.amounts import base_units
from governance.model import ClusterPlan
from governance.sharing import Cell
from governance.units import quantity
from simulation.replay.model import Event
from simulation.traces.model import Job

Object = dict[str, Any]
GROUP: Final = "/apis/kueue.x-k8s.io/v1beta2"
State = Literal["new", "waiting", "reserved", "running", "leaving", "over", "stopped"]
"""`new`: Kueue hasn't said a word; `reserved`: it has quota and isn't admitted yet; `leaving`: evicted, its quota isn't returned
yet; `stopped`: deactivated, so Kueue doesn't queue it."""
Conditions = tuple[Mapping[str, Any], ...]
Layers = tuple[tuple[str, ...], Mapping[str, tuple[str, ...]]]
"""A flavor's topology levels, and its nodes' label values by host name."""
_POD_SET: Final = "main"
_BY: Final = "(UID: "


def manifest(job: Job, cluster: ClusterPlan) -> Object:
    """The Workload that Kueue would make of the job; team and priority class must be in the plan."""
    team = cluster.teams[job.team]
    requests = {resource: quantity(resource, amount) for resource, amount in job.per_pod.items() if amount}
    pod: Object = {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "workload", "resources": {"requests": requests}}],
    }
    if job.instance_type is not None:
        pod["nodeSelector"] = {names.INSTANCE_TYPE_LABEL: job.instance_type}
    pod_set: Object = {"name": _POD_SET, "count": job.pods, "template": {"spec": pod}}
    if job.topology is not None:
        asked = {"required": job.topology.required, "preferred": job.topology.preferred}
        pod_set["topologyRequest"] = {field: level for field, level in asked.items() if level is not None}
    spec: Object = {"queueName": team.local_queue, "active": True, "priority": 0, "podSets": [pod_set]}
    if job.priority is not None:
        declared = next(one for one in cluster.priority_classes if one.declared == job.priority)
        reference = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": declared.name}
        spec |= {"priority": declared.value, "priorityClassRef": reference}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {"name": job.name, "namespace": team.namespace},
        "spec": spec,
    }


def collection(namespace: str) -> str:
    """API path of a namespace's Workloads."""
    return f"{GROUP}/namespaces/{namespace}/workloads"


def path(workload: Object) -> str:
    """API path of a Workload."""
    return f"{collection(workload['metadata']['namespace'])}/{workload['metadata']['name']}"


def condition(workload: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """A condition; empty where there is none of that type."""
    found = (workload.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one["type"] == kind), {})


def _is(workload: Object, kind: str) -> bool:
    return condition(workload, kind).get("status") == "True"


def state(workload: Object) -> State:
    """Where a Workload stands."""
    if _is(workload, "Finished"):
        return "over"
    if _is(workload, "QuotaReserved"):
        if _is(workload, "Evicted"):
            return "leaving"
        return "running" if _is(workload, "Admitted") else "reserved"
    if not workload["spec"].get("active", True):
        return "stopped"
    return "waiting" if condition(workload, "QuotaReserved") else "new"


def stamp(workload: Object) -> int:
    """The latest second by which Kueue ranks the Workload: of its creation, or of its reservation."""
    times = [workload["metadata"]["creationTimestamp"]]
    if _is(workload, "QuotaReserved"):
        times.append(condition(workload, "QuotaReserved")["lastTransitionTime"])
    return max(int(datetime.fromisoformat(time).timestamp()) for time in times)


def now() -> str:
    """This second, as conditions say it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def finished() -> list[Object]:
    """JSON patch of the status: what a job's controller writes when its pods have ended well."""
    value = {
        "type": "Finished",
        "status": "True",
        "reason": "Succeeded",
        "message": "Job finished successfully",
        "lastTransitionTime": now(),
    }
    return [{"op": "add", "path": "/status/conditions/-", "value": value}]


def released(workload: Object) -> Object:
    """Merge patch of the status: what a job's controller writes when the pods of an evicted Workload are gone.

    It returns the quota, and says whether the Workload is to be queued again: after a preemption, yes.
    """
    evicted = condition(workload, "Evicted")
    again = "True" if evicted["reason"] in ("Preempted", "NodeFailures") else "False"
    wanted = {
        "QuotaReserved": ("False", "Pending", evicted["message"]),
        "Admitted": ("False", "NoReservation", "The workload has no reservation"),
        "Requeued": (again, evicted["reason"], evicted["message"]),
    }
    conditions = []
    for kind, (status, reason, message) in wanted.items():
        before = condition(workload, kind)
        since = before["lastTransitionTime"] if before.get("status") == status else now()
        conditions.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastTransitionTime": since,
                "observedGeneration": workload["metadata"]["generation"],
            }
        )
    patch = with_conditions(workload, conditions)
    patch["status"]["admission"] = None
    return patch


def evictions(workload: Object) -> Conditions:
    """The conditions that make a Workload an evicted one."""
    return tuple(one for kind in ("Evicted", "Preempted") if (one := condition(workload, kind)).get("status") == "True")


def with_conditions(workload: Object, conditions: Iterable[Mapping[str, Any]]) -> Object:
    """Merge patch of the status: these conditions in place of those of their types, on this version of the Workload alone."""
    found = {one["type"]: one for one in (*workload["status"]["conditions"], *conditions)}
    return {
        "metadata": {"resourceVersion": workload["metadata"]["resourceVersion"]},
        "status": {"conditions": list(found.values())},
    }


def admission(workload: Object, job: str, at: int, nodes: Callable[[str], Layers]) -> Event:
    """The event of a job's admission. `nodes` gives the layers of a flavor."""
    usage: dict[Cell, int] = {}
    levels: tuple[str, ...] = ()
    domains: list[tuple[str, ...]] = []
    for assigned in workload["status"]["admission"]["podSetAssignments"]:
        for resource, flavor in assigned.get("flavors", {}).items():
            amount = _base_units(resource, str(assigned["resourceUsage"][resource]))
            usage[flavor, resource] = usage.get((flavor, resource), 0) + amount
        if "topologyAssignment" in assigned:
            flavor = next(iter(assigned["flavors"].values()))
            levels, found = _domains(assigned["topologyAssignment"], *nodes(flavor))
            domains += found
    return Event(at, "admitted", job, usage=usage, domains=tuple(domains), levels=levels)


_base_units = cache(base_units)


def _domains(
    assignment: Object, levels: tuple[str, ...], nodes: Mapping[str, tuple[str, ...]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Levels and domains. Kueue names nodes by their host names alone; the layers above are told from the nodes' labels."""
    told = tuple(assignment["levels"])
    found = [domain for one in assignment["slices"] for domain in _unpacked(one)]
    if len(told) == 1 and len(levels) > 1 and told[0] == levels[-1]:
        return levels, [nodes[host] for (host,) in found]
    return told, found


def _unpacked(one: Object) -> Iterator[tuple[str, ...]]:
    """The domains of a slice, whose values are written without their common ends."""
    columns = [list(_values(level, one["domainCount"])) for level in one["valuesPerLevel"]]
    yield from zip(*columns, strict=True)


def _values(level: Object, count: int) -> Iterator[str]:
    if "universal" in level:
        yield from [level["universal"]] * count
        return
    individual = level["individual"]
    for root in individual["roots"]:
        yield f"{individual.get('prefix', '')}{root}{individual.get('suffix', '')}"


def eviction(workload: Object, job: str, at: int, names_of: Mapping[str, str]) -> Event:
    """The event of an eviction. `names_of` gives a job's name by its Workload's UID."""
    evicted, preempted = condition(workload, "Evicted"), condition(workload, "Preempted")
    found = preempted if evicted["reason"] == "Preempted" and preempted else evicted
    uid = found["message"].partition(_BY)[2].partition(",")[0].rstrip(")")
    return Event(at, "preempted", job, by=names_of.get(uid), reason=found["reason"])


def last_word(workload: Object) -> str:
    """What Kueue says last about a Workload that waits, or is about to."""
    kind = "Evicted" if state(workload) == "leaving" else "QuotaReserved"
    return str(condition(workload, kind).get("message", ""))
