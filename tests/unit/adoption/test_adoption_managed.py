"""Adopting a HyperPod cluster's task governance, from answers of the shape that AWS's own models give them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import botocore.session
import botocore.validate
import pytest
from botocore.stub import Stubber
from declarations import cluster as planned_cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from managed_support import MANAGED, managed_teams
from oracles import api

from config.findings import ConfigError
from config.load import Project
from config.stack import PROJECT
from governance.adoption.managed import ManagedCluster, declaration
from governance.managed import compute_quota, scheduler_config
from governance.plan import plan
from live.adoption.adopting import Adoption, Target, declared_files, planned, write
from live.adoption.comparing import Difference
from live.adoption.managed import adopt_managed, differences, read_managed
from live.drift.state import spelt

ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"
QUOTA_ARN = "arn:aws:sagemaker:us-west-2:123456789012:compute-quota/abcdefghijkl"
EKS_ARN = "arn:aws:eks:us-west-2:123456789012:cluster/ml-eks"
WHEN = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)
ROLE = "arn:aws:iam::123456789012:role/nodes"
SUBNETS = {"us-west-2a": "subnet-0123456789abcdef0", "us-west-2b": "subnet-0123456789abcdef1"}
GROUPS = {"h100": ("ml.p5.48xlarge", 4), "general": ("ml.m5.4xlarge", 2)}
OWNERS = ["ops@example.com"]
TAGS = {"hyperpod-platform/environment": "prod", "hyperpod-platform/cluster": "main", "hyperpod-platform/managed-by": "pulumi"}
"""What the platform sets on everything."""


def float32(value: float) -> float:
    """As the service holds vCPU and memory."""
    found: float = struct.unpack("f", struct.pack("f", value))[0]
    return found


def checked(operation: str, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, if it is of the API's shape."""
    report = botocore.validate.ParamValidator().validate(answer, api().operation_model(operation).output_shape)
    assert not report.has_errors(), report.generate_report()
    return answer


def described_cluster() -> dict[str, Any]:
    return checked(
        "DescribeCluster",
        {
            "ClusterArn": ARN,
            "ClusterName": "training",
            "ClusterStatus": "InService",
            "InstanceGroups": [
                {
                    "InstanceGroupName": name,
                    "InstanceType": kind,
                    "CurrentCount": count,
                    "TargetCount": count,
                    "ExecutionRole": ROLE,
                    "OverrideVpcConfig": {"SecurityGroupIds": ["sg-0123456789abcdef0"], "Subnets": [SUBNETS["us-west-2a"]]},
                }
                for name, (kind, count) in GROUPS.items()
            ],
            "VpcConfig": {"SecurityGroupIds": ["sg-0123456789abcdef0"], "Subnets": list(SUBNETS.values())},
            "Orchestrator": {"Eks": {"ClusterArn": EKS_ARN}},
            "NodeRecovery": "Automatic",
            "NodeProvisioningMode": "Continuous",
        },
    )


def subnets() -> list[dict[str, Any]]:
    return [{"SubnetId": subnet, "VpcId": "vpc-0123456789abcdef0", "AvailabilityZone": zone} for zone, subnet in SUBNETS.items()]


def quota(properties: Mapping[str, Any]) -> dict[str, Any]:
    """DescribeComputeQuota of a quota with these properties."""
    found = json.loads(json.dumps({key: value for key, value in properties.items() if key != "Tags"}))
    config = found["ComputeQuotaConfig"]
    limits = config.get("ResourceSharingConfig", {}).get("AbsoluteBorrowLimits", [])
    for entry in (*config.get("ComputeQuotaResources", []), *limits):
        for field in ("VCpu", "MemoryInGiB"):
            if field in entry:
                entry[field] = float32(entry[field])
    return checked(
        "DescribeComputeQuota",
        found
        | {
            "ComputeQuotaArn": QUOTA_ARN,
            "ComputeQuotaId": "abcdefghijkl",
            "ComputeQuotaVersion": 3,
            "Status": "Updated",
            "ClusterArn": ARN,
            "CreationTime": WHEN,
        },
    )


def scheduler(properties: Mapping[str, Any]) -> dict[str, Any]:
    return checked(
        "DescribeClusterSchedulerConfig",
        {key: value for key, value in properties.items() if key != "Tags"}
        | {
            "ClusterSchedulerConfigArn": "arn:aws:sagemaker:us-west-2:123456789012:cluster-scheduler-config/abcdefghijkl",
            "ClusterSchedulerConfigId": "abcdefghijkl",
            "ClusterSchedulerConfigVersion": 2,
            "Status": "Created",
            "ClusterArn": ARN,
            "CreationTime": WHEN,
        },
    )


BY_CONSOLE = {
    "Name": "Vision-Quota",
    "Description": "Made by hand",
    "ActivationState": "Enabled",
    "ComputeQuotaConfig": {
        "ComputeQuotaResources": [
            {"InstanceType": "ml.p5.48xlarge", "Accelerators": 4, "VCpu": 90.5, "MemoryInGiB": 1000.0},
            {"InstanceType": "ml.m5.4xlarge", "Count": 2},
        ],
        "ResourceSharingConfig": {"Strategy": "LendAndBorrow", "BorrowLimit": 75},
        "PreemptTeamTasks": "Never",
    },
    "ComputeQuotaTarget": {"TeamName": "vision", "FairShareWeight": 10},
}
POLICY = {
    "Name": "by-console",
    "Description": "",
    "SchedulerConfig": {
        "PriorityClasses": [{"Name": "inference", "Weight": 90}, {"Name": "training", "Weight": 80}],
        "FairShare": "Enabled",
        "IdleResourceSharing": "Enabled",
    },
}


def by_console(**changes: Any) -> ManagedCluster:
    policy, one = scheduler(POLICY), quota(BY_CONSOLE | changes)
    tags = {arn: dict(TAGS) for arn in (policy["ClusterSchedulerConfigArn"], one["ComputeQuotaArn"])}
    return ManagedCluster(described_cluster(), policy, (one,), tuple(subnets()), "v1.6.0-eksbuild.1", tags)


def adopt(found: ManagedCluster, root: Path) -> Adoption:
    return adopt_managed(found, "main", Target(root, "prod", "prod-governance"), OWNERS)


def test_what_the_console_made_is_declared_as_it_is(tmp_path: Path) -> None:
    adoption = adopt(by_console(), tmp_path)
    assert adoption.differences == ()
    write(adoption.files, tmp_path)
    platform = Project(tmp_path).load("prod")
    team = platform.teams["vision"]
    assert team.quota["ml.p5.48xlarge"].model_dump(exclude_defaults=True) == {
        "accelerators": 4,
        "vcpu": 90.5,
        "memory_gib": 1000.0,
    }
    assert team.quota["ml.m5.4xlarge"].instances == 2
    assert (team.weight, team.preemption, team.sharing.borrow_limit) == (10, "never", 75)
    cluster = plan(platform).clusters["main"]
    payload = spelt(compute_quota(cluster.teams["vision"], cluster))
    assert (payload["Name"], payload["Description"]) == ("Vision-Quota", "Made by hand")
    assert scheduler_config(cluster)["SchedulerConfig"] == POLICY["SchedulerConfig"]
    declared = platform.environment.clusters["main"]
    assert declared.kind == "hyperpod"
    assert declared.eks.existing == "ml-eks"
    assert declared.network.subnets == SUBNETS


def test_tags_that_are_not_there_are_a_difference_and_no_part_of_the_imported_state(tmp_path: Path) -> None:
    found = by_console()
    bare = ManagedCluster(found.cluster, found.scheduler, found.quotas, found.subnets, found.addon, {QUOTA_ARN: {"team": "ml"}})
    adoption = adopt(bare, tmp_path)
    assert [(one.subject, one.field, one.live) for one in adoption.differences] == [
        ("ClusterSchedulerConfig by-console", "Tags", "nothing"),
        ("ComputeQuota Vision-Quota", "Tags", "team=ml"),
    ]
    listed = json.loads(adoption.files["imports/prod-governance.json"])["resources"]
    (entry,) = [one for one in listed if one.get("id") == QUOTA_ARN]
    assert entry["inputs"]["tags"] == [{"key": "team", "value": "ml"}]


def test_the_import_file_names_the_quotas_by_their_arns(tmp_path: Path) -> None:
    adoption = adopt(by_console(), tmp_path)
    content = json.loads(adoption.files["imports/prod-governance.json"])
    entries = {one["type"]: one for one in content["resources"] if not one.get("component")}
    assert {kind: one["id"] for kind, one in entries.items()} == {
        "aws:eks/addon:Addon": "ml-eks:amazon-sagemaker-hyperpod-taskgovernance",
        "aws-native:index:ExtensionResource": "arn:aws:sagemaker:us-west-2:123456789012:cluster-scheduler-config/abcdefghijkl",
        "aws-native:sagemaker:ComputeQuota": QUOTA_ARN,
    }
    found = entries["aws-native:sagemaker:ComputeQuota"]
    assert (found["logicalName"], found["parent"]) == ("main/vision/quota", "Team main/vision")
    assert found["inputs"]["clusterArn"] == ARN
    assert content["nameTable"][found["provider"]].startswith("urn:pulumi:prod-governance::")
    assert {one["name"] for one in content["resources"]} >= {one["parent"] for one in entries.values()}


def test_the_stack_is_told_what_no_other_stack_tells(tmp_path: Path) -> None:
    import yaml

    settings_ = yaml.safe_load(adopt(by_console(), tmp_path).files["Pulumi.prod-governance.yaml"])["config"]
    assert settings_[f"{PROJECT}:layers"] == ["governance"]
    assert settings_[f"{PROJECT}:platform_facts"] == {"main": {"eks_name": "ml-eks", "hyperpod_arn": ARN}}


def test_an_instance_type_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    config = {**BY_CONSOLE["ComputeQuotaConfig"], "ComputeQuotaResources": [{"InstanceType": "ml.p5.48xlarge", "Count": 1}]}  # type: ignore[dict-item]
    found = by_console(ComputeQuotaConfig=config)
    unknown = json.loads(json.dumps(found.quotas[0]["ComputeQuotaConfig"]))
    unknown["ComputeQuotaResources"][0]["InstanceType"] = "ml.p99.metal"
    other = ManagedCluster(
        found.cluster, found.scheduler, ({**found.quotas[0], "ComputeQuotaConfig": unknown},), found.subnets, found.addon
    )
    with pytest.raises(ConfigError) as caught:
        adopt(other, tmp_path)
    assert [finding.id for finding in caught.value.findings] == ["import-type-unknown"]


def test_two_quotas_of_one_team_are_told_and_one_is_declared(tmp_path: Path) -> None:
    found = by_console()
    second = {**quota({**BY_CONSOLE, "Name": "Vision-Spare"}), "ComputeQuotaArn": f"{QUOTA_ARN}2", "ComputeQuotaId": "two"}
    adoption = adopt(replace(found, quotas=(second, *found.quotas)), tmp_path)
    (left,) = [one for one in adoption.findings if one.id == "import-left"]
    assert left.message.startswith("ComputeQuota Vision-Spare: team `vision` has `Vision-Quota` too")
    assert "Vision-Quota" in adoption.files["teams/vision.yaml"]
    assert adoption.differences == ()
    assert f"{QUOTA_ARN}2" not in adoption.files["imports/prod-governance.json"]


def test_a_cluster_that_slurm_orchestrates_has_nothing_to_import(tmp_path: Path) -> None:
    cluster = {key: value for key, value in described_cluster().items() if key != "Orchestrator"}
    found, _ = read_from([], [], cluster)
    assert found.addon is None
    for one in (cluster, {**cluster, "Orchestrator": {"Slurm": {}}}):
        with pytest.raises(ConfigError) as caught:
            adopt(replace(found, cluster=one), tmp_path)
        (finding,) = caught.value.findings
        assert finding.id == "import-empty"
        assert "not of Slurm" in finding.message


@settings(max_examples=50)
@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), managed_teams(), min_size=1, max_size=3))
def test_whatever_is_declared_reads_back_as_itself(teams: dict[str, Any]) -> None:
    cluster = planned_cluster({name: json.dumps(data) for name, data in teams.items()}, MANAGED)
    quotas = tuple(quota(spelt(compute_quota(team, cluster))) for team in cluster.teams.values())
    found = ManagedCluster(
        described_cluster(), scheduler(scheduler_config(cluster)), quotas, tuple(subnets()), "v1.6.0-eksbuild.1"
    )
    declared = declaration(found, "main", "prod", OWNERS)
    assert [note for note in declared.notes if note.id != "import-left"] == []
    target = Target(Path("/nowhere"), "prod", "prod")
    again = planned(declared_files(declared, target), target)
    assert {team.quota_name for team in again.clusters["main"].teams.values()} == {str(one["Name"]) for one in quotas}
    differ = [one for one in differences(again.clusters["main"], found) if one.field != "Tags" and not _remainder(one)]
    assert differ == []


def _remainder(one: Difference) -> bool:
    """1 MiB, what is left when memory is divided among partitions: it may fall on another of them. An import tells it."""
    return one.field.endswith(".MemoryInGiB") and abs(float(one.live) - float(one.declared)) <= 1.001 / 1024


def test_what_is_being_deleted_is_not_read(tmp_path: Path) -> None:
    """Of the same team and name too: it is deleted and made again."""
    live, policy = quota(BY_CONSOLE), scheduler(POLICY)
    config = {"ComputeQuotaResources": [{"InstanceType": "ml.m5.4xlarge", "Count": 9}]}
    gone = quota({**BY_CONSOLE, "ComputeQuotaConfig": config}) | {"Status": "Deleted", "ComputeQuotaId": "gone"}
    old = {**BY_CONSOLE, "Name": "Old", "ComputeQuotaTarget": {"TeamName": "old"}}
    going = quota(old) | {"Status": "Deleting", "ComputeQuotaId": "going"}
    found, asked = read_from([live, gone, going], [policy | {"Status": "Deleted"}], described_cluster())
    assert (found.quotas, found.scheduler) == ((live,), None)
    assert asked == [QUOTA_ARN]
    assert [name for name in adopt(found, tmp_path).files if name.startswith("teams/")] == ["teams/vision.yaml"]


def read_from(
    quotas: list[dict[str, Any]], policies: list[dict[str, Any]], cluster: dict[str, Any]
) -> tuple[ManagedCluster, list[str]]:
    """What is read where AWS answers so, and the ARNs whose tags are asked for."""
    asked: list[str] = []

    def described(answers: list[dict[str, Any]], key: str) -> Any:
        return lambda **arguments: next(one for one in answers if one[key] == arguments[key])

    def tags(**arguments: Any) -> dict[str, Any]:
        asked.append(arguments["ResourceArn"])
        return {"Tags": []}

    sagemaker = SimpleNamespace(
        describe_cluster=lambda **_: cluster,
        list_compute_quotas=lambda **_: {"ComputeQuotaSummaries": [summary(one) for one in quotas]},
        describe_compute_quota=described(quotas, "ComputeQuotaId"),
        list_cluster_scheduler_configs=lambda **_: {"ClusterSchedulerConfigSummaries": [summary(one) for one in policies]},
        describe_cluster_scheduler_config=described(policies, "ClusterSchedulerConfigId"),
        list_tags=tags,
    )
    addon = {"addon": {"addonVersion": "v1.6.0-eksbuild.1"}}
    clients = SimpleNamespace(
        sagemaker=sagemaker,
        eks=SimpleNamespace(describe_addon=lambda **_: addon),
        ec2=SimpleNamespace(describe_subnets=lambda **_: {"Subnets": subnets()}),
    )
    return read_managed(clients, "training"), asked


def test_all_of_it_is_read_through_awss_own_clients() -> None:
    session = botocore.session.get_session()
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}  # pragma: allowlist secret
    clients = SimpleNamespace(
        **{name: session.create_client(name, region_name="us-west-2", **keys) for name in ("sagemaker", "eks", "ec2")}
    )
    sagemaker, eks, ec2 = (Stubber(getattr(clients, name)) for name in ("sagemaker", "eks", "ec2"))
    one, policy = quota(BY_CONSOLE), scheduler(POLICY)
    sagemaker.add_response("describe_cluster", described_cluster(), {"ClusterName": "training"})
    sagemaker.add_response("list_cluster_scheduler_configs", {"ClusterSchedulerConfigSummaries": [summary(policy)]})
    sagemaker.add_response("describe_cluster_scheduler_config", policy)
    sagemaker.add_response("list_compute_quotas", {"ComputeQuotaSummaries": [summary(one)]})
    sagemaker.add_response("describe_compute_quota", one)
    sagemaker.add_response("describe_cluster", described_cluster(), {"ClusterName": ARN})
    for arn in (policy["ClusterSchedulerConfigArn"], QUOTA_ARN):
        sagemaker.add_response("list_tags", {"Tags": [{"Key": "team", "Value": "ml"}]}, {"ResourceArn": arn})
    ec2.add_response("describe_subnets", {"Subnets": subnets()}, {"SubnetIds": sorted(SUBNETS.values())})
    eks.add_response("describe_addon", {"addon": {"addonVersion": "v1.6.0-eksbuild.1"}})
    with sagemaker, eks, ec2:
        found = read_managed(clients, "training")
        for stub in (sagemaker, eks, ec2):
            stub.assert_no_pending_responses()
    assert found.quotas == (one,)
    assert found.tags[QUOTA_ARN] == {"team": "ml"}
    assert (found.scheduler, found.addon) == (policy, "v1.6.0-eksbuild.1")


def summary(described: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("Name", "Status", "ClusterArn", "CreationTime", "ComputeQuotaConfig", "ComputeQuotaTarget")
    found = {key: value for key, value in described.items() if key.endswith(("Arn", "Id", "Version")) or key in kept}
    return found | {"LastModifiedTime": WHEN}
