"""The project's `local` environment on a sandbox of its own, for the tests that play cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from components.render import render
from config.load import Project
from governance.model import Plan
from governance.nodes import nodes
from governance.plan import plan
from live.connection import APPLY, Connection, connect
from sandbox.local import Sandbox
from sandbox.toolchain import SilentProgress
from simulation.cases import DEFAULT_WITHIN, Case, load_cases
from simulation.cluster import DemoError
from simulation.demo import CaseRow, run

ROOT = Path(__file__).parents[2]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
PATIENT = 120
"""Seconds for what a case expects: waves of many pods take many rounds of Kueue. A step ends as soon as it is reached."""


class Demo:
    """The project's `local` environment on a sandbox of its own."""

    def __init__(self, sandbox: Sandbox, declared: Plan) -> None:
        self.sandbox = sandbox
        self.plan = declared
        self.api: Connection = connect(str(sandbox.kubeconfig), "", "")
        self.steps: list[str] = []

    def cases(self, *names: str) -> list[Case]:
        return load_cases(ROOT, self.plan.clusters["local"], names or None)

    def run(self, cases: list[Case], on_step: Callable[[str], None] | None = None) -> list[CaseRow]:
        played = [patient(case) for case in cases]
        return run(self.plan, "local", self.sandbox.kubeconfig, played, lambda row: None, on_step or self.steps.append)

    def names(self, path: str, **query: str) -> set[str]:
        return {item["metadata"]["name"] for item in self.api.request("GET", path, query=query).body["items"]}

    def assert_clean(self) -> None:
        """Nothing of any case is left, and the nodes are the declared ones."""
        label = {"labelSelector": "hyperpod-platform/case"}
        assert self.names("/apis/batch/v1/jobs", **label) == set()
        assert self.names("/apis/apps/v1/deployments", **label) == set()
        assert self.names("/api/v1/pods", **label) == set()
        assert self.names(f"{KUEUE}/workloads") == set()
        assert self.names("/api/v1/nodes") == {spec.name for spec in nodes(self.plan.clusters["local"])}


def patient(case: Case) -> Case:
    """The case with more time, where it says nothing of it."""
    steps = [step.model_copy(update={"within": PATIENT}) if step.within == DEFAULT_WITHIN else step for step in case.steps]
    return case.model_copy(update={"steps": tuple(steps)})


@contextmanager
def booted(name: str) -> Iterator[Demo]:
    """A sandbox with all that the plan declares."""
    declared = plan(Project(ROOT).load("local"))
    cluster = declared.clusters["local"]
    sandbox = Sandbox(f"test-{name}-{os.getpid()}")
    try:
        sandbox.down()  # a killed run may have left one of this name
        sandbox.up(dict(cluster.manager), nodes(cluster), SilentProgress())
        one = Demo(sandbox, declared)
        with pytest.raises(DemoError, match=r"no queues of the teams foundation, nlp, .*hpctl up"):
            one.run(one.cases())
        for item in render(cluster):
            one.api.request("PATCH", path_of(one.api, item), item, {"fieldManager": "test", "force": "true"}, APPLY)
        yield one
    finally:
        sandbox.down()


def path_of(api: Connection, item: dict[str, Any]) -> str:
    """The API path of an object."""
    version = item["apiVersion"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    (kind,) = [
        one for one in api.request("GET", base).body["resources"] if one["kind"] == item["kind"] and "/" not in one["name"]
    ]
    space = f"/namespaces/{item['metadata']['namespace']}" if kind["namespaced"] else ""
    return f"{base}{space}/{kind['name']}/{item['metadata']['name']}"


def rows_of(rows: list[CaseRow], case: str, workload: str) -> list[CaseRow]:
    return [row for row in rows if (row.case, row.workload) == (case, workload)]
