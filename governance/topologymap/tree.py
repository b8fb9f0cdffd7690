"""The tree of network blocks of each flavor, and which nodes count in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from config.environment import HOSTNAME
from governance.flavors import is_network_layer
from governance.names import INSTANCE_TYPE_LABEL
from governance.topologymap.model import Flavor, Hold, Layout, Node
from governance.units import DEVICES, PODS, is_device

Kind = Literal["not-ready", "cordoned", "tainted", "no-labels"]
_BY_CONTROLLERS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "node.kubernetes.io/unschedulable")
"""Taints that only repeat what a node's state says."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why Kueue passes by a node."""

    kind: Kind
    message: str


@dataclass(frozen=True, slots=True)
class Domain:
    """A network block, or a node. `values` are its labels' values from the farthest level on."""

    level: str
    values: tuple[str, ...]
    nodes: tuple[Node, ...]
    """All of its nodes, those that Kueue passes by too."""
    children: tuple[Domain, ...]
    """Empty on the nearest level."""

    @property
    def value(self) -> str:
        return self.values[-1]

    def leaves(self) -> Iterator[Domain]:
        """The domains of the nearest level in it."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


@dataclass(frozen=True, slots=True)
class Tally:
    """Amounts of one resource in some nodes."""

    total: int
    """Capacity of all nodes."""
    allocatable: int
    """What pods can have of the nodes that count."""
    used: int
    """Requested by pods that are bound to a node."""
    reserved: int
    """Kept by Kueue for admitted workloads whose pods aren't bound yet."""
    free: int
    """Allocatable and neither used nor reserved, on nodes that count."""


@dataclass(frozen=True)
class Section:
    """The nodes of one flavor."""

    flavor: Flavor
    instance_type: str
    """Of the first node; empty without one."""
    nodes: tuple[Node, ...]
    obstacles: Mapping[str, tuple[Obstacle, ...]]
    """By node, of those that Kueue passes by."""
    roots: tuple[Domain, ...]
    """Without nodes that lack a level's label: these are in no block."""
    holds: tuple[Hold, ...]

    @cached_property
    def kept(self) -> Mapping[tuple[str, ...], tuple[Hold, ...]]:
        """Holds by domain of the nearest level, as holds name it."""
        found: dict[tuple[str, ...], list[Hold]] = {}
        for hold in self.holds:
            found.setdefault(hold.values, []).append(hold)
        return {values: tuple(holds) for values, holds in found.items()}

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """The accelerators that the nodes have, whole ones first."""
        found = {r for node in self.nodes for r, amount in node.capacity.items() if amount and is_device(r)}
        return (*(r for r in DEVICES if r in found), *sorted(found.difference(DEVICES)))

    def holds_in(self, leaf: Domain) -> tuple[Hold, ...]:
        """What Kueue keeps in a domain of the nearest level."""
        return self.kept.get((leaf.value,) if self.flavor.by_node else leaf.values, ())

    def counting(self, nodes: Iterable[Node]) -> list[Node]:
        """Those that Kueue doesn't pass by."""
        return [node for node in nodes if node.name not in self.obstacles]

    def unlabelled(self) -> list[str]:
        """Names of the nodes that are in no block."""
        return [name for name, obstacles in self.obstacles.items() if any(one.kind == "no-labels" for one in obstacles)]

    def level(self, level: str) -> list[Domain]:
        """All domains of a level."""
        found = list(self.roots)
        while found and found[0].level != level:
            found = [child for domain in found for child in domain.children]
        return found

    def tally(self, resource: str, domain: Domain | None = None) -> Tally:
        """A resource in a domain, or in all nodes of the flavor."""
        nodes = self.nodes if domain is None else domain.nodes
        roots = self.roots if domain is None else (domain,)
        counting = self.counting(nodes)
        free = reserved = 0
        for leaf in (leaf for root in roots for leaf in root.leaves()):
            kept = sum(_unbound(hold, resource) for hold in self.holds_in(leaf))
            here = self.counting(leaf.nodes)
            room = sum(node.allocatable.get(resource, 0) - node.used.get(resource, 0) for node in here)
            reserved, free = reserved + kept, free + max(0, room - kept)
        return Tally(
            total=sum(node.capacity.get(resource, 0) for node in nodes),
            allocatable=sum(node.allocatable.get(resource, 0) for node in counting),
            used=sum(node.used.get(resource, 0) for node in nodes),
            reserved=reserved,
            free=free,
        )


def _unbound(hold: Hold, resource: str) -> int:
    per_pod = 1 if resource == PODS else hold.per_pod.get(resource, 0)
    return (hold.count - hold.bound) * per_pod


def sections(layout: Layout) -> list[Section]:
    """A section for each flavor that has nodes, then for nodes that no flavor has, by instance type."""
    found = [_section(flavor, layout) for flavor in layout.flavors]
    taken = {node.name for section in found for node in section.nodes}
    left: dict[str, list[Node]] = {}
    for node in layout.nodes:
        if node.name not in taken:
            left.setdefault(node.labels.get(INSTANCE_TYPE_LABEL, ""), []).append(node)
    loose = [_section(_no_flavor(kind, nodes), layout, nodes) for kind, nodes in sorted(left.items())]
    return [section for section in (*found, *loose) if section.nodes]


def shared(found: Iterable[Section]) -> dict[str, list[str]]:
    """Nodes that several flavors have, which Kueue would count once for each: their flavors by node."""
    flavors: dict[str, list[str]] = {}
    for section in found:
        for node in section.nodes:
            flavors.setdefault(node.name, []).append(section.flavor.name)
    return {node: names for node, names in flavors.items() if len(names) > 1}


def common_levels(nodes: Iterable[Node]) -> tuple[str, ...]:
    """The network layers that all nodes name, and the node: levels where no topology says which."""
    named = [{label for label in node.labels if is_network_layer(label)} for node in nodes]
    common = set.intersection(*named) if named else set()
    return (*sorted(common, key=lambda label: (len(label), label)), HOSTNAME)


def _no_flavor(kind: str, nodes: list[Node]) -> Flavor:
    return Flavor("", {INSTANCE_TYPE_LABEL: kind} if kind else {}, None, common_levels(nodes))


def _section(flavor: Flavor, layout: Layout, nodes: Iterable[Node] | None = None) -> Section:
    own = [n for n in layout.nodes if flavor.node_labels.items() <= n.labels.items()] if nodes is None else list(nodes)
    if flavor.topology is None:
        flavor = Flavor(flavor.name, flavor.node_labels, None, common_levels(own), flavor.tolerations)
    found = {node.name: tuple(_obstacles(node, flavor)) for node in own}
    placed = [node for node in own if all(level == HOSTNAME or level in node.labels for level in flavor.levels)]
    return Section(
        flavor,
        own[0].labels.get(INSTANCE_TYPE_LABEL, "") if own else "",
        tuple(own),
        {name: obstacles for name, obstacles in found.items() if obstacles},
        _domains(placed, flavor.levels, ()),
        tuple(hold for hold in layout.holds if hold.flavor == flavor.name and flavor.name),
    )


def _obstacles(node: Node, flavor: Flavor) -> Iterator[Obstacle]:
    """As Kueue sees them: taints only where the nearest level is the node, labels in any case."""
    if not node.ready:
        yield Obstacle("not-ready", "is not Ready")
    if node.cordoned:
        yield Obstacle("cordoned", "is cordoned")
    for taint in node.taints if flavor.by_node else ():
        hard = taint.effect in ("NoSchedule", "NoExecute") and taint.key not in _BY_CONTROLLERS
        if hard and not any(toleration.tolerates(taint) for toleration in flavor.tolerations):
            yield Obstacle("tainted", f"has a taint that the flavor doesn't tolerate: {taint.key}={taint.value}:{taint.effect}")
    missing = [level for level in flavor.levels if level not in node.labels]
    if missing and flavor.topology is not None:
        yield Obstacle("no-labels", f"lacks the label{'s' * (len(missing) > 1)} {', '.join(missing)}")


def _domains(nodes: list[Node], levels: tuple[str, ...], above: tuple[str, ...]) -> tuple[Domain, ...]:
    if not levels:
        return ()
    level, *below = levels
    grouped: dict[str, list[Node]] = {}
    for node in nodes:
        value = node.hostname if level == HOSTNAME else node.labels[level]
        grouped.setdefault(value, []).append(node)
    return tuple(
        Domain(level, (*above, value), tuple(inside), _domains(inside, tuple(below), (*above, value)))
        for value, inside in sorted(grouped.items())
    )
