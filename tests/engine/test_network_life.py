"""Networks and security groups on a real engine and a fake AWS: made, kept, shared, and removed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fakecloud import FakeCloud
from fakecloud.project import CloudProject
from platform_support import ZONES

from sandbox.engine import EngineError

pytestmark = pytest.mark.engine
VPC, GROUP = "vpc-0123456789abcdef0", "sg-0123456789abcdef0"
SUBNETS = {zone: f"subnet-0123456789abcdef{index}" for index, zone in enumerate(ZONES[:2])}
SHARED = {"vpc": VPC, "subnets": SUBNETS, "security_group": GROUP}
CLOSED = {"availability_zones": list(ZONES), "egress": "closed", "node_cidrs": {ZONES[1]: "100.64.0.0/16"}}

PROGRAM = """
import json
import pulumi, pulumi_aws as aws
from components.platform.keys import Key
from components.platform.network import Network
from components.platform.security import NodeSecurity
from governance.platform.plan import platform_plan
from platform_support import declared

settings = json.loads(SETTINGS)
for name in settings.pop("clusters"):
    plan = platform_plan("dev", name, declared(**settings), managed=True)
    provider = aws.Provider(name, region="us-west-2")
    opts = pulumi.ResourceOptions(providers=[provider])
    key = Key(f"{name}/key", plan, opts)
    network = Network(f"{name}/network", plan, key.logs_arn, opts)
    NodeSecurity(f"{name}/security", plan, network.vpc_id, network.s3_prefix_list, opts)
"""


def program(network: dict[str, Any], *clusters: str, **settings: Any) -> str:
    given = {"clusters": clusters or ("main",), "network": network, **settings}
    return f"SETTINGS = {json.dumps(json.dumps(given))}\n{PROGRAM}"


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    with FakeCloud(account="111122223333") as found:
        yield found


@pytest.fixture
def project(tmp_path: Path, cloud: FakeCloud) -> CloudProject:
    return CloudProject(tmp_path, cloud)


@pytest.fixture
def theirs(cloud: FakeCloud) -> FakeCloud:
    """An account with a network, and a security group in it that lets everything out."""
    cloud.existing("vpc", VPC)
    for zone, subnet in SUBNETS.items():
        cloud.existing("subnet", subnet, vpcId=VPC, availabilityZone=zone, mapPublicIpOnLaunch=False)
    cloud.existing("security group", GROUP, vpcId=VPC)
    cloud.existing(
        "security group rule", "sgr-out", securityGroupId=GROUP, cidrIpv4="0.0.0.0/0", ipProtocol="-1", status="egress"
    )
    return cloud


def rules(cloud: FakeCloud) -> list[tuple[str, str]]:
    """Name and group of each rule that is ours."""
    found = [one.properties for one in cloud.things("security group rule")]
    return sorted((str(one["tags"]["hyperpod-platform/rule"]), str(one["securityGroupId"])) for one in found)


LACKING = ["all-in", "all-out", "lustre-in", "lustre-low-in"]


def test_what_a_group_lacked_stays(project: CloudProject, theirs: FakeCloud) -> None:
    project.up(program(SHARED, protection=False))
    assert rules(theirs) == [(name, GROUP) for name in LACKING]
    assert {one.noun for one in theirs.things()} == {"security group rule", "key", "key alias"}
    again = project.up().changes
    assert (again.create, again.update, again.replace, again.delete) == (0, 0, 0, 0)
    assert rules(theirs) == [(name, GROUP) for name in LACKING]
    project.destroy()
    assert theirs.things() == []


def test_clusters_share_a_group(project: CloudProject, theirs: FakeCloud) -> None:
    """The second one, which comes later, lacks nothing; nor does it take anything from the first."""
    project.up(program(SHARED, "one", protection=False))
    project.up(program(SHARED, "one", "two", protection=False))
    assert rules(theirs) == [(name, GROUP) for name in LACKING]
    project.up(program(SHARED, "two", protection=False))
    project.up()
    assert rules(theirs) == [(name, GROUP) for name in LACKING], "what went with the first is missing now"


def test_a_closed_network_is_kept_until_it_may_go(project: CloudProject, cloud: FakeCloud) -> None:
    project.up(program(CLOSED))
    assert not cloud.things("internet gateway")
    assert not cloud.things("nat gateway")
    again = project.up().changes
    assert (again.create, again.update, again.replace, again.delete) == (0, 0, 0, 0)
    kept = {noun: ids(cloud, noun) for noun in ("vpc", "subnet", "key", "key alias", "log group", "flow log")}
    assert all(kept.values())
    with pytest.raises(EngineError, match="protect"):
        project.destroy()
    assert {noun: ids(cloud, noun) for noun in kept} == kept
    project.up(program(CLOSED, protection=False))
    assert {noun: ids(cloud, noun) for noun in kept} == kept
    project.destroy()
    assert cloud.things() == []


def ids(cloud: FakeCloud, noun: str) -> set[str]:
    return {one.id for one in cloud.things(noun)}


def test_a_zone_more_moves_nothing(project: CloudProject, cloud: FakeCloud) -> None:
    project.up(program({"availability_zones": list(ZONES)}, protection=False))
    before = ids(cloud, "subnet") | ids(cloud, "nat gateway") | ids(cloud, "route table")
    fourth = {"availability_zones": [*ZONES, "us-west-2d"], "node_cidrs": {"us-west-2d": "10.200.0.0/16"}}
    done = project.up(program({**fourth, "egress": "nat_per_zone"}, protection=False)).changes
    assert (done.replace, done.delete) == (0, 0)
    assert before <= ids(cloud, "subnet") | ids(cloud, "nat gateway") | ids(cloud, "route table")
    assert len(ids(cloud, "nat gateway")) == 4
