"""Rules of security groups, as plain values: which ones nodes need, and which of them a group lacks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import ip_network
from typing import Literal

from governance.platform.model import PlatformPlan

ALL = "-1"
"""Every protocol, and so every port."""
ANYWHERE = "0.0.0.0/0"
ITSELF, OTHER = "self", "other"
"""Peers that have no id yet: the group itself, and the one it is declared with."""
Direction = Literal["ingress", "egress"]
_LUSTRE = ((988, 988, "lustre"), (1018, 1023, "lustre-low"))
"""First and last port of FSx for Lustre's traffic."""
_UNPRIVILEGED = (1025, 65_535)


@dataclass(frozen=True, slots=True, order=True)
class Rule:
    """One rule; its peer is a security group (`self`: the group that has it), an address block, or a prefix list."""

    direction: Direction
    protocol: str
    """`tcp`, `udp`, … or `-1` for all of them."""
    first: int | None = None
    """First port; None: all."""
    last: int | None = None
    group: str | None = None
    cidr: str | None = None
    prefix_list: str | None = None
    name: str = ""
    """What tells the rule from its siblings, in resource names."""
    description: str = ""
    """Shown beside the rule; EC2 takes letters, digits, spaces and ._-:/()#,@[]+=&;{}!$* there, and no quotes."""

    def covers(self, other: Rule) -> bool:
        """Whether whatever `other` lets through, this rule does too.

        A block never covers a group, not even 0.0.0.0/0: EFA's own traffic has no addresses (EC2 User Guide, "Prepare an
        EFA-enabled security group").
        """
        if self.direction != other.direction or self.protocol not in (ALL, other.protocol):
            return False
        return self._covers_ports(other) and self._covers_peer(other)

    def _covers_ports(self, other: Rule) -> bool:
        if self.protocol == ALL or self.first is None or self.last is None:
            return True
        return other.first is not None and other.last is not None and self.first <= other.first and other.last <= self.last

    def _covers_peer(self, other: Rule) -> bool:
        if self.cidr is not None and other.cidr is not None:
            mine, theirs = ip_network(self.cidr), ip_network(other.cidr)
            return mine.version == theirs.version and theirs.subnet_of(mine)  # type: ignore[arg-type]
        return (self.group, self.cidr, self.prefix_list) == (other.group, other.cidr, other.prefix_list)


def node_rules(plan: PlatformPlan) -> tuple[Rule, ...]:
    """What nodes need: everything among themselves, and a way out.

    EFA needs all traffic of the group to itself, in both directions and by naming the group, on every attached group: else
    HyperPod's health checks of EFA fail. Lustre's ports are within that; they are written out, as AWS's own templates do, for a
    group whose rule for all is narrowed one day. In a network without a way out nodes reach HTTPS of the VPC's own addresses,
    where the endpoints are, and of S3's gateway endpoint. The VPC's DNS needs no rule: security groups don't see it (Amazon VPC,
    "Security groups"). A file system there must have the nodes' group.
    """
    rules = [
        Rule("ingress", ALL, group=ITSELF, name="all-in", description="All traffic among nodes (EFA)"),
        Rule("egress", ALL, group=ITSELF, name="all-out", description="All traffic among nodes (EFA)"),
    ]
    for first, last, name in _LUSTRE:
        rules.append(Rule("ingress", "tcp", first, last, group=ITSELF, name=f"{name}-in", description="FSx for Lustre"))
    if not closed(plan):
        return (*rules, Rule("egress", ALL, cidr=ANYWHERE, name="out", description="Registries, AWS services, updates"))
    inside = "Interface endpoints of AWS services"
    for index, block in enumerate(blocks(plan)):
        rules.append(Rule("egress", "tcp", 443, 443, cidr=block, name=f"https-out-{index}", description=inside))
    return (*rules, Rule("egress", "tcp", 443, 443, prefix_list=OTHER, name="s3-out", description="Gateway endpoint of S3"))


@dataclass(frozen=True, slots=True)
class ControlPlaneTraffic:
    """Rules of the nodes' group and of the control plane's, each towards the other."""

    nodes: tuple[Rule, ...]
    control_plane: tuple[Rule, ...]


def control_plane_traffic(plan: PlatformPlan) -> ControlPlaneTraffic:
    """What nodes and control plane say to each other.

    Nodes reach the API server; it reaches their kubelets (10250), webhooks, aggregated APIs and proxied pods, which listen on
    ports of their own choice (EKS, "Security group requirements": 443 and 10250 at least, and what the pods need). The group of
    an existing cluster may hold other nodes, with its DNS and pods that ours talk to: there everything is let through.
    """
    if plan.declared.eks.existing is not None:
        both = tuple(
            Rule(direction, ALL, group=OTHER, name=name, description="Between HyperPod nodes, the control plane and its nodes")
            for direction, name in _DIRECTIONS
        )
        return ControlPlaneTraffic(nodes=both, control_plane=both)
    return ControlPlaneTraffic(
        nodes=(_https("egress", "API server"), _https("ingress", "Webhooks"), _ports("ingress")),
        control_plane=(_https("ingress", "API server"), _https("egress", "Webhooks"), _ports("egress")),
    )


def private_access(plan: PlatformPlan) -> tuple[Rule, ...]:
    """Rules of the control plane's group for those who reach the API server from inside the network: runners, a VPN."""
    return tuple(
        Rule("ingress", "tcp", 443, 443, cidr=block, name=f"https-from-{block}", description=f"API server, from {block}")
        for block in plan.declared.eks.private_access_from
    )


_DIRECTIONS: tuple[tuple[Direction, str], ...] = (("ingress", "all-in"), ("egress", "all-out"))


def _https(direction: Direction, description: str) -> Rule:
    return Rule(direction, "tcp", 443, 443, group=OTHER, name=f"https-{direction}", description=description)


def _ports(direction: Direction) -> Rule:
    first, last = _UNPRIVILEGED
    words = "Kubelets, webhooks and proxied pods"
    return Rule(direction, "tcp", first, last, group=OTHER, name=f"ports-{direction}", description=words)


def closed(plan: PlatformPlan) -> bool:
    """Whether the network has no way out. Of an existing one nothing is assumed."""
    return plan.network.vpc is None and plan.declared.network.egress == "closed"


def blocks(plan: PlatformPlan) -> tuple[str, ...]:
    """Address blocks of a new VPC."""
    own = [zone.nodes_cidr for zone in plan.network.zones if zone.nodes_associated and zone.nodes_cidr]
    return (*([plan.network.cidr] if plan.network.cidr else ()), *own)


def missing_rules(wanted: Iterable[Rule], present: Iterable[Rule], group: str) -> tuple[Rule, ...]:
    """Those wanted that nothing present covers. `group` is the id of the group itself, which present rules may name."""
    known = [replace(rule, group=ITSELF) if rule.group == group else rule for rule in present]
    return tuple(rule for rule in wanted if not any(one.covers(rule) for one in known))
