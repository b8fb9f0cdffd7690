"""Where pods would have room: Kueue's topology-aware placement, counted over blocks of nodes.

As in Kueue (pkg/cache/scheduler/tas_flavor_snapshot.go), a node takes part if it is ready, schedulable, has the flavor's labels
and one of every level; its room is what pods can have there, less what admitted workloads were given and other pods use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from governance.units import total
from live.podamounts import Amounts, amounts_of, pod_amounts
from live.why.amounts import minus, pods_that_fit
from live.why.flavors import affinity_terms, levels_of, topology_of
from live.why.objects import Object, is_true, labels_of, matches, name_of, untolerated
from live.why.occupancy import Domain, Occupancy, domain_key, occupancy_of
from live.why.snapshot import Snapshot

UNLABELLED: Final = "lacks labels of the topology"


@dataclass(frozen=True, slots=True)
class Room:
    """One node of a flavor as a pod set sees it."""

    node: str
    domain: Domain
    """Values of the topology's levels, farthest first; empty where it lacks one."""
    key: Domain
    """How assignments name that domain."""
    holds: Amounts
    """What it has for pods that Kueue places."""
    pods: int
    """How many pods it has room for now, were it in use."""
    empty: int
    """The same with nothing on it."""
    trouble: str
    """Why it takes no part; empty where it does."""
    foreign: bool
    """Whether the pods themselves exclude it: selector, affinity, taints."""

    @property
    def takes_part(self) -> bool:
        return not self.trouble and not self.foreign


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


@dataclass(frozen=True, slots=True)
class Site:
    """The nodes of a flavor as a pod set sees them, looked at once: whether it fits is asked for many workloads that may end."""

    flavor: str
    topology: str
    levels: tuple[str, ...]
    pod_set: Object
    rooms: tuple[Room, ...]
    occupancy: Occupancy

    @property
    def wanted(self) -> int:
        """Pods."""
        return int(self.pod_set.get("count", 1))

    def fits(self, without: Collection[str] = ()) -> bool:
        """Whether the pods have room with these workloads (UIDs) gone."""
        touched = self.occupancy.touched(without)
        asked = pod_amounts(self.pod_set["template"]["spec"]) if touched else {}

        def pods(room: Room) -> int:
            if room.key not in touched:
                return room.pods
            return pods_that_fit(asked, self.occupancy.left(room.key, room.holds, without))

        return self._largest((room.domain, pods(room)) for room in self.rooms if room.takes_part)[0] >= self.wanted

    def placement(self) -> Placement:
        """How the pods fit now, and how they would."""
        usable = [room for room in self.rooms if room.takes_part]
        mendable = [room for room in self.rooms if not room.foreign]
        best, domain = self._largest((room.domain, room.pods) for room in usable)
        return Placement(
            flavor=self.flavor,
            topology=self.topology,
            level=self._level,
            wanted=self.wanted,
            best=best,
            domain="/".join(domain),
            ever=self._largest((room.domain, room.empty) for room in usable)[0],
            mended=self._largest((room.domain or (room.node,), room.pods) for room in mendable)[0],
            mended_ever=self._largest((room.domain or (room.node,), room.empty) for room in mendable)[0],
            per_node=max((room.empty for room in mendable), default=0),
            troubles=tuple((room.node, room.trouble) for room in mendable if room.trouble),
        )

    @property
    def _level(self) -> str:
        return str((self.pod_set.get("topologyRequest") or {}).get("required") or "")

    def _largest(self, counts: Iterable[tuple[Domain, int]]) -> tuple[int, Domain]:
        """The domain of the required level that holds most pods in whole slices, with their number."""
        request = self.pod_set.get("topologyRequest") or {}
        depth = self.levels.index(self._level) + 1 if self._level in self.levels else 0
        slice_level, size = str(request.get("podSetSliceRequiredTopology") or ""), int(request.get("podSetSliceSize") or 1)
        inner = self.levels.index(slice_level) + 1 if slice_level in self.levels else len(self.levels)
        return _largest(counts, depth, inner, size)


def sites_of(snapshot: Snapshot, wanted: Iterable[tuple[Object, str]]) -> tuple[Site | None, ...]:
    """For pod sets, the nodes of each one's flavor; None for a flavor without a topology. What lies on nodes is counted once."""
    known: dict[tuple[str, ...], Occupancy] = {}
    found: list[Site | None] = []
    for pod_set, flavor in wanted:
        topology = topology_of(snapshot, flavor)
        if topology is None:
            found.append(None)
            continue
        levels = levels_of(topology)
        if levels not in known:
            known[levels] = occupancy_of(snapshot, levels)
        rooms = tuple(_rooms_of(snapshot, pod_set, flavor, levels, known[levels]))
        found.append(Site(flavor, name_of(topology), levels, pod_set, rooms, known[levels]))
    return tuple(found)


def _largest(counts: Iterable[tuple[Domain, int]], depth: int, inner: int, size: int) -> tuple[int, Domain]:
    """The domain of the level that holds most pods in whole slices, with their number."""
    slices: dict[Domain, int] = {}
    for domain, pods in counts:
        slices[domain[:inner]] = slices.get(domain[:inner], 0) + pods
    found: dict[Domain, int] = {}
    for domain, pods in slices.items():
        found[domain[:depth]] = found.get(domain[:depth], 0) + pods // size * size
    return max(((pods, domain) for domain, pods in found.items()), default=(0, ()))


def _rooms_of(snapshot: Snapshot, pod_set: Object, flavor: str, levels: tuple[str, ...], occupancy: Occupancy) -> Iterator[Room]:
    """The nodes that carry the flavor's labels."""
    spec = snapshot.flavors[flavor]["spec"]
    pod = pod_set["template"]["spec"]
    asked = pod_amounts(pod)
    tolerations = [*(pod.get("tolerations") or ()), *(spec.get("tolerations") or ())]
    found: dict[tuple[Domain, str, bool], _Leaf] = {}
    for name, node in snapshot.nodes.items():
        labels = labels_of(node)
        if not (spec.get("nodeLabels") or {}).items() <= dict(labels).items():
            continue
        domain = tuple(labels[level] for level in levels) if all(level in labels for level in levels) else ()
        holds = minus(amounts_of((node.get("status") or {}).get("allocatable")), (occupancy.others.get(name, {}),))
        trouble = _trouble(node, domain, tolerations)
        foreign = not _selects(pod, labels, name) or bool(untolerated(_lasting(node), tolerations))
        # Kueue counts what shares a domain of the last level together, and not node by node.
        leaf = found.setdefault((domain or (name,), trouble, foreign), _Leaf(domain, trouble, foreign))
        leaf.nodes.append(name)
        leaf.holds.append(holds)
    for leaf in found.values():
        yield from _rooms(leaf, asked, occupancy, levels)


@dataclass(slots=True)
class _Leaf:
    """Nodes of one domain of the last level that are all in the same state."""

    domain: Domain
    trouble: str
    foreign: bool
    nodes: list[str] = field(default_factory=list)
    holds: list[Amounts] = field(default_factory=list)


def _rooms(leaf: _Leaf, asked: Amounts, occupancy: Occupancy, levels: tuple[str, ...]) -> Iterator[Room]:
    """The domain as one room; a node in trouble each its own, for they are told one by one."""
    key = domain_key(leaf.domain, levels)
    holds = total(leaf.holds)
    now, empty = pods_that_fit(asked, occupancy.left(key, holds)), pods_that_fit(asked, holds)
    yield Room(leaf.nodes[0], leaf.domain, key, holds, now, empty, leaf.trouble, leaf.foreign)
    for name in leaf.nodes[1:] if leaf.trouble else ():
        yield Room(name, leaf.domain, key, {}, 0, 0, leaf.trouble, leaf.foreign)


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
