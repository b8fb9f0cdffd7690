"""Whether add-ons and controllers find nodes to run on: what they ask for, and what nodes without taints have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from config.catalogue import InstanceType, instance_type
from config.findings import Finding, Severity, Where, problem_at
from config.groups import HyperPodGroup
from config.hyperpod import HyperPodCluster
from governance.allocatable import allocatable
from governance.amounts import specification
from governance.model import ClusterPlan
from governance.platform.addons import REPELLING
from governance.platform.addresses import addresses_of_interface
from governance.platform.chartvalues import chart_values
from governance.platform.model import PlatformPlan
from governance.units import CPU, MEMORY, shown

_NODE_PODS = 3
"""Of the add-ons vpc-cni, kube-proxy and eks-pod-identity-agent."""


@dataclass(frozen=True, slots=True)
class Room:
    """Pods with their requests: milli-vCPU and MiB."""

    pods: int
    cpu: int = 0
    memory: int = 0

    def __add__(self, other: Room) -> Room:
        return Room(self.pods + other.pods, self.cpu + other.cpu, self.memory + other.memory)

    def times(self, number: int) -> Room:
        return Room(self.pods * number, self.cpu * number, self.memory * number)

    def holds(self, other: Room) -> bool:
        return self.pods >= other.pods and self.cpu >= other.cpu and self.memory >= other.memory

    def __str__(self) -> str:
        pods = f"{max(0, self.pods)} pod{'s' * (self.pods != 1)}"
        return f"{pods}, {shown(CPU, max(0, self.cpu))} vCPU and {shown(MEMORY, max(0, self.memory))} GiB"


_NOTHING = Room(0)
_COREDNS, _KUEUE = Room(1, 100, 70), Room(1, 500, 512)
"""One pod each: EKS's add-on runs two; Kueue's chart asks for this, and the add-on for task governance holds the same Kueue."""
_OPERATORS, _OPERATOR = ("trainingOperators", "mpi-operator"), Room(1)
"""HyperPod's chart runs one pod of each of these, without requests, where its values are not changed."""
_ON_ALL = Room(_NODE_PODS, 150)
_HEALTH_AGENT, _PLUGIN = Room(1, 500, 512), Room(1)
"""What a node with accelerators runs of HyperPod's chart: the agent, and a device plugin for each kind of device."""


def system_pod_findings(cluster: ClusterPlan, where: Where) -> Iterator[Finding]:
    """None of an existing EKS cluster, which may have other nodes. `where`: the place of the groups."""
    declared, plan = cluster.declared, cluster.platform
    if not isinstance(declared, HyperPodCluster) or plan is None or declared.eks.existing is not None:
        return
    groups = [group for group in declared.instance_groups.values() if _open(group)]
    if any(group.autoscaled and declared.hyperpod.karpenter for group in groups):
        return  # Karpenter adds nodes for pods that wait
    if not all(instance_type(group.instance_type).known for group in groups):
        return
    if not any(group.count for group in groups):
        message = (
            f"no node of the cluster `{cluster.name}` takes pods of add-ons and controllers: all groups are tainted, or have no "
            "instance"
        )
        yield problem_at("system-nodes-none", where, message, "add a small group without taints, as one of ml.m5.4xlarge")
        return
    needed, there = _needed(cluster, plan), _there(groups)
    if not there.holds(needed):
        message = f"add-ons and controllers ask for {needed}; nodes without taints have room for {there}"
        remedy = "use a larger type, or more instances without taints"
        yield Finding("system-nodes-small", Severity.WARNING, where, message, remedy)


def _open(group: HyperPodGroup) -> bool:
    return not any(taint.effect in REPELLING for taint in group.taints)


def _needed(cluster: ClusterPlan, plan: PlatformPlan) -> Room:
    """At least: what a cluster gets beside its queues is not counted."""
    ours = cluster.kueue.replicas if cluster.kueue.install else 0
    values = chart_values(plan)
    operators = sum(values[name] == {"enabled": True} for name in _OPERATORS)
    return _COREDNS.times(2) + _KUEUE.times(1 if plan.managed else ours) + _OPERATOR.times(operators)


def _there(groups: Iterable[HyperPodGroup]) -> Room:
    """At most: as if pods could be cut to fit. An interface keeps one of its addresses for the node."""
    room = _NOTHING
    for group in groups:
        kind = instance_type(group.instance_type)
        free = allocatable(specification(kind))
        own = _own(kind)
        left = Room(addresses_of_interface(kind) - 1 - own.pods, free[CPU] - own.cpu, free[MEMORY] - own.memory)
        room += left.times(group.count)
    return room


def _own(kind: InstanceType) -> Room:
    """What runs on every node of the type."""
    if kind.accelerator is None:
        return _ON_ALL
    return _ON_ALL + _HEALTH_AGENT + _PLUGIN + (_PLUGIN if kind.efa else _NOTHING)
