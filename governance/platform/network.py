"""Dividing address blocks: pure arithmetic."""

from __future__ import annotations

from ipaddress import IPv4Network

from config.network import Network
from governance.platform.model import NetworkPlan, ZonePlan

DEFAULT_CIDR = "10.192.0.0/16"
_CONTROL_PLANE = 28
"""Size of a control-plane subnet: EKS asks for six addresses, and recommends 16."""
_PUBLIC = 26
ENDPOINTS = ("ec2", "ecr.api", "ecr.dkr", "sts", "logs", "monitoring", "ssm", "ssmmessages", "ec2messages", "eks-auth", "eks")
"""Interface endpoints that nodes need in a closed network, beside the gateway endpoint of S3."""
RESTRICTED_ENDPOINTS = ("lambda", "sqs")
"""Further ones of restricted instance groups."""


def network_plan(network: Network, *, restricted: bool = False) -> NetworkPlan:
    """The network, resolved. `restricted`: there are restricted instance groups.

    Raises ValueError where the zones don't fit into the block; see `smallest_block`.
    """
    endpoints = ()
    if not network.existing and (network.egress == "closed" or network.interface_endpoints):
        endpoints = (*ENDPOINTS, *(RESTRICTED_ENDPOINTS if restricted else ()))
    return NetworkPlan(
        vpc=network.vpc,
        cidr=None if network.existing else network.cidr or DEFAULT_CIDR,
        zones=_existing(network) if network.existing else _new(network),
        control_plane_subnets=tuple(network.control_plane_subnets or network.subnets.values()) if network.existing else (),
        security_group=network.security_group,
        endpoints=endpoints,
    )


def _existing(network: Network) -> tuple[ZonePlan, ...]:
    return tuple(ZonePlan(zone, subnet=subnet) for zone, subnet in network.subnets.items())


def _new(network: Network) -> tuple[ZonePlan, ...]:
    """Equal parts: one for the nodes of each zone, the last for the small subnets of all of them."""
    zones = network.zones
    block = IPv4Network(network.cidr or DEFAULT_CIDR)
    bits = len(zones).bit_length()  # parts for n zones and the small subnets: the power of two above n
    parts = list(block.subnets(prefixlen_diff=bits))
    small = parts[-1]
    public = small.subnets(new_prefix=max(_PUBLIC, small.prefixlen + 1 + bits))
    control = list(small.subnets(prefixlen_diff=1))[1].subnets(new_prefix=_CONTROL_PLANE)
    result = []
    for index, zone in enumerate(zones):
        gateway = str(next(public)) if network.egress == "nat_per_zone" or (network.egress == "nat" and index == 0) else None
        own = network.node_cidrs.get(zone)
        result.append(
            ZonePlan(
                zone,
                nodes_cidr=own or str(parts[index]),
                nodes_associated=own is not None,
                control_plane_cidr=str(next(control)),
                public_cidr=gateway,
            )
        )
    return tuple(result)
