"""Where pods would have room: Kueue's topology-aware placement, counted over blocks of nodes.

As in Kueue (pkg/cache/scheduler/tas_flavor_snapshot.go), a node takes part if it is ready, schedulable, has the flavor's labels
and one of every level; its room is what pods can have there, less what admitted workloads were given and other pods use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from config.environment import HOSTNAME
from governance.units import PODS, times, total
from live.why.amounts import Amounts, amounts_of, minus, pod_amounts, pods_that_fit
from live.why.flavors import affinity_terms, levels_of, topology_of
from live.why.objects import (
    Object,
    admission,
    domains_of,
    holds_quota,
    is_true,
    labels_of,
    matches,
    name_of,
    pod_sets,
    uid_of,
    untolerated,
)
from live.why.snapshot import Snapshot

UNLABELLED: Final = "lacks labels of the topology"
_TAS: Final = (
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-unconstrained-topology",
)
_TAS_LABEL: Final = "kueue.x-k8s.io/tas"


@dataclass(frozen=True, slots=True)
class Room:
    """One node of a flavor as a pod set sees it."""

    node: str
    domain: tuple[str, ...]
    """Values of the topology's levels, farthest first; empty where it lacks one."""
    pods: int
    """How many pods it has room for now, were it in use."""
    empty: int
    """The same with nothing on it."""
    trouble: str
    """Why it takes no part; empty where it does."""
    foreign: bool
    """Whether the pods themselves exclude it: selector, affinity, taints."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A pod set on the nodes of a flavor."""

    flavor: str
    topology: str
    level: str
    """The level within one domain of which all pods must be; empty: anywhere."""
    wanted: int
    """Pods."""
    best: int
    """The most pods that one domain holds now (of one without a level: all nodes together)."""
    domain: str
    """That domain."""
    ever: int
    """The most with nothing running."""
    mended: int
    """The most now if all nodes in trouble took part."""
    mended_ever: int
    """The same with nothing running."""
    per_node: int
    """The most pods that any node has room for when empty."""
    troubles: tuple[tuple[str, str], ...]
    """Nodes that take no part, and why."""

    @property
    def fits(self) -> bool:
        return self.best >= self.wanted


def place(snapshot: Snapshot, pod_set: Object, flavor: str, *, without: Collection[str] = ()) -> Placement | None:
    """How a pod set fits on a flavor's nodes; None for a flavor without a topology. `without`: UIDs of workloads as if ended."""
    topology = topology_of(snapshot, flavor)
    if topology is None:
        return None
    levels = levels_of(topology)
    request = pod_set.get("topologyRequest") or {}
    required = str(request.get("required") or "")
    found = rooms_of(snapshot, pod_set, flavor, levels, without)
    usable = [room for room in found if not room.trouble and not room.foreign]
    mendable = [room for room in found if not room.foreign]
    depth = levels.index(required) + 1 if required in levels else 0
    slice_level, size = str(request.get("podSetSliceRequiredTopology") or ""), int(request.get("podSetSliceSize") or 1)
    inner = levels.index(slice_level) + 1 if slice_level in levels else len(levels)
    now = _largest(((room.domain, room.pods) for room in usable), depth, inner, size)
    ever = _largest(((room.domain, room.empty) for room in usable), depth, inner, size)
    mended = _largest(((room.domain or (room.node,), room.pods) for room in mendable), depth, inner, size)
    mended_ever = _largest(((room.domain or (room.node,), room.empty) for room in mendable), depth, inner, size)
    return Placement(
        flavor=flavor,
        topology=name_of(topology),
        level=required,
        wanted=int(pod_set.get("count", 1)),
        best=now[0],
        domain="/".join(now[1]),
        ever=ever[0],
        mended=mended[0],
        mended_ever=mended_ever[0],
        per_node=max((room.empty for room in mendable), default=0),
        troubles=tuple((room.node, room.trouble) for room in mendable if room.trouble),
    )


def _largest(counts: Iterable[tuple[tuple[str, ...], int]], depth: int, inner: int, size: int) -> tuple[int, tuple[str, ...]]:
    """The domain of the level that holds most pods in whole slices, with their number."""
    slices: dict[tuple[str, ...], int] = {}
    for domain, pods in counts:
        slices[domain[:inner]] = slices.get(domain[:inner], 0) + pods
    found: dict[tuple[str, ...], int] = {}
    for domain, pods in slices.items():
        found[domain[:depth]] = found.get(domain[:depth], 0) + pods // size * size
    return max(((pods, domain) for domain, pods in found.items()), default=(0, ()))


def rooms_of(
    snapshot: Snapshot, pod_set: Object, flavor: str, levels: tuple[str, ...], without: Collection[str] = ()
) -> list[Room]:
    """The nodes that carry the flavor's labels."""
    spec = snapshot.flavors[flavor]["spec"]
    pod = pod_set["template"]["spec"]
    asked = pod_amounts(pod)
    tolerations = [*(pod.get("tolerations") or ()), *(spec.get("tolerations") or ())]
    taken, others = _taken(snapshot, levels, without), _others(snapshot)
    found: dict[tuple[tuple[str, ...], str, bool], _Leaf] = {}
    for name, node in snapshot.nodes.items():
        labels = labels_of(node)
        if not (spec.get("nodeLabels") or {}).items() <= dict(labels).items():
            continue
        domain = tuple(labels[level] for level in levels) if all(level in labels for level in levels) else ()
        holds = minus(amounts_of((node.get("status") or {}).get("allocatable")), others.get(name, ()))
        trouble = _trouble(node, domain, tolerations)
        foreign = not _selects(pod, labels, name) or bool(untolerated(_lasting(node), tolerations))
        # Kueue counts what shares a domain of the last level together, and not node by node.
        leaf = found.setdefault((domain or (name,), trouble, foreign), _Leaf(domain, trouble, foreign))
        leaf.nodes.append(name)
        leaf.holds.append(holds)
    return [room for leaf in found.values() for room in _rooms(leaf, asked, taken, levels)]


@dataclass(slots=True)
class _Leaf:
    """Nodes of one domain of the last level that are all in the same state."""

    domain: tuple[str, ...]
    trouble: str
    foreign: bool
    nodes: list[str] = field(default_factory=list)
    holds: list[Amounts] = field(default_factory=list)


def _rooms(leaf: _Leaf, asked: Amounts, taken: dict[tuple[str, ...], list[Amounts]], levels: tuple[str, ...]) -> Iterator[Room]:
    """The domain as one room; a node in trouble each its own, for they are told one by one."""
    key = leaf.domain[-1:] if levels[-1] == HOSTNAME else leaf.domain
    holds = total(leaf.holds)
    now, empty = pods_that_fit(asked, minus(holds, taken.get(key, ()))), pods_that_fit(asked, holds)
    yield Room(leaf.nodes[0], leaf.domain, now, empty, leaf.trouble, leaf.foreign)
    for name in leaf.nodes[1:] if leaf.trouble else ():
        yield Room(name, leaf.domain, 0, 0, leaf.trouble, leaf.foreign)


def _taken(snapshot: Snapshot, levels: tuple[str, ...], without: Collection[str]) -> dict[tuple[str, ...], list[Amounts]]:
    """What admitted workloads were given, by domain; by host name alone where the topology ends with nodes."""
    found: dict[tuple[str, ...], list[Amounts]] = {}
    for workload in snapshot.workloads.values():
        if not holds_quota(workload) or uid_of(workload) in without:
            continue
        templates = {one["name"]: one["template"]["spec"] for one in pod_sets(workload)}
        for assigned in admission(workload).get("podSetAssignments") or ():
            domains = domains_of(assigned)
            if not domains or assigned["name"] not in templates:
                continue
            each = {**pod_amounts(templates[assigned["name"]]), PODS: 1}
            for values, count in domains:
                key = values[-1:] if levels[-1] == HOSTNAME else values
                found.setdefault(key, []).append(times(each, count))
    return found


def _others(snapshot: Snapshot) -> dict[str, list[Amounts]]:
    """What pods use that Kueue didn't place, by node."""
    found: dict[str, list[Amounts]] = {}
    for pod in snapshot.pods:
        node = pod["spec"].get("nodeName")
        annotations = pod["metadata"].get("annotations") or {}
        placed = _TAS_LABEL in labels_of(pod) or any(name in annotations for name in _TAS)
        if node and not placed:
            found.setdefault(node, []).append(total((pod_amounts(pod["spec"]), {PODS: 1})))
    return found


def _selects(pod: Object, labels: Mapping[str, str], name: str) -> bool:
    """Whether node selector and required affinity let the pods on the node."""
    known = dict(labels)
    if not (pod.get("nodeSelector") or {}).items() <= known.items():
        return False
    terms = affinity_terms(pod)
    return not terms or any(
        all(matches(known, one) for one in term.get("matchExpressions") or ())
        and all(matches({"metadata.name": name}, one) for one in term.get("matchFields") or ())
        for term in terms
    )


_PASSING: Final = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "sagemaker.amazonaws.com/node-health-status",
)


def _lasting(node: Object) -> list[Object]:
    """Taints that somebody gave the node: those of its condition come and go with it."""
    return [one for one in (node.get("spec") or {}).get("taints") or () if one["key"] not in _PASSING]


def _trouble(node: Object, domain: tuple[str, ...], tolerations: list[Object]) -> str:
    if not is_true(node, "Ready"):
        return "is not ready"
    if (node.get("spec") or {}).get("unschedulable"):
        return "is cordoned"
    if not domain:
        return UNLABELLED
    passing = [one for one in (node.get("spec") or {}).get("taints") or () if one["key"] in _PASSING]
    taint = untolerated(passing, tolerations)
    return f"has the taint {taint}" if taint else ""
