# ruff: noqa: F401, F811 - fixtures are imported by name
"""The fake cloud on a real engine: what it accepts, what it refuses and in which words, and that it remembers."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_support import cluster
from fakecloud import FakeCloud
from fakecloud.project import CloudProject
from fakecloud.types_ec2 import self_referencing

from live.connection import connect, parse_kubeconfig
from sandbox.engine import Changes, Engine, EngineError

pytestmark = pytest.mark.engine

HEADER = """
import json
import pulumi, pulumi_aws as aws, pulumi_aws_native as native

config = pulumi.Config()
provider = aws.Provider("aws", region="us-west-2", default_tags={"tags": {"owner": "platform"}})
cloud = native.Provider("native", region="us-west-2")
aws_o = pulumi.ResourceOptions(provider=provider)
native_o = pulumi.ResourceOptions(provider=cloud)

def trust(service):
    principal = {"Service": service}
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})

def allow(action, resource):
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, "Resource": resource}]})

def dep(*needs, **more):
    return pulumi.ResourceOptions(provider=provider, depends_on=list(needs), **more)
"""

NETWORK = """
vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16", opts=aws_o)
subnets = [
    aws.ec2.Subnet(f"subnet{i}", vpc_id=vpc.id, cidr_block=f"10.0.{i}.0/24", availability_zone=zone, opts=aws_o)
    for i, zone in enumerate(["us-west-2a", "us-west-2b"])
]
"""

EXISTING = """
role_arn = "arn:aws:iam::123456789012:role/exec"
hyperpod = native.sagemaker.Cluster("hyperpod",
    cluster_name=config.get("cluster") or "ml",
    orchestrator={"eks": {"cluster_arn": "arn:aws:eks:us-west-2:123456789012:cluster/main"}},
    vpc_config={"security_group_ids": ["sg-1"], "subnets": ["subnet-1", "subnet-2"]},
    instance_groups=[dict(instance_group_name=name, instance_type="ml.g5.8xlarge", instance_count=count, execution_role=role_arn,
        kubernetes_config={"labels": {"team/Kind": "x"}, "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]},
        instance_storage_configs=[{"ebs_volume_config": {"volume_size_in_gb": 100}}])
        for name, count in GROUPS],
    tags=[{"key": "b", "value": "1"}, {"key": "a", "value": "2"}],
    opts=native_o)
addon = aws.eks.Addon("governance", cluster_name="main", addon_name="amazon-sagemaker-hyperpod-taskgovernance",
    addon_version="v1.6.0-eksbuild.1", opts=dep(hyperpod))
"""

GOVERNANCE = """
policy = native.ExtensionResource("policy", type="AWS::SageMaker::ClusterSchedulerConfig", create_only=["Name", "ClusterArn"],
    properties={"Name": "policy", "ClusterArn": hyperpod.cluster_arn,
        "SchedulerConfig": {"PriorityClasses": [{"Name": "training", "Weight": 90}], "FairShare": "Enabled"}},
    opts=pulumi.ResourceOptions(provider=cloud, depends_on=[addon]))
quota = native.sagemaker.ComputeQuota("quota", name="team-a-quota", cluster_arn=hyperpod.cluster_arn, activation_state="Enabled",
    compute_quota_target={"team_name": "team-a", "fair_share_weight": 10},
    compute_quota_config={
        "compute_quota_resources": [dict(instance_type="ml.g5.8xlarge", accelerators=1, v_cpu=32.0, memory_in_gi_b=128.0)],
        "resource_sharing_config": {"strategy": "LendAndBorrow", "borrow_limit": 50},
        "preempt_team_tasks": "LowerPriority"},
    opts=pulumi.ResourceOptions(provider=cloud, depends_on=[policy]))
pulumi.export("quota", quota.compute_quota_id)
"""
TWO_GROUPS = 'GROUPS = [("gpu", 2), ("cpu", 1)]\n'


def program(*parts: str) -> str:
    return HEADER + "".join(parts)


def declare(cloud: FakeCloud) -> FakeCloud:
    """An account in which everything below a HyperPod cluster is there."""
    cloud.existing("vpc", "vpc-1")
    for number in (1, 2):
        cloud.existing("subnet", f"subnet-{number}", vpcId="vpc-1", availabilityZone=f"us-west-2{' ab'[number]}")
    cloud.existing("security group", "sg-1", vpcId="vpc-1")
    for direction in ("ingress", "egress"):
        cloud.existing(
            "security group rule",
            f"sgr-{direction}",
            securityGroupId="sg-1",
            referencedSecurityGroupId="sg-1",
            ipProtocol="-1",
            status=direction,
        )
    cloud.existing("role", "exec")
    cloud.existing("eks cluster", "main", vpcConfig={"subnetIds": ["subnet-1", "subnet-2"]})
    cloud.existing("helm release", "hyperpod-dependencies")
    return cloud


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    with FakeCloud() as found:
        yield found


@pytest.fixture
def project(tmp_path: Path, cloud: FakeCloud) -> CloudProject:
    return CloudProject(tmp_path, cloud)


# -- life of resources ---------------------------------------------------------------------------------------------------------


def test_create_noop_update_replace_destroy(project: CloudProject, cloud: FakeCloud) -> None:
    text = program(
        NETWORK,
        """
pulumi.export("arn", vpc.arn)
pulumi.export("tags", subnets[0].tags_all)
pulumi.export("zone", subnets[1].availability_zone_id)
""",
    )
    assert project.preview(text) == Changes(create=6)
    assert cloud.things() == [], "a preview makes nothing"
    assert all(call.preview for call in cloud.calls)
    done = project.up()
    assert done.changes == Changes(create=6)
    (vpc,) = cloud.things("vpc")
    assert done.outputs["arn"] == f"arn:aws:ec2:us-west-2:123456789012:vpc/{vpc.id}"
    assert done.outputs["tags"] == {"owner": "platform"}
    assert done.outputs["zone"] == "usw2-az2"
    made, first = cloud.one("create", "aws:ec2/vpc:Vpc"), cloud.one("create", name="subnet0")
    assert made.before(first)
    assert made.before(cloud.one("create", name="subnet1"))
    assert not first.before(first)
    assert not first.before(made)
    assert first.inputs["vpcId"] == made.id == vpc.id
    assert project.up().changes == Changes(same=6)

    cloud.lose(cloud.world.of("subnet")[0])
    assert project.refresh() == Changes(delete=1, same=5), "what is lost behind the engine's back is noticed"
    assert project.up().changes == Changes(create=1, same=5)

    grown = text.replace('"10.0.0.0/16", opts', '"10.0.0.0/16", enable_dns_hostnames=True, opts')
    assert project.up(grown).changes == Changes(update=1, same=5)
    assert vpc.properties["enableDnsHostnames"] is True

    moved = grown.replace("10.0.{i}.0/24", "10.0.1{i}.0/24")
    before = {one.id for one in cloud.things("subnet")}
    assert project.up(moved).changes == Changes(replace=2, same=4)
    assert not before & {one.id for one in cloud.things("subnet")}

    assert project.destroy() == Changes(delete=6)
    assert cloud.things() == []
    gone = cloud.one("delete", "aws:ec2/vpc:Vpc")
    assert all(one.before(gone) for one in cloud.find("delete", "aws:ec2/subnet:Subnet"))


EVERYTHING = """
def arn(service, resource):
    return f"arn:aws:{service}:us-west-2:123456789012:{resource}"

aws.ec2.DefaultSecurityGroup("default", vpc_id=vpc.id, opts=aws_o)
block = aws.ec2.VpcIpv4CidrBlockAssociation("block", vpc_id=vpc.id, cidr_block="10.1.0.0/16", opts=aws_o)
pods = aws.ec2.Subnet("pods", vpc_id=vpc.id, cidr_block="10.1.0.0/17", availability_zone="us-west-2c", opts=dep(block))
gateway = aws.ec2.InternetGateway("gateway", vpc_id=vpc.id, opts=aws_o)
address = aws.ec2.Eip("address", domain="vpc", opts=aws_o)
nat = aws.ec2.NatGateway("nat", subnet_id=subnets[0].id, allocation_id=address.id, opts=dep(gateway))
table = aws.ec2.RouteTable("table", vpc_id=vpc.id, opts=aws_o)
aws.ec2.Route("out", route_table_id=table.id, destination_cidr_block="0.0.0.0/0", nat_gateway_id=nat.id, opts=aws_o)
aws.ec2.RouteTableAssociation("pods", subnet_id=pods.id, route_table_id=table.id, opts=aws_o)
group = aws.ec2.SecurityGroup("group", vpc_id=vpc.id, description="all", opts=aws_o)
for side in (aws.vpc.SecurityGroupIngressRule, aws.vpc.SecurityGroupEgressRule):
    side(side.__name__, security_group_id=group.id, referenced_security_group_id=group.id, ip_protocol="-1", opts=aws_o)
aws.ec2.VpcEndpoint("s3", vpc_id=vpc.id, service_name="com.amazonaws.us-west-2.s3", route_table_ids=[table.id], opts=aws_o)
aws.ec2.VpcEndpoint("sts", vpc_id=vpc.id, service_name="com.amazonaws.us-west-2.sts", vpc_endpoint_type="Interface",
    subnet_ids=[s.id for s in subnets], security_group_ids=[group.id], opts=aws_o)
logs = aws.cloudwatch.LogGroup("logs", retention_in_days=365, opts=aws_o)
flows = aws.iam.Role("flows", assume_role_policy=trust("vpc-flow-logs.amazonaws.com"), opts=aws_o)
aws.ec2.FlowLog("flows", vpc_id=vpc.id, traffic_type="ALL", log_destination=logs.arn, iam_role_arn=flows.arn, opts=aws_o)
managed = aws.iam.Policy("managed", policy=allow("s3:GetObject", "*"), opts=aws_o)
aws.iam.RolePolicyAttachment("managed", role=flows.name, policy_arn=managed.arn, opts=aws_o)
aws.iam.RolePolicyAttachment("public", role=flows.name, policy_arn="arn:aws:iam::aws:policy/ReadOnlyAccess", opts=aws_o)
key = aws.kms.Key("key", enable_key_rotation=True, opts=aws_o)
aws.kms.Alias("key", target_key_id=key.id, opts=aws_o)
bucket = aws.s3.Bucket("bucket", opts=aws_o)
aws.s3.BucketVersioning("bucket", bucket=bucket.id, versioning_configuration={"status": "Enabled"}, opts=aws_o)
aws.s3.BucketServerSideEncryptionConfiguration("bucket", bucket=bucket.id, rules=[{"bucket_key_enabled": True,
    "apply_server_side_encryption_by_default": {"sse_algorithm": "aws:kms", "kms_master_key_id": key.arn}}], opts=aws_o)
aws.s3.BucketPublicAccessBlock("bucket", bucket=bucket.id, block_public_acls=True, opts=aws_o)
aws.s3.BucketOwnershipControls("bucket", bucket=bucket.id, rule={"object_ownership": "BucketOwnerEnforced"}, opts=aws_o)
deny = {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": "*",
    "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
aws.s3.BucketPolicy("bucket", bucket=bucket.id, policy={"Version": "2012-10-17", "Statement": [deny]}, opts=aws_o)
aws.s3.BucketLifecycleConfiguration("bucket", bucket=bucket.id, opts=aws_o,
    rules=[{"id": "a", "status": "Enabled", "abort_incomplete_multipart_upload": {"days_after_initiation": 7}}])
aws.s3.BucketLogging("bucket", bucket=bucket.id, target_bucket=bucket.id, target_prefix="log/", opts=aws_o)
aws.s3.BucketObjectv2("script", bucket=bucket.id, key="on_create.sh", content="exit 0", kms_key_id=key.arn, opts=aws_o)
role = aws.iam.Role("eks", assume_role_policy=trust("eks.amazonaws.com"), opts=aws_o)
pod = aws.iam.Role("pod", assume_role_policy=trust("pods.eks.amazonaws.com"), opts=aws_o)
eks = aws.eks.Cluster("eks", role_arn=role.arn, opts=aws_o, access_config={"authentication_mode": "API"},
    vpc_config={"subnet_ids": [s.id for s in subnets], "security_group_ids": [group.id]})
aws.eks.Addon("agent", cluster_name=eks.name, addon_name="eks-pod-identity-agent", opts=aws_o)
aws.eks.PodIdentityAssociation("pod", cluster_name=eks.name, namespace="a", service_account="b", role_arn=pod.arn, opts=aws_o)
entry = aws.eks.AccessEntry("entry", cluster_name=eks.name, principal_arn=pod.arn, opts=aws_o)
aws.eks.AccessPolicyAssociation("entry", cluster_name=eks.name, principal_arn=entry.principal_arn, opts=aws_o,
    policy_arn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy", access_scope={"type": "cluster"})
queue = aws.sqs.Queue("queue", opts=aws_o)
pulumi.export("text", {"queue": queue.arn, "endpoint": eks.endpoint, "ca": eks.certificate_authority.data,
    "group": eks.vpc_config.cluster_security_group_id, "issuer": eks.identities[0].oidcs[0].issuer, "key": key.arn,
    "domain": bucket.bucket_regional_domain_name, "default": vpc.default_security_group_id, "ip": nat.public_ip})
"""


def test_every_type_lives_without_phantom_changes(project: CloudProject, cloud: FakeCloud) -> None:
    done = project.up(program(NETWORK, EVERYTHING))
    assert all(isinstance(value, str) and value for value in done.outputs["text"].values()), done.outputs
    assert project.up().changes == Changes(same=done.changes.create)
    assert project.refresh() == Changes(same=done.changes.create)
    (group,) = cloud.things("security group")
    assert self_referencing(cloud.world, group) == {"ingress", "egress"}
    assert project.destroy() == Changes(delete=done.changes.create)
    assert cloud.things() == []
    assert list(cloud.world) == [], "the VPC's own groups and tables go with it"


# -- HyperPod and its governance -----------------------------------------------------------------------------------------------


def test_hyperpod_and_governance(project: CloudProject, cloud: FakeCloud) -> None:
    declare(cloud)
    text = program(TWO_GROUPS, EXISTING, GOVERNANCE)
    done = project.up(text)
    assert done.changes == Changes(create=7)
    assert len(done.outputs["quota"]) == 12
    assert project.up().changes == Changes(same=7)
    assert project.refresh() == Changes(same=7)

    (hyperpod,) = cloud.things("hyperpod cluster")
    assert hyperpod.properties["InstanceGroups"][0]["KubernetesConfig"]["Labels"] == {"team/Kind": "x"}, "labels keep their case"
    reordered = text.replace('[("gpu", 2), ("cpu", 1)]', '[("cpu", 1), ("gpu", 2)]')
    reordered = reordered.replace(
        '{"key": "b", "value": "1"}, {"key": "a", "value": "2"}', '{"key": "a", "value": "2"}, {"key": "b", "value": "1"}'
    )
    assert project.up(reordered).changes == Changes(same=7)

    assert project.up(text.replace('("gpu", 2)', '("gpu", 3)')).changes == Changes(update=1, same=6)
    assert cloud.find("update", "aws-native:sagemaker:Cluster")[-1].ok

    renamed = text.replace('team_name": "team-a', 'team_name": "team-b').replace('{"Name": "policy"', '{"Name": "other"')
    assert project.preview(renamed) == Changes(replace=2, update=1, same=4), "create-only properties replace"
    project.configure(cluster="renamed")
    assert project.preview(text).replace >= 2
    assert hyperpod.properties["ClusterName"] == "ml"

    assert project.destroy() == Changes(delete=7)
    gone = cloud.one("delete", "aws-native:sagemaker:Cluster")
    assert cloud.one("delete", "aws-native:sagemaker:ComputeQuota").before(gone)
    assert cloud.one("delete", "aws-native:index:ExtensionResource").before(gone)


def test_published_schemas_refuse_at_preview(project: CloudProject, cloud: FakeCloud) -> None:
    text = program(TWO_GROUPS, EXISTING, GOVERNANCE).replace("NoSchedule", "Never")
    told = project.refused(text, preview=True)
    assert "instanceGroups[0].kubernetesConfig.taints[0].effect: 'Never' is not one of" in told
    assert cloud.things() == []


GROUP: dict[str, Any] = {
    "instanceGroupName": "gpu",
    "instanceType": "ml.g5.8xlarge",
    "instanceCount": 1,
    "executionRole": "arn:aws:iam::123456789012:role/exec",
}
QUOTA: dict[str, Any] = {
    "name": "q",
    "clusterArn": "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl",
    "computeQuotaTarget": {"teamName": "team-a"},
    "computeQuotaConfig": {"computeQuotaResources": [{"instanceType": "ml.g5.8xlarge", "vCpu": 4.0, "memoryInGiB": 8.0}]},
}
POLICY: dict[str, Any] = {"Name": "p", "ClusterArn": QUOTA["clusterArn"], "SchedulerConfig": {"FairShare": "Enabled"}}


def hyperpod(**group: Any) -> dict[str, Any]:
    return {"clusterName": "ml", "instanceGroups": [{**GROUP, **group}]}


def test_what_is_right_passes() -> None:
    cloud = FakeCloud()
    assert cloud.check("aws-native:sagemaker:Cluster", hyperpod()) == []
    assert cloud.check("aws-native:sagemaker:ComputeQuota", QUOTA) == []
    extension = {"type": "AWS::SageMaker::ClusterSchedulerConfig", "properties": POLICY, "createOnly": ["Name", "ClusterArn"]}
    assert cloud.check("aws-native:index:ExtensionResource", extension) == []


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        (hyperpod(instanceType="ml.g5.9xlarge"), "instanceGroups[0].instanceType: 'ml.g5.9xlarge' is not one of"),
        (
            hyperpod(instanceStorageConfigs=[{"ebsVolumeConfig": {"volumeSizeInGb": 99999}}]),
            "instanceGroups[0].instanceStorageConfigs[0].ebsVolumeConfig.volumeSizeInGb: 99999",
        ),
        (hyperpod(instanceCount=9999), "instanceGroups[0].instanceCount: 9999"),
        (hyperpod(instanceCount="one"), "instanceGroups[0].instanceCount: 'one'"),
        (hyperpod(minInstanceCount=2), "instanceGroups[0].minInstanceCount: 2 is above"),
        (hyperpod(currentCount=2), "instanceGroups[0].currentCount: is read-only"),
        (hyperpod(executionRole="exec"), "instanceGroups[0].executionRole: 'exec'"),
        (hyperpod() | {"instanceGroups": [GROUP, GROUP]}, "two groups have the same InstanceGroupName"),
        (hyperpod() | {"clusterName": "n" * 64}, "clusterName: "),
        (hyperpod() | {"nodeRecovery": "Always"}, "nodeRecovery: 'Always' is not one of"),
        ({"clusterNam": "ml"}, "clusterNam: unknown property 'clusterNam'"),
    ],
)
def test_wrong_clusters_are_refused(inputs: dict[str, Any], told: str) -> None:
    found = FakeCloud().check("aws-native:sagemaker:Cluster", inputs)
    assert any(told in one for one in found), found


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        ({"computeQuotaTarget": {"teamName": "team-a", "fairShareWeight": 101}}, "computeQuotaTarget.fairShareWeight: 101"),
        ({"computeQuotaTarget": {"teamName": "Team_A"}}, "computeQuotaTarget.teamName: 'Team_A' does not match"),
        ({"computeQuotaTarget": {}}, "computeQuotaTarget.teamName: missing required property"),
        ({"computeQuotaConfig": {"preemptTeamTasks": "Always"}}, "computeQuotaConfig.preemptTeamTasks: 'Always' is not one of"),
        (
            {"computeQuotaConfig": {"computeQuotaResources": [{"instanceType": "ml.g5.8xlarge", "count": 1.5}]}},
            "computeQuotaResources[0].count: 1.5",
        ),
        ({"description": "x" * 1025}, "description: "),
    ],
)
def test_wrong_quotas_are_refused(inputs: dict[str, Any], told: str) -> None:
    found = FakeCloud().check("aws-native:sagemaker:ComputeQuota", {**QUOTA, **inputs})
    assert any(told in one for one in found), found


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"SchedulerConfig": {"FairShares": "Enabled"}}, "properties.SchedulerConfig.FairShares: unknown property"),
        (
            {"SchedulerConfig": {"PriorityClasses": [{"Name": "a", "Weight": 101}]}},
            "properties.SchedulerConfig.PriorityClasses[0].Weight: 101",
        ),
        (
            {"SchedulerConfig": {"PriorityClasses": [{"Name": f"c{number}", "Weight": 1} for number in range(11)]}},
            "properties.SchedulerConfig.PriorityClasses: ",
        ),
        ({"Status": "Created"}, "properties.Status: is read-only"),
    ],
)
def test_wrong_scheduler_configs_are_refused(change: dict[str, Any], told: str) -> None:
    inputs = {"type": "AWS::SageMaker::ClusterSchedulerConfig", "properties": {**POLICY, **change}}
    found = FakeCloud().check("aws-native:index:ExtensionResource", inputs)
    assert any(told in one for one in found), found


def document(action: Any = "s3:GetObject", **statement: Any) -> str:
    found = {"Effect": "Allow", "Action": action, "Resource": "*", **statement}
    return json.dumps({"Version": "2012-10-17", "Statement": [found]})


def trust(**statement: Any) -> str:
    found = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "eks.amazonaws.com"}, **statement}
    return json.dumps({"Version": "2012-10-17", "Statement": [found]})


RIGHT: dict[str, dict[str, Any]] = {
    "aws:ec2/vpc:Vpc": {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}},
    "aws:ec2/subnet:Subnet": {"vpcId": "vpc-1", "cidrBlock": "10.0.0.0/24"},
    "aws:iam/role:Role": {"assumeRolePolicy": trust()},
    "aws:iam/policy:Policy": {"policy": document()},
    "aws:s3/bucket:Bucket": {"bucket": "sagemaker-x"},
    "aws:s3/bucketPolicy:BucketPolicy": {"bucket": "b", "policy": document(Principal="*")},
    "aws:cloudwatch/logGroup:LogGroup": {"retentionInDays": 365},
    "aws:kms/key:Key": {"deletionWindowInDays": 30},
    "aws:eks/addon:Addon": {"clusterName": "main", "addonName": "vpc-cni", "addonVersion": "v1.20.4-eksbuild.1"},
    "aws:eks/accessEntry:AccessEntry": {"clusterName": "main", "principalArn": "a", "kubernetesGroups": ["team"]},
    "aws:eks/cluster:Cluster": {
        "roleArn": "r",
        "vpcConfig": {"subnetIds": ["a", "b"], "endpointPrivateAccess": True, "endpointPublicAccess": False},
        "enabledClusterLogTypes": ["api", "audit", "authenticator", "controllerManager", "scheduler"],
        "accessConfig": {"authenticationMode": "API"},
    },
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": {
        "securityGroupId": "sg-1",
        "ipProtocol": "-1",
        "referencedSecurityGroupId": "sg-1",
    },
    "aws:ec2/vpcEndpoint:VpcEndpoint": {"vpcId": "v", "serviceName": "com.amazonaws.us-west-2.s3", "routeTableIds": ["rtb-1"]},
}


@pytest.mark.parametrize("token", RIGHT)
def test_right_inputs_pass(token: str) -> None:
    assert FakeCloud().check(token, RIGHT[token]) == []


@pytest.mark.parametrize(
    ("token", "change", "told"),
    [
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/8"}, "cidrBlock: InvalidVpc.Range"),
        ("aws:ec2/vpc:Vpc", {"cidr": "10.0.0.0/16"}, "cidr: unknown property 'cidr'"),
        ("aws:ec2/vpc:Vpc", {"enableDnsSupport": "yes"}, "enableDnsSupport: 'yes' is not of type bool"),
        ("aws:ec2/vpc:Vpc", {"tags": {"aws:x": "y"}}, "tags.aws:x: InvalidTag"),
        ("aws:ec2/vpc:Vpc", {"instanceTenancy": 1}, "instanceTenancy: 1 is not of type str"),
        ("aws:ec2/subnet:Subnet", {"vpcId": None}, "vpcId: missing required property"),
        ("aws:iam/role:Role", {"assumeRolePolicy": trust(Effect="Alow")}, "Effect: 'Alow' is not one of"),
        ("aws:iam/role:Role", {"assumeRolePolicy": trust(Resource="*")}, "Resource: unknown property"),
        ("aws:iam/role:Role", {"assumeRolePolicy": trust(Action=["a:b"] * 600)}, "LimitExceeded"),
        ("aws:iam/role:Role", {"maxSessionDuration": 60}, "maxSessionDuration: 60 is less than the minimum"),
        ("aws:iam/policy:Policy", {"policy": "{"}, "policy: MalformedPolicyDocument"),
        ("aws:iam/policy:Policy", {"policy": document(Principal="*")}, "Principal: unknown property"),
        ("aws:iam/policy:Policy", {"policy": document([f"s3:{number:090}" for number in range(70)])}, "LimitExceeded"),
        ("aws:s3/bucket:Bucket", {"bucket": "Upper_Case"}, "bucket: InvalidBucketName"),
        ("aws:s3/bucketPolicy:BucketPolicy", {"policy": document()}, "exactly one of Principal, NotPrincipal"),
        ("aws:cloudwatch/logGroup:LogGroup", {"retentionInDays": 8}, "retentionInDays: 8 is not one of"),
        ("aws:kms/key:Key", {"deletionWindowInDays": 3}, "deletionWindowInDays: 3 is less than the minimum"),
        ("aws:kms/key:Key", {"policy": document()}, "exactly one of Principal, NotPrincipal"),
        ("aws:eks/addon:Addon", {"addonVersion": "1.2"}, "addonVersion: "),
        ("aws:eks/addon:Addon", {"resolveConflictsOnCreate": "REPLACE"}, "resolveConflictsOnCreate: 'REPLACE' is not one of"),
        ("aws:eks/accessEntry:AccessEntry", {"kubernetesGroups": ["system:masters"]}, "kubernetesGroups: "),
        ("aws:eks/cluster:Cluster", {"enabledClusterLogTypes": ["audits"]}, "enabledClusterLogTypes: 'audits'"),
        ("aws:eks/cluster:Cluster", {"accessConfig": {"authenticationMode": "IAM"}}, "accessConfig.authenticationMode: 'IAM'"),
        ("aws:eks/cluster:Cluster", {"accessConfig": {"mode": "API"}}, "accessConfig.mode: unknown property"),
        ("aws:eks/cluster:Cluster", {"vpcConfig": {"subnetIds": "a"}}, "vpcConfig.subnetIds: a list is expected"),
        ("aws:eks/cluster:Cluster", {"vpcConfig": {"subnetIds": ["a"], "endpointPublicAccess": False}}, "cannot both be false"),
        ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", {"cidrIpv4": "10.0.0.0/8"}, "exactly one of cidrIpv4"),
        ("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule", {"ipProtocol": "tcp"}, "fromPort"),
        ("aws:ec2/vpcEndpoint:VpcEndpoint", {"subnetIds": ["s"]}, "subnetIds: InvalidParameter"),
    ],
)
def test_wrong_inputs_are_refused(token: str, change: dict[str, Any], told: str) -> None:
    inputs = {key: value for key, value in {**RIGHT[token], **change}.items() if value is not None}
    found = FakeCloud().check(token, inputs)
    assert any(told in one for one in found), found


def test_types_that_do_not_exist_are_refused(project: CloudProject, cloud: FakeCloud) -> None:
    assert "is not a resource type" in cloud.check("aws:ec2/vpcs:Vpcs", {})[0]
    told = project.refused(program('pulumi.CustomResource("aws:ec2/vpc:Vpc", "x", {"cidr": "10.0.0.0/16"}, aws_o)'), preview=True)
    assert "unknown property 'cidr'" in told
    assert cloud.calls == []


# -- what the service looks at -------------------------------------------------------------------------------------------------


def test_a_cluster_needs_what_aws_needs(project: CloudProject, cloud: FakeCloud) -> None:
    text = program(TWO_GROUPS, EXISTING)
    declare(cloud)
    (chart,), (rule,) = cloud.world.of("helm release"), [one for one in cloud.world if one.id == "sgr-egress"]
    cloud.lose(chart)
    assert "install the Helm chart" in project.refused(text)
    cloud.world.add(chart)
    cloud.lose(rule)
    assert "sg-1 has no self-referencing egress rule" in project.refused()
    cloud.world.add(rule)
    project.up()
    (hyperpod,) = cloud.things("hyperpod cluster")
    quota = cloud.existing("compute quota", "q-1", ComputeQuotaTarget={"TeamName": "x"})
    quota.links = ((hyperpod, ""),)
    with pytest.raises(EngineError, match="has policies"):
        project.destroy()
    cloud.lose(quota)
    cloud.lose(cloud.world.of("role")[0])
    with pytest.raises(EngineError, match="cannot assume the execution role exec"):
        project.destroy()
    assert cloud.things("hyperpod cluster") == [hyperpod], "it does not outlive its role"


def test_addons_need_nodes(project: CloudProject, cloud: FakeCloud) -> None:
    declare(cloud)
    assert "DEGRADED" in project.refused(program('aws.eks.Addon("dns", cluster_name="main", addon_name="coredns", opts=aws_o)'))
    name = "amazon-sagemaker-hyperpod-taskgovernance"
    early = f'aws.eks.Addon("x", cluster_name="main", addon_name="{name}", opts=aws_o)'
    assert "no HyperPod nodes" in project.refused(program(early))
    assert project.up(program(TWO_GROUPS, EXISTING)).changes.create >= 2


def test_references_must_exist(project: CloudProject, cloud: FakeCloud) -> None:
    told = project.refused(program('aws.ec2.Subnet("s", vpc_id="vpc-0", cidr_block="10.0.0.0/24", opts=aws_o)'))
    assert "InvalidVpcID.NotFound" in told
    assert "'vpc-0' does not exist" in told


def test_what_is_referred_to_is_not_deleted(project: CloudProject, cloud: FakeCloud) -> None:
    project.up(program(NETWORK))
    (vpc,) = cloud.things("vpc")
    cloud.existing("subnet", "subnet-foreign", vpcId=vpc.id).links = ((vpc, "DependencyViolation"),)
    with pytest.raises(EngineError, match="DependencyViolation"):
        project.destroy()
    assert cloud.things("vpc") == [vpc]
    cloud.lose(cloud.world.of("subnet")[0])
    project.destroy()
    assert cloud.things() == []


def test_deletion_protection(project: CloudProject, cloud: FakeCloud) -> None:
    text = program(
        NETWORK,
        """
role = aws.iam.Role("role", assume_role_policy=trust("eks.amazonaws.com"), opts=aws_o)
eks = aws.eks.Cluster("eks", name="main", role_arn=role.arn, vpc_config={"subnet_ids": [s.id for s in subnets]},
    deletion_protection=True, opts=aws_o)
""",
    )
    project.up(text)
    with pytest.raises(EngineError, match="deletion protection"):
        project.destroy()
    project.up(text.replace("deletion_protection=True", "deletion_protection=False"))
    project.destroy()
    assert cloud.things() == []


# -- unknown values, faults and interrupted runs -------------------------------------------------------------------------------


def test_unknown_values_are_not_failures(project: CloudProject, cloud: FakeCloud) -> None:
    declare(cloud)
    text = program(
        """
bucket = aws.s3.Bucket("scripts", opts=aws_o)
role = aws.iam.Role("exec", assume_role_policy=trust("sagemaker.amazonaws.com"), opts=aws_o)
policy = bucket.arn.apply(lambda arn: allow("s3:GetObject", f"{arn}/*"))
attached = aws.iam.RolePolicy("exec", role=role.name, policy=policy, opts=aws_o)
script = aws.s3.BucketObjectv2("script", bucket=bucket.id, key="on_create.sh", content="#!/bin/sh", opts=aws_o)
native.sagemaker.Cluster("hyperpod", cluster_name="ml",
    orchestrator={"eks": {"cluster_arn": "arn:aws:eks:us-west-2:123456789012:cluster/main"}},
    vpc_config={"security_group_ids": ["sg-1"], "subnets": ["subnet-1"]},
    instance_groups=[dict(instance_group_name="g", instance_type="ml.g5.8xlarge", instance_count=1, execution_role=role.arn,
        life_cycle_config={"source_s3_uri": bucket.id.apply(lambda id: f"s3://{id}"), "on_create": "on_create.sh"})],
    opts=pulumi.ResourceOptions(provider=cloud, depends_on=[attached, script]))
"""
    )
    assert project.preview(text).create == 7 + 1
    assert project.up().changes.create == 7 + 1
    assert project.up().changes == Changes(same=8)
    assert cloud.one("create", name="scripts").inputs["bucket"].startswith("scripts-")


def test_faults(project: CloudProject, cloud: FakeCloud) -> None:
    cloud.fail(nth=2)
    assert "InternalFailure" in project.refused(program(NETWORK))
    struck = [call for call in cloud.changes() if call.error]
    assert [call.number for call in struck] == [cloud.changes()[1].number]
    cloud.heal()
    cloud.throttle(type="aws:ec2/subnet:*", op="create")
    assert "ThrottlingException" in project.refused()
    project.up()
    assert len(cloud.things("vpc")) == 1
    assert len(cloud.things("subnet")) == 2


def test_a_hanging_call_ends_when_it_is_released(project: CloudProject, cloud: FakeCloud) -> None:
    fault = cloud.hang(type="aws:ec2/vpc:Vpc", op="create")
    threading.Thread(target=lambda: (fault.reached.wait(20), fault.release()), daemon=True).start()
    assert project.up(program(NETWORK)).changes == Changes(create=6)
    assert len(fault.struck) == 1


def test_nothing_uniquely_named_is_made_twice(project: CloudProject, cloud: FakeCloud) -> None:
    """The service carried the call out, but the engine never heard of it."""
    text = program('aws.iam.Role("role", name="fixed", assume_role_policy=trust("eks.amazonaws.com"), opts=aws_o)')
    cloud.fail(op="create", after=True)
    assert "InternalFailure" in project.refused(text)
    assert [one.id for one in cloud.things("role")] == ["fixed"]
    assert "EntityAlreadyExists" in project.refused()
    assert len(cloud.find("create", "aws:iam/role:Role")) == 2


@pytest.mark.timeout(600)
def test_a_killed_engine_does_not_know_what_it_made(project: CloudProject, cloud: FakeCloud) -> None:
    fault = cloud.hang(op="create", type="aws:iam/role:Role", after=True)

    def kill() -> None:
        if not fault.reached.wait(280):
            fault.release()  # a call that comes later goes on, so that the engine ends
            return
        owners = json.loads((project.settings.workspace_folder / "run.json").read_text())["owners"]
        for pid, _started in owners:
            if int(pid) != os.getpid():
                os.kill(int(pid), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    text = program('aws.iam.Role("role", name="fixed", assume_role_policy=trust("eks.amazonaws.com"), opts=aws_o)')
    assert "was killed" in project.refused(text)
    killer.join()
    cloud.heal()
    assert [one.id for one in cloud.things()] == ["fixed"]
    assert "EntityAlreadyExists" in project.refused()
    assert [one.id for one in cloud.things()] == ["fixed"]


def test_create_failed_quota(project: CloudProject, cloud: FakeCloud) -> None:
    declare(cloud)
    text = program(TWO_GROUPS, EXISTING, GOVERNANCE)
    cloud.create_failed("quota")
    assert "CreateFailed" in project.refused(text)
    (quota,) = cloud.things("compute quota")
    assert quota.properties["Status"] == "CreateFailed"
    resources = project.state()["deployment"]["resources"]
    (kept,) = [one for one in resources if one["type"].endswith("ComputeQuota")]
    assert kept["id"] == quota.id
    assert kept["initErrors"]
    assert "cannot be updated" in project.refused()
    project.up(text.replace(GOVERNANCE, ""))  # deletes it, with the policy
    assert cloud.things("compute quota") == []
    assert project.up(text).changes.create == 2


# -- EKS through its component, on a real API server ---------------------------------------------------------------------------

CLUSTER = """
import pulumi_eks, pulumi_kubernetes as k8s
components = [provider, cloud]
key = aws.kms.Key("key", opts=aws_o)
log = aws.cloudwatch.LogGroup("log", name="/aws/eks/main/cluster", opts=aws_o)
role = aws.iam.Role("role", assume_role_policy=trust("eks.amazonaws.com"), opts=aws_o)
eks = pulumi_eks.Cluster("eks", name="main", vpc_id=vpc.id, private_subnet_ids=[s.id for s in subnets], service_role=role,
    authentication_mode="API", skip_default_node_group=True, create_instance_role=False, skip_default_security_groups=True,
    endpoint_private_access=True, endpoint_public_access=False, encryption_config_key_arn=key.arn, version="1.33",
    enabled_cluster_log_types=["api", "audit"], coredns_addon_options={"enabled": False},
    access_entries={"admins": {"principal_arn": role.arn, "kubernetes_groups": ["admins"]}},
    opts=pulumi.ResourceOptions(providers=[provider], depends_on=[log]))
cluster = k8s.Provider("cluster", kubeconfig=eks.kubeconfig_json, cluster_identifier="main")
inside = pulumi.ResourceOptions(provider=cluster)
k8s.core.v1.ConfigMap("map", metadata={"name": config.require("mark"), "namespace": "default"}, data={"a": "1"}, opts=inside)
chart = k8s.helm.v3.Release("hyperpod-dependencies", chart="HyperPodHelmChart", version="0.1.0", namespace="kube-system",
    name="hyperpod-dependencies", values={"trainingOperators": {"enabled": True}}, skip_await=True, opts=inside)
pulumi.export("arn", eks.eks_cluster.arn)
pulumi.export("group", eks.cluster_security_group_id)
pulumi.export("issuer", eks.oidc_issuer)
pulumi.export("chart", chart.status.status)
pulumi.export("vpc", eks.core.apply(lambda core: core.vpc_id))
"""


def test_eks_cluster_through_construct(tmp_path: Path, cluster: Path) -> None:
    mark = f"fc-{tmp_path.name[-20:].strip('-_').replace('_', '-')}"
    api = connect(str(cluster), "", "")
    with FakeCloud(str(cluster)) as cloud:
        project = CloudProject(tmp_path, cloud)
        project.configure(mark=mark)
        text = program(NETWORK, CLUSTER)
        planned = project.preview(text)
        assert cloud.things() == []
        done = project.up()
        assert done.changes == planned
        (eks,) = cloud.things("eks cluster")
        assert done.outputs["arn"] == eks.properties["arn"] == "arn:aws:eks:us-west-2:123456789012:cluster/main"
        assert done.outputs["issuer"].startswith("oidc.eks.us-west-2.amazonaws.com/id/")
        assert done.outputs["chart"] == "deployed"
        assert done.outputs["vpc"] == cloud.things("vpc")[0].id
        assert {one.inputs["addonName"] for one in cloud.things("eks addon")} == {"vpc-cni", "kube-proxy"}
        assert [one.inputs["kubernetesGroups"] for one in cloud.things("access entry")] == [["admins"]]
        assert api.request("GET", f"/api/v1/namespaces/default/configmaps/{mark}").body["data"] == {"a": "1"}
        made = cloud.one("create", "aws:eks/cluster:Cluster", "eks-eksCluster")
        assert cloud.one("create", name="log").before(made)
        assert made.before(cloud.one("create", "kubernetes:core/v1:ConfigMap"))
        assert "eks:index:Cluster$aws:eks/cluster:Cluster" in made.urn
        assert made.inputs["encryptionConfig"]["resources"] == ["secrets"]
        assert project.up().changes == Changes(same=planned.create)
        states = "".join(one.read_text() for one in (tmp_path / "state").rglob("*.json"))
        assert "eks-eksCluster" in states
        (user,) = parse_kubeconfig(Path(cluster).read_text())["users"]
        assert not [value for value in user["user"].values() if value in states], "the kubeconfig is secret"
        assert project.destroy() == Changes(delete=planned.create)
        assert cloud.things() == []
        assert cloud.one("delete", "aws:eks/cluster:Cluster").before(cloud.one("delete", name="log"))
        assert cloud.one("delete", "kubernetes:core/v1:ConfigMap").before(cloud.one("delete", "aws:eks/cluster:Cluster"))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('["api", "audit"]', '["api", "audits"]', "audits"),
        ("skip_default_node_group=True", "skip_default_node_group=False", "no default node group"),
    ],
)
def test_construct_refuses(project: CloudProject, cloud: FakeCloud, before: str, after: str, told: str) -> None:
    project.configure(mark="none")
    assert told in project.refused(program(NETWORK, CLUSTER.replace(before, after)), preview=True)


def test_a_quota_makes_the_teams_namespace(tmp_path: Path, cluster: Path) -> None:
    api = connect(str(cluster), "", "")
    with FakeCloud(str(cluster)) as cloud:
        declare(cloud)
        project = CloudProject(tmp_path, cloud)
        project.up(program(TWO_GROUPS, EXISTING, GOVERNANCE))
        labels = api.request("GET", "/api/v1/namespaces/hyperpod-ns-team-a").body["metadata"]["labels"]
        assert labels["sagemaker.amazonaws.com/quota-allocation-id"] == "team-a"
        assert labels["sagemaker.amazonaws.com/sagemaker-managed-queue"] == "true"
        project.destroy()
        namespaces = api.request("GET", "/api/v1/namespaces").body["items"]
        left = [one["metadata"] for one in namespaces if one["metadata"]["name"] == "hyperpod-ns-team-a"]
        assert all("deletionTimestamp" in one for one in left)


def test_lookups(project: CloudProject, cloud: FakeCloud) -> None:
    declare(cloud)
    done = project.up(
        program(
            """
look = pulumi.InvokeOptions(provider=provider)
found = aws.eks.get_cluster(name="main", opts=look)
pulumi.export("endpoint", found.endpoint)
pulumi.export("mode", found.access_configs)
pulumi.export("subnet", aws.ec2.get_subnet(id="subnet-2", opts=look).availability_zone)
pulumi.export("rules", aws.vpc.get_security_group_rules(filters=[{"name": "group-id", "values": ["sg-1"]}], opts=look).ids)
rule = aws.vpc.get_security_group_rule(security_group_rule_id="sgr-egress", opts=look)
pulumi.export("egress", [rule.is_egress, rule.referenced_security_group_id])
pulumi.export("zones", aws.get_availability_zones(opts=look).zone_ids)
pulumi.export("partition", aws.get_partition(opts=look).dns_suffix)
pulumi.export("region", aws.get_region(opts=look).region)
pulumi.export("version", aws.eks.get_addon_version(addon_name="vpc-cni", kubernetes_version="1.33", opts=look).version)
"""
        )
    )
    found = done.outputs
    assert found["endpoint"].startswith("https://")
    assert found["subnet"] == "us-west-2b"
    assert found["rules"] == ["sgr-egress", "sgr-ingress"]
    assert found["egress"] == [True, "sg-1"]
    assert found["zones"] == [f"usw2-az{number}" for number in range(1, 5)]
    assert found["partition"] == "amazonaws.com"
    assert found["region"] == "us-west-2"
    assert found["version"].startswith("v1.")
    with pytest.raises(Exception, match="no subnet matches"):
        project.preview(program('aws.ec2.get_subnet(id="subnet-9", opts=pulumi.InvokeOptions(provider=provider))'))
