"""What Kueue has decided about a workload, read from Kueue's own objects (`kueue.x-k8s.io/v1beta2`).

Verdicts that a case may expect:

* `admitted`: the Workload is admitted, within what its ClusterQueue owns.
* `borrowed`: admitted, and its ClusterQueue borrows for it. Kueue counts what a queue borrows, not which workload does; so of a
  queue that borrows, those are meant that Kueue would take back first: of the lowest priority, then the latest.
* `pending`: no quota is reserved, and Kueue has said why.
* `preempted`: evicted for another workload, and not admitted again since.
* `finished`: the job ended well.

Each pod of a Deployment has a Workload of its own; the verdict is what they all say. That of an elastic job is its base's.

Verdicts that nobody expects: `evicted` (for another reason than preemption), `failed` (the job ended badly), `undecided` (none of
these, at least not yet). The runner adds `refused`, `unplaced`, `scattered` and `partly`, see `simulation.rows`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from governance.units import is_device

if TYPE_CHECKING:
    from decimal import Decimal

Object = Mapping[str, Any]
Cell = tuple[str, str]
"""A flavor and a resource."""

UNDECIDED: Final = "undecided"
_STILL_PREEMPTING: Final = "Pending the preemption of"


@dataclass(frozen=True, slots=True)
class Reading:
    """A verdict, and the reason in Kueue's words."""

    verdict: str
    reason: str


def read(workload: Object | None, queue: Object, holders: Sequence[Object]) -> Reading:
    """The verdict on one Workload.

    `queue` is its ClusterQueue, `holders` are all Workloads that hold quota in it (the workload itself may be among them).
    """
    if workload is None:
        return Reading(UNDECIDED, "Kueue has made no Workload of the job yet")
    finished, evicted = condition(workload, "Finished"), condition(workload, "Evicted")
    reserved, admitted = condition(workload, "QuotaReserved"), condition(workload, "Admitted")
    if _is(finished):
        return Reading("finished" if finished.get("reason") == "Succeeded" else "failed", finished.get("message", ""))
    if _is(reserved) and _is(evicted):
        return Reading(UNDECIDED, f"is being evicted: {evicted.get('message', '')}")
    if _is(reserved) and _is(admitted):
        return _holding(workload, queue, holders, reserved.get("message", ""))
    if _is(evicted):
        return _evicted(workload, evicted)
    message = reserved.get("message", "")
    if reserved and not _is(reserved) and _STILL_PREEMPTING not in message:
        return Reading("pending", message)
    return Reading(UNDECIDED, message or "Kueue has not looked at the Workload yet")


def condition(item: Object, kind: str) -> Object:
    """A condition of an object; empty where it has none of that type."""
    found: Iterable[Object] = item.get("status", {}).get("conditions", ())
    return next((one for one in found if one["type"] == kind), {})


def owners(item: Object) -> set[str]:
    """UIDs of an object's owners."""
    return {owner["uid"] for owner in item["metadata"].get("ownerReferences", ())}


def queue_of(workload: Object) -> str:
    """The ClusterQueue in which the Workload holds quota; empty where it holds none."""
    return str(workload.get("status", {}).get("admission", {}).get("clusterQueue", ""))


def flavors_of(workload: Object) -> set[str]:
    """The flavors that the Workload is assigned to."""
    assigned = workload.get("status", {}).get("admission", {}).get("podSetAssignments", ())
    return {flavor for pod_set in assigned for flavor in pod_set.get("flavors", {}).values()}


def _is(found: Object) -> bool:
    return found.get("status") == "True"


def _evicted(workload: Object, evicted: Object) -> Reading:
    if evicted.get("reason") != "Preempted":
        return Reading("evicted", evicted.get("message", ""))
    preempted = condition(workload, "Preempted")
    return Reading("preempted", preempted.get("message") or evicted.get("message", ""))


def _holding(workload: Object, queue: Object, holders: Sequence[Object], message: str) -> Reading:
    """Admitted or borrowed. Workload and queue are written one after the other: until they agree, nothing is told."""
    borrowed = borrowed_amounts(queue)
    borrowers = borrowing(queue, holders)
    if bool(borrowed) != bool(borrowers):
        return Reading(UNDECIDED, f"{message}; its ClusterQueue has not counted it yet")
    if workload["metadata"]["uid"] not in borrowers:
        return Reading("admitted", message)
    cells = [cell for cell in borrowed if is_device(cell[1])] or list(borrowed)
    amounts = ", ".join(f"{borrowed[cell]} of {cell[1]} in flavor {cell[0]}" for cell in cells)
    return Reading("borrowed", f"{message}, which borrows {amounts}")


def borrowed_amounts(queue: Object) -> dict[Cell, str]:
    """What the ClusterQueue's status says that it borrows, as quantities; cells that borrow nothing are left out."""
    return {
        (flavor["name"], resource["name"]): resource["borrowed"]
        for flavor in queue.get("status", {}).get("flavorsReservation", ())
        for resource in flavor["resources"]
        if _number(resource.get("borrowed", "0"))
    }


def borrowing(queue: Object, holders: Sequence[Object]) -> set[str]:
    """UIDs of the Workloads for which the queue borrows: those beyond its own quota, in the order in which Kueue keeps them."""
    own = {
        (flavor["name"], resource["name"]): _number(resource["nominalQuota"])
        for group in queue["spec"].get("resourceGroups", ())
        for flavor in group["flavors"]
        for resource in flavor["resources"]
    }
    used: dict[Cell, Decimal] = {}
    found = set()
    for workload in sorted(holders, key=_kept_first, reverse=True):
        usage = _usage(workload)
        for cell, amount in usage.items():
            used[cell] = used[cell] + amount if cell in used else amount
        if any(used[cell] > own.get(cell, 0) for cell in usage):
            found.add(workload["metadata"]["uid"])
    return found


def _kept_first(workload: Object) -> tuple[Any, ...]:
    """Kueue preempts in the opposite order (pkg/scheduler/preemption/common/ordering.go): low priority, then late, then UID."""
    late = condition(workload, "QuotaReserved").get("lastTransitionTime", "")
    return (workload["spec"].get("priority", 0), _earlier_is_more(late), workload["metadata"]["uid"])


def _earlier_is_more(time: str) -> tuple[int, ...]:
    """A sort key that is greater for an earlier RFC 3339 time."""
    return tuple(-ord(character) for character in time)


def _usage(workload: Object) -> dict[Cell, Decimal]:
    """What the Workload holds, less what its finished pods have given back."""
    freed = {pod_set["name"]: pod_set["count"] for pod_set in workload["status"].get("reclaimablePods", ())}
    used: dict[Cell, Decimal] = {}
    for pod_set in workload["status"].get("admission", {}).get("podSetAssignments", ()):
        count = pod_set.get("count", 0)
        left = count - freed.get(pod_set["name"], 0)
        for resource, amount in pod_set.get("resourceUsage", {}).items():
            cell = (pod_set["flavors"][resource], resource)
            held = _number(amount) * left / count if count else _number(amount)
            used[cell] = used[cell] + held if cell in used else held
    return used


def _number(amount: str | int) -> Decimal:
    from kubernetes.utils.quantity import parse_quantity

    number: Decimal = parse_quantity(amount)
    return number
