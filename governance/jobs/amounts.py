"""What one pod of a job asks for, and what nodes have for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from config.catalogue import MIG_SLICES, InstanceType, mig_slices
from config.findings import Finding, Where, problem_at, quoted
from governance.allocatable import allocatable
from governance.amounts import AmountError, specification
from governance.jobs.model import Order
from governance.model import ClusterPlan
from governance.quotas import node_resources
from governance.units import CPU, EFA, MEMORY, Resources, mig_resource, shown

_DAEMONS = {CPU: 650, MEMORY: 512}
"""What add-ons and HyperPod's chart run on each node ask for, in base units."""
_MOST = 1_000_000
"""Of anything, more than any pod can have, whatever is built: numbers beyond it are slips, and too long to print."""
_WHOLE = {CPU: 1000, MEMORY: 1024}
"""A vCPU and a GiB: what follows from a ratio is rounded down to them, where there is as much."""


def rooms(kind: InstanceType, cluster: ClusterPlan) -> list[dict[str, int]]:
    """What pods can have of one node, by the cluster's groups of the type, most devices first.

    Of a type that has no group yet, what a node of it would have.
    """
    found = list(group_rooms(kind, cluster).values()) or [_room(kind, {}, cluster)]
    return sorted(found, key=lambda room: (room.get(kind.resource or "", 0), room[CPU]), reverse=True)


def group_rooms(kind: InstanceType, cluster: ClusterPlan) -> dict[str, dict[str, int]]:
    """What pods can have of one node of each group of the type."""
    groups = {name: group for name, group in cluster.groups.items() if group.instance_type == kind.name}
    return {name: _room(kind, group.partitions, cluster) for name, group in groups.items()}


def _room(kind: InstanceType, partitions: dict[str, int], cluster: ClusterPlan) -> dict[str, int]:
    free = allocatable(node_resources(kind, partitions))
    daemons = _DAEMONS if cluster.declared.kind == "hyperpod" else {}
    return {resource: max(0, amount - daemons.get(resource, 0)) for resource, amount in free.items()}


def fitting(resources: Resources, room: Resources) -> int:
    """How many pods of this size a node has room for."""
    return min((room.get(resource, 0) // amount for resource, amount in resources.items() if amount), default=0)


def pod_resources(
    order: Order, kind: InstanceType, cluster: ClusterPlan, covered: tuple[str, ...], *, many: bool
) -> dict[str, int]:
    """What a pod requests, in base units; `many`: whether pods talk to each other.

    vCPU and memory that aren't given follow the accelerators, or each other, by the ratio of what pods can have of a node: so as
    many pods fit on a node as it has accelerators for. Devices of the network follow for pods that talk to each other.
    """
    node = rooms(kind, cluster)[0]
    if order.whole_node:
        return {resource: _even(resource, amount) for resource, amount in node.items() if amount and resource in covered}
    asked = {resource: amount for resource, amount in _given(order, kind).items() if amount}
    total = (kind.accelerators or 0) * MIG_SLICES
    slices = (order.accelerators or 0) * MIG_SLICES
    if order.partition in kind.mig_profiles:
        slices += mig_slices(order.partition) * (order.partition_count or 1)
    whole = allocatable(specification(kind)) | {resource: node[resource] for resource in (CPU, MEMORY)}
    for resource, other in ((CPU, MEMORY), (MEMORY, CPU)):
        if resource not in asked and slices and total:
            asked[resource] = _even(resource, whole[resource] * slices // total)
        elif resource not in asked and asked.get(other) and not slices:
            asked[resource] = _even(resource, asked[other] * whole[resource] // whole[other])
    if order.efa is None and many and total and EFA in covered and order.accelerators:
        asked[EFA] = whole.get(EFA, 0) * order.accelerators // (kind.accelerators or 1)
    return {resource: amount for resource, amount in asked.items() if amount}


def _given(order: Order, kind: InstanceType) -> dict[str, int]:
    given = {
        CPU: int(Fraction(str(order.vcpu or 0)) * 1000),
        MEMORY: int(Fraction(str(order.memory_gib or 0)) * 1024),
        EFA: order.efa or 0,
    }
    if kind.resource:
        given[kind.resource] = order.accelerators or 0
    if order.partition:
        given[mig_resource(order.partition)] = order.partition_count or 1
    return given


def _even(resource: str, amount: int) -> int:
    """Rounded down to whole vCPUs and GiB, where there is one."""
    unit = _WHOLE.get(resource, 1)
    return amount - amount % unit if amount >= unit else amount


def amount_findings(order: Order, kind: InstanceType) -> Iterator[Finding]:
    """Amounts that contradict each other, or that no instance of the type has."""
    amounts = {
        "--accelerators": order.accelerators,
        "--vcpu": order.vcpu,
        "--memory-gib": order.memory_gib,
        "--partition": order.partition,
        "--efa": order.efa,
    }
    named = [option for option, value in amounts.items() if value is not None]
    for option in named:
        yield from _number(option, amounts[option])
    if order.whole_node and named:
        option = "--whole-node" if order.nodes is None else "--nodes"
        message = f"a whole node has all amounts already; {', '.join(named)} can't be given beside it"
        remedy = f"keep {option} or the amounts" + (", with --pods" if order.nodes is not None else "")
        yield problem_at("per-pod", Where(option), message, remedy)
    if not order.whole_node and not any(value for option, value in amounts.items() if option != "--efa"):
        message = "the pod asks for nothing"
        yield problem_at(
            "per-pod", Where("--accelerators"), message, "give --whole-node, or --accelerators, --vcpu, --memory-gib"
        )
    if order.accelerators and not kind.accelerators:
        message = f"{kind.name} has no accelerators"
        yield problem_at("accelerators-none", Where("--accelerators"), message, "ask for --vcpu or --memory-gib")
    if order.efa and not kind.efa:
        yield problem_at("job-amounts", Where("--efa"), f"{kind.name} has no EFA interfaces", "leave --efa out")
    yield from _partition_findings(order, kind)


def _number(option: str, value: float | str | None) -> Iterator[Finding]:
    """An amount that is none: no number, 0 or less where there must be some, below the base unit, beyond everything."""
    if not isinstance(value, (int, float)):
        return
    divisible = option in ("--vcpu", "--memory-gib")
    base = {"--vcpu": Fraction(1, 1000), "--memory-gib": Fraction(1, 1024)}.get(option, 1)
    if (isinstance(value, float) and not math.isfinite(value)) or value < 0 or (divisible and value == 0):
        remedy = "ask for more than 0"
    elif value > _MOST:
        remedy = f"ask for {_MOST} at most"
    elif divisible and Fraction(str(value)) < base:
        remedy = f"ask for 0.001 or more: {'1 milli-vCPU' if option == '--vcpu' else '1 MiB'} is the least"
    else:
        return
    told = f"{value:g}" if isinstance(value, float) else quoted(value)
    yield problem_at("job-amounts", Where(option), f"{told} is no amount that a pod can ask for", remedy)


def _partition_findings(order: Order, kind: InstanceType) -> Iterator[Finding]:
    if order.partition is None:
        if order.partition_count is not None:
            yield problem_at("job-amounts", Where("--partition-count"), "a count of no partition", "name one with --partition")
        return
    if order.partition not in kind.mig_profiles:
        known = ", ".join(f"`{profile}`" for profile in kind.mig_profiles)
        message = f"{kind.name} has no MIG profile `{order.partition}`"
        remedy = f"it has {known}" if known else "use a type whose GPUs MIG can divide"
        yield problem_at("mig-profile-type", Where("--partition"), message, remedy)
    if order.partition_count is not None and order.partition_count < 1:
        yield problem_at("job-amounts", Where("--partition-count"), "a pod needs one partition at least", "give 1 or more")
    else:
        yield from _number("--partition-count", order.partition_count)
    if order.accelerators:
        message = "a pod has whole GPUs or partitions of them: no node lends both to it in one"
        yield problem_at("job-amounts", Where("--partition"), message, "keep --accelerators or --partition")


def fit_findings(resources: Resources, kind: InstanceType, cluster: ClusterPlan) -> Iterator[Finding]:
    """Pods that are larger than every node of the type."""
    found = rooms(kind, cluster)
    if any(fitting(resources, room) for room in found):
        return
    best = max(found, key=lambda room: sum(amount <= room.get(resource, 0) for resource, amount in resources.items()))
    for resource, amount in resources.items():
        there = _even(resource, best.get(resource, 0))
        if amount > best.get(resource, 0):
            message = (
                f"a pod asks for {shown(resource, amount)} {resource}; pods on {kind.name} can have {shown(resource, there)}"
            )
            remedy = (
                f"ask for {shown(resource, there)} at most, or for --whole-node" if there else _nothing(resource, cluster, kind)
            )
            yield problem_at("pod-too-large", Where(_option(resource, kind)), message, remedy)


def _nothing(resource: str, cluster: ClusterPlan, kind: InstanceType) -> str:
    if resource.startswith("nvidia.com/mig-"):
        return (
            f"no group of {kind.name} on `{cluster.name}` has such partitions: add `partitions` to one, or ask for --accelerators"
        )
    return f"no node of {kind.name} on `{cluster.name}` has any: ask for what its groups hold"


def _option(resource: str, kind: InstanceType) -> str:
    """The option that asks for a resource."""
    options = {CPU: "--vcpu", MEMORY: "--memory-gib", EFA: "--efa", kind.resource or "": "--accelerators"}
    return options.get(resource, "--partition")


def known(kind: InstanceType) -> bool:
    """Whether the catalogue has the type's numbers."""
    try:
        specification(kind)
    except AmountError:
        return False
    return True
