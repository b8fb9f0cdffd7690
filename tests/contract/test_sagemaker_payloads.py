"""What is asked of `AWS::SageMaker::Cluster` against AWS's own words: botocore's model of the API, and CloudFormation's schema.

Both are read from the published packages when the test runs; nothing of ours is an oracle.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import botocore.loaders
import botocore.model
import botocore.validate
import jsonschema
import pytest
import regex
from hypothesis import given
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


@cache
def schema() -> dict[str, Any]:
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

    found = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", "AWS::SageMaker::Cluster").schema
    return {key: value for key, value in json.loads(json.dumps(found)).items() if key != "$schema"}


@cache
def request_shape() -> botocore.model.Shape:
    model = botocore.model.ServiceModel(botocore.loaders.Loader().load_service_model("sagemaker", "service-2"))
    return model.operation_model("CreateCluster").input_shape


# -- AWS's spelling ------------------------------------------------------------------------------------------------------------


def resolved(node: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A schema's node behind its reference, and the name of that definition."""
    name = node.get("$ref", "").rpartition("/")[2]
    return name, schema()["definitions"][name] if name else dict(node)


def properties(node: Mapping[str, Any]) -> dict[str, Any]:
    """Properties of an object, those of its alternatives included."""
    found = dict(node.get("properties", {}))
    for alternative in node.get("oneOf", ()):
        found |= alternative.get("properties", {})
    return found


def spelt(value: Any, node: Mapping[str, Any], name: str = "Cluster", seen: set[str] | None = None) -> Any:
    """A value in CloudFormation's spelling. Notes every property that it has in `seen`, as `Definition.Property`."""
    if isinstance(value, list):
        items = node["items"]
        inner, definition = resolved(items)
        return [spelt(item, definition, inner, seen) for item in value]
    if not isinstance(value, dict) or "patternProperties" in node:
        return value
    known = {proper.lower(): proper for proper in properties(node)}
    result = {}
    for key, item in value.items():
        proper = known.get(key.replace("_", "").lower())
        assert proper is not None, f"{name} has no property {key}"
        if seen is not None:
            seen.add(f"{name}.{proper}")
        inner, definition = resolved(properties(node)[proper])
        result[proper] = spelt(item, definition, inner or proper, seen)
    return result


def cloudformation(args: Mapping[str, Any], seen: set[str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = spelt(dict(args), schema(), seen=seen)
    return found


# -- the oracles ---------------------------------------------------------------------------------------------------------------


def complaints(payload: Mapping[str, Any]) -> list[str]:
    """All that the API's model says against a request."""
    report = botocore.validate.ParamValidator().validate(payload, request_shape())
    return [report.generate_report()] if report.has_errors() else list(breaches(request_shape(), payload))


def breaches(shape: Any, value: Any, path: str = "") -> Iterator[str]:
    """What botocore's validator leaves to the service: enumerations, patterns and upper bounds."""
    meta = shape.metadata
    if shape.type_name == "structure":
        for name, item in value.items():
            yield from breaches(shape.members[name], item, f"{path}.{name}")
        return
    if shape.type_name == "list":
        for item in value:
            yield from breaches(shape.member, item, f"{path}[]")
    if shape.type_name == "map":
        for key, item in value.items():
            yield from breaches(shape.key, key, f"{path}.{key}")
            yield from breaches(shape.value, item, f"{path}.{key}")
    size = len(value) if isinstance(value, str | list | dict) else value
    if not meta.get("min", float("-inf")) <= size <= meta.get("max", float("inf")):
        yield f"{path}: {value!r} is not within {meta.get('min')}..{meta.get('max')}"
    if meta.get("enum") and value not in meta["enum"]:
        yield f"{path}: {value!r} is none of its values"
    if "pattern" in meta and not regex.fullmatch(meta["pattern"], value):
        yield f"{path}: {value!r} is not like {meta['pattern']}"


class _Pattern:
    """JSON Schema's `pattern`, in a dialect that knows Unicode's classes as Java's does."""

    @staticmethod
    def check(_: Any, pattern: str, value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
        if isinstance(value, str) and not regex.search(pattern, value):
            yield jsonschema.ValidationError(f"{value!r} is not like {pattern}")


CHECKER = jsonschema.validators.extend(jsonschema.Draft7Validator, {"pattern": _Pattern.check})


def refused(payload: Mapping[str, Any]) -> list[str]:
    """All that CloudFormation's schema says against a resource."""
    return [f"{list(error.absolute_path)}: {error.message}" for error in CHECKER(schema()).iter_errors(payload)]


# -- what we send --------------------------------------------------------------------------------------------------------------


def payload_of(plan: PlatformPlan, seen: set[str] | None = None) -> dict[str, Any]:
    return cloudformation(cluster_args(plan, inputs_for(plan)), seen)


def assert_taken(payload: Mapping[str, Any]) -> None:
    assert complaints(payload) == []
    assert refused(payload) == []


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
    reachable = set(walked(schema(), "Cluster", set()))
    assert reachable - seen - set(UNUSED) == set()
    assert not set(UNUSED) & seen
    assert set(UNUSED) <= reachable | {f"Cluster.{name}" for name in schema()["properties"]}


def walked(node: Mapping[str, Any], name: str, done: set[str]) -> Iterator[str]:
    """Every property below a node, as `Definition.Property`, except below those that we leave out."""
    if name in done:
        return
    done.add(name)
    for proper, child in properties(node).items():
        yield f"{name}.{proper}"
        if f"{name}.{proper}" in UNUSED:
            continue
        inner, definition = resolved(child)
        if "items" in definition:
            inner, definition = resolved(definition["items"])
        yield from walked(definition, inner or proper, done)


def test_read_only_properties_are_those_of_the_schema() -> None:
    names = {pointer.rpartition("/")[2] for pointer in schema()["readOnlyProperties"]} - {"NextPatchDate"}
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
        assert word in "".join(complaints(payload))
    if "InstanceType" not in change:  # the schema knows no types
        assert word in "".join(refused(payload))


def test_a_wrong_cluster_is_noticed() -> None:
    payload = payload_of(plan_of())
    assert refused({**payload, "ClusterName": "x" * 64})
    assert complaints({**payload, "ClusterName": "x_y"})
    assert refused({**payload, "Tags": [{"Key": "a*b", "Value": ""}]})
    assert complaints({**payload, "VpcConfig": {"SecurityGroupIds": [], "Subnets": ["subnet-1"]}})
    assert complaints({name: value for name, value in payload.items() if name != "ClusterName"})


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
