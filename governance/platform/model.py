"""The plan of one HyperPod cluster's platform. Components of the platform layer declare exactly this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from config.groups import HyperPodGroup
from config.hyperpod import HyperPodCluster


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """One availability zone: blocks of a new network, or the subnet of an existing one."""

    zone: str
    nodes_cidr: str | None = None
    """Private subnet of the nodes."""
    nodes_associated: bool = False
    """Whether `nodes_cidr` is a block of its own, to be added to the VPC."""
    control_plane_cidr: str | None = None
    """Private subnet of the control plane's interfaces."""
    public_cidr: str | None = None
    """Public subnet of a NAT gateway; None where the zone has none."""
    subnet: str | None = None
    """Id of the existing subnet."""


HOME_ZONES = 3
"""Zones, by name, of what can't be given another zone later: HyperPod's own VpcConfig, and the control plane of EKS. With these
alone, a fourth zone can be added for the groups in it."""


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """The network."""

    vpc: str | None
    """Id of an existing VPC; None for a new one."""
    cidr: str | None
    """The new VPC's first block."""
    zones: tuple[ZonePlan, ...]
    control_plane_subnets: tuple[str, ...]
    """Ids of existing subnets for the control plane's interfaces."""
    security_group: str | None
    """Id of an existing security group of the nodes."""
    endpoints: tuple[str, ...]
    """AWS services that are reached through interface endpoints, as `ecr.api`; the gateway endpoint of S3 is always made."""

    @property
    def home_zones(self) -> tuple[str, ...]:
        """The first zones by name, see HOME_ZONES."""
        return tuple(sorted(zone.zone for zone in self.zones)[:HOME_ZONES])


@dataclass(frozen=True, slots=True)
class PlatformNames:
    """Physical names, each within its service's limits."""

    prefix: str
    """`<environment>-<cluster>`, as it begins the others."""
    hyperpod: str
    eks: str
    bucket: str | None
    """Lifecycle bucket; None where no script comes from a local folder."""
    execution_role: str
    karpenter_role: str
    eks_role: str
    flow_log_role: str


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """An instance group by name."""

    name: str
    declared: HyperPodGroup


@dataclass(frozen=True, slots=True)
class PlatformPlan:
    """Everything below the queues of one cluster."""

    environment: str
    cluster: str
    """The cluster's name in the environment's file."""
    declared: HyperPodCluster
    partition: str
    """`aws`, `aws-cn`, `aws-us-gov`, …"""
    dns_suffix: str
    """`amazonaws.com`, …"""
    names: PlatformNames
    tags: Mapping[str, str]
    network: NetworkPlan
    groups: tuple[GroupPlan, ...]
    """By name alone: a group that becomes autoscaled keeps its place in the list, and with it its count."""
    managed: bool
    """Whether the managed backend keeps the queues."""

    @property
    def protected(self) -> bool:
        """Whether what a mistake must not delete is protected."""
        return self.declared.protection

    def arn(self, service: str, resource: str, *, region: str | None = None, account: str | None = None) -> str:
        """An ARN of this partition, region and account; give "" for services that have no region or account in theirs."""
        where = self.declared.region if region is None else region
        owner = self.declared.account if account is None else account
        return f"arn:{self.partition}:{service}:{where}:{owner}:{resource}"
