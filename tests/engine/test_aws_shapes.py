"""Platforms of other shapes than the examples': what is there already, a closed network, Karpenter, restricted groups."""

from __future__ import annotations

from pathlib import Path

import pytest
from aws_support import AwsProject, disorder
from fakecloud import FakeCloud

from sandbox.local import Sandbox

pytestmark = pytest.mark.engine
ACCOUNT = "111122223333"
VPC, GROUP = "vpc-0123456789abcdef0", "sg-0123456789abcdef0"
SUBNETS = {f"us-west-2{letter}": f"subnet-0123456789abcdef{index}" for index, letter in enumerate("ab")}
HEAD = f"""
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: hyperpod
    account: "{ACCOUNT}"
    region: us-west-2
    protection: false
"""
CLOSED = f"""{HEAD}
    network: {{availability_zones: [us-west-2a, us-west-2b, us-west-2c], egress: closed}}
    eks: {{admins: ["arn:aws:iam::{ACCOUNT}:role/platform-admin"], private_access_from: [10.0.0.0/16]}}
    hyperpod: {{karpenter: true, chart: {{path: chart}}}}
    instance_groups:
      cpu: {{instance_type: ml.m5.4xlarge, count: 1}}
      scaled: {{instance_type: ml.g5.2xlarge, count: 0, autoscaled: true}}
    restricted_instance_groups:
      nova: {{instance_type: ml.p5.48xlarge, count: 1, availability_zone: us-west-2a}}
    kueue: {{install: false}}
governance: {{backend: kueue, topology: {{enabled: false}}}}
"""
THEIRS = f"""{HEAD}
    network:
      vpc: {VPC}
      subnets: {{us-west-2a: {SUBNETS["us-west-2a"]}, us-west-2b: {SUBNETS["us-west-2b"]}}}
      security_group: {GROUP}
    eks: {{existing: theirs}}
    hyperpod: {{execution_role: "arn:aws:iam::{ACCOUNT}:role/sagemaker-theirs", chart: {{path: chart}}}}
    instance_groups:
      cpu: {{instance_type: ml.m5.4xlarge, count: 1}}
governance: {{backend: managed}}
"""


def project(folder: Path, cloud: FakeCloud, environment: str, layers: str = "[platform, governance]") -> AwsProject:
    found = AwsProject(folder, cloud)
    (found.root / "environments/other.yaml").write_text(environment)
    settings = f'config:\n  pulumi:disable-default-providers: ["*"]\n  hyperpod-platform:layers: {layers}\n'
    (found.root / "Pulumi.other.yaml").write_text(settings)
    for team in (found.root / "teams").iterdir():
        team.unlink()
    return found


def comes_stays_and_goes(found: AwsProject) -> None:
    try:
        assert found.preview("other").create > 0
        assert found.cloud.changes() == [], "a preview touches nothing"
        found.up("other")
        assert disorder(found.cloud, "create") == []
        assert found.up("other").changes.total == 0
    finally:
        found.clear("other")
    assert disorder(found.cloud, "delete") == []
    assert found.cloud.things() == []


def test_a_closed_network_with_karpenter_and_restricted_groups(sandbox: Sandbox, tmp_path: Path) -> None:
    with FakeCloud(str(sandbox.kubeconfig), account=ACCOUNT) as cloud:
        comes_stays_and_goes(project(tmp_path, cloud, CLOSED))
        made = {call.type for call in cloud.find("create")}
        assert not made & {"aws:ec2/internetGateway:InternetGateway", "aws:ec2/natGateway:NatGateway", "aws:ec2/route:Route"}
        services = {
            call.inputs["serviceName"].rpartition(".")[2] for call in cloud.find("create", "aws:ec2/vpcEndpoint:VpcEndpoint")
        }
        assert {"s3", "dkr", "api", "sts", "logs", "ec2", "eks-auth", "lambda", "sqs"} <= services
        (cluster,) = cloud.find("create", "aws-native:sagemaker:Cluster")
        assert cluster.inputs["autoScaling"] == {"mode": "Enable", "autoScalerType": "Karpenter"}
        assert "karpenter" in cluster.inputs["clusterRole"]
        assert [group["instanceGroupName"] for group in cluster.inputs["restrictedInstanceGroups"]] == ["nova"]


def test_what_is_there_already_is_used_and_left(sandbox: Sandbox, tmp_path: Path) -> None:
    with FakeCloud(str(sandbox.kubeconfig), account=ACCOUNT) as cloud:
        cloud.existing("vpc", VPC, cidrBlock="10.0.0.0/16")
        for index, (zone, subnet) in enumerate(SUBNETS.items()):
            cloud.existing(
                "subnet", subnet, vpcId=VPC, availabilityZone=zone, cidrBlock=f"10.0.{index}.0/24", mapPublicIpOnLaunch=False
            )
        cloud.existing("security group", GROUP, vpcId=VPC)
        cloud.existing("role", "sagemaker-theirs", status="sagemaker.amazonaws.com")
        config = {"subnetIds": list(SUBNETS.values()), "vpcId": VPC}
        cloud.existing("eks cluster", "theirs", vpcConfig=config, accessConfigs=[{"authenticationMode": "API"}])
        # The platform alone: the kubeconfig leads to EKS, and the AWS CLI's tokens are none for the API server here.
        comes_stays_and_goes(project(tmp_path, cloud, THEIRS, "[platform]"))
        made = {call.type for call in cloud.find("create")}
        assert not [one for one in made if one.startswith(("aws:ec2/", "aws:eks/cluster", "aws:iam/", "eks:"))]
        assert "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule" in made, "the rules that the group lacks"
