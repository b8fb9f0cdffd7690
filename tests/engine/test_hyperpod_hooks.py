"""The HyperPod component on a real engine and the fake cloud: counts that Karpenter owns, and roles that are too new."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakecloud import FakeCloud
from fakecloud.calls import Fault
from fakecloud.project import CloudProject

from sandbox.engine import Changes

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
PROGRAM = """
import json, sys
sys.path[:0] = [{root!r}]
import pulumi, pulumi_aws_native as native
import components.platform.cluster as component
from config.hyperpod import HyperPodCluster
from governance.platform.plan import platform_plan

component.PAUSE_SECONDS = 0.1
declared = HyperPodCluster.model_validate(json.loads({declared!r}))
arn = "arn:aws:iam::123456789012:role/exec"
parts = component.HyperPodParts(
    node_subnets={{zone: f"subnet-{{zone[-1]}}" for zone in declared.network.zones}},
    security_groups=["sg-1"], execution_role_arn=arn, karpenter_role_arn=arn,
    eks_arn="arn:aws:eks:us-west-2:123456789012:cluster/main",
    key_arn="arn:aws:kms:us-west-2:123456789012:key/k", lifecycle_uri=None, after=[])
cloud = native.Provider("native", region="us-west-2")
component.HyperPod("main/hyperpod", platform_plan("dev", "main", declared, managed=True), parts,
    pulumi.ResourceOptions(providers=[cloud]))
"""


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    """An account in which everything below a HyperPod cluster is there."""
    with FakeCloud(dependency_chart="") as found:
        found.existing("vpc", "vpc-1")
        for letter in "abc":
            found.existing("subnet", f"subnet-{letter}", vpcId="vpc-1", availabilityZone=f"us-west-2{letter}")
        found.existing("security group", "sg-1", vpcId="vpc-1")
        for direction in ("ingress", "egress"):
            found.existing(
                "security group rule",
                f"sgr-{direction}",
                securityGroupId="sg-1",
                referencedSecurityGroupId="sg-1",
                ipProtocol="-1",
                status=direction,
            )
        found.existing("role", "exec")
        found.existing("eks cluster", "main", vpcConfig={"subnetIds": ["subnet-a", "subnet-b"]})
        yield found


@pytest.fixture
def project(tmp_path: Path, cloud: FakeCloud) -> CloudProject:
    return CloudProject(tmp_path, cloud)


def program(*, name: str = "ml", protection: bool = False, **groups: tuple[int, bool]) -> str:
    """A cluster of groups: each a count, and whether Karpenter owns it."""
    declared = {
        "kind": "hyperpod",
        "account": "123456789012",
        "region": "us-west-2",
        "protection": protection,
        "network": {"availability_zones": ["us-west-2a", "us-west-2b", "us-west-2c"]},
        "hyperpod": {"karpenter": True, "name": name},
        "instance_groups": {
            group: {"instance_type": "ml.m5.4xlarge", "count": count, "autoscaled": autoscaled}
            for group, (count, autoscaled) in groups.items()
        },
    }
    return PROGRAM.format(root=str(ROOT), declared=json.dumps(declared))


def counts(cloud: FakeCloud) -> dict[str, int]:
    """What the last call that made or changed the cluster asked for."""
    call = [call for call in cloud.changes() if call.type == "aws-native:sagemaker:Cluster" and call.op != "delete"][-1]
    groups: list[dict[str, Any]] = call.inputs["instanceGroups"]
    return {group["instanceGroupName"]: int(group["instanceCount"]) for group in groups}


def test_a_count_of_karpenter_is_not_ours(project: CloudProject) -> None:
    assert project.up(program(b=(2, False), k=(3, True))).changes.create == 4
    assert project.up(program(b=(2, False), k=(7, True))).changes == Changes(same=4)


def test_a_group_before_an_autoscaled_one(project: CloudProject, cloud: FakeCloud) -> None:
    """The way around that the refusal tells leads there, and every group keeps its count."""
    project.up(program(b=(2, False), k=(3, True)))
    for preview in (True, False):
        message = project.refused(program(a=(1, False), b=(2, False), k=(9, True)), preview=preview)
        assert "Deploy twice: first with `autoscaled: false` and the present count at" in message
    assert counts(cloud) == {"b": 2, "k": 3}

    assert project.up(program(a=(1, False), b=(2, False), k=(3, False))).changes == Changes(update=1, same=3)
    assert project.up(program(a=(1, False), b=(2, False), k=(9, True))).changes == Changes(same=4)
    assert counts(cloud) == {"a": 1, "b": 2, "k": 3}

    done = project.up(program(a=(1, False), b=(5, False), k=(9, True)))
    assert done.changes == Changes(update=1, same=3)
    assert "counts of the last refresh (`k` 3)" in "".join(done.warnings)
    assert counts(cloud) == {"a": 1, "b": 5, "k": 3}


def test_a_new_group_after_all_others(project: CloudProject, cloud: FakeCloud) -> None:
    project.up(program(b=(2, False), k=(3, True)))
    assert project.up(program(b=(2, False), k=(9, True), z=(4, True))).changes == Changes(update=1, same=3)
    assert counts(cloud) == {"b": 2, "k": 3, "z": 4}


def test_another_name_is_refused_while_protected(project: CloudProject, cloud: FakeCloud) -> None:
    project.up(program(b=(2, False), protection=True))
    for preview in (True, False):
        assert "protect" in project.refused(program(b=(2, False), protection=True, name="other"), preview=preview)
    project.up(program(b=(2, False)))
    project.up(program(b=(2, False), name="other"))
    made = [call.op for call in cloud.changes() if call.type == "aws-native:sagemaker:Cluster"]
    assert made == ["create", "delete", "create"], "an EKS cluster holds one at a time"
    assert project.destroy().delete == 4


def test_a_role_that_is_too_new(project: CloudProject, cloud: FakeCloud) -> None:
    message = "ValidationException: SageMaker cannot assume the execution role arn:aws:iam::123456789012:role/exec"
    fault = Fault("fail", times=2, op="create", type="aws-native:sagemaker:Cluster", message=message)
    cloud.recorder.faults.append(fault)
    assert project.up(program(b=(2, False))).changes.create == 4
    assert len(fault.struck) == 2
    assert [call.ok for call in cloud.find("create", "aws-native:sagemaker:Cluster") if not call.preview] == [False, False, True]


def test_another_failure_is_not_repeated(project: CloudProject, cloud: FakeCloud) -> None:
    fault = Fault(
        "fail", times=9, op="create", type="aws-native:sagemaker:Cluster", message="ResourceLimitExceeded: ml.m5.4xlarge"
    )
    cloud.recorder.faults.append(fault)
    assert "ResourceLimitExceeded" in project.refused(program(b=(2, False)))
    assert len(fault.struck) == 1
