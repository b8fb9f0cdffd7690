"""What Kueue has done with a workload: admitted it on whose quota, preempted or evicted it for whom, finished it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from governance.sharing import Cell
from live.why.context import Context
from live.why.model import Cause, Happened, Held, Reason, Remedy, When
from live.why.objects import (
    Object,
    admission,
    condition,
    domains_of,
    full_name,
    is_true,
    name_of,
    owners_of,
    priority_of,
    shown,
    uid_of,
    usage_of,
)
from live.why.quotas import lend_idle
from live.why.snapshot import Snapshot

_UID: Final = re.compile(r"\(UID: ([^,)]+), JobUID: ([^,)]+)\)")
_PATH: Final = re.compile(r"preemptor path: (\S+?)(?:;|$)")
_PREVIOUSLY: Final = "Previously: "
_PREEMPTED: Final[Mapping[str, str]] = {
    "InClusterQueue": "it came first in the same queue: higher priority",
    "InCohortReclamation": "its team took back quota of its own that this workload had borrowed",
    "InCohortFairSharing": "its team had a smaller share of what is borrowed",
    "InCohortReclaimWhileBorrowing": "it had a higher priority, and its queue may borrow over lower ones",
}
_EVICTED: Final[Mapping[str, str]] = {
    "PodsReadyTimeout": "not all of its pods were ready in time",
    "AdmissionCheck": "an admission check withdrew its consent",
    "ClusterQueueStopped": "its ClusterQueue was stopped and drained",
    "LocalQueueStopped": "its LocalQueue was stopped and drained",
    "NodeFailures": "a node failed, and no other took its place",
    "Deactivated": "it was deactivated",
}
_FINISHED: Final[Mapping[str, str]] = {
    "Succeeded": "the job ended well",
    "Failed": "the job failed",
    "OwnerNotFound": "the job was deleted",
    "OutOfSync": "the job no longer matched its Workload",
}


def held(context: Context) -> tuple[Held, ...]:
    """The quota that it holds, and what of it is borrowed: of a queue that borrows, the least and latest do."""
    usage = usage_of(context.workload)
    found = []
    idle, before = lend_idle(context.quotas, context.name, usage), _before(context)
    for cell, amount in usage.items():
        borrowed = _borrowed(context, cell, amount, sum(cells.get(cell, 0) for cells in before))
        lenders = {_lender(context, name): left for name, left in idle.get(cell, {}).items()} if borrowed else {}
        found.append(Held(cell[0], cell[1], amount, borrowed, lenders))
    return tuple(found)


def held_at_end(workload: Object) -> tuple[Held, ...]:
    """The quota that one that has ended held: Kueue leaves its admission as it was.

    Pods that ended don't count as given back here, for in the end they all have. What others used then, and so what of it
    was borrowed, is recorded nowhere.
    """
    whole = {**workload, "status": {**workload["status"], "reclaimablePods": ()}}
    return tuple(Held(flavor, resource, amount, None) for (flavor, resource), amount in usage_of(whole).items())


def _lender(context: Context, name: str) -> str:
    return context.owner(name) if name in context.quotas.queues else f"cohort {name}"


def _borrowed(context: Context, cell: Cell, amount: int, before: int) -> int:
    """What of its usage lies beyond the queue's own quota, after so much of those that come before it."""
    quota = context.quotas.queues.get(context.name)
    own = quota.cells[cell].nominal if quota and cell in quota.cells else 0
    return min(amount, max(0, before + amount - own))


def _before(context: Context) -> list[Mapping[Cell, int]]:
    """What those of its queue use that Kueue would preempt later."""
    known = {uid_of(one): one for one in context.snapshot.workloads.values()}
    mine, own = _goes(context.workload), uid_of(context.workload)
    return [
        cells
        for uid, (queue, cells) in context.quotas.held.items()
        if queue == context.name and uid != own and _goes(known[uid]) > mine
    ]


def _goes(workload: Object) -> tuple[int, list[int], str]:
    """Kueue's order of whom to preempt first (pkg/scheduler/preemption/common): low priority, then late, then the lesser UID."""
    late = str(condition(workload, "QuotaReserved").get("lastTransitionTime", ""))
    return (priority_of(workload), [-ord(character) for character in late], uid_of(workload))


def placement(workload: Object) -> dict[str, int]:
    """Pods by topology domain."""
    found: dict[str, int] = {}
    for assigned in admission(workload).get("podSetAssignments") or ():
        for values, count in domains_of(assigned):
            found["/".join(values)] = found.get("/".join(values), 0) + count
    return found


def happened(snapshot: Snapshot, workload: Object, owner: Mapping[str, str]) -> tuple[Happened, ...]:
    """What conditions still tell, oldest first. `owner`: words for each ClusterQueue's owner."""
    found = [
        *_admitted(workload),
        *_evictions(snapshot, workload, owner),
        *_victims(snapshot, workload, owner),
        *_finished(workload),
    ]
    return tuple(sorted(found, key=lambda one: one.when))


def _admitted(workload: Object) -> Iterator[Happened]:
    reserved = condition(workload, "QuotaReserved")
    if reserved.get("status") == "True":
        at = str(reserved.get("lastTransitionTime", ""))
        flavors = sorted(
            {f for one in admission(workload).get("podSetAssignments") or () for f in (one.get("flavors") or {}).values()}
        )
        created = str(workload["metadata"].get("creationTimestamp", ""))
        waited = waited_words(created, at)
        yield Happened(
            "admitted", at, f"quota of {', '.join(flavors) or 'no flavor'} was reserved, {waited} after it came to Kueue"
        )


def waited_words(start: str, end: str) -> str:
    """The time between two RFC 3339 times, as `3 min`."""
    from datetime import datetime

    try:
        seconds = int((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds())
    except ValueError:
        return "some time"
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {name}"
    return f"{max(0, seconds)} s"


def _evictions(snapshot: Snapshot, workload: Object, owner: Mapping[str, str]) -> Iterator[Happened]:
    evicted, preempted = condition(workload, "Evicted"), condition(workload, "Preempted")
    text = str(preempted.get("message", ""))
    past = evicted.get("status") != "True"
    if preempted and ("Preempted" in text) and (past or evicted.get("reason") == "Preempted"):
        reason = str(preempted.get("reason", ""))
        by = preemptor(snapshot, text, owner)
        known = reason if reason in _PREEMPTED else _reason_in(text)
        why = _PREEMPTED.get(known, text.removeprefix(_PREVIOUSLY))
        yield Happened("preempted", str(preempted.get("lastTransitionTime", "")), f"for {by}: {why}", known, by, past=past)
    elif evicted and evicted.get("message"):
        reason = str(evicted.get("reason", ""))
        message = str(evicted["message"])
        known = next((one for one in _EVICTED if reason.startswith(one)), "")
        if not known and past:
            known = next((one for one, words in _SAID.items() if words in message), "")
        told = f"{_EVICTED[known]}: {message.removeprefix(_PREVIOUSLY)}" if known else message
        yield Happened("evicted", str(evicted.get("lastTransitionTime", "")), told, known or reason, past=past)


_SAID: Final = {
    "PodsReadyTimeout": "PodsReady timeout",
    "ClusterQueueStopped": "ClusterQueue is stopped",
    "Deactivated": "deactivated",
}
"""Of an eviction that is over, Kueue keeps the words and not the reason."""
_REASONS: Final = {
    "prioritization in the ClusterQueue": "InClusterQueue",
    "reclamation within the cohort while borrowing": "InCohortReclaimWhileBorrowing",
    "reclamation within the cohort": "InCohortReclamation",
    "Fair Sharing within the cohort": "InCohortFairSharing",
}


def _reason_in(message: str) -> str:
    """Kueue's id of a preemption by its words: a later admission takes the id away."""
    return next((reason for words, reason in _REASONS.items() if words in message), "")


def preemptor(snapshot: Snapshot, message: str, owner: Mapping[str, str]) -> str:
    """Who a preemption was for: `nlp/big (team nlp)`; of one that is gone, its queue at least."""
    found = _UID.search(message)
    if found is not None:
        uid, job = found.groups()
        workload = snapshot.workload_uid(uid) or next(iter(snapshot.owned_by(job)), None)
        if workload is not None:
            queue = snapshot.queue_name(workload)
            return f"{shown(workload)} ({owner.get(queue, f'queue {queue}')})"
    path = _PATH.search(message)
    queue = path[1].rpartition("/")[2] if path else ""
    if queue and queue != "UNKNOWN":
        return f"a workload of {owner.get(queue, f'queue {queue}')} that is gone"
    return "a workload that is gone"


def _victims(snapshot: Snapshot, workload: Object, owner: Mapping[str, str]) -> Iterator[Happened]:
    uid = uid_of(workload)
    for other in snapshot.workloads.values():
        preempted = condition(other, "Preempted")
        if uid and uid in str(preempted.get("message", "")) and other is not workload:
            queue = owner.get(snapshot.queue_name(other), "")
            who = f"{shown(other)} ({queue})" if queue else shown(other)
            reason = str(preempted.get("reason", ""))
            known = reason if reason in _PREEMPTED else _reason_in(str(preempted["message"]))
            yield Happened("preempts", str(preempted.get("lastTransitionTime", "")), f"{who} was preempted for it", known, who)


def _finished(workload: Object) -> Iterator[Happened]:
    finished = condition(workload, "Finished")
    if finished.get("status") == "True":
        reason = str(finished.get("reason", ""))
        words = _FINISHED.get(reason, "it ended")
        message = f"{words}: {finished['message']}" if finished.get("message") else words
        yield Happened("finished", str(finished.get("lastTransitionTime", "")), message, reason)


# -- admitted, and still not running -------------------------------------------------------------------------------------


def halted(snapshot: Snapshot, workload: Object) -> Iterator[Cause]:
    """What keeps the pods of a workload with quota from running: checks that aren't ready, pods that aren't scheduled."""
    checks = (workload.get("status") or {}).get("admissionChecks") or ()
    open_ = [one for one in checks if one.get("state") != "Ready"]
    if open_ and not is_true(workload, "Admitted"):
        named = "; ".join(f"{one['name']} is {one.get('state', 'Pending')}: {one.get('message', '')}" for one in open_)
        states = {one["name"]: one.get("state", "Pending") for one in checks}
        wait = Remedy("wait", "wait for the checks, or ask who runs their controllers")
        yield Cause(
            Reason.ADMISSION_CHECK, When.LATER, f"quota is reserved; {named}", remedies=(wait,), numbers={"checks": states}
        )
    pending = [pod for pod in pods_of(snapshot, workload) if (pod.get("status") or {}).get("phase") == "Pending"]
    if pending:
        said = next((str(condition(pod, "PodScheduled").get("message") or "") for pod in pending if _unscheduled(pod)), "")
        said = said or next((text for pod in pending if (text := _container(pod))), "they haven't been scheduled yet")
        message = f"it is admitted; {len(pending)} of its pods are pending: {said}"
        fix = Remedy("fix", "mend what the scheduler or the kubelet names: nodes, taints, volumes, images")
        numbers = {"pending": [full_name(pod) for pod in pending]}
        yield Cause(Reason.PODS_PENDING, When.LATER, message, remedies=(fix,), numbers=numbers)


def _unscheduled(pod: Object) -> bool:
    return condition(pod, "PodScheduled").get("status") == "False"


def _container(pod: Object) -> str:
    """Why the first container of a scheduled pod doesn't start."""
    for one in (pod.get("status") or {}).get("containerStatuses") or ():
        waits = (one.get("state") or {}).get("waiting") or {}
        if waits.get("reason"):
            return f"{waits['reason']}: {waits.get('message', '')}".rstrip(": ")
    return ""


def pods_of(snapshot: Snapshot, workload: Object) -> list[Object]:
    """Pods of the workload's job, through owners and by the name that Kueue writes on them."""
    jobs = {owner.get("uid") for owner in owners_of(workload)}
    children = {uid_of(job) for job in snapshot.jobs if jobs & {owner.get("uid") for owner in owners_of(job)}} | jobs
    space = workload["metadata"].get("namespace")
    return [
        pod
        for pod in snapshot.pods
        if pod["metadata"].get("namespace") == space
        and (
            (pod["metadata"].get("annotations") or {}).get("kueue.x-k8s.io/workload") == name_of(workload)
            or uid_of(pod) in jobs
            or children & {owner.get("uid") for owner in owners_of(pod)}
        )
    ]
