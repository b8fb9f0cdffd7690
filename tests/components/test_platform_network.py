"""Network, security groups and keys: what is made and what isn't, who waits for whom, and that nothing is public."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import parliament
import pulumi
import pulumi_aws as aws
import pytest
import recording
from platform_support import ACCOUNT, REGION, ZONES, plan_of
from recording import Recording, Registered, record

from components.platform.keys import Key
from components.platform.network import Network
from components.platform.security import RULE_TAG, ControlPlaneRules, NodeSecurity
from governance.platform.model import PlatformPlan
from governance.platform.network import ENDPOINTS
from governance.platform.rules import ANYWHERE, node_rules

VPC, GROUP, EKS_GROUP = "vpc-0123456789abcdef0", "sg-0123456789abcdef0", "sg-0123456789abcdef1"
SUBNETS = {zone: f"subnet-0123456789abcdef{index}" for index, zone in enumerate(ZONES)}
NEW = {"availability_zones": list(ZONES)}
EXISTING = {"vpc": VPC, "subnets": SUBNETS}
NETWORKS: dict[str, dict[str, Any]] = {
    "nat": NEW,
    "nat_per_zone": {**NEW, "egress": "nat_per_zone", "interface_endpoints": True},
    "closed": {**NEW, "egress": "closed", "node_cidrs": {ZONES[1]: "100.64.0.0/16"}},
}
UNTAGGABLE = {
    "Alias",
    "Route",
    "RouteTableAssociation",
    "RolePolicy",
    "VpcIpv4CidrBlockAssociation",
}
Answers = Callable[[pulumi.runtime.MockCallArgs], dict[str, Any]]


def plan_with(network: dict[str, Any], **settings: Any) -> PlatformPlan:
    return plan_of(network=network, **settings)


def run(plan: PlatformPlan, call: Answers | None = None) -> Recording:
    """A program of keys, network and security groups."""

    def program() -> None:
        opts = pulumi.ResourceOptions(providers=[aws.Provider("account", region=REGION)])
        key = Key("main/key", plan, opts)
        network = Network("main/network", plan, key.logs_arn, opts)
        security = NodeSecurity("main/security", plan, network.vpc_id, network.s3_prefix_list, opts)
        rules = ControlPlaneRules("main/control-plane", plan, security.group_id, EKS_GROUP, opts)
        pulumi.export("node_subnets", network.node_subnets)
        pulumi.export("control_plane_subnets", network.control_plane_subnets)
        for name, parts in (("network", network.ready), ("security", security.ready), ("rules", rules.ready)):
            pulumi.export(f"{name}_ready", [part.urn for part in parts])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording._Echo, "new_resource", synthesised)
        return record(program, call=call)


def synthesised(_: Any, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
    """What AWS would add to the inputs: without a value, an output carries no dependency."""
    return f"{args.name}-id", {**args.inputs, "arn": f"arn:{args.name}", "prefixListId": "pl-s3", "keyId": f"{args.name}-id"}


def resolved(output: Any) -> Any:
    values: list[Any] = []

    @pulumi.runtime.test
    def take() -> pulumi.Output[Any]:
        return pulumi.Output.from_input(output).apply(values.append)

    take()
    return values[0]


def made_in(found: Recording, component: str) -> list[Registered]:
    return [one for one in found.registered if one.custom and one.name.startswith(f"{component}/")]


@pytest.fixture(scope="module", params=list(NETWORKS))
def any_new(request: pytest.FixtureRequest) -> Recording:
    return run(plan_with(NETWORKS[request.param]))


@pytest.fixture(scope="module")
def nat() -> Recording:
    return run(plan_with(NETWORKS["nat"]))


@pytest.fixture(scope="module")
def per_zone() -> Recording:
    return run(plan_with(NETWORKS["nat_per_zone"]))


@pytest.fixture(scope="module")
def closed() -> Recording:
    return run(plan_with(NETWORKS["closed"]))


# Every new network --------------------------------------------------------------------------------------------------------------


def test_nothing_is_public(any_new: Recording) -> None:
    assert {subnet.inputs["mapPublicIpOnLaunch"] for subnet in any_new.of("Subnet")} == {False}
    for rule in any_new.of("SecurityGroupIngressRule"):
        assert rule.inputs.get("cidrIpv4") not in (ANYWHERE, "0.0.0.0/1")
        assert "cidrIpv6" not in rule.inputs
    for group in (*any_new.of("SecurityGroup"), *any_new.of("DefaultSecurityGroup")):
        assert not {"ingress", "egress"} & set(group.inputs)  # rules are resources of their own, and the default has none
    absent = (
        "EgressOnlyInternetGateway",
        "VpcPeeringConnection",
        "VpnGateway",
        "NetworkAcl",
        "DefaultRouteTable",
        "SecurityGroupRule",
    )
    for kind in absent:
        assert any_new.of(kind) == []


def test_private_tables_lead_to_gateways_of_nat_alone(any_new: Recording) -> None:
    for route in any_new.of("Route"):
        leads = {key for key in route.inputs if key.endswith("Id")} - {"routeTableId"}
        assert leads == ({"gatewayId"} if "/public/" in route.name else {"natGatewayId"})
    for link in any_new.of("RouteTableAssociation"):
        public = link.name.startswith("main/network/public/")
        assert ("public" in link.inputs["routeTableId"]) is public
        assert ("public" in link.inputs["subnetId"]) is public


def test_everything_that_takes_tags_has_them(any_new: Recording) -> None:
    for one in any_new.registered:
        if one.custom and not one.type.startswith("pulumi:") and one.kind not in UNTAGGABLE:
            assert one.inputs["tags"]["hyperpod-platform/cluster"] == "main", one.name
            assert one.inputs["tags"]["hyperpod-platform/environment"] == "dev", one.name


def test_subnets_are_tagged_for_load_balancers(any_new: Recording) -> None:
    roles = {"nodes": {"kubernetes.io/role/internal-elb"}, "public": {"kubernetes.io/role/elb"}, "control-plane": set()}
    for subnet in any_new.of("Subnet"):
        part = subnet.name.split("/")[2]
        tags = subnet.inputs["tags"]
        assert {key for key in tags if key.startswith("kubernetes.io/role/")} == roles[part]
        assert tags["kubernetes.io/cluster/dev-main"] == "shared"


def test_subnets_are_those_of_the_plan(any_new: Recording) -> None:
    for subnet in any_new.of("Subnet"):
        assert subnet.inputs["availabilityZone"] == subnet.name.rsplit("/", 1)[1]
    for part, number in (("nodes", 3), ("control-plane", 3)):
        assert sum(subnet.name.startswith(f"main/network/{part}/") for subnet in any_new.of("Subnet")) == number
    assert resolved(any_new.outputs["node_subnets"]) == {zone: f"main/network/nodes/{zone}-id" for zone in ZONES}
    assert resolved(any_new.outputs["control_plane_subnets"]) == [f"main/network/control-plane/{zone}-id" for zone in ZONES]
    vpc = any_new.one("main/network/vpc").inputs
    assert (vpc["cidrBlock"], vpc["enableDnsHostnames"], vpc["enableDnsSupport"]) == ("10.192.0.0/16", True, True)


def test_what_must_not_be_lost_is_protected(any_new: Recording) -> None:
    for kind in ("Vpc", "Subnet", "Key", "Alias", "LogGroup", "FlowLog", "DefaultSecurityGroup"):
        found = [one for one in any_new.of(kind) if one.custom]
        assert found
        assert all(one.protect for one in found), kind


def test_protection_can_be_taken_away() -> None:
    assert not [one.name for one in run(plan_with(NEW, protection=False)).registered if one.protect]


def test_s3_is_reached_through_its_gateway(any_new: Recording) -> None:
    gateway = any_new.one("main/network/endpoints/s3").inputs
    assert gateway["vpcEndpointType"] == "Gateway"
    assert gateway["serviceName"] == "com.amazonaws.us-west-2.s3"
    assert sorted(gateway["routeTableIds"]) == sorted(f"main/network/private/{zone}/routes-id" for zone in ZONES)


def test_whoever_waits_for_the_network_waits_for_the_way_out(any_new: Recording) -> None:
    ready = any_new.names(resolved(any_new.outputs["network_ready"]))
    ways = {one.name for one in any_new.of("Route") if "/private/" in one.name}
    links = {one.name for one in any_new.of("RouteTableAssociation") if "/public/" not in one.name}
    ends = {one.name for one in any_new.of("VpcEndpoint")}
    rules = {one.name for one in made_in(any_new, "main/network/endpoints") if "Rule" in one.kind}
    assert ready == ways | links | ends | rules
    assert len(links) == 6
    assert all(one.custom for one in any_new.registered if one.name in ready)


def test_flow_logs_are_encrypted_and_kept(any_new: Recording) -> None:
    group = any_new.one("main/network/flow-logs/logs")
    assert group.inputs["retentionInDays"] == 365
    assert group.inputs["kmsKeyId"] == "arn:main/key/logs"
    assert any_new.names(group.dependencies) == {"main/key/logs"}
    log = any_new.one("main/network/flow-logs/flow-log")
    assert (log.inputs["trafficType"], log.inputs["logDestinationType"]) == ("ALL", "cloud-watch-logs")
    assert "main/network/flow-logs/role/write" in any_new.names(log.dependencies)


def test_flow_logs_write_to_their_group_alone(any_new: Recording) -> None:
    role = any_new.one("main/network/flow-logs/role")
    (trusted,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert trusted["Principal"] == {"Service": "vpc-flow-logs.amazonaws.com"}
    assert trusted["Condition"] == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}
    written = any_new.one("main/network/flow-logs/role/write").inputs["policy"]
    statement, lists = json.loads(written)["Statement"]
    assert (lists["Action"], lists["Resource"]) == (["logs:DescribeLogGroups"], ["*"]), "a list, which knows no resource"
    assert statement["Resource"] == [f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:/aws/vpc/dev-main/flow-logs:*"]
    assert [finding.issue for finding in parliament.analyze_policy_string(written).findings] == []


def test_the_flow_logs_role_is_bounded() -> None:
    boundary = f"arn:aws:iam::{ACCOUNT}:policy/limits"
    assert [one.inputs["permissionsBoundary"] for one in run(plan_with(NEW, permissions_boundary=boundary)).of("Role")] == [
        boundary
    ]


# Ways out -----------------------------------------------------------------------------------------------------------------------


def test_one_gateway_serves_all_zones(nat: Recording) -> None:
    assert [one.name for one in nat.of("NatGateway")] == [f"main/network/nat/{ZONES[0]}"]
    private = [one for one in nat.of("Route") if "/private/" in one.name]
    assert {one.inputs["natGatewayId"] for one in private} == {f"main/network/nat/{ZONES[0]}-id"}
    assert len(private) == 3
    assert [one.name for one in nat.of("VpcEndpoint")] == ["main/network/endpoints/s3"]


def test_or_each_zone_has_its_own(per_zone: Recording) -> None:
    for zone in ZONES:
        gateway = per_zone.one(f"main/network/nat/{zone}")
        assert gateway.inputs["subnetId"] == f"main/network/public/{zone}-id"
        assert per_zone.one(f"main/network/private/{zone}/out").inputs["natGatewayId"] == f"main/network/nat/{zone}-id"
    assert len(per_zone.of("InternetGateway")) == 1


def test_a_gateway_waits_until_its_own_way_out_is_there(nat: Recording) -> None:
    needed = nat.needs(f"main/network/nat/{ZONES[0]}")
    assert {"main/network/public/out", f"main/network/public/{ZONES[0]}/association"} <= needed
    assert "main/network/internet" in nat.needs(f"main/network/nat-address/{ZONES[0]}")


def test_a_closed_network_has_no_way_out_at_all(closed: Recording) -> None:
    for kind in ("InternetGateway", "NatGateway", "Eip", "Route"):
        assert closed.of(kind) == []
    assert not [one.name for one in closed.registered if "public" in one.name]
    assert ANYWHERE not in json.dumps([one.inputs for one in closed.registered])


def test_a_closed_network_reaches_aws_through_endpoints(closed: Recording) -> None:
    interfaces = {
        one.name.rsplit("/", 1)[1]: one.inputs for one in closed.of("VpcEndpoint") if one.inputs["vpcEndpointType"] == "Interface"
    }
    assert set(interfaces) == set(ENDPOINTS)
    for service, inputs in interfaces.items():
        assert inputs["serviceName"] == f"com.amazonaws.us-west-2.{service}"
        assert inputs["privateDnsEnabled"] is True
        assert inputs["securityGroupIds"] == ["main/network/endpoints/group-id"]
        assert len(inputs["subnetIds"]) == len(ZONES)
    rules = [one.inputs for one in made_in(closed, "main/network/endpoints") if "Rule" in one.kind]
    assert [(one["ipProtocol"], one["fromPort"], one["toPort"], one["cidrIpv4"]) for one in rules] == [
        ("tcp", 443, 443, "10.192.0.0/16"),
        ("tcp", 443, 443, "100.64.0.0/16"),
    ]


def test_a_block_of_its_own_is_there_before_its_subnet(closed: Recording) -> None:
    (block,) = closed.of("VpcIpv4CidrBlockAssociation")
    assert block.inputs["cidrBlock"] == "100.64.0.0/16"
    assert block.name in closed.needs(f"main/network/nodes/{ZONES[1]}")
    assert block.name not in closed.needs(f"main/network/nodes/{ZONES[0]}")


# Security groups ----------------------------------------------------------------------------------------------------------------


def rules_of(found: Recording, component: str) -> dict[str, dict[str, Any]]:
    start = f"{component}/"
    return {one.name.removeprefix(start): one.inputs for one in made_in(found, component) if "Rule" in one.kind}


def test_every_rule_is_described(any_new: Recording) -> None:
    rules = [*any_new.of("SecurityGroupIngressRule"), *any_new.of("SecurityGroupEgressRule")]
    assert len(rules) > 8
    assert all(one.inputs["description"] for one in rules)
    ready = any_new.names([*resolved(any_new.outputs["security_ready"]), *resolved(any_new.outputs["rules_ready"])])
    assert {one.name for one in rules if not one.name.startswith("main/network/")} == ready


def test_nodes_talk_to_each_other_both_ways(any_new: Recording) -> None:
    found = rules_of(any_new, "main/security")
    for name in ("all-in", "all-out"):
        assert found[name]["ipProtocol"] == "-1"
        assert found[name]["securityGroupId"] == found[name]["referencedSecurityGroupId"] == "main/security/group-id"
        assert "fromPort" not in found[name]
    assert any_new.one("main/security/group").timeouts["delete"]


def test_nodes_of_a_closed_network_go_nowhere_else(nat: Recording, closed: Recording) -> None:
    assert rules_of(nat, "main/security")["out"]["cidrIpv4"] == ANYWHERE
    found = rules_of(closed, "main/security")
    assert "out" not in found
    assert {one["cidrIpv4"] for one in found.values() if "cidrIpv4" in one} == {"10.192.0.0/16", "100.64.0.0/16"}
    assert found["s3-out"]["prefixListId"] == "pl-s3"
    assert "main/network/endpoints/s3" in closed.needs("main/security/s3-out")
    assert "main/network/endpoints/s3" not in closed.needs("main/security/all-in")


def test_nodes_and_control_plane_talk_on_both_groups(any_new: Recording) -> None:
    found = rules_of(any_new, "main/control-plane")
    for name, rule in found.items():
        nodes = name.startswith("nodes/")
        groups = (rule["securityGroupId"], rule["referencedSecurityGroupId"])
        assert groups == (("main/security/group-id", EKS_GROUP) if nodes else (EKS_GROUP, "main/security/group-id"))
        assert rule["ipProtocol"] == "tcp"
    assert len(found) == 6


# Existing ones ------------------------------------------------------------------------------------------------------------------


def subnet_answers(**changed: dict[str, Any]) -> Answers:
    """Subnets as they are declared, but for what is changed of each, by id."""
    zones = {subnet: zone for zone, subnet in SUBNETS.items()}

    def call(args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        assert args.token == "aws:ec2/getSubnet:getSubnet"
        assert args.provider
        asked = args.args["id"]
        found = {"id": asked, "vpcId": VPC, "availabilityZone": zones.get(asked, "us-west-2d"), "mapPublicIpOnLaunch": False}
        return {**found, **changed.get(asked, {})}

    return call


def test_in_an_existing_network_nothing_is_made() -> None:
    found = run(plan_with(EXISTING), subnet_answers())
    assert made_in(found, "main/network") == []
    assert resolved(found.outputs["node_subnets"]) == SUBNETS
    assert resolved(found.outputs["control_plane_subnets"]) == list(SUBNETS.values())
    assert resolved(found.outputs["network_ready"]) == []
    assert found.one("main/security/group").inputs["vpcId"] == VPC


def test_subnets_of_the_control_plane_may_be_others() -> None:
    own = ["subnet-0123456789abcdef8", "subnet-0123456789abcdef9"]
    found = run(plan_with({**EXISTING, "control_plane_subnets": own}), subnet_answers())
    assert resolved(found.outputs["control_plane_subnets"]) == own


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"vpcId": "vpc-theirs"}, "lies in vpc-theirs, not in vpc-0123456789abcdef0: correct `network`"),
        ({"availabilityZone": "us-west-2d"}, "lies in us-west-2d, not in us-west-2b: correct `network`"),
        ({"mapPublicIpOnLaunch": True}, "gives its instances public addresses"),
        ({"vpcId": "vpc-theirs", "mapPublicIpOnLaunch": True}, "not in vpc-0123456789abcdef0; it gives"),
    ],
)
def test_subnets_that_are_not_what_was_declared_are_refused(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(pulumi.RunError) as refused:
        run(plan_with(EXISTING), subnet_answers(**{SUBNETS[ZONES[1]]: changed}))
    assert f'subnet "{SUBNETS[ZONES[1]]}"' in str(refused.value)
    assert words in str(refused.value)


WITH_GROUP = {**EXISTING, "security_group": GROUP}


def group_answers(rules: list[dict[str, Any]], vpc: str = VPC) -> Answers:
    """Existing subnets, and an existing group with these rules, as EC2 tells of them."""
    subnets = subnet_answers()

    def call(args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        if args.token == "aws:ec2/getSecurityGroup:getSecurityGroup":
            return {"id": args.args["id"], "vpcId": vpc}
        if args.token == "aws:vpc/getSecurityGroupRules:getSecurityGroupRules":
            assert args.args["filters"] == [{"name": "group-id", "values": [GROUP]}]
            return {"id": "rules", "ids": [f"sgr-{index}" for index in range(len(rules))]}
        if args.token == "aws:vpc/getSecurityGroupRule:getSecurityGroupRule":
            told = rules[int(args.args["securityGroupRuleId"].removeprefix("sgr-"))]
            return {
                "id": args.args["securityGroupRuleId"],
                "securityGroupId": GROUP,
                "fromPort": -1,
                "toPort": -1,
                "tags": {},
                **told,
            }
        return subnets(args)

    return call


def told_by_ec2(rule: dict[str, Any], kind: str) -> dict[str, Any]:
    """A rule that a program declared, as EC2 tells of it later."""
    keys = ("ipProtocol", "cidrIpv4", "referencedSecurityGroupId", "tags")
    ports = {"fromPort": rule.get("fromPort", -1), "toPort": rule.get("toPort", -1)}
    return {**{key: rule[key] for key in keys if key in rule}, **ports, "isEgress": "Egress" in kind}


SELF_IN = {"ipProtocol": "-1", "isEgress": False, "referencedSecurityGroupId": GROUP}
SELF_OUT = {**SELF_IN, "isEgress": True}
WORLD_OUT = {"ipProtocol": "-1", "isEgress": True, "cidrIpv4": ANYWHERE}
EVERY = {rule.name for rule in node_rules(plan_of())}


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        ([], EVERY),
        ([WORLD_OUT], EVERY - {"out"}),
        ([SELF_IN, SELF_OUT, WORLD_OUT], set()),
        ([SELF_IN], {"all-out", "out"}),
        ([{**SELF_IN, "ipProtocol": "tcp", "fromPort": 0, "toPort": 65_535}], {"all-in", "all-out", "out"}),
        ([{**SELF_IN, "referencedSecurityGroupId": "sg-other"}, {**WORLD_OUT, "cidrIpv4": "10.0.0.0/8"}], EVERY),
        ([{**WORLD_OUT, "cidrIpv4": None, "cidrIpv6": "::/0"}], EVERY),
    ],
)
def test_an_existing_group_gets_what_it_lacks(present: list[dict[str, Any]], missing: set[str]) -> None:
    found = run(plan_with(WITH_GROUP), group_answers(present))
    assert set(rules_of(found, "main/security")) == missing
    assert {rule["securityGroupId"] for rule in rules_of(found, "main/security").values()} <= {GROUP}
    assert found.of("SecurityGroup") == []


def test_rules_of_ours_stay_at_the_next_run() -> None:
    """They are there then; to take them for the group's own would take them away."""
    plan = plan_with(WITH_GROUP)
    first = run(plan, group_answers([WORLD_OUT]))
    ours = [told_by_ec2(one.inputs, one.kind) for one in made_in(first, "main/security")]
    assert len(ours) == 4
    again = run(plan, group_answers([WORLD_OUT, *ours]))
    assert rules_of(again, "main/security") == rules_of(first, "main/security")


def test_rules_of_another_cluster_in_the_group_are_there() -> None:
    """Two clusters share a group: EC2 refuses the same rule twice."""
    first = run(plan_with(WITH_GROUP), group_answers([WORLD_OUT]))
    theirs = [told_by_ec2(one.inputs, one.kind) for one in made_in(first, "main/security")]
    for rule in theirs:
        assert rule["tags"][RULE_TAG]
        rule["tags"] = {**rule["tags"], "hyperpod-platform/cluster": "other"}
    assert rules_of(run(plan_with(WITH_GROUP), group_answers([WORLD_OUT, *theirs])), "main/security") == {}


def test_a_group_of_another_vpc_is_refused() -> None:
    with pytest.raises(pulumi.RunError, match=f"{GROUP} lies in vpc-theirs, not in {VPC}: correct `network`"):
        run(plan_with(WITH_GROUP), group_answers([], vpc="vpc-theirs"))


def test_where_both_groups_are_there_their_traffic_is_too() -> None:
    both = run(plan_with(WITH_GROUP, eks={"existing": "theirs"}), group_answers([]))
    assert rules_of(both, "main/control-plane") == {}
    assert set(rules_of(both, "main/security")) == EVERY
    one = run(plan_with(EXISTING, eks={"existing": "theirs"}), subnet_answers())
    assert {rule["ipProtocol"] for rule in rules_of(one, "main/control-plane").values()} == {"-1"}


# Keys ---------------------------------------------------------------------------------------------------------------------------


def test_keys_are_rotated_and_slow_to_go(nat: Recording) -> None:
    keys = [key for key in nat.of("Key") if key.custom]
    assert {key.name for key in keys} == {"main/key/key", "main/key/logs"}
    for key in keys:
        assert key.inputs["enableKeyRotation"] is True
        assert key.inputs["deletionWindowInDays"] == 30
    assert sorted(alias.inputs["name"] for alias in nat.of("Alias")) == ["alias/dev-main", "alias/dev-main-logs"]


def test_no_document_is_for_everybody(any_new: Recording) -> None:
    documents = [one.inputs[key] for one in any_new.registered for key in ("policy", "assumeRolePolicy") if key in one.inputs]
    assert len(documents) == 4
    for document in documents:
        for statement in json.loads(document)["Statement"]:
            assert "*" not in json.dumps(statement.get("Principal", {}))
            assert "*" not in statement["Action"]


# Who else reaches the API server, and zones that come later ---------------------------------------------------------------------


def test_runners_inside_the_network_reach_the_api_server_where_they_are_named() -> None:
    blocks = ["10.0.0.0/16", "100.64.1.0/24"]
    found = run(plan_with(NEW, eks={"private_access_from": blocks}))
    rules = [one for one in found.registered if one.name.startswith("main/control-plane/eks/https-from-")]
    assert [(one.inputs["cidrIpv4"], one.inputs["fromPort"], one.inputs["toPort"]) for one in rules] == [
        (block, 443, 443) for block in blocks
    ]
    assert {one.inputs["securityGroupId"] for one in rules} == {EKS_GROUP}
    assert not [one for one in run(plan_with(NEW)).registered if "https-from-" in one.name]


def test_a_fourth_zone_has_no_part_in_the_control_plane() -> None:
    """EKS takes no subnet in a zone that it did not begin with; nodes do stand there."""
    three, four = (run(plan_with({"availability_zones": [*ZONES[:3], *more]})) for more in ([], [f"{REGION}d"]))
    assert resolved(three.outputs["control_plane_subnets"]) == resolved(four.outputs["control_plane_subnets"])
    assert set(resolved(four.outputs["node_subnets"])) == {*ZONES[:3], f"{REGION}d"}
