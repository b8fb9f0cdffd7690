"""Addresses that instances take in their subnet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv4Network

from config.catalogue import InstanceType, instance_types
from config.groups import HyperPodGroup
from governance.platform.model import PlatformPlan

RESERVED = 5
"""Addresses of a subnet that AWS keeps: the first four and the last (Amazon VPC, "Subnet CIDR blocks")."""
_PER_INTERFACE = ((1, 4), (2, 12), (12, 15), (36, 30))
"""Up to so many vCPUs, at most so many addresses an interface; above, `_LARGE`."""
_LARGE, _LARGEST = 50, 64
_SMALLEST_TYPE = {"ml.t3.medium": 6}
"""Types with fewer addresses than others of their size."""
_LARGEST_FROM = {"g7": 0, "g7e": 0, "c8a": 64, "m8a": 64}
"""vCPUs from which on a family's interfaces hold the most of any."""
_CARDS = {"p6-b300": 17, "p6e-gb200": 17}
"""Network cards where they aren't as many as EFA interfaces: the first one has none."""


def addresses_needed(kind: InstanceType, count: int, *, efa_only: bool = False) -> int:
    """Addresses that `count` instances of a type take in their subnet, at most.

    On EKS, an instance of HyperPod takes those of one interface on its first network card, for itself and its pods, and one on
    each further card: an ml.p5.48xlarge 50 + 31 = 81 (SageMaker Developer Guide, "Prerequisites for using SageMaker HyperPod",
    custom VPC). Interfaces of the kind `efa-only` have no address (EC2 User Guide, "Elastic Fabric Adapter"): `efa_only` leaves
    the further cards out. The addresses of an interface are EC2's ("IP addresses per network interface"; the VPC CNI plugin's
    table has the same), by size of instance, and for some families more than theirs; for an unknown type the most of any.
    """
    return count * (addresses_of_interface(kind) + (0 if efa_only else _cards(kind) - 1))


def free_addresses(cidr: str) -> int:
    """Addresses of a subnet that instances can have."""
    return max(0, IPv4Network(cidr).num_addresses - RESERVED)


def addresses_of_interface(kind: InstanceType) -> int:
    """Addresses that one interface of an instance holds, its own included."""
    if kind.vcpu is None or kind.vcpu >= _LARGEST_FROM.get(kind.family, kind.vcpu + 1):
        return _LARGEST
    by_size = next((addresses for vcpus, addresses in _PER_INTERFACE if kind.vcpu <= vcpus), _LARGE)
    return _SMALLEST_TYPE.get(kind.name, by_size)


def _cards(kind: InstanceType) -> int:
    return _CARDS.get(kind.family) or max(1, kind.efa or 1)


@dataclass(frozen=True, slots=True)
class Shortage:
    """A zone whose subnet may not hold its groups."""

    zone: str
    needed: int
    free: int
    groups: tuple[str, ...]
    """Those that take addresses there, by name; the ones that may stand in any zone among them."""
    own_block: bool
    """Whether the subnet is a block of its own (`node_cidrs`), not a part of the VPC's first."""


def address_shortages(plan: PlatformPlan) -> Iterator[Shortage]:
    """Zones of a new network whose groups don't fit their subnet when every instance is there.

    A group that names no zone may stand in any, all of it (HyperPod chooses one subnet), and so counts in each. Interface
    endpoints take an address a zone. Of an existing subnet's addresses nothing is known before a call.
    """
    wanted = list(_wanted(plan))
    for zone in plan.network.zones:
        here = [(name, needed) for name, where, needed in wanted if where in (None, zone.zone) and needed]
        needed = sum(needed for _, needed in here) + len(plan.network.endpoints)
        if here and zone.nodes_cidr is not None and needed > free_addresses(zone.nodes_cidr):
            names = tuple(name for name, _ in here)
            yield Shortage(zone.zone, needed, free_addresses(zone.nodes_cidr), names, zone.nodes_associated)


def _wanted(plan: PlatformPlan) -> Iterable[tuple[str, str | None, int]]:
    """Name of each group, its zone if any, and the most addresses that it takes."""
    for group in plan.groups:
        declared = group.declared
        yield group.name, declared.availability_zone, _most(declared)
    for name, restricted in plan.declared.restricted_instance_groups.items():
        yield name, restricted.availability_zone, addresses_needed(instance_types()[restricted.instance_type], restricted.count)


def _most(group: HyperPodGroup) -> int:
    """The group's addresses with whichever of its types takes most."""
    kinds = [instance_types()[name] for name in (group.instance_type, *group.flexible_types)]
    return max(addresses_needed(kind, group.count, efa_only=group.network_interface == "efa-only") for kind in kinds)
