"""The answer to why: of a workload that waits, runs, or has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from live.why.context import Context, context_of
from live.why.declared import Declared
from live.why.dispatch import Dispatch, ask_there, dispatch_of, to_be_dispatched
from live.why.find import Found
from live.why.jobs import unqueued
from live.why.model import Answer, Held
from live.why.objects import (
    Object,
    condition,
    holds_quota,
    is_finished,
    is_true,
    job_of,
    labels_of,
    message_of,
    name_of,
    namespace_of,
    priority_of,
)
from live.why.running import halted, happened, held, held_at_end, placement
from live.why.snapshot import Snapshot
from live.why.waiting import waiting

Events = Callable[[str, str], Sequence[Object]]
"""Reads the events of an object of a namespace."""


def explain(snapshot: Snapshot, found: Found, declared: Declared | None, events: Events, notes: Sequence[str] = ()) -> Answer:
    """What is known of what was found."""
    if found.workload is None:
        return _without(snapshot, found, declared, events, notes)
    workload = found.workload
    queue = snapshot.queue_name(workload)
    live = snapshot.cluster_queues.get(queue)
    context = context_of(snapshot, workload, live, declared) if live is not None else None
    dispatch = dispatch_of(context) if context is not None else None
    if is_finished(workload):
        state, since = "finished", condition(workload, "Finished").get("lastTransitionTime", "")
    elif holds_quota(workload) and not is_true(workload, "Evicted") and not (dispatch and to_be_dispatched(workload)):
        state, since = "admitted", condition(workload, "QuotaReserved").get("lastTransitionTime", "")
    else:
        state = "waiting"
        since = condition(workload, "QuotaReserved").get("lastTransitionTime") or workload["metadata"].get(
            "creationTimestamp", ""
        )
    owners = {name: context.owner(name) for name in snapshot.cluster_queues} if context else {}
    causes = waiting(snapshot, workload, declared) if state == "waiting" else []
    if state == "admitted":
        causes = list(halted(snapshot, workload))
    told = list(notes)
    if context is not None and dispatch is not None and state == "admitted":
        told.extend(_sent(context, dispatch))
    if found.others:
        told.append(f"the job has other Workloads too: {', '.join(found.others)}")
    past = happened(snapshot, workload, owners)
    if state == "waiting" and dispatch is not None:
        past = tuple(one for one in past if one.what != "admitted")  # the manager's quota alone
    return Answer(
        state=state,
        namespace=found.namespace,
        job=job_of(workload),
        workload=name_of(workload),
        team=_team(snapshot, queue, found.namespace, declared),
        local_queue=str(workload["spec"].get("queueName") or ""),
        cluster_queue=queue,
        priority=priority_of(workload),
        since=str(since),
        causes=tuple(causes),
        worker=dispatch.worker if dispatch is not None else "",
        offered=dispatch.offered if dispatch is not None else (),
        held=_held(state, workload, context),
        placement={} if state == "waiting" else placement(workload),
        happened=past,
        kueue=message_of(workload),
        notes=tuple(told),
    )


def _held(state: str, workload: Object, context: Context | None) -> tuple[Held, ...]:
    if state == "finished":
        return held_at_end(workload)
    return held(context) if context is not None and state == "admitted" else ()


def _sent(context: Context, dispatch: Dispatch) -> Iterator[str]:
    """Of one that a worker has."""
    if dispatch.worker in dispatch.lost:
        yield (
            f"worker {dispatch.worker} is out of reach: {dispatch.lost[dispatch.worker]}; after the manager's timeout "
            "it starts again elsewhere"
        )
    elif dispatch.worker:
        yield f"what it does there: {ask_there(context, dispatch.worker)}"


def _without(snapshot: Snapshot, found: Found, declared: Declared | None, events: Events, notes: Sequence[str]) -> Answer:
    job = found.job
    if job is None:
        raise ValueError("what was found is a workload or a job")
    causes = unqueued(snapshot, job, events(found.namespace, name_of(job)))
    return Answer(
        state="unmanaged",
        namespace=found.namespace,
        job=f"{job['kind']}/{name_of(job)}",
        workload="",
        team=_team(snapshot, "", found.namespace, declared),
        local_queue=labels_of(job).get("kueue.x-k8s.io/queue-name", ""),
        cluster_queue="",
        priority=0,
        since=str(job["metadata"].get("creationTimestamp", "")),
        causes=tuple(causes),
        notes=tuple(notes),
    )


def _team(snapshot: Snapshot, queue: str, namespace: str, declared: Declared | None) -> str:
    plan = declared.team(queue) if declared else None
    if plan is not None:
        return plan.name
    if declared is not None and not queue:
        for team in declared.cluster.teams.values():
            if team.namespace == namespace:
                return team.name
    return snapshot.team_of(queue) if queue else ""


def namespace_of_team(snapshot: Snapshot, team: str, declared: Declared | None) -> str | None:
    """The namespace of a team: the declaration's, else that whose labels name it."""
    plan = declared.cluster.teams.get(team) if declared else None
    if plan is not None:
        return plan.namespace
    for queue in snapshot.local_queues.values():
        if snapshot.team_of(str(queue["spec"]["clusterQueue"])) == team:
            return namespace_of(queue)
    return None
