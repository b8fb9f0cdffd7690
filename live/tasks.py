"""Tasks as Kueue's Workloads tell of them: how long they have waited and run, and how often they were preempted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

State = Literal["running", "pending", "finished", "failed"]
"""`running`: admitted; `pending`: waits for quota, for the first time or again."""
_ORIGIN: Final = "kueue.x-k8s.io/multikueue-origin"
"""Label of what a manager makes on its workers."""
NO_CLASS: Final = ""
"""The class of tasks that name none."""


@dataclass(frozen=True, slots=True)
class Task:
    """One Workload."""

    namespace: str
    name: str
    """The job's, where an object owns the Workload."""
    kind: str
    queue: str
    """The ClusterQueue that it waits in or has quota of; empty where no LocalQueue says."""
    priority_class: str
    """The name of its class; empty where it has none."""
    state: State
    waited: int
    """Seconds without quota since it was created, its waits after evictions included."""
    ran: int
    """Seconds since its admission, and of the times before evictions."""
    preemptions: int
    """How often Kueue preempted it for other tasks."""
    preempted: bool
    """Whether it waits since it was preempted."""
    message: str
    """Why it waits, in Kueue's words."""
    offered: tuple[str, ...] = ()
    """On a manager, the workers that it was offered to, none of which has taken it yet."""
    copied: bool = False
    """On a worker, whether it stands for a task of a manager."""


@dataclass(frozen=True, slots=True)
class Times:
    """Durations in seconds; all 0 where there is none."""

    count: int = 0
    average: int = 0
    longest: int = 0


@dataclass(frozen=True, slots=True)
class ClassUse:
    """Tasks of one priority class."""

    name: str
    running: int = 0
    pending: int = 0
    preempted: int = 0
    """Of the pending ones, those that wait since they were preempted."""
    preemptions: int = 0
    """Preemptions that all tasks of the class have suffered, finished ones included."""
    finished: int = 0
    run: Times = Times()
    """Of tasks that run or have run."""
    wait: Times = Times()


def task(item: Mapping[str, Any], now: datetime, queues: Mapping[tuple[str, str], str]) -> Task:
    """The task that a Workload stands for. `queues`: ClusterQueues by namespace and LocalQueue."""
    meta, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    conditions = {one["type"]: one for one in status.get("conditions") or ()}
    state, admission = _state(conditions), status.get("admission") or {}
    owner = next(iter(meta.get("ownerReferences") or ()), {"kind": "Workload", "name": meta["name"]})
    ran, waited = _times(meta, status, conditions, now)
    evicted = conditions.get("Evicted", {})
    waiting = state == "pending"
    return Task(
        meta["namespace"],
        str(owner["name"]),
        str(owner["kind"]),
        str(admission.get("clusterQueue") or queues.get((meta["namespace"], spec.get("queueName") or ""), "")),
        str((spec.get("priorityClassRef") or {}).get("name") or spec.get("priorityClassName") or NO_CLASS),
        state,
        waited,
        ran,
        _preemptions(status, conditions),
        waiting and _is(evicted) and evicted.get("reason") == "Preempted",
        str(conditions.get("QuotaReserved", {}).get("message", "")) if waiting else "",
        tuple(sorted(status.get("nominatedClusterNames") or ())) if waiting else (),
        _ORIGIN in (meta.get("labels") or {}),
    )


def by_class(tasks: Iterable[Task]) -> dict[str, ClassUse]:
    """Tasks counted by the name of their class."""
    found: dict[str, list[Task]] = {}
    for one in tasks:
        found.setdefault(one.priority_class, []).append(one)
    return {name: _class(name, of_class) for name, of_class in found.items()}


def _class(name: str, tasks: list[Task]) -> ClassUse:
    states = [one.state for one in tasks]
    return ClassUse(
        name,
        states.count("running"),
        states.count("pending"),
        sum(one.preempted for one in tasks),
        sum(one.preemptions for one in tasks),
        states.count("finished") + states.count("failed"),
        times(one.ran for one in tasks if one.state != "pending" or one.ran),
        times(one.waited for one in tasks),
    )


def times(seconds: Iterable[int]) -> Times:
    """Count, average (rounded to the second) and the longest."""
    found = list(seconds)
    return Times(len(found), round(sum(found) / len(found)), max(found)) if found else Times()


def _state(conditions: Mapping[str, Mapping[str, Any]]) -> State:
    finished = conditions.get("Finished", {})
    if _is(finished):
        return "failed" if finished.get("reason") == "Failed" else "finished"
    return "running" if _is(conditions.get("Admitted", {})) else "pending"


def _times(meta: Mapping[str, Any], status: Mapping[str, Any], conditions: Mapping[str, Any], now: datetime) -> tuple[int, int]:
    """Seconds of running and of waiting: Kueue keeps the sum of earlier runs, the rest follows from the conditions' times."""
    past = int(status.get("accumulatedPastExecutionTimeSeconds") or 0)
    created = _time(meta["creationTimestamp"])
    finished, admitted = conditions.get("Finished", {}), conditions.get("Admitted", {})
    end = _time(finished["lastTransitionTime"]) if _is(finished) else now
    start = _time(admitted["lastTransitionTime"]) if _is(admitted) else end
    ran = past + max(0, int((end - start).total_seconds()))
    return ran, max(0, int((end - created).total_seconds()) - ran)


def _preemptions(status: Mapping[str, Any], conditions: Mapping[str, Any]) -> int:
    """As Kueue counts them; versions that don't count tell of the last one at least."""
    counted = (status.get("schedulingStats") or {}).get("evictions") or ()
    number = sum(int(one.get("count") or 0) for one in counted if one.get("reason") == "Preempted")
    return number or int("Preempted" in conditions or conditions.get("Evicted", {}).get("reason") == "Preempted")


def _is(condition: Mapping[str, Any]) -> bool:
    return condition.get("status") == "True"


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
