"""Fake nodes: what a cluster's instance groups look like to a Kubernetes API server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from config.catalogue import InstanceType
from config.environment import InstanceGroup, NetworkLayout
from governance.allocatable import allocatable
from governance.flavors import HOSTNAME
from governance.model import ClusterPlan
from governance.names import INSTANCE_TYPE_LABEL, fingerprint
from governance.quotas import node_resources
from governance.units import PODS, quantity

GROUP_LABEL = "sagemaker.amazonaws.com/instance-group-name"
HEALTH_LABEL = "sagemaker.amazonaws.com/node-health-status"
ZONE_LABEL = "topology.kubernetes.io/zone"
_NETWORK_LAYER = "topology.k8s.aws/network-node-layer-"
PODS_PER_NODE = 250


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
    return [
        node(name, index, group, cluster.kinds[group.instance_type], levels)
        for name, group in sorted(cluster.groups.items())
        for index in range(group.count)
    ]


def node(group_name: str, index: int, group: InstanceGroup, kind: InstanceType, levels: set[str] | frozenset[str]) -> NodeSpec:
    """The node number `index` (from 0) of a group; numbers beyond the group's count are nodes that might be added."""
    name = f"{group_name}-{index:03d}"
    resources = node_resources(kind, group.partitions)
    free = allocatable(resources)
    pods = {PODS: str(PODS_PER_NODE)}
    return NodeSpec(
        name=name,
        labels={
            **group.labels,
            HOSTNAME: name,
            INSTANCE_TYPE_LABEL: kind.name,
            GROUP_LABEL: group_name,
            HEALTH_LABEL: "Schedulable",
            ZONE_LABEL: group.availability_zone or "local-a",
            **_network_labels(group_name, index, group.network, kind, levels),
        },
        capacity={r: quantity(r, n) for r, n in resources.items() if n} | pods,
        allocatable={r: quantity(r, n) for r, n in free.items() if n} | pods,
        taints=tuple(Taint(t.key, t.value, t.effect) for t in group.taints),
    )


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
