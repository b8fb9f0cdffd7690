"""The network: a new VPC, or subnets of an existing one."""

import json

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from components.platform.endpoints import Endpoints
from components.platform.flowlogs import FlowLogs
from governance.platform.model import PlatformPlan, ZonePlan
from governance.platform.rules import ANYWHERE

_LINGERING = pulumi.CustomTimeouts(delete="30m")
"""Interfaces of nodes and pods outlive them by minutes, and a subnet goes when the last one has gone."""


class Network(PlatformComponent, module="platform"):
    """Private subnets for nodes and control plane; NAT gateways or endpoints; flow logs; a closed default security group.

    In an existing VPC nothing is made: its subnets are only looked up, and refused where they aren't what was declared.
    """

    vpc_id: pulumi.Input[str]
    node_subnets: dict[str, pulumi.Input[str]]
    """By availability zone."""
    control_plane_subnets: list[pulumi.Input[str]]
    s3_prefix_list: pulumi.Output[str] | None
    """Addresses of S3 behind the gateway endpoint of a new VPC."""
    ready: list[pulumi.Resource]
    """What leads out of the subnets: routes and endpoints. Whoever needs AWS's services waits for these."""

    def __init__(self, name: str, plan: PlatformPlan, key_arn: pulumi.Input[str], opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {"cluster": plan.cluster, "vpc": plan.network.vpc, "cidr": plan.network.cidr}, opts)
        self._plan = plan
        self.ready = []
        self.s3_prefix_list = None
        if plan.network.vpc is not None:
            self._find(plan.network.vpc)
        else:
            self._make(key_arn)
        self.finish({"vpcId": self.vpc_id})

    def _find(self, vpc: str) -> None:
        self.vpc_id = vpc
        self.node_subnets = {
            zone.zone: self._subnet_of(zone.subnet, vpc, zone.zone) for zone in self._plan.network.zones if zone.subnet
        }
        known = {zone.subnet: self.node_subnets[zone.zone] for zone in self._plan.network.zones}
        self.control_plane_subnets = [
            known[subnet] if subnet in known else self._subnet_of(subnet, vpc, None)
            for subnet in self._plan.network.control_plane_subnets
        ]

    def _subnet_of(self, subnet: str, vpc: str, zone: str | None) -> pulumi.Output[str]:
        found = aws.ec2.get_subnet_output(id=subnet, opts=pulumi.InvokeOutputOptions(parent=self))
        return found.apply(lambda one: _fit(one, vpc, zone))

    def _make(self, key_arn: pulumi.Input[str]) -> None:
        plan = self._plan
        vpc = aws.ec2.Vpc(
            self.child_name("vpc"),
            cidr_block=plan.network.cidr,
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=self._tags("vpc"),
            opts=self.child_options(protect=plan.protected),
        )
        self.vpc_id = vpc.id
        # The default group lets its members talk to each other and out; nothing of ours is in it.
        aws.ec2.DefaultSecurityGroup(
            self.child_name("default-security-group"),
            vpc_id=vpc.id,
            tags=self._tags("default"),
            opts=self.child_options(protect=plan.protected),
        )
        blocks = {zone.zone: self._block(vpc, zone) for zone in plan.network.zones if zone.nodes_associated}
        gateways = self._gateways(vpc)
        tables = {zone.zone: self._table(vpc, zone, gateways) for zone in plan.network.zones}
        tags = {"kubernetes.io/role/internal-elb": "1"}
        self.node_subnets, self.control_plane_subnets = {}, []
        for zone in plan.network.zones:
            after = [blocks[zone.zone]] if zone.zone in blocks else []
            nodes = self._subnet(vpc, "nodes", zone.zone, zone.nodes_cidr, tags, after)
            control = self._subnet(vpc, "control-plane", zone.zone, zone.control_plane_cidr, {})
            for part, subnet in (("nodes", nodes), ("control-plane", control)):
                self.ready.append(self._associate(f"{part}/{zone.zone}", subnet, tables[zone.zone]))
            self.node_subnets[zone.zone] = nodes.id
            if zone.zone in plan.network.home_zones:
                self.control_plane_subnets.append(control.id)
        FlowLogs(self.child_name("flow-logs"), plan, vpc.id, key_arn, self.child_options())
        subnets = list(self.node_subnets.values())
        tables_ids = [table.id for table in tables.values()]
        endpoints = Endpoints(self.child_name("endpoints"), plan, vpc.id, subnets, tables_ids, self.child_options())
        self.ready += endpoints.ready
        self.s3_prefix_list = endpoints.s3_prefix_list

    def _block(self, vpc: aws.ec2.Vpc, zone: ZonePlan) -> pulumi.Resource:
        """An address block of its own for the nodes of a zone."""
        return aws.ec2.VpcIpv4CidrBlockAssociation(
            self.child_name(f"block/{zone.zone}"), vpc_id=vpc.id, cidr_block=zone.nodes_cidr, opts=self.child_options()
        )

    def _subnet(
        self,
        vpc: aws.ec2.Vpc,
        part: str,
        zone: str,
        cidr: str | None,
        tags: dict[str, str],
        after: list[pulumi.Resource] | None = None,
    ) -> aws.ec2.Subnet:
        return aws.ec2.Subnet(
            self.child_name(f"{part}/{zone}"),
            vpc_id=vpc.id,
            availability_zone=zone,
            cidr_block=cidr,
            map_public_ip_on_launch=False,
            tags={**self._tags(f"{part}-{zone}"), **tags, f"kubernetes.io/cluster/{self._plan.names.eks}": "shared"},
            opts=self.child_options(depends_on=after or [], protect=self._plan.protected, custom_timeouts=_LINGERING),
        )

    def _gateways(self, vpc: aws.ec2.Vpc) -> dict[str, aws.ec2.NatGateway]:
        """NAT gateways by zone, each in a public subnet; in a closed network none, and no internet gateway."""
        zones = [zone for zone in self._plan.network.zones if zone.public_cidr]
        if not zones:
            return {}
        internet = aws.ec2.InternetGateway(
            self.child_name("internet"), vpc_id=vpc.id, tags=self._tags("internet"), opts=self.child_options()
        )
        table = self._route_table(vpc, "public")
        out = aws.ec2.Route(
            self.child_name("public/out"),
            route_table_id=table.id,
            destination_cidr_block=ANYWHERE,
            gateway_id=internet.id,
            opts=self.child_options(),
        )
        gateways = {}
        for zone in zones:
            subnet = self._subnet(vpc, "public", zone.zone, zone.public_cidr, {"kubernetes.io/role/elb": "1"})
            link = self._associate(f"public/{zone.zone}", subnet, table)
            address = aws.ec2.Eip(
                self.child_name(f"nat-address/{zone.zone}"),
                domain="vpc",
                tags=self._tags(f"nat-{zone.zone}"),
                opts=self.child_options(depends_on=[internet]),
            )
            gateways[zone.zone] = aws.ec2.NatGateway(
                self.child_name(f"nat/{zone.zone}"),
                allocation_id=address.id,
                subnet_id=subnet.id,
                tags=self._tags(f"nat-{zone.zone}"),
                opts=self.child_options(depends_on=[out, link]),
            )
        return gateways

    def _table(self, vpc: aws.ec2.Vpc, zone: ZonePlan, gateways: dict[str, aws.ec2.NatGateway]) -> aws.ec2.RouteTable:
        """The private route table of a zone: out through its own NAT gateway, or the one that there is."""
        table = self._route_table(vpc, f"private/{zone.zone}")
        if gateways:
            gateway = gateways.get(zone.zone) or next(iter(gateways.values()))
            self.ready.append(
                aws.ec2.Route(
                    self.child_name(f"private/{zone.zone}/out"),
                    route_table_id=table.id,
                    destination_cidr_block=ANYWHERE,
                    nat_gateway_id=gateway.id,
                    opts=self.child_options(),
                )
            )
        return table

    def _route_table(self, vpc: aws.ec2.Vpc, part: str) -> aws.ec2.RouteTable:
        return aws.ec2.RouteTable(
            self.child_name(f"{part}/routes"), vpc_id=vpc.id, tags=self._tags(part.replace("/", "-")), opts=self.child_options()
        )

    def _associate(self, part: str, subnet: aws.ec2.Subnet, table: aws.ec2.RouteTable) -> pulumi.Resource:
        return aws.ec2.RouteTableAssociation(
            self.child_name(f"{part}/association"), subnet_id=subnet.id, route_table_id=table.id, opts=self.child_options()
        )

    def _tags(self, part: str) -> dict[str, str]:
        return {**self._plan.tags, "Name": f"{self._plan.names.prefix}-{part}"}


def _fit(found: aws.ec2.GetSubnetResult, vpc: str, zone: str | None) -> str:
    """The subnet's id. Raises RunError where it isn't what was declared."""
    problems = []
    if found.vpc_id != vpc:
        problems.append(f"lies in {found.vpc_id}, not in {vpc}")
    if zone is not None and found.availability_zone != zone:
        problems.append(f"lies in {found.availability_zone}, not in {zone}")
    if found.map_public_ip_on_launch:
        problems.append("gives its instances public addresses; HyperPod's nodes belong into private subnets")
    if problems:
        raise pulumi.RunError(f"subnet {json.dumps(found.id)} {'; it '.join(problems)}: correct `network` in the environment")
    return str(found.id)
