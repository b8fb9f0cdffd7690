"""Why a job has no Workload, so that Kueue neither queues nor admits it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from config.findings import did_you_mean
from governance.names import PRIORITY_LABEL, QUEUE_LABEL
from live.why.model import Cause, Reason, Remedy, When
from live.why.objects import Object, labels_of, name_of, namespace_of, selected
from live.why.snapshot import Snapshot

_DEFAULT_QUEUE: Final = "default"
"""The LocalQueue that jobs without a label get, where there is one."""


def unqueued(snapshot: Snapshot, job: Object, events: Sequence[Object]) -> list[Cause]:
    """Why Kueue has made no Workload of the job; never empty."""
    return list(_causes(snapshot, job, events)) or [_not_yet(job)]


def _causes(snapshot: Snapshot, job: Object, events: Sequence[Object]) -> Iterator[Cause]:
    labels, namespace = labels_of(job), namespace_of(job)
    queues = [name_of(one) for one in snapshot.local_queues.values() if namespace_of(one) == namespace]
    space = snapshot.namespaces.get(namespace)
    selector = snapshot.namespace_selector
    if selector is not None and space is not None and not selected(labels_of(space), selector):
        message = f"Kueue doesn't look after namespace {namespace}: its managedJobsNamespaceSelector doesn't match"
        fix = Remedy("fix", "submit to the team's namespace, or give the namespace the labels that are selected")
        numbers = {"selector": selector, "labels": dict(labels_of(space))}
        yield Cause(Reason.NAMESPACE, When.NEVER, message, remedies=(fix,), numbers=numbers)
        return
    queue = labels.get(QUEUE_LABEL)
    if queue is None and _DEFAULT_QUEUE not in queues:
        suspended = " It is suspended, and nobody but a person resumes it." if (job.get("spec") or {}).get("suspend") else ""
        message = f"the job has no label {QUEUE_LABEL}, so Kueue lets it be.{suspended}"
        value = queues[0] if len(queues) == 1 else ""
        hint = f"one of {', '.join(queues)}" if queues else "but the namespace has no LocalQueue"
        fix = Remedy("fix", f"submit it with the label {QUEUE_LABEL}: {hint}", field=QUEUE_LABEL, value=value)
        yield Cause(Reason.NO_QUEUE_NAME, When.NEVER, message, remedies=(fix,), numbers={"queues": queues})
    name = labels.get(PRIORITY_LABEL)
    if name is not None and name not in snapshot.classes:
        known = sorted(snapshot.classes)
        hint = did_you_mean(name, known) or "name one that there is"
        fix = Remedy("fix", f"submit it with another label {PRIORITY_LABEL}: {hint}", field=PRIORITY_LABEL)
        message = f"there is no WorkloadPriorityClass {name}, so Kueue makes no Workload of the job"
        yield Cause(Reason.WRONG_PRIORITY_CLASS, When.NEVER, message, remedies=(fix,), numbers={"class": name, "known": known})
    refused = next((one for one in reversed(events) if one.get("type") == "Warning"), None)
    if refused is not None and name in (None, *snapshot.classes):
        message = f"{refused.get('reason', 'refused')}: {refused.get('message', '')}"
        fix = Remedy("fix", "mend what is refused, and submit it again")
        yield Cause(Reason.REFUSED, When.NEVER, message, remedies=(fix,), numbers={"event": str(refused.get("reason", ""))})


def _not_yet(job: Object) -> Cause:
    message = f"Kueue has made no Workload of {job['kind']}/{name_of(job)} yet"
    look = Remedy("wait", f"wait a moment; if this stays, look whether Kueue runs and integrates the kind {job['kind']}")
    return Cause(Reason.NOT_SEEN_YET, When.LATER, message, remedies=(look,))
