"""Which flavors of a queue suit a pod set, by what Kueue looks at: topology, taints, labels (pkg/scheduler/flavorassigner)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from governance.sharing import Cell
from live.podamounts import Amounts
from live.why.objects import Object, asks_topology, matches, pod_sets, requests_of, untolerated
from live.why.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Option:
    """One flavor for a pod set's resources of one resource group."""

    flavor: str
    needs: Mapping[Cell, int]
    mismatch: str = ""
    """Why the flavor doesn't suit the pods; empty where it does."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A pod set's resources of one group, and the flavors of the queue that could serve them, in its order."""

    pod_set: Object
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Demand:
    """What a workload asks of its queue."""

    choices: tuple[Choice, ...]
    uncovered: tuple[str, ...]
    """Resources that no group of the queue covers."""


def demand(snapshot: Snapshot, workload: Object, queue: Object) -> Demand:
    """The workload's pod sets against the queue's resource groups. Resources of amount 0 need no quota."""
    groups = queue["spec"].get("resourceGroups") or []
    covered = {resource for group in groups for resource in group["coveredResources"]}
    tas_only = bool(groups) and all(_topology(snapshot, one["name"]) for group in groups for one in group["flavors"])
    choices: list[Choice] = []
    uncovered: dict[str, None] = {}
    for pod_set in pod_sets(workload):
        asked = {name: amount for name, amount in requests_of(workload)[pod_set["name"]].items() if amount}
        if "pods" in covered:
            asked["pods"] = int(pod_set.get("count", 1))
        uncovered |= dict.fromkeys(sorted(asked.keys() - covered))
        for group in groups:
            part = {name: amount for name, amount in asked.items() if name in group["coveredResources"]}
            if part:
                choices.append(Choice(pod_set, _options(snapshot, pod_set, part, group, tas_only=tas_only)))
    return Demand(tuple(choices), tuple(uncovered))


def _options(snapshot: Snapshot, pod_set: Object, part: Amounts, group: Object, *, tas_only: bool) -> tuple[Option, ...]:
    names = [one["name"] for one in group["flavors"]]
    keys = {key for name in names for key in _spec(snapshot, name).get("nodeLabels") or {}}
    return tuple(
        Option(name, {(name, r): n for r, n in part.items()}, mismatch(snapshot, pod_set, name, keys, tas_only=tas_only))
        for name in names
    )


def mismatch(snapshot: Snapshot, pod_set: Object, flavor: str, keys: Collection[str], *, tas_only: bool) -> str:
    """Why a flavor doesn't suit the pods, empty where it does. Of selectors, the labels that the group's flavors name count."""
    if flavor not in snapshot.flavors:
        return f"there is no ResourceFlavor {flavor}"
    spec = _spec(snapshot, flavor)
    levels = _levels(snapshot, flavor)
    if asks_topology(pod_set):
        wanted = _wanted_levels(pod_set["topologyRequest"])
        if not spec.get("topologyName"):
            return f"flavor {flavor} has no topology, and the pods ask for one"
        missing = [level for level in wanted if level not in levels]
        if missing:
            return f"the topology {spec['topologyName']} of flavor {flavor} has no level {missing[0]}: it has {', '.join(levels)}"
    elif spec.get("topologyName") and not tas_only:
        return f"flavor {flavor} takes only pods that ask for a topology, and these ask for none"
    pod = pod_set["template"]["spec"]
    taint = untolerated(spec.get("nodeTaints") or (), [*(pod.get("tolerations") or ()), *(spec.get("tolerations") or ())])
    if taint:
        return f"the pods don't tolerate the taint {taint} of flavor {flavor}"
    labels = spec.get("nodeLabels") or {}
    for key, value in (pod.get("nodeSelector") or {}).items():
        if key in keys and labels.get(key) != value:
            return f"the pods select nodes with {key}={value}, flavor {flavor} is {key}={labels.get(key, '(none)')}"
    if not _affine(pod, labels, keys):
        return f"the pods' node affinity excludes flavor {flavor}"
    return ""


def _affine(pod: Object, labels: Mapping[str, str], keys: Collection[str]) -> bool:
    """Required node affinity, of which only these keys count; a term without any of them matches everything."""
    terms = affinity_terms(pod)
    if not terms:
        return True
    reduced = [[one for one in term.get("matchExpressions") or () if one["key"] in keys] for term in terms]
    return any(not term or all(matches(labels, one) for one in term) for term in reduced)


def affinity_terms(pod: Object) -> Sequence[Object]:
    """The terms of a pod's required node affinity."""
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    return (affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()


def _wanted_levels(request: Object) -> list[str]:
    named = (request.get("required"), request.get("preferred"), request.get("podSetSliceRequiredTopology"))
    return [level for level in named if level]


def _spec(snapshot: Snapshot, flavor: str) -> Object:
    return (snapshot.flavors.get(flavor) or {}).get("spec") or {}


def _topology(snapshot: Snapshot, flavor: str) -> str:
    return str(_spec(snapshot, flavor).get("topologyName") or "")


def _levels(snapshot: Snapshot, flavor: str) -> tuple[str, ...]:
    return levels_of(snapshot.topologies.get(_topology(snapshot, flavor)))


def levels_of(topology: Object | None) -> tuple[str, ...]:
    """Node labels of a topology, farthest layer first."""
    return tuple(level["nodeLabel"] for level in topology["spec"]["levels"]) if topology else ()


def topology_of(snapshot: Snapshot, flavor: str) -> Object | None:
    """The Topology of a flavor; None where it has none, or names one that there isn't."""
    return snapshot.topologies.get(_topology(snapshot, flavor))
