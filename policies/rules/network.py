"""VPC, subnets, security groups and endpoints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network

from policies.model import Domain, Properties, Resource, Stack, Violation, has, items

NETWORK = Domain("network", "Network")
VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"
FLOW_LOG, ENDPOINT = "aws:ec2/flowLog:FlowLog", "aws:ec2/vpcEndpoint:VpcEndpoint"
GROUP, DEFAULT_GROUP = "aws:ec2/securityGroup:SecurityGroup", "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
OLD_RULE = "aws:ec2/securityGroupRule:SecurityGroupRule"
INGRESS, EGRESS = (
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
)
PRIVATE = (ip_network("10.0.0.0/8"), ip_network("fc00::/7"))
"""Addresses of one's own (RFC 1918, RFC 4193), as far as a block of them may be as large as what counts as the internet."""
SHORTEST = {4: 9, 6: 13}
"""By version of IP. Shorter prefixes are nobody's network: an IPv4 /8 has 16 million addresses, an IPv6 /12 is a whole regional
registry's. And 60 blocks from here on, as many as a security group has rules, are less than an eighth of the internet."""
SERVICES = ("ecr.api", "ecr.dkr", "ssm")
"""Interface endpoints without which pulling images and Session Manager leave the VPC."""


@NETWORK.rule(
    "subnet-no-public-ips",
    "Instances get no public addresses",
    types=[SUBNET, "aws:ec2/instance:Instance", "aws:ec2/launchTemplate:LaunchTemplate"],
    severity="high",
    anchors=["CKV_AWS_130", "EC2.15", "EC2.9", "EC2.25"],
    remedy="Set `mapPublicIpOnLaunch: false`, and no `associatePublicIpAddress`.",
)
def no_public_ips(properties: Properties) -> Iterator[str]:
    if properties.get("mapPublicIpOnLaunch", False):
        yield "its instances get public addresses"
    for interface in (properties, *items(properties, "networkInterfaces")):
        if str(interface.get("associatePublicIpAddress", False)).lower() == "true":
            yield "the instance gets a public address"


@NETWORK.stack_rule(
    "vpc-flow-logs",
    "Every VPC keeps flow logs",
    severity="medium",
    anchors=["CKV2_AWS_11", "EC2.6"],
    remedy="Declare a flow log of all traffic.",
)
def flow_logs(stack: Stack) -> Iterator[Violation]:
    for vpc in stack.of(VPC):
        if not stack.about(vpc, [FLOW_LOG], "vpcId"):
            yield Violation(vpc, "nothing records what traffic was accepted and refused")


def _no_default_group(stack: Stack) -> Iterator[Violation]:
    for vpc in stack.of(VPC):
        if not stack.about(vpc, [DEFAULT_GROUP], "vpcId"):
            yield Violation(vpc, "its default security group lets members talk to each other and out")


@NETWORK.rule(
    "vpc-default-group-closed",
    "The default security group lets nothing through",
    types=[DEFAULT_GROUP],
    severity="medium",
    anchors=["CKV2_AWS_12", "EC2.2"],
    remedy="Declare a DefaultSecurityGroup without rules for each VPC.",
    whole=_no_default_group,
)
def default_group_closed(properties: Properties) -> Iterator[str]:
    for direction in ("ingress", "egress"):
        if len(items(properties, direction)):
            yield f"the default security group has a rule for {direction}"


@NETWORK.rule(
    "sg-open-ingress",
    "No security group lets in the whole internet",
    types=[GROUP, OLD_RULE, INGRESS, DEFAULT_GROUP],
    severity="critical",
    anchors=["CKV_AWS_24", "CKV_AWS_25", "CKV_AWS_260", "EC2.18", "EC2.19"],
    remedy="Name a security group, a prefix list or the addresses of a network of yours.",
)
def open_ingress(properties: Properties) -> Iterator[str]:
    for rule in _rules(properties, "ingress"):
        for block in _world(rule):
            yield f"traffic from {block} comes in on {_ports(rule)}"


@NETWORK.rule(
    "sg-open-egress",
    "Security groups let out what is needed, not everything",
    types=[GROUP, OLD_RULE, EGRESS, DEFAULT_GROUP],
    severity="low",
    level="advisory",  # nodes of a network with NAT pull images and updates from addresses that nobody lists
    anchors=["CKV_AWS_382"],
    remedy="Use `egress: closed`, where AWS's services are reached through endpoints alone.",
)
def open_egress(properties: Properties) -> Iterator[str]:
    for rule in _rules(properties, "egress"):
        for block in _world(rule):
            yield f"everything goes out to {block}"


@NETWORK.rule(
    "sg-described",
    "Every security group and every rule says what it is for",
    types=[GROUP, OLD_RULE, INGRESS, EGRESS],
    severity="low",
    anchors=["CKV_AWS_23"],
    remedy="Give `description`.",
)
def described(properties: Properties) -> Iterator[str]:
    text = properties.get("description")
    if not text or text == "Managed by Pulumi":
        yield "there is no description"
    for direction in ("ingress", "egress"):
        if any(not rule.get("description") for rule in items(properties, direction)):
            yield f"a rule for {direction} has no description"


@NETWORK.stack_rule(
    "vpc-endpoint-s3",
    "S3 is reached through a gateway endpoint",
    severity="medium",
    anchors=["EC2.10", "own"],
    remedy="Declare a gateway endpoint of S3; it costs nothing.",
)
def endpoint_s3(stack: Stack) -> Iterator[Violation]:
    for vpc in stack.of(VPC):
        if "s3" not in _services(stack, vpc):
            yield Violation(vpc, "traffic to S3 leaves the VPC")


@NETWORK.stack_rule(
    "vpc-endpoints",
    "ECR and SSM are reached through interface endpoints",
    severity="low",
    level="advisory",  # they cost by the hour and zone; with NAT gateways images come that way
    anchors=["EC2.55", "EC2.56", "EC2.57"],
    remedy="Use `egress: closed`, or name the services in `network.endpoints`.",
)
def endpoints(stack: Stack) -> Iterator[Violation]:
    for vpc in stack.of(VPC):
        found = _services(stack, vpc)
        missing = [service for service in SERVICES if service not in found]
        if missing:
            yield Violation(vpc, f"traffic to {', '.join(missing)} leaves the VPC")


def _services(stack: Stack, vpc: Resource) -> set[str]:
    """Services by their short name: `com.amazonaws.us-west-2.ecr.api` is `ecr.api`."""
    names = [str(one.properties.get("serviceName", "")) for one in stack.about(vpc, [ENDPOINT], "vpcId")]
    return {name.split(".", 3)[-1].removeprefix("amazonaws.com.") for name in names}


def _rules(properties: Properties, direction: str) -> Iterator[Properties]:
    """Rules for one direction, of a group with rules in it or of a resource that is a rule."""
    if has(properties, "type") and has(properties, "protocol"):  # the older kind of rule
        if properties["type"] == direction:
            yield properties
    elif has(properties, "ipProtocol"):
        yield properties
    else:
        yield from items(properties, direction)


def _world(rule: Mapping[str, object]) -> Iterator[str]:
    """The rule's blocks that are the internet, or much of it, as a message names them. Raises ValueError for what is no block."""
    blocks = [rule[key] for key in ("cidrIpv4", "cidrIpv6") if rule.get(key)]
    blocks += [block for key in ("cidrBlocks", "ipv6CidrBlocks") for block in items(rule, key)]
    yield from world_in(map(str, blocks))


def world_in(blocks: Iterable[str]) -> Iterator[str]:
    """Blocks that are the internet, or much of it, as a message names them. Raises ValueError for what is no block."""
    for block in blocks:
        network = ip_network(block, strict=False)
        if network.prefixlen < SHORTEST[network.version] and not any(_inside(network, own) for own in PRIVATE):
            yield f"{'a large part of the' if network.prefixlen else 'the whole'} internet ({block})"


def _inside(network: IPv4Network | IPv6Network, outer: IPv4Network | IPv6Network) -> bool:
    return network.version == outer.version and network.network_address in outer and network.broadcast_address in outer


def _ports(rule: Properties) -> str:
    if str(rule.get("ipProtocol", rule.get("protocol"))) in {"-1", "all"} or rule.get("fromPort") is None:
        return "every port"
    first, last = int(rule["fromPort"]), int(rule.get("toPort", rule["fromPort"]))
    return f"port {first}" if first == last else f"ports {first}-{last}"
