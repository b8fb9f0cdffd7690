"""Dividing address blocks: pure arithmetic, and what can't be divided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import IPv4Network

from config.findings import quoted
from config.network import Network
from config.yamlsource import Path_
from governance.platform.model import HOME_ZONES, NetworkPlan, ZonePlan

DEFAULT_CIDR = "10.192.0.0/16"
MAX_BLOCKS = 5
"""IPv4 blocks of a VPC, the first included (Amazon VPC quotas; adjustable, but we can't see whether it was)."""
CONTROL_PLANE_ZONES = 2
"""Zones that EKS asks for, at least (EKS, "VPC and subnet considerations")."""
_SLOT_BITS = 3
"""Room for eight small subnets of each kind, whatever the number of zones: a new zone then moves none of them."""
_CONTROL_PLANE = 28
"""Size of a control-plane subnet: EKS asks for six addresses, and recommends 16."""
_PUBLIC, _SMALLEST = 26, 28
"""Size of a NAT gateway's subnet where there is room, and of any subnet where there isn't (a VPC's smallest)."""
ENDPOINTS = ("ec2", "ecr.api", "ecr.dkr", "sts", "logs", "monitoring", "ssm", "ssmmessages", "ec2messages", "eks-auth", "eks")
"""Interface endpoints that nodes need in a closed network, beside the gateway endpoint of S3."""
RESTRICTED_ENDPOINTS = ("lambda", "sqs")
"""Further ones of restricted instance groups."""
_RFC_1918 = tuple(IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
_NEVER_ADDED = IPv4Network("172.31.0.0/16")
"""Can't be added to a VPC that begins with another block of 172.16.0.0/12 (Amazon VPC, "CIDR block association restrictions")."""
_LOWEST, _LOW = IPv4Network("10.0.0.0/16"), IPv4Network("10.0.0.0/15")
"""The former can't be added to a VPC that has a block of the latter (there too)."""


def network_plan(network: Network, *, restricted: bool = False) -> NetworkPlan:
    """The network, resolved. `restricted`: there are restricted instance groups.

    Raises ValueError where `network_problems` would tell that the zones don't fit into the block.
    """
    endpoints = ()
    if not network.existing and (network.egress == "closed" or network.interface_endpoints):
        endpoints = (*ENDPOINTS, *(RESTRICTED_ENDPOINTS if restricted else ()))
    return NetworkPlan(
        vpc=network.vpc,
        cidr=None if network.existing else network.cidr or DEFAULT_CIDR,
        zones=_existing(network) if network.existing else _new(network),
        control_plane_subnets=_control_plane(network) if network.existing else (),
        security_group=network.security_group,
        endpoints=endpoints,
    )


def _control_plane(network: Network) -> tuple[str, ...]:
    """Those declared, or those of the nodes in the first zones: EKS takes no subnet in a zone that it didn't begin with."""
    return tuple(network.control_plane_subnets) or tuple(network.subnets[zone] for zone in sorted(network.subnets)[:HOME_ZONES])


def smallest_block(network: Network) -> int:
    """Prefix length of the smallest block that the zones of a new network fit into: 22, or 21 where over three share it."""
    half = _SMALLEST - _SLOT_BITS
    return half - 1 - _bits(network)


def _existing(network: Network) -> tuple[ZonePlan, ...]:
    return tuple(ZonePlan(zone, subnet=subnet) for zone, subnet in network.subnets.items())


def _bits(network: Network) -> int:
    """The block is divided into quarters, or into eighths where more than three zones share it."""
    sharing = [index for index, zone in enumerate(network.zones) if zone not in network.node_cidrs]
    return 2 if not sharing or sharing[-1] < 3 else 3


def _new(network: Network) -> tuple[ZonePlan, ...]:
    """Equal parts: the zones' nodes have the first ones, each at its zone's place; small subnets of all zones lie in the last.

    A zone keeps its subnets, whatever becomes of `egress`, of the other zones' `node_cidrs`, and of zones after it, with one
    exception: a fourth zone that shares the block halves the parts. With a block of its own in `node_cidrs` it moves nothing.
    """
    block = IPv4Network(network.cidr or DEFAULT_CIDR)
    if block.prefixlen > smallest_block(network):
        raise ValueError(f"{block} is too small for {len(network.zones)} zones: /{smallest_block(network)} at least")
    parts = list(block.subnets(prefixlen_diff=_bits(network)))
    halves = list(parts[-1].subnets())
    public = list(halves[0].subnets(new_prefix=max(_PUBLIC, halves[0].prefixlen + _SLOT_BITS)))
    control = list(halves[1].subnets(new_prefix=_CONTROL_PLANE))
    return tuple(
        ZonePlan(
            zone,
            nodes_cidr=network.node_cidrs.get(zone) or str(parts[index]),
            nodes_associated=zone in network.node_cidrs,
            control_plane_cidr=str(control[index]),
            public_cidr=str(public[index]) if _gateway(network, index) else None,
        )
        for index, zone in enumerate(network.zones)
    )


def _gateway(network: Network, index: int) -> bool:
    """Whether the zone at this place has a NAT gateway."""
    return network.egress == "nat_per_zone" or (network.egress == "nat" and index == 0)


# What can't be divided ----------------------------------------------------------------------------------------------------------

Problem = tuple[Path_, str, str]
"""Where within the network's section, what is wrong, and what to do about it."""


def network_problems(network: Network, *, existing_eks: bool = False) -> Iterator[Problem]:
    """What a network says that can't be. `existing_eks`: the control plane is there, and chooses no subnets any more.

    Zones of another region are found with everything else that stands in a zone (`placement_findings`).
    """
    if network.existing:
        yield from _existing_problems(network, existing_eks)
        return
    for key in ("subnets", "control_plane_subnets", "security_group"):
        if getattr(network, key):
            yield (key,), f"network.{key} names what lies in an existing VPC, and none is named", "add `vpc:`, or remove it"
    if network.availability_zones is None:
        yield (), "the network is neither made nor taken as it is", "give availability_zones, or vpc and subnets"
        return
    yield from _zone_problems(network)
    yield from _block_problems(network)


def _existing_problems(network: Network, existing_eks: bool) -> Iterator[Problem]:
    for key in ("availability_zones", "cidr", "node_cidrs", "egress", "interface_endpoints", "flow_log_days"):
        if key in network.model_fields_set and getattr(network, key) is not None:
            message = f"network.{key} has no effect on the existing VPC {quoted(network.vpc)}, of which nothing is changed"
            yield (key,), message, "remove it, or `vpc`"
    if not network.subnets:
        yield ("vpc",), "the existing VPC has no subnets for nodes here", "add `subnets:`, a private subnet by zone"
    yield from _twice(("subnets",), network.subnets.items(), "the subnet {} is that of {} too", "name each subnet once")
    numbered = list(enumerate(network.control_plane_subnets))
    yield from _twice(("control_plane_subnets",), numbered, "the subnet {} is listed twice", "name each subnet once")
    if existing_eks:
        return
    if network.control_plane_subnets:
        if len(set(network.control_plane_subnets)) < CONTROL_PLANE_ZONES:
            message = f"EKS needs subnets in {CONTROL_PLANE_ZONES} zones for the control plane"
            yield ("control_plane_subnets",), message, "add a subnet in another zone"
    elif 0 < len(network.subnets) < CONTROL_PLANE_ZONES:
        message = f"EKS needs subnets in {CONTROL_PLANE_ZONES} zones for the control plane; those of the nodes are in one"
        yield ("subnets",), message, f"add `control_plane_subnets:`, in {CONTROL_PLANE_ZONES} zones at least"


def _twice(place: Path_, items: Iterable[tuple[str | int, str]], message: str, remedy: str) -> Iterator[Problem]:
    first: dict[str, str | int] = {}
    for key, value in items:
        if value in first:
            yield (*place, key), message.format(quoted(value), first[value]), remedy
        first.setdefault(value, key)


def _zone_problems(network: Network) -> Iterator[Problem]:
    numbered = list(enumerate(network.availability_zones or ()))
    yield from _twice(("availability_zones",), numbered, "the zone {} is listed twice", "name each zone once")
    for zone in network.node_cidrs:
        if zone not in network.zones:
            message = f"node_cidrs has a block for {quoted(zone)}, where the network has no zone"
            yield ("node_cidrs", zone), message, "add it to availability_zones, or remove it"
    if len(network.node_cidrs) >= MAX_BLOCKS:
        message = f"{len(network.node_cidrs) + 1} blocks, `cidr` included; a VPC holds {MAX_BLOCKS}"
        yield ("node_cidrs",), message, f"at most {MAX_BLOCKS - 1}: let the other zones share `cidr`"


def _block_problems(network: Network) -> Iterator[Problem]:
    """Blocks that are too small, overlap, or can't be of one VPC."""
    first = IPv4Network(network.cidr or DEFAULT_CIDR)
    if first.prefixlen > smallest_block(network):
        message = f"{first} is too small for the subnets of {len(network.zones)} zones"
        yield ("cidr",), message, f"use /{smallest_block(network)} or larger; /16 has room for hundreds of nodes with EFA"
    blocks = {"cidr": first} | {zone: IPv4Network(cidr) for zone, cidr in network.node_cidrs.items()}
    names = list(blocks)
    for index, zone in enumerate(names[1:], 1):
        block, place = blocks[zone], ("node_cidrs", zone)
        for owner in names[:index]:
            if block.overlaps(blocks[owner]):
                words = "`cidr`" if owner == "cidr" else f"that of {owner}"
                yield place, f"{block} overlaps with {words}, {blocks[owner]}", "use another block"
        if refused := _not_addable(first, block, [blocks[name] for name in names if name != zone]):
            yield place, refused, "use another block, as a part of 100.64.0.0/10"


def _not_addable(first: IPv4Network, block: IPv4Network, others: list[IPv4Network]) -> str | None:
    """Why a VPC that begins with `first` doesn't take the block (Amazon VPC, "IPv4 CIDR block association restrictions")."""
    home = next((private for private in _RFC_1918 if first.subnet_of(private)), None)
    added = next((private for private in _RFC_1918 if block.subnet_of(private)), None)
    if added is not None and added != home:
        return f"{block} can't be added to a VPC that begins with {first}: it is of another private range"
    if block.subnet_of(_NEVER_ADDED):
        return f"{block} can't be added to a VPC: AWS keeps {_NEVER_ADDED}"
    if block.subnet_of(_LOWEST) and any(other.subnet_of(_LOW) for other in others):
        return f"{block} can't be added to a VPC that has a block of {_LOW}: AWS keeps {_LOWEST}"
    return None
