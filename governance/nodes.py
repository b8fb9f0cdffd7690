"""Fake nodes: what a cluster's instance groups look like to a Kubernetes API server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from config.catalogue import InstanceType, instance_types
from config.cluster import InstanceGroup, NetworkLayout
from config.environment import HOSTNAME
from governance.allocatable import allocatable
from governance.model import ClusterPlan
from governance.names import GROUP_LABEL, HEALTH_LABEL, INSTANCE_TYPE_LABEL, fingerprint
from governance.quotas import node_resources
from governance.units import PODS, quantity

ZONE_LABEL = "topology.kubernetes.io/zone"
_NETWORK_LAYER = "topology.k8s.aws/network-node-layer-"
PODS_PER_NODE = 250
_HOSTNAME_LENGTH = 63
"""Longest value of the label `kubernetes.io/hostname`."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A node taint; ``effect`` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node as the API server shall show it. Quantities are Kubernetes quantity strings."""

    name: str
    labels: dict[str, str]
    capacity: dict[str, str]
    allocatable: dict[str, str]
    taints: tuple[Taint, ...] = field(default=())


def nodes(cluster: ClusterPlan) -> list[NodeSpec]:
    """One node for each instance of each group, named `<group>-<number>`."""
    levels = {level for topology in cluster.topologies for level in topology.levels}
    zones = cluster.declared.network.zones if cluster.declared.kind == "hyperpod" else ()
    return [
        node(name, index, group, instance_types()[group.instance_type], levels, zones)
        for name, group in sorted(cluster.groups.items())
        for index in range(group.count)
    ]


def node(
    group_name: str,
    index: int,
    group: InstanceGroup,
    kind: InstanceType,
    levels: set[str] | frozenset[str],
    zones: Sequence[str] = (),
) -> NodeSpec:
    """The node number `index` (from 0) of a group; numbers beyond the group's count are nodes that might be added.

    Nodes of a group without a zone take turns in `zones`.
    """
    name = node_name(group_name, index)
    resources = node_resources(kind, group.partitions)
    free = allocatable(resources)
    pods = {PODS: str(PODS_PER_NODE)}
    somewhere = zones[index % len(zones)] if zones else "local-a"
    return NodeSpec(
        name=name,
        labels={
            ZONE_LABEL: group.availability_zone or somewhere,
            **_network_labels(group_name, index, group.network, kind, levels),
            **group.labels,
            HOSTNAME: name,
            INSTANCE_TYPE_LABEL: kind.name,
            GROUP_LABEL: group_name,
            HEALTH_LABEL: "Schedulable",
        },
        capacity={r: quantity(r, n) for r, n in resources.items() if n} | pods,
        allocatable={r: quantity(r, n) for r, n in free.items() if n} | pods,
        taints=tuple(Taint(t.key, t.value, t.effect) for t in group.taints),
    )


def node_name(group: str, index: int) -> str:
    """`<group>-<number>`; long groups are cut and told apart by a fingerprint, for a host name holds 63 characters."""
    name = f"{group}-{index:03d}"
    if len(name) <= _HOSTNAME_LENGTH:
        return name
    tail = f"-{fingerprint(group)}-{index:03d}"
    return group[: _HOSTNAME_LENGTH - len(tail)] + tail


def _network_labels(
    group: str, index: int, layout: NetworkLayout, kind: InstanceType, levels: set[str] | frozenset[str]
) -> Mapping[str, str]:
    """Labels of the network layers that EC2 gives the type, and of any other level that a topology names."""
    block = index // layout.nodes_per_block
    spine = block // layout.blocks_per_spine
    core = spine // layout.spines_per_core
    nearest_first = [("block", block), ("spine", spine), ("core", core), ("root", 0)]
    layers = [f"{_NETWORK_LAYER}{number}" for number in range(kind.network_layers, 0, -1)]
    others = sorted(level for level in levels if level not in (HOSTNAME, ZONE_LABEL) and not level.startswith(_NETWORK_LAYER))
    named = zip(layers, nearest_first[-len(layers) :] if len(layers) > len(nearest_first) else nearest_first, strict=False)
    return {
        label: f"nn-{fingerprint([group, what, number])}"
        for label, (what, number) in (*named, *((o, nearest_first[0]) for o in others))
    }
