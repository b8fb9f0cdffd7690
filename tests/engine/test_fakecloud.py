# ruff: noqa: F401, F811 - fixtures are imported by name
"""The fake cloud on a real engine: what it accepts, what it refuses and in which words, and that it remembers."""

from __future__ import annotations

import json
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_support import cluster
from fakecloud import FakeCloud
from fakecloud.project import CloudProject

from live.connection import connect
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
    aws.ec2.Subnet(f"subnet{i}", vpc_id=vpc.id, cidr_block=f"10.0.{i}.0/24", availability_zone=f"us-west-2{'abc'[i]}", opts=aws_o)
    for i in range(2)
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
        "compute_quota_resources": [{"instance_type": "ml.g5.8xlarge", "accelerators": 1, "v_cpu": 32.0, "memory_in_gi_b": 128.0}],
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
    assert project.up().changes == Changes(same=6)
    assert project.refresh() == Changes(same=6)

    grown = text.replace('"10.0.0.0/16", opts', '"10.0.0.0/16", enable_dns_hostnames=True, opts')
    assert project.up(grown).changes == Changes(update=1, same=5)
    assert vpc.properties["enableDnsHostnames"] is True

    moved = grown.replace("10.0.{i}.0/24", "10.0.1{i}.0/24")
    before = {one.id for one in cloud.things("subnet")}
    assert project.up(moved).changes == Changes(replace=2, same=4)
    assert not before & {one.id for one in cloud.things("subnet")}

    assert project.destroy() == Changes(delete=6)
    assert cloud.things() == []


def test_order_is_recorded(project: CloudProject, cloud: FakeCloud) -> None:
    project.up(program(NETWORK))
    project.destroy()
    made, lost = cloud.one("create", "aws:ec2/vpc:Vpc"), cloud.one("delete", "aws:ec2/vpc:Vpc")
    for name in ("subnet0", "subnet1"):
        assert made.before(cloud.one("create", name=name))
        assert cloud.one("delete", name=name).before(lost)
    first, second = (cloud.one("create", name=f"subnet{number}") for number in range(2))
    assert not first.before(first)
    assert first.inputs["cidrBlock"] == "10.0.0.0/24"
    assert first.inputs["vpcId"] == made.id
    assert [call.op for call in cloud.changes()] == ["create"] * 3 + ["delete"] * 3


def test_what_is_lost_behind_the_engine_is_noticed(project: CloudProject, cloud: FakeCloud) -> None:
    project.up(program(NETWORK))
    cloud.lose(cloud.world.of("subnet")[0])
    assert project.refresh() == Changes(delete=1, same=5)
    assert project.up().changes == Changes(create=1, same=5)


# -- HyperPod and its governance -----------------------------------------------------------------------------------------------


def test_hyperpod_and_governance(project: CloudProject, cloud: FakeCloud) -> None:
    declare(cloud)
    text = program(TWO_GROUPS, EXISTING, GOVERNANCE)
    assert project.preview(text) == Changes(create=7)
    done = project.up()
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

    assert project.destroy() == Changes(delete=7)
    gone = cloud.one("delete", "aws-native:sagemaker:Cluster")
    assert cloud.one("delete", "aws-native:sagemaker:ComputeQuota").before(gone)
    assert cloud.one("delete", "aws-native:index:ExtensionResource").before(gone)


def test_create_only_properties_replace(project: CloudProject, cloud: FakeCloud) -> None:
    declare(cloud)
    text = program(TWO_GROUPS, EXISTING, GOVERNANCE)
    project.up(text)
    assert project.preview(text.replace('team_name": "team-a', 'team_name": "team-b')) == Changes(replace=1, same=6)
    assert project.preview(text.replace('{"Name": "policy"', '{"Name": "other"')) == Changes(replace=1, same=6)
    project.configure(cluster="renamed")
    assert project.preview(text).replace >= 2
    assert cloud.things("hyperpod cluster")[0].properties["ClusterName"] == "ml"


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"ml.g5.8xlarge", instance_count', '"ml.g5.9xlarge", instance_count', "instanceGroups[0].instanceType"),
        ('volume_size_in_gb": 100', 'volume_size_in_gb": 99999', "ebsVolumeConfig.volumeSizeInGb"),
        ("NoSchedule", "Never", "taints[0].effect"),
        ('("cpu", 1)', '("gpu", 1)', "same InstanceGroupName"),
        ('("gpu", 2)', '("gpu", 9999)', "instanceGroups[0].instanceCount"),
        ('"fair_share_weight": 10', '"fair_share_weight": 101', "computeQuotaTarget.fairShareWeight"),
        ('"strategy": "LendAndBorrow"', '"strategy": "Borrow"', "resourceSharingConfig.strategy"),
        ('"Weight": 90', '"Weight": 101', "properties.SchedulerConfig.PriorityClasses[0].Weight"),
        ('"FairShare"', '"FairShares"', "properties.SchedulerConfig.FairShares"),
        ('"v_cpu": 32.0', '"cores": 32.0', "cores"),
        ("cluster_name=config", "cluster_nam=config", "cluster_nam"),
    ],
)
def test_published_schemas_refuse_at_preview(project: CloudProject, cloud: FakeCloud, before: str, after: str, told: str) -> None:
    text = program(TWO_GROUPS, EXISTING, GOVERNANCE)
    assert before in text
    with pytest.raises((EngineError, TypeError)) as caught:
        project.preview(text.replace(before, after))
    assert told in str(caught.value)
    assert cloud.things() == []


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('aws.ec2.Vpc("x", cidr_block="10.0.0.0/8", opts=aws_o)', "cidrBlock"),
        ('aws.iam.Role("x", assume_role_policy=json.dumps({"Statement": [{"Effect": "Alow"}]}), opts=aws_o)', "assumeRolePolicy"),
        ('aws.iam.Policy("x", policy="{", opts=aws_o)', "MalformedPolicyDocument"),
        (
            'aws.iam.Policy("x", policy=allow(["s3:Get" + "x" * 100 + str(i) for i in range(90)], "*"), opts=aws_o)',
            "LimitExceeded",
        ),
        ('aws.s3.Bucket("x", bucket="Upper_Case", opts=aws_o)', "InvalidBucketName"),
        ('aws.cloudwatch.LogGroup("x", retention_in_days=8, opts=aws_o)', "retentionInDays"),
        ('aws.kms.Key("x", deletion_window_in_days=3, opts=aws_o)', "deletionWindowInDays"),
        ('aws.eks.Addon("x", cluster_name="main", addon_name="coredns", addon_version="1.2", opts=aws_o)', "addonVersion"),
        (
            'aws.eks.AccessEntry("x", cluster_name="main", principal_arn="a", kubernetes_groups=["system:masters"], opts=aws_o)',
            "kubernetesGroups",
        ),
        ('pulumi.CustomResource("aws:ec2/vpc:Vpc", "x", {"cidr": "10.0.0.0/16"}, aws_o)', "unknown property 'cidr'"),
        ('pulumi.CustomResource("aws:ec2/subnet:Subnet", "x", {}, aws_o)', "missing required property 'vpcId'"),
        ('pulumi.CustomResource("aws:ec2/vpcs:Vpcs", "x", {}, aws_o)', "is not a resource type"),
        ('aws.s3.Bucket("x", tags={"aws:x": "y"}, opts=aws_o)', "InvalidTag"),
    ],
)
def test_wrong_inputs_are_refused_at_preview(project: CloudProject, cloud: FakeCloud, line: str, told: str) -> None:
    assert told in project.refused(program(line), preview=True)
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
    assert project.up().changes.create == 2


def test_addons_need_nodes(project: CloudProject, cloud: FakeCloud) -> None:
    declare(cloud)
    assert "DEGRADED" in project.refused(program('aws.eks.Addon("dns", cluster_name="main", addon_name="coredns", opts=aws_o)'))
    name = "amazon-sagemaker-hyperpod-taskgovernance"
    assert "no HyperPod nodes" in project.refused(
        program(f'aws.eks.Addon("x", cluster_name="main", addon_name="{name}", opts=aws_o)')
    )
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


def test_a_cluster_outlives_neither_policies_nor_its_role(project: CloudProject, cloud: FakeCloud) -> None:
    declare(cloud)
    project.up(program(TWO_GROUPS, EXISTING))
    (hyperpod,) = cloud.things("hyperpod cluster")
    properties = {"Name": "foreign", "ComputeQuotaTarget": {"TeamName": "x"}}
    quota = cloud.existing("compute quota", "q-1", **properties)
    quota.links = ((hyperpod, ""),)
    with pytest.raises(EngineError, match="has policies"):
        project.destroy()
    cloud.lose(quota)
    cloud.lose(cloud.world.of("role")[0])
    with pytest.raises(EngineError, match="cannot assume the execution role exec"):
        project.destroy()
    assert cloud.things("hyperpod cluster") == [hyperpod]


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
attached = aws.iam.RolePolicy("exec", role=role.name, policy=bucket.arn.apply(lambda arn: allow("s3:GetObject", f"{arn}/*")), opts=aws_o)
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
