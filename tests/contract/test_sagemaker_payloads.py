"""`AWS::SageMaker::Cluster` as we ask for it, against botocore's model of the API and CloudFormation's schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from oracles import CLUSTER, complaints, properties, refused, resolved, schema, spelt
from platform_support import declared, full, inputs_for, plan_of
from strategies import hyperpod_clusters

from config.hyperpod import HyperPodCluster
from config.load import Project
from governance.plan import plan
from governance.platform.model import PlatformPlan
from governance.platform.payload import cluster_args
from governance.platform.plan import platform_plan

ROOT = Path(__file__).parents[2]
UNUSED = {
    "ClusterInstanceGroup.SlurmConfig": "Slurm; we orchestrate with EKS",
    "Orchestrator.Slurm": "Slurm",
    "AutoPatchConfig.PatchSchedule": "SageMaker's own answer: when it patches next",
    "ClusterInstanceGroup.CurrentCount": "read-only",
    "ClusterRestrictedInstanceGroup.CurrentCount": "read-only",
    "Cluster.ClusterArn": "read-only",
    "Cluster.ClusterStatus": "read-only",
    "Cluster.CreationTime": "read-only",
    "Cluster.FailureMessage": "read-only",
}
"""Properties that we never send, with the reason."""


# -- what we send --------------------------------------------------------------------------------------------------------------


def payload_of(plan: PlatformPlan, seen: set[str] | None = None) -> dict[str, Any]:
    return spelt(CLUSTER, cluster_args(plan, inputs_for(plan)), seen)


def assert_taken(payload: Mapping[str, Any]) -> None:
    assert complaints("CreateCluster", payload) == []
    assert refused(CLUSTER, payload) == []


@given(hyperpod_clusters())
def test_any_cluster_is_what_aws_takes(data: dict[str, Any]) -> None:
    plan = platform_plan("dev", "main", HyperPodCluster.model_validate(data), managed=False)
    payload = payload_of(plan)
    assert_taken(payload)
    assert [group["InstanceGroupName"] for group in payload["InstanceGroups"]] == sorted(data["instance_groups"])


@given(hyperpod_clusters(managed=True))
def test_any_managed_cluster_is_what_aws_takes(data: dict[str, Any]) -> None:
    assert_taken(payload_of(platform_plan("dev", "main", HyperPodCluster.model_validate(data), managed=True)))


@pytest.mark.parametrize("environment", ["dev", "staging", "prod"])
def test_the_example_environments_are_what_aws_takes(environment: str) -> None:
    clusters = plan(Project(ROOT).load(environment)).clusters.values()
    platforms = [cluster.platform for cluster in clusters if cluster.platform is not None]
    assert platforms
    for platform in platforms:
        assert_taken(payload_of(platform))


def test_the_full_example_is_what_aws_takes() -> None:
    assert_taken(payload_of(full()))


def test_the_full_example_has_every_property() -> None:
    """A new property in AWS's schema fails here: it then gets a setting, or a reason why not."""
    seen: set[str] = set()
    payload_of(full(), seen)
    assert_taken(payload_of(full("on_init_complete"), seen))
    reachable = set(walked(schema(CLUSTER), "Cluster", set()))
    assert reachable - seen - set(UNUSED) == set()
    assert not set(UNUSED) & seen
    assert set(UNUSED) <= reachable | {f"Cluster.{name}" for name in schema(CLUSTER)["properties"]}


def walked(node: Mapping[str, Any], name: str, done: set[str]) -> Iterator[str]:
    """Every property below a node, as `Definition.Property`, except below those that we leave out."""
    if name in done:
        return
    done.add(name)
    for proper, child in properties(node).items():
        yield f"{name}.{proper}"
        if f"{name}.{proper}" in UNUSED:
            continue
        inner, definition = resolved(CLUSTER, child)
        if "items" in definition:
            inner, definition = resolved(CLUSTER, definition["items"])
        yield from walked(definition, inner or proper, done)


def test_read_only_properties_are_those_of_the_schema() -> None:
    names = {pointer.rpartition("/")[2] for pointer in schema(CLUSTER)["readOnlyProperties"]} - {"NextPatchDate"}
    assert {name.rpartition(".")[2] for name, reason in UNUSED.items() if reason == "read-only"} == names


# -- the oracles can say no ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"InstanceCount": 7000}, "7000"),
        ({"InstanceType": "ml.h200.48xlarge"}, "ml.h200"),
        ({"ThreadsPerCore": 3}, "3"),
        ({"InstanceGroupName": "-a"}, "-a"),
        ({"OnStartDeepHealthChecks": ["Stress"]}, "Stress"),
        ({"InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": 20_000}}]}, "20000"),
        ({"KubernetesConfig": {"Taints": [{"Key": "a", "Effect": "Never"}]}}, "Never"),
        ({"ScheduledUpdateConfig": {"ScheduleExpression": "every day"}}, "every day"),
        ({"Colour": "red"}, "Colour"),
    ],
)
def test_a_wrong_group_is_noticed(change: dict[str, Any], word: str) -> None:
    payload = payload_of(plan_of())
    payload["InstanceGroups"][0] |= change
    if "ScheduledUpdateConfig" not in change:  # the API's model has no pattern for schedules
        assert word in "".join(complaints("CreateCluster", payload))
    if "InstanceType" not in change:  # the schema knows no types
        assert word in "".join(refused(CLUSTER, payload))


def test_a_wrong_cluster_is_noticed() -> None:
    payload = payload_of(plan_of())
    assert refused(CLUSTER, {**payload, "ClusterName": "x" * 64})
    assert complaints("CreateCluster", {**payload, "ClusterName": "x_y"})
    assert refused(CLUSTER, {**payload, "Tags": [{"Key": "a*b", "Value": ""}]})
    assert complaints("CreateCluster", {**payload, "VpcConfig": {"SecurityGroupIds": [], "Subnets": ["subnet-1"]}})
    assert complaints("CreateCluster", {name: value for name, value in payload.items() if name != "ClusterName"})


def test_both_file_systems_of_restricted_groups_are_known_to_aws() -> None:
    group = {"instance_type": "ml.p5.48xlarge", "count": 1, "availability_zone": "us-west-2a"}
    for keep in (True, False):
        shared = declared(
            restricted_instance_groups={"nova": group},
            restricted_file_system={"size_gib": 1200, "throughput": 125, "keep": keep},
        )
        payload = payload_of(platform_plan("dev", "main", shared, managed=False))
        assert_taken(payload)
        policy = payload["RestrictedInstanceGroupsConfig"]["SharedEnvironmentConfig"]["FSxLustreDeletionPolicy"]
        assert policy == ("Keep" if keep else "DeleteIfNotUsed")
