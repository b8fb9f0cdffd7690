"""Topologies and resource flavors of a cluster's instance types.

Kueue freezes a flavor's whole spec once it has a topology, and swapping flavors under running work makes Kueue forget its usage.
So a flavor has the plain name (its instance type, as on AWS) only with the plain spec; any other spec yields a suffixed name, and
moving from one to the other is a change that needs drained queues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from config.catalogue import InstanceType
from config.cluster import InstanceGroup
from config.environment import DEFAULT_TOPOLOGY_LEVELS, HOSTNAME, ROOT_COHORT, AdoptedNames, Topology
from governance.names import DEFAULT_TOPOLOGY, HOSTNAME_TOPOLOGY, INSTANCE_TYPE_LABEL, fingerprint

_NETWORK_LAYER = "topology.k8s.aws/network-node-layer-"


@dataclass(frozen=True, slots=True)
class TopologyPlan:
    """A Kueue Topology: node labels, farthest layer first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration that Kueue adds to the pods it admits on a flavor."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class FlavorPlan:
    """A Kueue ResourceFlavor: the nodes of one instance type."""

    name: str
    instance_type: str
    node_labels: Mapping[str, str]
    tolerations: tuple[Toleration, ...]
    topology: TopologyPlan | None


def topology_of(kind: InstanceType, policy: Topology) -> TopologyPlan | None:
    """The topology of a type's nodes: levels of network layers that EC2 doesn't give the type are left out.

    A node takes part only if it carries every level's label; hence types without layers get the node itself as only level.
    """
    if not policy.enabled:
        return None
    levels = tuple(level for level in policy.levels if has_level(kind, level)) or (HOSTNAME,)
    if levels == DEFAULT_TOPOLOGY_LEVELS:
        return TopologyPlan(DEFAULT_TOPOLOGY, levels)
    if levels == (HOSTNAME,):
        return TopologyPlan(HOSTNAME_TOPOLOGY, levels)
    return TopologyPlan(f"{ROOT_COHORT}-{fingerprint(levels)}", levels)


def is_network_layer(level: str) -> bool:
    """Whether a level is one of EC2's network layers."""
    return level.startswith(_NETWORK_LAYER)


def has_level(kind: InstanceType, level: str) -> bool:
    """Whether nodes of the type may carry the level's label: of network layers, those that EC2 gives the type."""
    if not is_network_layer(level):
        return True
    layer = level.removeprefix(_NETWORK_LAYER)
    return layer.isdigit() and int(layer) <= kind.network_layers


def flavor(kind: InstanceType, groups: Iterable[InstanceGroup], policy: Topology) -> FlavorPlan:
    """The flavor of one type; tolerations are those that its groups' taints need."""
    tolerations = _tolerations(groups)
    topology = topology_of(kind, policy)
    spec = _spec(tolerations, topology)
    plain = _spec((), topology_of(kind, Topology()))
    name = kind.name if spec == plain else f"{kind.name}-{fingerprint(spec)}"
    return FlavorPlan(name, kind.name, {INSTANCE_TYPE_LABEL: kind.name}, tolerations, topology)


def adopted(kind: InstanceType, groups: Iterable[InstanceGroup], existing: AdoptedNames) -> FlavorPlan:
    """The existing flavor of a type, as its names say; a topology that they don't describe is none, and a finding."""
    found = existing.flavors[kind.name]
    levels = existing.topologies.get(found.topology) if found.topology is not None else None
    labels = {INSTANCE_TYPE_LABEL: kind.name} if found.node_labels is None else found.node_labels
    topology = TopologyPlan(found.topology, levels) if found.topology is not None and levels else None
    return FlavorPlan(found.name, kind.name, labels, _tolerations(groups), topology)


def _tolerations(groups: Iterable[InstanceGroup]) -> tuple[Toleration, ...]:
    taints = {(t.key, t.value, t.effect) for group in groups for t in group.taints if t.effect != "PreferNoSchedule"}
    return tuple(Toleration(*taint) for taint in sorted(taints))


def _spec(tolerations: tuple[Toleration, ...], topology: TopologyPlan | None) -> dict[str, Any]:
    return {
        "tolerations": [[t.key, t.value, t.effect] for t in tolerations],
        "topology": list(topology.levels) if topology else None,
    }


def order(kinds: Iterable[InstanceType], preferred: tuple[str, ...] = ()) -> list[InstanceType]:
    """The order in which Kueue tries types: as preferred, then CPU types, small ones first.

    CPU types stand before those with accelerators, or jobs without accelerators would take their nodes.
    """

    def rank(kind: InstanceType) -> tuple[int, int, int, str]:
        place = preferred.index(kind.name) if kind.name in preferred else len(preferred)
        return (place, kind.accelerators or 0, kind.vcpu or 0, kind.name)

    return sorted(kinds, key=rank)
