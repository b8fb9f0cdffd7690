"""Networks: VPCs, subnets, routes, security groups, endpoints."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Any, Final

from fakecloud.calls import AwsError
from fakecloud.codec import flat
from fakecloud.kinds import Findings, Hook, Inputs, Kind, Ref
from fakecloud.world import Place, Thing, World, handles_of

IN_USE: Final = "DependencyViolation"
_VPC: Final = Ref("vpcId", "vpc", IN_USE, "InvalidVpcID.NotFound")


def _subnet(path: str) -> Ref:
    return Ref(path, "subnet", IN_USE, "InvalidSubnetID.NotFound")


def _group(path: str) -> Ref:
    return Ref(path, "security group", IN_USE, "InvalidGroup.NotFound")


def _arn(resource: str, **more: Any) -> Any:
    return lambda place, id_, inputs: {"arn": place.arn("ec2", f"{resource}/{id_}"), "ownerId": place.account, **more}


def check_cidr(name: str, smallest: int, largest: int) -> Any:
    """A check that an input is a network address with a prefix in AWS's range, given as largest to smallest block."""

    def check(inputs: Inputs) -> Findings:
        for text in flat(inputs, name):
            try:
                found = ipaddress.ip_network(text)
            except ValueError as error:
                yield name, f"InvalidParameterValue: {error}"
                continue
            if not largest <= found.prefixlen <= smallest:
                yield name, f"InvalidVpc.Range: the prefix of {text} is not between /{largest} and /{smallest}"

    return check


def _vpc_outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
    tail = id_.removeprefix("vpc-")
    return {
        "arn": place.arn("ec2", f"vpc/{id_}"),
        "ownerId": place.account,
        "defaultSecurityGroupId": f"sg-{tail}",
        "defaultRouteTableId": f"rtb-{tail}",
        "mainRouteTableId": f"rtb-{tail}",
        "defaultNetworkAclId": f"acl-{tail}",
        "dhcpOptionsId": "dopt-0default",
        "ipv6AssociationId": "",
    }


def _vpc_created(hook: Hook) -> None:
    """A VPC brings a security group and a route table of its own."""
    for noun, key in (("security group", "defaultSecurityGroupId"), ("route table", "defaultRouteTableId")):
        id_ = hook.thing.properties[key]
        properties = {"vpcId": hook.thing.id, "name": "default", "id": id_, "description": f"default of {hook.thing.id}"}
        hook.world.add(Thing(noun, "", id_, properties, handles_of(id_, {}), links=((hook.thing, ""),), foreign=True))


def _vpc_deleted(hook: Hook) -> None:
    for noun, key in (("security group", "defaultSecurityGroupId"), ("route table", "defaultRouteTableId")):
        found = hook.world.get(noun, hook.thing.properties.get(key, ""))
        if found is not None:
            hook.world.forget(found)


def networks(world: World, vpc: Thing) -> list[Any]:
    """The address blocks of a VPC."""
    more = [one.inputs.get("cidrBlock") for one in world.of("vpc block") if any(other is vpc for other, _ in one.links)]
    return [ipaddress.ip_network(text) for text in [vpc.properties.get("cidrBlock"), *more] if text]


def _subnet_created(hook: Hook) -> None:
    (vpc,) = hook.linked("vpc")
    block = ipaddress.ip_network(hook.inputs["cidrBlock"])
    if networks(hook.world, vpc) and not any(block.subnet_of(one) for one in networks(hook.world, vpc)):
        raise AwsError("InvalidSubnet.Range", f"The CIDR '{block}' is invalid: it is not within the VPC's")
    for other, _ in hook.world.referrers(vpc, "subnet"):
        taken = other.properties.get("cidrBlock")
        if other is not hook.thing and taken and block.overlaps(ipaddress.ip_network(taken)):
            raise AwsError("InvalidSubnet.Conflict", f"The CIDR '{block}' conflicts with another subnet ({other.id})")
    zone = hook.thing.properties.get("availabilityZone", "")
    if not zone.startswith(hook.place.region):
        raise AwsError("InvalidParameterValue", f"availabilityZone: {zone!r} is not a zone of {hook.place.region}")


def zone_id(place: Place, zone: str) -> str:
    """As in ``use1-az1``: the letters and digits of the region's parts, then a number for the zone's letter."""
    first, *middle, number = place.region.split("-")
    return f"{first}{''.join(part[0] for part in middle)}{number}-az{'abcdef'.find(zone[-1:]) + 1}"


def _subnet_outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
    zone = inputs.get("availabilityZone")
    if not isinstance(zone, str):
        known = {zone_id(place, place.region + letter): place.region + letter for letter in "abcdef"}
        zone = known.get(inputs.get("availabilityZoneId", ""), f"{place.region}a")
    return {
        "arn": place.arn("ec2", f"subnet/{id_}"),
        "ownerId": place.account,
        "availabilityZone": zone,
        "availabilityZoneId": zone_id(place, zone),
        "ipv6CidrBlockAssociationId": "",
    }


def _nat_created(hook: Hook) -> None:
    if hook.inputs.get("connectivityType", "public") != "public":
        return
    vpcs = [other for subnet in hook.linked("subnet") for other, _ in subnet.links if other.noun == "vpc"]
    if vpcs and not any(hook.world.referrers(vpc, "internet gateway") for vpc in vpcs):
        raise AwsError("Gateway.NotAttached", f"Network {vpcs[0].id} has no Internet gateway attached")
    if not hook.inputs.get("allocationId"):
        raise AwsError("MissingParameter", "a public NAT gateway needs an allocationId")


def _endpoint_created(hook: Hook) -> None:
    if not hook.inputs.get("privateDnsEnabled"):
        return
    (vpc,) = hook.linked("vpc")
    if not vpc.properties.get("enableDnsSupport", True) or not vpc.properties.get("enableDnsHostnames", False):
        raise AwsError(
            "InvalidParameter", "Enabling private DNS requires both enableDnsSupport and enableDnsHostnames of the VPC"
        )
    for other, _ in hook.world.referrers(vpc, "vpc endpoint"):
        same = other.inputs.get("serviceName") == hook.inputs["serviceName"]
        if other is not hook.thing and same and other.inputs.get("privateDnsEnabled"):
            raise AwsError("InvalidParameter", f"private-dns-enabled cannot be set: there is a conflicting domain in {vpc.id}")


def _endpoint_check(inputs: Inputs) -> Findings:
    kind = next(iter(flat(inputs, "vpcEndpointType")), "Gateway")
    if kind not in ("Gateway", "Interface", "GatewayLoadBalancer", "Resource", "ServiceNetwork"):
        yield "vpcEndpointType", f"{kind!r} is not a type of endpoint"
    if kind == "Gateway" and (inputs.get("subnetIds") or inputs.get("securityGroupIds")):
        yield "subnetIds", "InvalidParameter: a gateway endpoint has no subnets and no security groups"
    if kind == "Interface" and inputs.get("routeTableIds"):
        yield "routeTableIds", "InvalidParameter: an interface endpoint has no route tables"
    for name in flat(inputs, "serviceName"):
        if not name.startswith(("com.amazonaws.", "cn.com.amazonaws.", "aws.api.", "aws.sagemaker.")):
            yield "serviceName", f"InvalidServiceName: {name!r} does not exist"


def _endpoint_outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
    count = len(inputs.get("subnetIds") or [])
    return {
        "arn": place.arn("ec2", f"vpc-endpoint/{id_}"),
        "ownerId": place.account,
        "state": "available",
        "requesterManaged": False,
        "networkInterfaceIds": [f"eni-{id_.removeprefix('vpce-')[:12]}{number}" for number in range(count)],
        "dnsEntries": [{"dnsName": f"{id_}.{inputs['serviceName']}.vpce.{place.suffix}", "hostedZoneId": "Z0FAKE"}]
        if count
        else [],
        "prefixListId": "" if count else f"pl-{id_.removeprefix('vpce-')[:8]}",
        "cidrBlocks": [] if count else ["198.51.100.0/24"],
    }


def _rule_created(direction: str) -> Any:
    def created(hook: Hook) -> None:
        hook.thing.status = direction
        key = _rule_key(hook.inputs)
        for other in hook.world.of("security group rule"):
            if other is not hook.thing and other.status == direction and _rule_key(other.inputs) == key:
                raise AwsError("InvalidPermission.Duplicate", f"the specified rule already exists ({other.id})")

    return created


def _rule_key(inputs: Inputs) -> tuple[Any, ...]:
    names = ("securityGroupId", "ipProtocol", "fromPort", "toPort", "cidrIpv4", "cidrIpv6", "prefixListId")
    return (*(inputs.get(name) for name in names), inputs.get("referencedSecurityGroupId"))


def _rule_check(inputs: Inputs) -> Findings:
    sources = [name for name in ("cidrIpv4", "cidrIpv6", "prefixListId", "referencedSecurityGroupId") if inputs.get(name)]
    if len(sources) != 1:
        yield "cidrIpv4", "exactly one of cidrIpv4, cidrIpv6, prefixListId and referencedSecurityGroupId is needed"
    if inputs.get("ipProtocol") == "-1" and ("fromPort" in inputs or "toPort" in inputs):
        yield "fromPort", "InvalidParameterCombination: protocol -1 has no ports"
    elif inputs.get("ipProtocol") in ("tcp", "udp", "6", "17") and not {"fromPort", "toPort"} <= set(inputs):
        yield "fromPort", "fromPort and toPort are needed for tcp and udp"


def _rule(direction: str) -> Kind:
    return Kind(
        "security group rule",
        "sgr",
        force_new=("securityGroupId",),
        refs=(
            Ref("securityGroupId", "security group", "", "InvalidGroup.NotFound"),
            _group("referencedSecurityGroupId"),
        ),
        outputs=lambda place, id_, inputs: {
            "arn": place.arn("ec2", f"security-group-rule/{id_}"),
            "securityGroupRuleId": id_,
        },
        check=_rule_check,
        on_create=_rule_created(direction),
    )


def _group_deleted(hook: Hook) -> None:
    """The rules of a group go with it; those of others that name it block it, which the links see to."""
    for other, _ in hook.world.referrers(hook.thing, "security group rule"):
        if other.inputs.get("securityGroupId") == hook.thing.id:
            hook.world.forget(other)


def self_referencing(world: World, group: Thing) -> set[str]:
    """The directions, ingress and egress, in which a group admits all traffic with itself."""
    found = {one.status for one in world.of("security group rule") if _is_self(one.inputs, group.id)}
    for direction in ("ingress", "egress"):
        for rule in group.properties.get(direction) or []:
            everything = str(rule.get("protocol")) in ("-1", "all")
            if everything and (rule.get("self") or group.id in (rule.get("securityGroups") or [])):
                found.add(direction)
    return found


def _is_self(rule: Inputs, group: str) -> bool:
    if rule.get("securityGroupId") != group or str(rule.get("ipProtocol")) != "-1":
        return False
    return bool(rule.get("referencedSecurityGroupId") == group)


def _group_check(inputs: Inputs) -> Iterator[tuple[str, str]]:
    name = inputs.get("name", "")
    if isinstance(name, str) and (name.startswith("sg-") or len(name) > 255):
        yield "name", f"InvalidParameterValue: {name!r} starts with sg- or is longer than 255"


def _flow_log_created(hook: Hook) -> None:
    for target in flat(hook.inputs, "logDestination"):
        bucket = ":".join([*target.split(":")[:5], target.rpartition(":")[2].partition("/")[0]])
        if not hook.world.by("log group", target) and not hook.world.by("bucket", bucket):
            raise AwsError("InvalidParameter", f"the log destination {target!r} does not exist")
    if hook.inputs.get("logDestinationType", "cloud-watch-logs") == "cloud-watch-logs" and not hook.inputs.get("iamRoleArn"):
        raise AwsError("MissingParameter", "DeliverLogsPermissionArn: a flow log to CloudWatch Logs needs iamRoleArn")


def _route_check(inputs: Inputs) -> Findings:
    places = ("destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId")
    if sum(1 for name in places if name in inputs) != 1:
        yield "destinationCidrBlock", "exactly one destination is needed"


EC2: Final[dict[str, Kind]] = {
    "aws:ec2/vpc:Vpc": Kind(
        "vpc",
        "vpc",
        force_new=("cidrBlock", "ipv4IpamPoolId", "ipv4NetmaskLength"),
        defaults={"enableDnsSupport": True, "enableDnsHostnames": False, "instanceTenancy": "default"},
        outputs=_vpc_outputs,
        twin="AWS::EC2::VPC",
        check=check_cidr("cidrBlock", 28, 16),
        on_create=_vpc_created,
        on_delete=_vpc_deleted,
    ),
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": Kind(
        "vpc block",
        "vpc-cidr-assoc",
        unique=("vpcId", "cidrBlock"),
        conflict="CidrConflict",
        force_new=("vpcId", "cidrBlock"),
        refs=(Ref("vpcId", "vpc", "", "InvalidVpcID.NotFound"),),
        check=check_cidr("cidrBlock", 28, 16),
    ),
    "aws:ec2/subnet:Subnet": Kind(
        "subnet",
        "subnet",
        force_new=("cidrBlock", "availabilityZone", "availabilityZoneId", "vpcId", "ipv6Native", "outpostArn"),
        refs=(_VPC,),
        defaults={"mapPublicIpOnLaunch": False, "assignIpv6AddressOnCreation": False, "enableDns64": False},
        outputs=_subnet_outputs,
        twin="AWS::EC2::Subnet",
        check=check_cidr("cidrBlock", 28, 16),
        on_create=_subnet_created,
    ),
    "aws:ec2/internetGateway:InternetGateway": Kind("internet gateway", "igw", refs=(_VPC,), outputs=_arn("internet-gateway")),
    "aws:ec2/eip:Eip": Kind(
        "address",
        "eipalloc",
        force_new=("domain",),
        outputs=lambda place, id_, inputs: {
            "allocationId": id_,
            "publicIp": "203.0.113.10",
            "publicDns": f"ec2-203-0-113-10.{place.region}.compute.{place.suffix}",
            "arn": place.arn("ec2", f"elastic-ip/{id_}"),
        },
    ),
    "aws:ec2/natGateway:NatGateway": Kind(
        "nat gateway",
        "nat",
        force_new=("allocationId", "connectivityType", "subnetId", "privateIp"),
        refs=(_subnet("subnetId"), Ref("allocationId", "address", "AuthFailure", "InvalidAllocationID.NotFound")),
        defaults={"connectivityType": "public"},
        outputs=lambda place, id_, inputs: {
            "associationId": f"eipassoc-{id_.removeprefix('nat-')}",
            "networkInterfaceId": f"eni-{id_.removeprefix('nat-')}",
            "publicIp": "203.0.113.10",
        },
        on_create=_nat_created,
    ),
    "aws:ec2/routeTable:RouteTable": Kind(
        "route table", "rtb", force_new=("vpcId",), refs=(_VPC,), outputs=_arn("route-table"), defaults={"routes": []}
    ),
    "aws:ec2/route:Route": Kind(
        "route",
        id=lambda place, inputs: (
            f"r-{inputs['routeTableId']}{abs(hash_text(str(inputs.get('destinationCidrBlock') or inputs))) % 10**10}"
        ),
        unique=("routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId"),
        conflict="RouteAlreadyExists",
        force_new=("routeTableId", "destinationCidrBlock", "destinationIpv6CidrBlock", "destinationPrefixListId"),
        refs=(
            Ref("routeTableId", "route table", "", "InvalidRouteTableID.NotFound"),
            Ref("gatewayId", "internet gateway", "", "InvalidGatewayID.NotFound"),
            Ref("natGatewayId", "nat gateway", "", "NatGatewayNotFound"),
        ),
        outputs=lambda place, id_, inputs: {"origin": "CreateRoute", "state": "active", "instanceOwnerId": "", "instanceId": ""},
        check=_route_check,
    ),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": Kind(
        "route table association",
        "rtbassoc",
        unique=("subnetId", "gatewayId"),
        conflict="Resource.AlreadyAssociated",
        force_new=("subnetId", "gatewayId"),
        refs=(
            Ref("routeTableId", "route table", IN_USE, "InvalidRouteTableID.NotFound"),
            Ref("subnetId", "subnet", "", "InvalidSubnetID.NotFound"),
        ),
    ),
    "aws:ec2/vpcEndpoint:VpcEndpoint": Kind(
        "vpc endpoint",
        "vpce",
        force_new=("vpcId", "serviceName", "vpcEndpointType", "serviceRegion"),
        refs=(
            _VPC,
            _subnet("subnetIds"),
            _group("securityGroupIds"),
            Ref("routeTableIds", "route table", "", "InvalidRouteTableId.NotFound"),
        ),
        defaults={"vpcEndpointType": "Gateway", "ipAddressType": "ipv4"},
        outputs=_endpoint_outputs,
        twin="AWS::EC2::VPCEndpoint",
        documents={"policy": ("resource", 20480)},
        check=_endpoint_check,
        on_create=_endpoint_created,
    ),
    "aws:ec2/securityGroup:SecurityGroup": Kind(
        "security group",
        "sg",
        unique=("name", "vpcId"),
        conflict="InvalidGroup.Duplicate",
        autoname="name",
        name_limit=255,
        force_new=("name", "namePrefix", "description", "vpcId"),
        refs=(_VPC,),
        defaults={"description": "Managed by Pulumi"},
        outputs=_arn("security-group"),
        check=_group_check,
        on_delete=_group_deleted,
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": Kind(
        "default security group",
        id=lambda place, inputs: f"sg-{str(inputs.get('vpcId', '')).removeprefix('vpc-')}",
        force_new=("vpcId",),
        refs=(Ref("vpcId", "vpc", "", "InvalidVpcID.NotFound"),),
        defaults={"ingress": [], "egress": []},
        outputs=_arn("security-group", name="default", description="default VPC security group"),
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("egress"),
    "aws:ec2/flowLog:FlowLog": Kind(
        "flow log",
        "fl",
        force_new=(
            "vpcId",
            "subnetId",
            "eniId",
            "logDestination",
            "logDestinationType",
            "iamRoleArn",
            "trafficType",
            "logFormat",
        ),
        refs=(
            Ref("vpcId", "vpc", "", "InvalidVpcId.NotFound"),
            Ref("iamRoleArn", "role", "", "InvalidParameter"),
        ),
        defaults={"logDestinationType": "cloud-watch-logs", "maxAggregationInterval": 600},
        outputs=_arn("vpc-flow-log"),
        twin="AWS::EC2::FlowLog",
        on_create=_flow_log_created,
    ),
}


def hash_text(text: str) -> int:
    """A number for a text, the same in every process."""
    import zlib

    return zlib.crc32(text.encode())
