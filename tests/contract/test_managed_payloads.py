"""Payloads of generated teams against AWS's own words: botocore's model of the SageMaker API and CloudFormation's schemas."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import regex
from declarations import cluster, team
from hypothesis import given
from hypothesis import strategies as st
from managed_support import HYPERPOD, MANAGED, managed_teams
from oracles import COMPUTE_QUOTA, SCHEDULER_CONFIG, complaints, refused, schema
from pulumi._types import input_type_types
from pulumi_aws_native import sagemaker

from governance.managed import SCHEDULER_CREATE_ONLY, compute_quota, scheduler_config

ARN = "arn:aws:sagemaker:us-west-2:123456789012:cluster/abcdefghijkl"


def as_cloudformation(payload: Mapping[str, Any], args: Any) -> dict[str, Any]:
    """Arguments of the SDK as it sends them (its own names, checked against its own classes), with CloudFormation's capital."""
    names = {python: wire for wire, python in _names(args).items()}
    types = input_type_types(args)
    result = {}
    for key, value in payload.items():
        assert key in names, f"{args.__name__} has no argument {key}"
        inner = _args_in(str(types[names[key]]))
        wire = names[key][0].upper() + names[key][1:]
        if isinstance(value, dict):
            result[wire] = as_cloudformation(value, inner)
        elif isinstance(value, list):
            result[wire] = [as_cloudformation(item, inner) for item in value]
        else:
            result[wire] = value
    return result


def _names(args: Any) -> dict[str, str]:
    """Names on the wire and in Python."""
    from pulumi._types import input_type_py_to_pulumi_names

    return {wire: python for python, wire in input_type_py_to_pulumi_names(args).items()}


def _args_in(annotation: str) -> Any:
    """The class of arguments that an annotation names, if any."""
    import pulumi_aws_native

    for word in regex.findall(r"\w+Args\b", annotation):
        if found := getattr(sagemaker, word, None) or getattr(pulumi_aws_native, word, None):
            return found
    return None


def quota_of(plan: Any, name: str) -> dict[str, Any]:
    return as_cloudformation({**compute_quota(plan.teams[name], plan), "cluster_arn": ARN}, sagemaker.ComputeQuotaArgs)


@given(
    st.dictionaries(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True), managed_teams(), min_size=1, max_size=4)
)
def test_quotas_of_any_teams_are_what_aws_takes(teams: dict[str, Any]) -> None:
    plan = cluster(teams, MANAGED)
    for name in teams:
        payload = quota_of(plan, name)
        assert complaints("CreateComputeQuota", payload) == []
        assert refused(COMPUTE_QUOTA, payload) == []


@given(
    st.dictionaries(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True), st.integers(0, 100), max_size=10),
    st.booleans(),
    st.booleans(),
    st.from_regex(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}", fullmatch=True).filter(lambda name: len(name) <= 63),
)
def test_any_policy_is_what_aws_takes(classes: dict[str, int], fair: bool, idle: bool, name: str) -> None:
    declared = {
        "backend": "managed",
        "priority_classes": {class_: {"weight": weight} for class_, weight in classes.items()},
        "idle_compute": "fair_share" if fair else "first_come_first_served",
        "idle_sharing": idle,
    }
    env = HYPERPOD.replace("    network:", f'    hyperpod: {{name: "{name}"}}\n    network:')
    plan = cluster({"alpha": team("quota: {}\n")}, f"{env}governance: {json.dumps(declared)}\n")
    payload = {**scheduler_config(plan), "ClusterArn": ARN}
    assert complaints("CreateClusterSchedulerConfig", payload) == []
    assert refused(SCHEDULER_CONFIG, payload) == []


def test_what_is_said_to_be_create_only_is() -> None:
    pointers = schema(SCHEDULER_CONFIG)["createOnlyProperties"]
    assert sorted(pointers) == sorted(f"/properties/{name}" for name in SCHEDULER_CREATE_ONLY)


def good() -> dict[str, Any]:
    return quota_of(cluster({"alpha": team("quota: {ml.p5.48xlarge: {accelerators: 1}}\n")}, MANAGED), "alpha")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("Name",), "-alpha"),
        (("Name",), "a" * 64),
        (("Description",), "two\nlines"),
        (("ActivationState",), "Off"),
        (("ComputeQuotaTarget", "FairShareWeight"), 101),
        (("ComputeQuotaTarget", "TeamName"), "Alpha"),
        (("ComputeQuotaConfig", "PreemptTeamTasks"), "Always"),
        (("ComputeQuotaConfig", "ResourceSharingConfig", "BorrowLimit"), 10_001),
        (("ComputeQuotaConfig", "ComputeQuotaResources"), [{"InstanceType": "ml.p5.48xlarge", "Count": 1}] * 16),
        (("ComputeQuotaConfig", "ComputeQuotaResources"), [{"InstanceType": "ml.p99.48xlarge", "Count": 1}]),
        (("ComputeQuotaConfig", "ComputeQuotaResources"), [{"Count": 1}]),
        (("Unknown",), "x"),
    ],
)
def test_the_oracles_can_refuse(path: tuple[str, ...], value: Any) -> None:
    payload = good()
    assert complaints("CreateComputeQuota", payload) == refused(COMPUTE_QUOTA, payload) == []
    place = payload
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert complaints("CreateComputeQuota", payload)
    assert refused(COMPUTE_QUOTA, payload)
