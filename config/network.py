"""Where a cluster's nodes stand: a network of its own, or one that is there already."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from config.findings import quoted
from config.vocabulary import LogDays, Model, Words, problem

_ZONE = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9](-[a-z]+-[0-9])?[a-z]\Z")
LARGEST_PREFIX, SMALLEST_PREFIX = 16, 28
"""A VPC's blocks hold /16 to /28 (Amazon VPC quotas)."""
_PRIVATE = tuple(ipaddress.IPv4Network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"))
"""Private addresses (RFC 1918), and those shared behind a provider's NAT (RFC 6598), which EKS documents for nodes and pods."""


def _cidr(value: str) -> str:
    network = private_block(value)
    if not LARGEST_PREFIX <= network.prefixlen <= SMALLEST_PREFIX:
        raise problem("cidr", f"{quoted(value)} is a /{network.prefixlen}; a VPC takes /16 to /28", "choose another size")
    return value


def private_block(value: str) -> ipaddress.IPv4Network:
    """A block of private addresses. Raises a validation error for any other."""
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError as error:
        raise problem("cidr", f"{quoted(value)} is not an IPv4 block: {error}", "write one as 10.0.0.0/16") from None
    if not any(network.subnet_of(block) for block in _PRIVATE):
        raise problem("cidr", f"{quoted(value)} is not a private block", f"use a part of {', '.join(map(str, _PRIVATE))}")
    return network


def _zone(value: str) -> str:
    if not _ZONE.match(value):
        raise problem("availability_zone", f"{quoted(value)} is not an availability zone's name", "write one as us-west-2a")
    return value


def _id(prefix: str) -> AfterValidator:
    pattern = re.compile(rf"{prefix}-[0-9a-f]{{8,17}}\Z")

    def check(value: str) -> str:
        if not pattern.match(value):
            raise problem(
                "resource_id",
                f"{quoted(value)} is not an id of the kind `{prefix}-…`",
                f"write one as {prefix}-0123456789abcdef0",
            )
        return value

    return AfterValidator(check)


Cidr = Annotated[str, AfterValidator(_cidr)]
Zone = Annotated[str, AfterValidator(_zone)]
"""Name of an availability zone, as `us-west-2a`."""
VpcId = Annotated[str, _id("vpc")]
SubnetId = Annotated[str, _id("subnet")]
SecurityGroupId = Annotated[str, _id("sg")]

Egress = Literal["nat", "nat_per_zone", "closed"]
"""`nat`: one NAT gateway; `nat_per_zone`: one in each zone, which survives the loss of a zone; `closed`: no way out, AWS's
services are reached through interface endpoints."""


class Network(Model):
    """The network of a cluster: made (give `availability_zones`), or taken as it is (give `vpc` and `subnets`)."""

    availability_zones: Annotated[Words(Zone), Field(min_length=3, max_length=6)] | None = None  # type: ignore[valid-type]
    """Zones of a new network, 3–6; each gets a private subnet for nodes and a small one for the control plane."""
    cidr: Cidr | None = None
    """The new network's block, /16 to /22, or to /21 where more than three zones share it; default 10.192.0.0/16.

    The nodes of each zone have a quarter of it, or an eighth where more than three zones share it.
    """
    node_cidrs: dict[Zone, Cidr] = Field(default_factory=dict)
    """Blocks of their own for the nodes of a zone, added to the VPC, at most 4; default a share of `cidr`.

    A zone that is added later moves no other zone's subnets when it has one.
    """
    egress: Egress = "nat"
    interface_endpoints: bool = False
    """Reach AWS's services through interface endpoints even where there is a NAT gateway; always so in a closed network."""
    flow_log_days: LogDays = 365
    """Days that flow logs are kept."""
    vpc: VpcId | None = None
    """An existing VPC; nothing of it is changed but the rules that an existing security group lacks."""
    subnets: dict[Zone, SubnetId] = Field(default_factory=dict)
    """Private subnets for nodes in the existing VPC, by zone."""
    control_plane_subnets: Words(SubnetId) = ()  # type: ignore[valid-type]
    """Subnets of the existing VPC for the control plane's interfaces, in two zones at least; default those of the nodes."""
    security_group: SecurityGroupId | None = None
    """Existing security group of the nodes; it gets the rules that EFA and Lustre need and it lacks. Default: one is made."""

    @property
    def existing(self) -> bool:
        """Whether the VPC is there already."""
        return self.vpc is not None

    @property
    def zones(self) -> tuple[str, ...]:
        """Zones that nodes can stand in, in the order declared."""
        return tuple(self.subnets) if self.existing else tuple(self.availability_zones or ())
