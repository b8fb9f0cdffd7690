"""What `hpctl drift --platform` tells of resources that Pulumi's providers look at: a real engine on the fake cloud."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fakecloud import FakeCloud
from fakecloud.project import CloudProject
from test_hyperpod_hooks import cloud as cloud  # noqa: PLC0414 - a fixture
from test_hyperpod_hooks import program

from live.drift.model import PlatformChange, Report
from live.drift.stack import platform_changes
from reports.drift import text
from sandbox.engine import Engine, Progress
from sandbox.progress import SilentProgress

pytestmark = pytest.mark.engine
CLUSTER = ("aws-native:sagemaker:Cluster", "main/hyperpod/cluster")


def changes(project: CloudProject) -> tuple[PlatformChange, ...]:
    with Engine(project.settings) as engine:
        return platform_changes(engine, engine.state(), SilentProgress())


class Told:
    """An engine whose refresh tells of changes."""

    def __init__(self, *events: Progress) -> None:
        self.events = events

    def refresh(self, *, on_event: Any, preview_only: bool) -> None:
        assert preview_only
        for event in self.events:
            on_event(event)


def test_of_what_is_compared_one_by_one_only_tags_are_told() -> None:
    def resource(name: str, type_: str) -> dict[str, Any]:
        return {"urn": f"urn:pulumi:prod::hyperpod-platform::x::{name}", "type": type_, "custom": True, "inputs": {}}

    quota, vpc = resource("main/nlp/quota", "aws-native:sagemaker:ComputeQuota"), resource("main/network/vpc", "aws:ec2/vpc:Vpc")
    filled = ("computeQuotaConfig.computeQuotaResources[0].vCpu",)
    state = {"deployment": {"resources": [quota, vpc]}}
    told = Told(
        Progress("done", quota["urn"], "update", paths=filled),
        Progress("done", vpc["urn"], "same"),
        Progress("status", vpc["urn"], "update"),
    )
    assert platform_changes(told, state, SilentProgress()) == ()  # type: ignore[arg-type]
    told = Told(
        Progress("done", quota["urn"], "update", paths=(*filled, "tags[0].value")), Progress("done", vpc["urn"], "delete")
    )
    assert platform_changes(told, state, SilentProgress()) == (  # type: ignore[arg-type]
        PlatformChange(vpc["type"], "main/network/vpc", "delete"),
        PlatformChange(quota["type"], "main/nlp/quota", "update", ("tags[0].value",)),
    )


def test_a_count_that_somebody_changed_is_drift_and_one_of_the_autoscaler_is_not(tmp_path: Path, cloud: FakeCloud) -> None:
    project = CloudProject(tmp_path, cloud)
    project.up(program(b=(2, False), k=(3, True)))
    state = project.state()
    assert changes(project) == ()
    (thing,) = cloud.things("hyperpod cluster")
    groups = {group["InstanceGroupName"]: group for group in thing.inputs["InstanceGroups"]}
    groups["k"]["InstanceCount"] = 9
    assert changes(project) == (), "Karpenter's own count"
    groups["b"]["InstanceCount"] = 5
    found = changes(project)
    assert found == (PlatformChange(*CLUSTER, "update", ("instanceGroups[0].instanceCount",)),)
    cloud.lose(thing)
    assert changes(project) == (PlatformChange(*CLUSTER, "delete"),)
    assert project.state() == state, "looking writes nothing"
    report = Report("dev", "dev", "managed", deployed=True, with_state=True, platform=found)
    assert report.exit_code() == 3
    wanted = "platform: aws-native:sagemaker:Cluster main/hyperpod/cluster: changed outside: instanceGroups[0].instanceCount"
    assert wanted in list(text(report))
