"""What `hpctl drift --platform` tells of resources that Pulumi's providers look at: a real engine on the fake cloud."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakecloud import FakeCloud
from fakecloud.project import CloudProject
from test_hyperpod_hooks import cloud as cloud  # noqa: PLC0414 - a fixture
from test_hyperpod_hooks import program

from live.drift.model import PlatformChange, Report
from live.drift.stack import platform_changes
from reports.drift import text
from sandbox.engine import Engine
from sandbox.progress import SilentProgress

pytestmark = pytest.mark.engine
CLUSTER = ("aws-native:sagemaker:Cluster", "main/hyperpod/cluster")


def changes(project: CloudProject) -> tuple[PlatformChange, ...]:
    with Engine(project.settings) as engine:
        return platform_changes(engine, engine.state(), SilentProgress())


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
