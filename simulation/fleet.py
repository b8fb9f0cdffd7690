"""Nodes that a case adds to the sandbox or takes away, and how the groups get back to what is declared."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from governance.model import ClusterPlan
from governance.names import GROUP_LABEL
from governance.nodes import NodeSpec, node
from sandbox.nodes import SANDBOX_LABEL, add_nodes, remove_nodes
from simulation.cluster import Cluster

_SELECTOR: Final = f"{SANDBOX_LABEL}=true,{GROUP_LABEL}="


def add(cluster: Cluster, plan: ClusterPlan, group: str, count: int) -> None:
    """Add nodes with the lowest numbers that are free."""
    have = cluster.nodes(_SELECTOR + group)
    missing = (spec for spec in _specs(plan, group, len(have) + count) if spec.name not in have)
    add_nodes(cluster.kubeconfig, list(missing)[:count])


def remove(cluster: Cluster, group: str, count: int) -> None:
    """Remove the nodes with the highest numbers, and their pods."""
    have = sorted(cluster.nodes(_SELECTOR + group))
    remove_nodes(cluster.kubeconfig, have[len(have) - count :])


def restore(cluster: Cluster, plan: ClusterPlan, groups: Collection[str]) -> None:
    """Bring groups back to their declared nodes."""
    wanted = {spec.name: spec for group in groups for spec in _specs(plan, group, plan.groups[group].count)}
    found = cluster.nodes(f"{SANDBOX_LABEL}=true")
    have = {name for name, node in found.items() if node["metadata"]["labels"].get(GROUP_LABEL) in groups}
    if surplus := sorted(have - wanted.keys()):
        remove_nodes(cluster.kubeconfig, surplus)
    if missing := sorted(wanted.keys() - have):
        add_nodes(cluster.kubeconfig, [wanted[name] for name in missing])


def _specs(plan: ClusterPlan, group: str, count: int) -> list[NodeSpec]:
    levels = {level for topology in plan.topologies for level in topology.levels}
    declared = plan.groups[group]
    return [node(group, index, declared, plan.kinds[declared.instance_type], levels) for index in range(count)]
