"""Jobs of a manager: which worker has one, or which were asked, and whether any could ever run it (Kueue's MultiKueue)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from governance.units import CPU, MEMORY, PODS, total
from live.why.amounts import quantity_of, words
from live.why.context import Context
from live.why.model import Cause, Reason, Remedy, When
from live.why.objects import Object, condition, holds_quota, is_true, name_of, namespace_of, requests_of
from live.why.snapshot import Snapshot

CONTROLLER: Final = "kueue.x-k8s.io/multikueue"
"""Of the AdmissionChecks that hand jobs to workers."""
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Dispatch:
    """How far a workload has come on its way to a worker."""

    worker: str = ""
    """That has taken it; empty before."""
    offered: tuple[str, ...] = ()
    """Workers that were asked, and haven't taken it."""
    lost: Mapping[str, str] = field(default_factory=dict)
    """Of those, the ones out of reach, with Kueue's words."""


def dispatch_of(context: Context) -> Dispatch | None:
    """None on a cluster that runs jobs itself."""
    status = context.workload.get("status") or {}
    worker, offered = str(status.get("clusterName") or ""), tuple(sorted(status.get("nominatedClusterNames") or ()))
    if not (worker or offered or dispatches(context)):
        return None
    meant = {worker} if worker else {*offered, *_workers(context)}
    return Dispatch(worker, offered, {name: said for name, said in _lost(context.snapshot).items() if name in meant})


def dispatches(context: Context) -> bool:
    """Whether the queue hands jobs to workers: by its checks, and by the declaration where those may not be read."""
    if context.declared is not None and context.declared.cluster.dispatch is not None:
        return True
    return bool(_checks(context))


def to_be_dispatched(workload: Object) -> bool:
    """Whether it holds the manager's quota, and no worker has taken it."""
    return holds_quota(workload) and not is_true(workload, "Admitted")


def undispatched(context: Context, found: Dispatch) -> Iterator[Cause]:
    """Why no worker has taken it."""
    own = {name_of(one) for one in _checks(context)}
    first = [one for one in context.workload["status"].get("admissionChecks") or () if own and one["name"] not in own]
    named = ", ".join(str(one["name"]) for one in first if one.get("state") != "Ready")
    if named:
        wait = Remedy("wait", "wait for the checks, or ask who runs their controllers")
        message = f"workers are asked once other checks are ready: {named}"
        yield Cause(Reason.ADMISSION_CHECK, When.LATER, message, remedies=(wait,), numbers={"checks": named.split(", ")})
        return
    lost = "; ".join(f"{name} is out of reach: {said}" for name, said in found.lost.items())
    asked = [name for name in found.offered if name not in found.lost]
    numbers = {"offered": list(found.offered), "lost": dict(found.lost)}
    if asked:
        message = f"no worker has room for it: it is offered to {', '.join(asked)}" + (f"; {lost}" if lost else "")
        commands = ", ".join(ask_there(context, name) for name in asked)
        wait = Remedy("wait", f"wait until one has; each says why it hasn't yet: {commands}")
        yield Cause(Reason.NO_WORKER, When.LATER, message, remedies=(wait,), numbers=numbers)
        return
    message = f"no worker can be asked: {lost}" if lost else "no worker has been asked yet"
    fix = Remedy("fix", "bring the workers back, or mend the manager's way to them") if lost else Remedy("wait", "wait a moment")
    yield Cause(Reason.NO_WORKER, When.LATER, message, remedies=(fix,), numbers=numbers)


def oversized(context: Context) -> Iterator[Cause]:
    """What no worker's quotas ever allow one job, though all of them together do. Known where the declaration is."""
    declared = context.declared
    plan = declared.team(context.name) if declared else None
    if declared is None or declared.cluster.dispatch is None or plan is None:
        return
    workers = ", ".join(declared.cluster.dispatch.workers_of(plan.name))
    for resource, asked, alone in _asked(context.workload):
        unit = _MIB if resource == MEMORY else 1
        flavors = [amount * unit for cell, amount in plan.largest.items() if cell[1] == resource]
        if not flavors or resource == PODS:
            continue
        most = max(flavors) if alone else sum(flavors)
        if asked <= most:
            continue
        message = (
            f"no worker can ever run it: it asks for {words(resource, asked)}, and of {workers} none has more than "
            f"{words(resource, most)} for a job of {context.who}, even with all others idle"
        )
        if holds_quota(context.workload):
            message += "; until it is deleted, it holds that much of the manager's quota"
        value = f"{resource}={quantity_of(resource, most)}"
        lower = Remedy("lower", f"lower its requests to at most {words(resource, most)} in all", field="requests", value=value)
        where = declared.file(plan.name)
        text = f"raise quota or limits of {context.who} on one worker ({where})"
        more = Remedy("change", text, file=where, field="cluster_quota")
        numbers = {"resource": resource, "asked": quantity_of(resource, asked), "largest": quantity_of(resource, most)}
        yield Cause(Reason.NEVER_FITS, When.NEVER, message, remedies=(lower, more), numbers=numbers)
        return


def _asked(workload: Object) -> list[tuple[str, int, bool]]:
    """Amounts of all its pods together, and of each pod set, which has one flavor (True); accelerators first, they tell most."""
    sets = requests_of(workload).values()
    found = [(resource, amount, False) for resource, amount in total(sets).items()]
    found += [(resource, amount, True) for amounts in sets for resource, amount in amounts.items()]
    return sorted(found, key=lambda one: one[0] in (CPU, MEMORY))


def ask_there(context: Context, worker: str) -> str:
    """The command that asks a worker. The Workload has one name everywhere; its job isn't on a worker before it runs there."""
    stack = f" --stack {context.declared.platform.name}" if context.declared else ""
    return f"`hpctl why {name_of(context.workload)} --namespace {namespace_of(context.workload)}{stack} --cluster {worker}`"


def _checks(context: Context) -> list[Object]:
    """The queue's checks that hand jobs to workers."""
    rules: Sequence[Object] = (context.queue["spec"].get("admissionChecksStrategy") or {}).get("admissionChecks") or ()
    known = (context.snapshot.checks.get(str(one["name"])) for one in rules)
    return [one for one in known if one is not None and one["spec"].get("controllerName") == CONTROLLER]


def _workers(context: Context) -> set[str]:
    """Those that the queue's checks name."""
    named = (str((check["spec"].get("parameters") or {}).get("name", "")) for check in _checks(context))
    return {str(worker) for name in named for worker in (context.snapshot.worker_sets.get(name) or _NONE)["spec"]["clusters"]}


_NONE: Final[Object] = {"spec": {"clusters": ()}}


def _lost(snapshot: Snapshot) -> dict[str, str]:
    """Workers that the manager doesn't reach."""
    active = {name: condition(one, "Active") for name, one in snapshot.workers.items()}
    return {name: str(one.get("message", "")) for name, one in active.items() if one.get("status") == "False"}
