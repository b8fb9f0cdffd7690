"""Gang scheduling on a real Kueue: with it a job has all its pods or gives its quota back; without it, it stays half started."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from demo_support import KUEUE, path_of

from components.render import render
from config.load import Project
from governance.model import ClusterPlan
from governance.nodes import nodes
from governance.plan import plan
from live.connection import APPLY, Connection, connect
from sandbox.local import Sandbox
from sandbox.nodes import add_nodes, remove_nodes
from sandbox.toolchain import SilentProgress
from simulation.cases import Workload
from simulation.jobs import manifests

pytestmark = pytest.mark.engine
TIMEOUT = 10
"""Seconds that the pods have; a whole job takes two, and more on a busy machine."""
ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false}
    instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 2}}
governance:
  overcommit: allow
  topology: {enabled: false}
"""
GANG = f"  gang: {{timeout: {TIMEOUT}s, backoff_base: 1s, backoff_max: 2s}}\n"
TEAM = "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nquota: {ml.p5.48xlarge: {instances: 2}}\n"
Object = dict[str, Any]


class World:
    """A sandbox whose Kueue is configured by the declaration, with one of its two nodes missing."""

    def __init__(self, root: Path, sandbox: Sandbox) -> None:
        self._root = root
        self._sandbox = sandbox

    def declare(self, governance: str) -> ClusterPlan:
        (self._root / "environments/main.yaml").write_text(ENVIRONMENT + governance)
        self.cluster = plan(Project(self._root).load("main")).clusters["main"]
        self._sandbox.up(dict(self.cluster.manager), nodes(self.cluster), SilentProgress())
        self.api: Connection = connect(str(self._sandbox.kubeconfig), "", "")
        for item in render(self.cluster):
            self.api.request("PATCH", path_of(self.api, item), item, {"fieldManager": "test", "force": "true"}, APPLY)
        return self.cluster

    def lose_node(self) -> None:
        remove_nodes(self._sandbox.kubeconfig, ["h100-001"])

    def bring_node(self) -> None:
        add_nodes(self._sandbox.kubeconfig, nodes(self.cluster))

    def submit(self, name: str) -> None:
        asked = {"team": "alpha", "instance_type": "ml.p5.48xlarge", "pods": 2, "per_pod": "whole_node"}
        (job,) = manifests("gang", name, Workload.model_validate(asked), self.cluster)
        self.api.request("POST", f"/apis/batch/v1/namespaces/{job['metadata']['namespace']}/jobs", job)

    def workload(self) -> Object:
        found: list[Object] = self.api.request("GET", f"{KUEUE}/workloads").body["items"]
        return found[0] if found else {}

    def told(self, kind: str) -> Object:
        """A condition of the Workload."""
        conditions = self.workload().get("status", {}).get("conditions", [])
        return next((one for one in conditions if one["type"] == kind), {"status": "", "reason": ""})

    def running(self) -> int:
        query = {"labelSelector": "hyperpod-platform/case"}
        pods = self.api.request("GET", "/api/v1/pods", query=query).body["items"]
        return sum(pod["status"].get("phase") == "Running" for pod in pods)

    def clear(self) -> None:
        path = "/apis/batch/v1/namespaces/hyperpod-ns-alpha/jobs"
        for job in self.api.request("GET", path).body["items"]:
            self.api.request("DELETE", f"{path}/{job['metadata']['name']}", query={"propagationPolicy": "Background"})
        eventually(lambda: not self.workload() and not self.running())


def eventually(done: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "not within the time"
        time.sleep(0.1)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("gang")
    (root / "environments").mkdir()
    (root / "teams").mkdir()
    (root / "teams/alpha.yaml").write_text(TEAM)
    sandbox = Sandbox(f"test-gang-{os.getpid()}")
    try:
        sandbox.down()  # a killed run may have left one of this name
        yield World(root, sandbox)
    finally:
        sandbox.down()


def test_without_a_gang_a_job_stays_half_started(world: World) -> None:
    assert "waitForPodsReady" not in world.declare("").manager
    world.lose_node()
    world.submit("half")
    eventually(lambda: world.running() == 1)
    time.sleep(TIMEOUT + 2)
    assert world.told("Admitted")["status"] == "True", "it holds the quota of both nodes"
    assert world.told("Evicted")["status"] == ""
    assert world.told("PodsReady")["status"] == "", "by this a live cluster is told from one with a gang"
    assert world.running() == 1
    world.clear()


def test_a_gang_gives_its_quota_back_and_starts_whole_when_the_node_comes(world: World) -> None:
    assert world.declare(GANG).manager["waitForPodsReady"]["timeout"] == f"{TIMEOUT}s"
    world.lose_node()
    world.submit("whole")
    eventually(lambda: world.told("Evicted")["reason"] == "PodsReadyTimeout")
    assert world.workload()["status"]["requeueState"]["count"] >= 1, "queued again, after a pause"
    world.bring_node()
    eventually(lambda: world.running() == 2 and world.told("PodsReady")["status"] == "True")
    assert world.told("Admitted")["status"] == "True"
    assert world.told("Evicted")["status"] == "False"
    world.clear()
