"""What single objects of Kueue's say, tolerant of fields that other versions leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from governance.sharing import Cell
from governance.units import total
from live.podamounts import Amounts, amounts_of, pod_amounts

Object = Mapping[str, Any]
TOPOLOGY_FIELDS: Final = ("required", "preferred", "unconstrained", "podSetSliceRequiredTopology")


def condition(item: Object, kind: str) -> Object:
    """A condition; empty where there is none of that type."""
    found: Iterable[Object] = (item.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one["type"] == kind), {})


def message_of(workload: Object) -> str:
    """Kueue's own words on why no quota is reserved."""
    reserved = condition(workload, "QuotaReserved")
    return str(reserved.get("message", "")) if reserved.get("status") == "False" else ""


def is_true(item: Object, kind: str) -> bool:
    return condition(item, kind).get("status") == "True"


def name_of(item: Object) -> str:
    return str(item["metadata"]["name"])


def namespace_of(item: Object) -> str:
    return str(item["metadata"].get("namespace", ""))


def uid_of(item: Object) -> str:
    return str(item["metadata"].get("uid", ""))


def labels_of(item: Object) -> Mapping[str, str]:
    return item["metadata"].get("labels") or {}


def owners_of(item: Object) -> list[Object]:
    return list(item["metadata"].get("ownerReferences") or ())


def full_name(item: Object) -> str:
    """`namespace/name`."""
    return f"{namespace_of(item)}/{name_of(item)}"


def job_of(workload: Object) -> str:
    """`Kind/name` of the job that a Workload stands for; its own where nobody owns it."""
    owners = owners_of(workload)
    if not owners:
        return f"Workload/{name_of(workload)}"
    owner = next((one for one in owners if one.get("controller")), owners[0])
    return f"{owner['kind']}/{owner['name']}"


def shown(workload: Object) -> str:
    """How a workload is told to people: its job with its namespace."""
    return f"{namespace_of(workload)}/{job_of(workload).partition('/')[2]}"


def is_active(workload: Object) -> bool:
    return workload["spec"].get("active", True) is not False


def is_finished(workload: Object) -> bool:
    return is_true(workload, "Finished")


def holds_quota(workload: Object) -> bool:
    """Whether its usage counts."""
    return is_true(workload, "QuotaReserved") and bool(admission(workload)) and not is_finished(workload)


def admission(workload: Object) -> Object:
    return (workload.get("status") or {}).get("admission") or {}


def priority_of(workload: Object) -> int:
    return int(workload["spec"].get("priority") or 0)


def pod_sets(workload: Object) -> list[Object]:
    return list(workload["spec"].get("podSets") or ())


def requests_of(workload: Object) -> dict[str, Amounts]:
    """What each pod set asks for in all, as Kueue counts it: what it excludes or transforms is done already where it says so."""
    said = (workload.get("status") or {}).get("resourceRequests") or ()
    counted = {one["name"]: amounts_of(one.get("resources")) for one in said}
    return {
        one["name"]: counted[one["name"]]
        if one["name"] in counted
        else {name: amount * int(one.get("count", 1)) for name, amount in pod_amounts(one["template"]["spec"]).items()}
        for one in pod_sets(workload)
    }


def usage_of(workload: Object) -> dict[Cell, int]:
    """What it holds by flavor and resource, less what finished pods have given back."""
    freed = {one["name"]: int(one["count"]) for one in (workload.get("status") or {}).get("reclaimablePods") or ()}
    parts: list[dict[Cell, int]] = []
    for assigned in admission(workload).get("podSetAssignments") or ():
        flavors = assigned.get("flavors") or {}
        count = int(assigned.get("count") or 0)
        left = count - freed.get(assigned["name"], 0)
        used = amounts_of(assigned.get("resourceUsage"))
        parts.append({(flavors[r], r): n * left // count if count else n for r, n in used.items() if r in flavors})
    found: dict[Cell, int] = {}
    for part in parts:
        for cell, amount in part.items():
            found[cell] = found.get(cell, 0) + amount
    return found


def asks_topology(pod_set: Object) -> bool:
    """Whether a pod set asks for a topology by itself."""
    return any((pod_set.get("topologyRequest") or {}).get(name) for name in TOPOLOGY_FIELDS)


def domains_of(assigned: Object) -> list[tuple[tuple[str, ...], int]]:
    """The topology domains of a pod set's assignment with the pods in each, in either spelling of Kueue's API."""
    topology = assigned.get("topologyAssignment") or {}
    found = [(tuple(one["values"]), int(one["count"])) for one in topology.get("domains") or ()]  # v1beta1
    for piece in topology.get("slices") or ():
        counts = piece.get("podCounts") or {}
        for index in range(int(piece["domainCount"])):
            values = tuple(_value(level, index) for level in piece["valuesPerLevel"])
            pods = counts["universal"] if "universal" in counts else counts["individual"][index]
            found.append((values, int(pods)))
    return found


def _value(level: Object, index: int) -> str:
    if "universal" in level:
        return str(level["universal"])
    each = level["individual"]
    return f"{each.get('prefix', '')}{each['roots'][index]}{each.get('suffix', '')}"


def queued_at(workload: Object) -> str:
    """The time by which Kueue orders a queue: of the creation, or of the last eviction for pods that weren't ready in time."""
    evicted = condition(workload, "Evicted")
    if evicted.get("status") == "True" and evicted.get("reason") == "PodsReadyTimeout":
        return str(evicted.get("lastTransitionTime", ""))
    return str(workload["metadata"].get("creationTimestamp", ""))


def queue_order(workload: Object) -> tuple[int, str, str]:
    """Kueue's order within a queue: high priority first, then the older one."""
    return (-priority_of(workload), queued_at(workload), uid_of(workload))


def selected(labels: Mapping[str, str], selector: Object | None) -> bool:
    """Whether a label selector matches; none at all matches nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    return wanted.items() <= dict(labels).items() and all(
        matches(labels, expression) for expression in selector.get("matchExpressions") or ()
    )


def matches(labels: Mapping[str, str], expression: Object) -> bool:
    """Whether labels satisfy one requirement of a label selector or of a node affinity."""
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    have = labels.get(key)
    match operator:
        case "In":
            return have in values
        case "NotIn":
            return have not in values
        case "Exists":
            return have is not None
        case "DoesNotExist":
            return have is None
        case "Gt" | "Lt":
            if have is None or not _whole(have) or not values or not _whole(values[0]):
                return False
            return int(have) > int(values[0]) if operator == "Gt" else int(have) < int(values[0])
    return False


def _whole(text: str) -> bool:
    return text.lstrip("-").isdigit()


def untolerated(taints: Iterable[Object], tolerations: Iterable[Object]) -> str:
    """The first taint that keeps pods away, `key=value:effect`; empty where all are tolerated."""
    known = list(tolerations)
    for taint in taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not any(_tolerates(one, taint) for one in known):
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"{taint['key']}{value}:{taint['effect']}"
    return ""


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def all_requests(workload: Object) -> Amounts:
    """What all pod sets ask for together."""
    return total(requests_of(workload).values())
