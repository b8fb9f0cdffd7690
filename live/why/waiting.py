"""Why a Workload isn't admitted, in the order in which Kueue asks (pkg/scheduler/scheduler.go, core/workload_controller.go)."""

from __future__ import annotations

from collections.abc import Iterator

from config.findings import did_you_mean
from governance.names import PRIORITY_LABEL, QUEUE_LABEL
from live.why.context import PREEMPTING, Context, context_of, priority_words
from live.why.declared import Declared
from live.why.dispatch import dispatch_of, oversized, to_be_dispatched, undispatched
from live.why.fitting import unfitting
from live.why.flavors import demand
from live.why.model import Cause, Reason, Remedy, When
from live.why.objects import (
    Object,
    condition,
    full_name,
    holds_quota,
    is_active,
    is_true,
    labels_of,
    message_of,
    name_of,
    namespace_of,
    selected,
    shown,
)
from live.why.remedies import behind
from live.why.snapshot import Snapshot

_UNREADY = "waiting for all admitted workloads to be in PodsReady condition"
_INVALID = ("resource limits", "resources didn't satisfy LimitRange", "resource validation", "LimitRange")
_CONTENDED = ("no longer fits after processing another workload", "overlapping preemption targets")


def waiting(snapshot: Snapshot, workload: Object, declared: Declared | None) -> list[Cause]:
    """All that keeps it waiting, what must be mended first first. Never empty."""
    gate = next(_gates(snapshot, workload, declared), None)
    if gate is not None:
        return [gate]
    context = context_of(snapshot, workload, snapshot.cluster_queues[snapshot.queue_name(workload)], declared)
    never, dispatch = list(oversized(context)), dispatch_of(context)
    if dispatch is not None and to_be_dispatched(workload):
        return never or list(undispatched(context, dispatch))
    return never or _queueing(context)


def _queueing(context: Context) -> list[Cause]:
    """Why no quota is reserved."""
    unfit = list(unfitting(context))
    order = list(_order(context, bool(unfit)))
    strict = context.queue["spec"].get("queueingStrategy") == "StrictFIFO"
    causes = [*order, *unfit] if strict else [*unfit, *order]
    return [*_passing(context), *causes] or [_nothing(context)]


# -- what keeps Kueue from looking at quotas at all ----------------------------------------------------------------------


def _gates(snapshot: Snapshot, workload: Object, declared: Declared | None) -> Iterator[Cause]:
    if not is_active(workload):
        yield _deactivated(workload)
    yield from _queues(snapshot, workload, declared)
    yield from _backoff(snapshot, workload)
    yield from _checks(workload)
    queue, space = snapshot.queue(workload), snapshot.namespaces.get(namespace_of(workload))
    if queue is not None and space is not None and not selected(labels_of(space), queue["spec"].get("namespaceSelector")):
        message = (
            f"queue {queue['metadata']['name']} takes no workloads of namespace {namespace_of(workload)}: its selector differs"
        )
        fix = Remedy("fix", "submit to a LocalQueue of the own team's namespace, or let the queue's namespaceSelector match it")
        numbers = {"namespaceSelector": queue["spec"].get("namespaceSelector"), "labels": dict(labels_of(space))}
        yield Cause(Reason.NAMESPACE, When.NEVER, message, remedies=(fix,), numbers=numbers)
    said = message_of(workload)
    if any(word in said for word in _INVALID):
        fix = Remedy("fix", "mend the pods' requests and limits, or the LimitRange of the namespace")
        yield Cause(Reason.INVALID, When.NEVER, f"Kueue refuses the pods' resources: {said}", remedies=(fix,))


def _deactivated(workload: Object) -> Cause:
    evicted = condition(workload, "Evicted")
    why = f": {evicted['message']}" if evicted.get("reason", "").startswith("Deactivated") and evicted.get("message") else ""
    fix = Remedy("change", f"set spec.active of Workload {full_name(workload)} to true", field="spec.active", value="true")
    return Cause(Reason.DEACTIVATED, When.NEVER, f"the workload is deactivated{why}", remedies=(fix,))


def _queues(snapshot: Snapshot, workload: Object, declared: Declared | None) -> Iterator[Cause]:
    namespace, name = namespace_of(workload), str(workload["spec"].get("queueName") or "")
    local = snapshot.local_queue(workload)
    if local is None:
        known = [one["metadata"]["name"] for one in snapshot.local_queues.values() if namespace_of(one) == namespace]
        hint = did_you_mean(name, known) or ("the namespace has no LocalQueue" if not known else "name another")
        value = known[0] if len(known) == 1 else ""
        fix = Remedy("fix", f"set the job's label {QUEUE_LABEL}: {hint}", field=QUEUE_LABEL, value=value)
        message = f"there is no LocalQueue {name or '(none named)'} in namespace {namespace}"
        yield Cause(Reason.WRONG_QUEUE, When.NEVER, message, remedies=(fix,), numbers={"queue": name, "known": known})
        return
    queue_name = str(local["spec"]["clusterQueue"])
    queue = snapshot.cluster_queues.get(queue_name)
    if queue is None:
        fix = Remedy("fix", f"make ClusterQueue {queue_name}: it is gone, or not deployed yet")
        message = f"LocalQueue {name} leads to ClusterQueue {queue_name}, which there isn't"
        yield Cause(Reason.WRONG_QUEUE, When.NEVER, message, remedies=(fix,), numbers={"cluster_queue": queue_name})
        return
    for item, kind, at in ((local, "LocalQueue", name), (queue, "ClusterQueue", queue_name)):
        policy = item["spec"].get("stopPolicy", "None")
        if policy != "None":
            yield _held(kind, at, policy, queue_name, declared)
    active = condition(queue, "Active")
    if active.get("status") == "False":
        fix = Remedy("fix", "make what it names, or take it out of the queue")
        message = f"ClusterQueue {queue_name} is inactive: {active.get('message', active.get('reason', ''))}"
        yield Cause(Reason.QUEUE_INACTIVE, When.NEVER, message, remedies=(fix,), numbers={"reason": active.get("reason", "")})


def _held(kind: str, name: str, policy: str, queue: str, declared: Declared | None) -> Cause:
    plan = declared.team(queue) if declared else None
    drains = "; what ran there was ended" if policy == "HoldAndDrain" else ""
    message = f"{kind} {name} is stopped ({policy}): it admits nothing{drains}"
    if plan is not None and declared is not None and plan.state != "active":
        where = declared.platform.where(plan.name, ("state",))
        text = f"set state of team {plan.name} from {plan.state} to active ({where})"
        fix = Remedy("change", text, file=str(where.file), field="state", value="active")
    else:
        fix = Remedy("change", f"set spec.stopPolicy of {kind} {name} to None", field="spec.stopPolicy", value="None")
    return Cause(Reason.QUEUE_HELD, When.NEVER, message, remedies=(fix,), numbers={"kind": kind, "stopPolicy": policy})


def _backoff(snapshot: Snapshot, workload: Object) -> Iterator[Cause]:
    requeued, state = condition(workload, "Requeued"), (workload.get("status") or {}).get("requeueState") or {}
    until = str(state.get("requeueAt") or "")
    if requeued.get("status") != "False" and not (until and until > snapshot.now):
        return
    reason, count = str(requeued.get("reason", "")), int(state.get("count") or 0)
    times = f", for the {count}. time" if count > 1 else ""
    numbers = {"requeue_at": until, "count": count, "kueue_reason": reason}
    wait = Remedy("wait", f"wait: it queues again at {until}") if until else Remedy("wait", "wait: Kueue puts it back by itself")
    if reason == "PodsReadyTimeout":
        message = f"not all of its pods were ready in time{times}; it was evicted and waits for its next try"
        fix = Remedy("fix", "find out why its pods don't become ready, or raise the gang timeout (waitForPodsReady)")
        yield Cause(Reason.GANG_TIMEOUT, When.LATER, message, remedies=(wait, fix), numbers=numbers)
    elif reason not in ("Deactivated", "ClusterQueueStopped", "LocalQueueStopped", "Preempted"):
        said = requeued.get("message") or condition(workload, "Evicted").get("message", "")
        yield Cause(Reason.BACKOFF, When.LATER, f"it was evicted{times} and waits: {said}", remedies=(wait,), numbers=numbers)


def _checks(workload: Object) -> Iterator[Cause]:
    checks = (workload.get("status") or {}).get("admissionChecks") or ()
    bad = [one for one in checks if one.get("state") in ("Retry", "Rejected")]
    if bad:
        named = "; ".join(f"{one['name']} {one['state']}: {one.get('message', '')}" for one in bad)
        rejected = any(one["state"] == "Rejected" for one in bad)
        what = Remedy("fix", "mend what the check complains of") if rejected else Remedy("wait", "wait for the check's next try")
        when = When.NEVER if rejected else When.LATER
        states = {one["name"]: one["state"] for one in checks}
        yield Cause(
            Reason.ADMISSION_CHECK, when, f"admission checks failed: {named}", remedies=(what,), numbers={"checks": states}
        )


# -- what passes by itself -----------------------------------------------------------------------------------------------


def _passing(context: Context) -> Iterator[Cause]:
    said = message_of(context.workload)
    found = PREEMPTING.search(said)
    if found:
        leaving = _leaving(context)
        yield _preempting(context, leaving, int(found[1])) if leaving else _lost_preemption(context, int(found[1]))
    if _UNREADY in said:
        late = [one for one in context.snapshot.workloads.values() if holds_quota(one) and not is_true(one, "PodsReady")]
        message = (
            f"Kueue admits one after the other, and waits for the pods of {', '.join(shown(one) for one in late) or 'others'}"
        )
        wait = Remedy("wait", "wait until their pods are ready, or time out", workloads=tuple(full_name(one) for one in late))
        yield Cause(Reason.GANG_TIMEOUT, When.LATER, message, remedies=(wait,))


def _leaving(context: Context) -> list[Object]:
    """Workloads that are preempted for it and hold quota still. Kueue also counts those that others have preempted: where
    there are none of its own, these are all of its queue and cohort that are evicted."""
    evicted = [one for one in context.snapshot.workloads.values() if is_true(one, "Evicted") and holds_quota(one)]
    uid = context.workload["metadata"].get("uid", "-")
    own = [one for one in evicted if uid in condition(one, "Preempted").get("message", "")]
    near = {context.name, *context.quotas.siblings(context.name)}
    return own or [one for one in evicted if context.snapshot.queue_name(one) in near]


def _preempting(context: Context, leaving: list[Object], count: int) -> Cause:
    named = ", ".join(f"{shown(one)} ({context.owner(context.snapshot.queue_name(one))})" for one in leaving)
    message = f"Kueue preempts {count} workloads for it and waits until their pods have gone: {named}"
    wait = Remedy("wait", "wait: pods end within their grace period", workloads=tuple(full_name(one) for one in leaving))
    return Cause(Reason.PREEMPTING, When.LATER, message, remedies=(wait,), numbers={"workloads": count})


def _lost_preemption(context: Context, count: int) -> Cause:
    """Kueue writes admissions in the background. Where it preempts what it has just admitted, the late admission can overwrite
    the eviction, and Kueue doesn't evict anew: it remembers that it has (`IssuePreemptions` in pkg/scheduler/preemption, 0.16.6).
    """
    message = (
        f"Kueue waits for {count} workloads that it has preempted for it, and none is evicted: if this stays, it has overwritten "
        f"the eviction itself, and comes to nobody else in queue {context.name} until those workloads end"
    )
    restart = "restart Kueue's manager, which then preempts anew: kubectl --namespace kueue-system rollout restart deployment"
    return Cause(Reason.PREEMPTION_LOST, When.LATER, message, remedies=(Remedy("fix", restart),), numbers={"workloads": count})


def _order(context: Context, unfit: bool) -> Iterator[Cause]:
    """Others of its queue that come first: all of them in a strict queue, those that want the same in any other."""
    ahead = context.ahead()
    strict = context.queue["spec"].get("queueingStrategy") == "StrictFIFO"
    if not strict:
        flavors = _flavors(context, context.workload)
        ahead = [one for one in ahead if not flavors.isdisjoint(_flavors(context, one))]
    contended = any(words in message_of(context.workload) for words in _CONTENDED)
    head = context.preempting()
    if head is not None and not strict and not PREEMPTING.search(message_of(context.workload)):
        message = f"Kueue preempts for {shown(head)} of the same queue, and comes to nobody else there until it has the quota"
        wait = Remedy(
            "wait",
            f"wait until it is admitted; `hpctl why {name_of(head)} --namespace {namespace_of(head)}` says more",
            workloads=(full_name(head),),
        )
        yield Cause(Reason.PRIORITY_BEHIND, When.LATER, message, remedies=(wait,), numbers={"ahead": [full_name(head)]})
        return
    if not ahead or not (strict or contended or unfit):
        return
    how = "the queue is strictly first in, first out" if strict else "what becomes free goes to them first"
    message = f"{len(ahead)} of {context.who} come before it ({priority_words(context.workload)}): {behind(ahead)}; {how}"
    remedies = (
        Remedy("wait", "wait until they are admitted, or end", workloads=tuple(full_name(one) for one in ahead)),
        Remedy("change", "give it a higher priority class than theirs", field=PRIORITY_LABEL),
    )
    numbers = {"ahead": [full_name(one) for one in ahead], "strict": strict}
    yield Cause(Reason.PRIORITY_BEHIND, When.LATER, message, remedies=remedies, numbers=numbers)


def _flavors(context: Context, workload: Object) -> set[str]:
    """Flavors that suit some of a workload's pods."""
    choices = demand(context.snapshot, workload, context.queue).choices
    return {option.flavor for choice in choices for option in choice.options if not option.mismatch}


def _nothing(context: Context) -> Cause:
    """It would fit by all that was read."""
    said = message_of(context.workload)
    numbers = {"looked": bool(condition(context.workload, "QuotaReserved"))}
    if any(words in said for words in _CONTENDED):
        rivals = [one for one in context.waiting() if context.snapshot.queue_name(one) in context.quotas.siblings(context.name)]
        message = f"others of its cohort were served first in Kueue's last round: {behind(rivals) or 'which have gone since'}"
        wait = Remedy("wait", "wait: Kueue tries again as soon as something changes")
        reason = Reason.FAIR_SHARE_BEHIND if context.fair() else Reason.PRIORITY_BEHIND
        return Cause(reason, When.LATER, message, remedies=(wait,), numbers=numbers)
    if said and "insufficient unused quota" not in said and "topology" not in said:
        return Cause(Reason.UNEXPLAINED, When.LATER, f"by its numbers it would fit; Kueue says: {said}", numbers=numbers)
    message = "it fits now; Kueue hasn't looked at it" + (" again yet" if said else " yet")
    wait = Remedy("wait", "wait a moment; if this stays, look whether Kueue's manager runs")
    return Cause(Reason.NOT_SEEN_YET, When.LATER, message, remedies=(wait,), numbers=numbers)
