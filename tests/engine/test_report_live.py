"""`hpctl report` on a real sandbox: what Kueue decides is what the report says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from demo_support import path_of
from html_support import project

from cli.main import run
from components.render import render
from config.load import Project
from governance.model import Plan
from governance.plan import plan
from live.connection import APPLY, Connection, connect
from sandbox import stacks
from sandbox.progress import SilentProgress

pytestmark = pytest.mark.engine
P5, GPU = "ml.p5.48xlarge", "nvidia.com/gpu"
WITHIN = 120.0


class Place:
    """The small platform on sandboxes of its own, its teams declared."""

    def __init__(self, root: Path, declared: Plan, kubeconfig: Path) -> None:
        self.root = root
        self.plan = declared
        self.api: Connection = connect(str(kubeconfig), "", "")

    def job(self, team: str, name: str, pods: int, priority: str) -> None:
        """A job of whole nodes of H100s that doesn't end by itself."""
        space = f"hyperpod-ns-{team}"
        labels = {"kueue.x-k8s.io/queue-name": f"{space}-localqueue", "kueue.x-k8s.io/priority-class": f"{priority}-priority"}
        container = {"name": "c", "image": "i", "resources": {"requests": {GPU: "8"}, "limits": {GPU: "8"}}}
        template = {
            "metadata": {"annotations": {"pod-complete.stage.kwok.x-k8s.io/delay": "1h"}},
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {"node.kubernetes.io/instance-type": P5},
                "containers": [container],
            },
        }
        body = {
            "metadata": {"name": name, "labels": labels},
            "spec": {"parallelism": pods, "completions": pods, "template": template},
        }
        self.api.request("POST", f"/apis/batch/v1/namespaces/{space}/jobs", body)

    def report(self, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
        capsys.readouterr()
        assert run(["--project", str(self.root), "report", "--stack", "main", "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = project(tmp_path_factory.mktemp("project"))
    platform = Project(root).load("main")
    declared = plan(platform)
    try:
        stacks.remove(root, "main")  # a killed run may have left one of this path
        booted = stacks.boot(root, "main", platform, declared, SilentProgress())
        one = Place(root, declared, booted["main"].kubeconfig)
        for item in render(declared.clusters["main"]):
            one.api.request("PATCH", path_of(one.api, item), item, {"fieldManager": "test", "force": "true"}, APPLY)
        yield one
    finally:
        stacks.remove(root, "main")


def until(look: Callable[[], dict[str, Any]], reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first report that shows it: Kueue writes its objects one after the other."""
    deadline = time.monotonic() + WITHIN
    while not reached(found := look()):
        assert time.monotonic() < deadline, found
        time.sleep(0.5)
    return found


def share(found: dict[str, Any], team: str) -> tuple[str, str, str]:
    """What a team has of the H100s: within its guarantee, borrowed, idle."""
    (row,) = [one for one in found["shares"] if (one["team"], one["instance_type"]) == (team, P5)]
    return row["own"], row["borrowed"], row["idle"]


def tasks(found: dict[str, Any], priority: str, *counts: str) -> tuple[int, ...]:
    """Counts of the tasks of a priority class; Kueue counts quota as used before it stores the admission."""
    rows = [one for one in found["tasks"] if one["priority_class"] == priority]
    return tuple(sum(row[count] for row in rows) for count in counts)


def test_the_report_says_what_kueue_decides(place: Place, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    empty = place.report(capsys)
    assert empty["live"] is True
    assert (share(empty, "alpha"), share(empty, "beta")) == (("0", "0", "8"), ("0", "0", "16"))
    assert empty["loans"] == []

    place.job("alpha", "grows", 2, "low")  # 8 GPUs of its own, 8 borrowed from what beta leaves idle
    borrowed = until(lambda: place.report(capsys), lambda one: share(one, "alpha") == ("8", "8", "0"))
    (loan,) = borrowed["loans"]
    assert (loan["instance_type"], loan["resource"], loan["borrowers"]) == (P5, GPU, {"alpha": "8"})
    assert loan["idle_of"]["beta"] == "16"
    assert borrowed["accelerators"] | {"used": 16, "borrowed": 8} == borrowed["accelerators"]

    place.job("alpha", "waits", 1, "low")  # beyond its limit
    waiting = until(lambda: place.report(capsys), lambda one: bool(one["waiting"]) and bool(one["waiting"][0]["message"]))
    (task,) = waiting["waiting"]
    assert (task["team"], task["task"], task["priority_class"]) == ("alpha", "waits", "low")
    assert "nvidia.com/gpu" in task["message"]

    place.job("beta", "takes", 3, "high")  # all of its own and nobody's 8 too: alpha's borrowed ones go back
    taken = until(
        lambda: place.report(capsys),
        lambda one: (
            share(one, "beta") == ("16", "8", "0")
            and tasks(one, "high", "running", "pending") == (1, 0)
            and tasks(one, "low", "preempted") == (1,)
        ),
    )
    (low,) = [one for one in taken["tasks"] if one["priority_class"] == "low"]
    assert (low["preempted"], low["preemptions"]) == (1, 1)
    assert low["run"]["count"] >= 1, "the preempted job has run for a while"

    page = tmp_path / "page.html"
    assert run(["--project", str(place.root), "report", "--stack", "main", "--output", str(page)]) == 0
    text = page.read_text()
    assert "was read on" in text
    assert "Nodes of main by network block, live" in text
    assert "preempted</span>" in text
    assert "plan alone" not in text


def test_what_the_cluster_has_is_simulated(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.job("beta", "again", 1, "low")
    kueue = "/apis/kueue.x-k8s.io/v1beta2/workloads"
    there = until(
        lambda: place.api.request("GET", kueue).body,
        lambda found: any(one["metadata"]["name"].startswith("job-again") for one in found["items"]),
    )["items"]
    capsys.readouterr()
    assert run(["--project", str(place.root), "simulate", "--from-cluster", "--stack", "main", "--runs", "1", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (found["trace"]["source"], found["trace"]["jobs"]) == ("cluster main", len(there))
    beta = sum(one["metadata"]["namespace"] == "hyperpod-ns-beta" for one in there)
    assert found["teams"]["beta"]["jobs"] == beta >= 1
    assert found["complete"] is True
