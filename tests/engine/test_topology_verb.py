"""`hpctl topology` on a real sandbox: what it says of a cluster is what Kueue then does."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from demo_support import path_of

from cli.main import run
from components.render import render
from config.load import Project
from governance.nodes import nodes
from governance.plan import plan
from governance.topologymap.model import Amounts
from live.connection import APPLY, MERGE_PATCH, ApiError, Connection, connect
from sandbox.local import Sandbox
from sandbox.toolchain import SilentProgress

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parents[2]
LAYER2, LAYER3 = (f"topology.k8s.aws/network-node-layer-{number}" for number in (2, 3))
REQUIRED, PREFERRED = "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology"
P5, GPU = "ml.p5.48xlarge", "nvidia.com/gpu"
SPACE = "hyperpod-ns-foundation"
JOBS = f"/apis/batch/v1/namespaces/{SPACE}/jobs"
WORKLOADS = f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{SPACE}/workloads"
WITHIN = 90.0
Object = dict[str, Any]


class Place:
    """The project's `local` environment on a sandbox of its own, with jobs of the team foundation."""

    def __init__(self, sandbox: Sandbox, capsys: pytest.CaptureFixture[str]) -> None:
        self.sandbox = sandbox
        self.api: Connection = connect(str(sandbox.kubeconfig), "", "")
        self._capsys = capsys

    def hpctl(self, *arguments: str, code: int = 0) -> str:
        """What `hpctl topology` prints about the cluster."""
        self._capsys.readouterr()
        where = () if "--plan" in arguments else ("--kubeconfig", str(self.sandbox.kubeconfig))
        assert run(["--project", str(ROOT), "topology", *where, *arguments]) == code
        return self._capsys.readouterr().out

    def flavor(self, *arguments: str) -> Object:
        """The map of the p5 nodes."""
        (found,) = json.loads(self.hpctl("--type", P5, "--json", *arguments))["clusters"][0]["flavors"]
        return dict(found)

    def most(self, pod: str, level: str) -> tuple[int, Amounts]:
        """The largest job that fits now, by the name of its pods, and what these request."""
        (shape,) = [one for one in self.flavor()["largest_jobs"] if one["pod"] == pod]
        (fit,) = [one for one in shape["fits"] if one["level"] == level]
        return fit["now"]["pods"], shape["requests"]

    def verdict(self, job: str, code: int = 0) -> Object:
        (found,) = json.loads(self.hpctl("--job", job, "--team", "foundation", "--json", code=code))["clusters"]
        (podset,) = found["podsets"]
        return dict(podset)

    @contextmanager
    def job(self, name: str, pods: int, requests: Amounts, annotations: dict[str, str]) -> Iterator[None]:
        """A job, for as long as the block runs."""
        labels = {"kueue.x-k8s.io/queue-name": f"{SPACE}-localqueue"}
        amounts = {r: f"{amount}m" if r == "cpu" else str(amount) for r, amount in requests.items()}
        container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
        pod = {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {"node.kubernetes.io/instance-type": P5},
            "containers": [container],
        }
        endless = {"pod-complete.stage.kwok.x-k8s.io/delay": "1h", **annotations}
        template = {"metadata": {"labels": labels, "annotations": endless}, "spec": pod}
        spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}
        self.api.request("POST", JOBS, {"metadata": {"name": name, "labels": labels}, "spec": spec})
        try:
            yield
        finally:
            self._remove(name)

    def _remove(self, job: str) -> None:
        """Without the garbage collector, which on a fresh control plane may sleep for half a minute."""
        self.api.request("DELETE", f"{JOBS}/{job}", query={"propagationPolicy": "Background"})
        self.until(lambda: self._collected(job))

    def _collected(self, job: str) -> bool:
        """Deletes at every look: Kueue, if it hears of a Workload's end before its job's, makes it anew."""
        pods = {"labelSelector": f"batch.kubernetes.io/job-name={job}", "gracePeriodSeconds": "0"}
        self.api.request("DELETE", f"/api/v1/namespaces/{SPACE}/pods", query=pods)
        workload = self.workload(job)
        if workload is not None:
            with suppress(ApiError):
                self.api.request("DELETE", f"{WORKLOADS}/{workload['metadata']['name']}")
        return workload is None and not self.pods(job)

    def workload(self, job: str) -> Object | None:
        found = self.api.request("GET", WORKLOADS).body["items"]
        return next((one for one in found if one["metadata"]["ownerReferences"][0]["name"] == job), None)

    def pods(self, job: str) -> list[Object]:
        query = {"labelSelector": f"batch.kubernetes.io/job-name={job}"}
        found: list[Object] = self.api.request("GET", f"/api/v1/namespaces/{SPACE}/pods", query=query).body["items"]
        return found

    def label(self, node: str, value: str | None, label: str = LAYER3) -> None:
        self.api.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"labels": {label: value}}}, content_type=MERGE_PATCH)

    def admitted(self, job: str) -> bool:
        return "admission" in (self.workload(job) or {}).get("status", {})

    @contextmanager
    def paused(self, process: str) -> Iterator[None]:
        """A process of the control plane does nothing while the block runs."""
        pid = self.sandbox.status().pids[process]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def move(self, pod: Object, node: str) -> None:
        """Put a pod's twin on another node, by hand."""
        path = f"/api/v1/namespaces/{SPACE}/pods"
        meta = pod["metadata"]
        self.api.request("PATCH", f"{path}/{meta['name']}", {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)
        self.api.request("DELETE", f"{path}/{meta['name']}", query={"gracePeriodSeconds": "0"})
        kept = {key: meta[key] for key in ("name", "labels", "annotations", "ownerReferences")}
        (container,) = pod["spec"]["containers"]
        bare = {"name": "c", "image": "i", "resources": container["resources"]}
        spec = {"nodeName": node, "containers": [bare], "restartPolicy": "Never", "terminationGracePeriodSeconds": 0}
        self.api.request("POST", path, {"metadata": kept, "spec": spec})

    def wait_bound(self, job: str, pods: int) -> None:
        self.until(lambda: sum("nodeName" in pod["spec"] for pod in self.pods(job)) == pods)

    def refusal(self, job: str) -> str:
        """Why Kueue doesn't admit it: what it says once it has looked."""

        def said() -> str:
            conditions = (self.workload(job) or {}).get("status", {}).get("conditions", [])
            return next((one["message"] for one in conditions if one["type"] == "QuotaReserved"), "")

        self.until(lambda: bool(said()))
        assert not self.admitted(job)
        return said()

    @staticmethod
    def until(done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WITHIN
        while not done():
            assert time.monotonic() < deadline, "not within the time"
            time.sleep(0.1)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    cluster = plan(Project(ROOT).load("local")).clusters["local"]
    one = Sandbox(f"test-topology-{os.getpid()}")
    try:
        one.down()  # a killed run may have left one of this name
        one.up(dict(cluster.manager), nodes(cluster), SilentProgress())
        api = connect(str(one.kubeconfig), "", "")
        for item in render(cluster):
            api.request("PATCH", path_of(api, item), item, {"fieldManager": "test", "force": "true"}, APPLY)
        yield one
    finally:
        one.down()


@pytest.fixture
def place(sandbox: Sandbox, capsys: pytest.CaptureFixture[str]) -> Place:
    return Place(sandbox, capsys)


@pytest.fixture
def foreign(place: Place) -> Iterator[None]:
    """Somebody's pods of one GPU, placed by hand: two in the first block, one in each other but the last of all."""
    path = "/api/v1/namespaces/default/pods"
    container = {"name": "c", "image": "i", "resources": {"limits": {GPU: "1"}}}
    numbers = (0, 1, 4, 8, 12, 16, 20, 24)
    own = uuid4().hex[:8]  # kwok goes by names: it may still be at work on pods that a test before has deleted
    for number in numbers:
        spec = {"nodeName": f"h100-{number:03d}", "containers": [container], "terminationGracePeriodSeconds": 0}
        endless = {"pod-complete.stage.kwok.x-k8s.io/delay": "1h"}
        pod = {"metadata": {"name": f"theirs-{own}-{number}", "annotations": endless}, "spec": spec}
        place.until(lambda pod=pod: _created(place.api, path, pod))  # type: ignore[misc]
    try:
        place.until(lambda: place.flavor()["resources"][GPU]["used"] == len(numbers))
        yield
    finally:
        for number in numbers:
            place.api.request("DELETE", f"{path}/theirs-{own}-{number}", query={"gracePeriodSeconds": "0"})


def _created(api: Connection, path: str, pod: Object) -> bool:
    """Not before the namespace's service account is there."""
    try:
        api.request("POST", path, pod)
    except ApiError as error:
        if error.status == 403 and "serviceaccount" in error.message:
            return False
        raise
    return True


def test_the_live_map_of_empty_nodes_is_the_plans(place: Place) -> None:
    (live,) = json.loads(place.hpctl("--json"))["clusters"]
    (declared,) = json.loads(place.hpctl("--json", "--plan"))["clusters"]
    assert declared["notes"]
    assert (live["source"], declared["source"]) == ("live", "plan")
    assert len(live["flavors"]) >= 6
    found = {one["flavor"]: one for one in live["flavors"]}
    for flavor in declared["flavors"]:
        assert found.pop(flavor["flavor"]) == flavor
    assert not found
    text = place.hpctl("--type", P5)
    assert "layer-3 nn-" in text
    assert "256 of 256 GPUs free" in text
    assert "h100-000" not in text
    assert "h100-000" in place.hpctl("--type", P5, "--nodes")


@pytest.mark.usefixtures("foreign")
@pytest.mark.parametrize(
    ("pod", "level", "expected"), [("a whole node", LAYER3, 4), ("a whole node", LAYER2, 13), ("1 accelerator", LAYER3, 32)]
)
def test_the_largest_job_that_fits_is_admitted_and_one_pod_more_waits(place: Place, pod: str, level: str, expected: int) -> None:
    most, requests = place.most(pod, level)
    assert most == expected
    with place.job("too-large", most + 1, requests, {REQUIRED: level}):
        assert f"allows to fit only {most} out of {most + 1} pod(s)" in place.refusal("too-large")
    with place.job("fits", most, requests, {REQUIRED: level}):
        place.wait_bound("fits", most)
        assert place.verdict("fits")["state"] == "ok"
        after, _ = place.most(pod, level)
        assert after < most
        assert place.flavor()["resources"][GPU]["used"] == 8 + most * requests[GPU]


def test_a_node_without_a_label_is_listed_and_passed_by(place: Place) -> None:
    most, requests = place.most("a whole node", LAYER2)
    assert most == 16
    for number in (0, 16):
        place.label(f"h100-{number:03d}", None)
    try:
        fewer, _ = place.most("a whole node", LAYER2)
        assert fewer == 15
        flavor = place.flavor()
        (why,) = flavor["nodes"]["h100-016"]["passed_by"]
        assert why == {"why": "no-labels", "message": f"lacks the label {LAYER3}"}
        text = place.hpctl("--type", P5)
        assert f"group h100: 2 nodes are passed by: h100-000, h100-016: lacks the label {LAYER3}" in text
        assert "Kueue gives these nodes no pods" in text
        with place.job("without", 16, requests, {REQUIRED: LAYER2}):
            assert "allows to fit only 15 out of 16 pod(s)" in place.refusal("without")
    finally:
        for number in (0, 16):
            blocks = nodes(plan(Project(ROOT).load("local")).clusters["local"])
            place.label(f"h100-{number:03d}", next(n.labels[LAYER3] for n in blocks if n.name == f"h100-{number:03d}"))
    with place.job("with", 16, requests, {REQUIRED: LAYER2}):
        place.wait_bound("with", 16)


def test_a_required_block_is_verified_and_pods_that_leave_it_are_told(place: Place) -> None:
    _, requests = place.most("a whole node", LAYER3)
    with place.job("one-block", 3, requests, {REQUIRED: LAYER3}):
        place.wait_bound("one-block", 3)
        verdict = place.verdict("one-block")
        assert (verdict["state"], verdict["asks_for"], verdict["pods"]) == ("ok", f"required {LAYER3}", 3)
        ((block, pods),) = verdict["blocks"].items()
        assert len(pods) == 3
        standing = sorted(verdict["nodes"].values())
        live = {name: one["labels"] for name, one in place.flavor()["nodes"].items()}
        assert {live[name][LAYER3] for name in standing} == {block.rpartition("/")[2]}
        assert sorted(one["domain"] for one in verdict["assigned"]) == [[name] for name in standing]
        assert "ok: " in place.hpctl("--verify")

        there = next(name for name, labels in live.items() if labels[LAYER2] != live[standing[0]][LAYER2])
        with place.paused("kube-controller-manager"):  # which would put another pod in its place
            place.move(place.pods("one-block")[0], there)
            broken = place.verdict("one-block", code=1)
            assert broken["state"] == "broken"
            assert "must be one, and is 2" in broken["problems"][0]
            assert f"1 on {there}, where Kueue assigned 0" in broken["problems"]
            assert "broken: " in place.hpctl("--verify", code=1)


def test_an_annotation_that_was_changed_afterwards_is_held_against_the_pods(place: Place) -> None:
    _, requests = place.most("a whole node", LAYER3)
    with place.job("wide", 6, requests, {PREFERRED: LAYER3}):
        place.wait_bound("wide", 6)
        wide = place.verdict("wide")
        assert (wide["state"], len(wide["blocks"]), wide["fewest_blocks"]) == ("ok", 2, 2)
        for pod in place.pods("wide"):
            patch = {"metadata": {"annotations": {PREFERRED: None, REQUIRED: LAYER3}}}
            place.api.request(
                "PATCH", f"/api/v1/namespaces/{SPACE}/pods/{pod['metadata']['name']}", patch, content_type=MERGE_PATCH
            )
        broken = place.verdict("wide", code=1)
        assert broken["state"] == "broken"
        assert broken["problems"][1] == f"the pods ask for required {LAYER3} now; Kueue placed them for preferred {LAYER3}"
    place.hpctl("--job", "wide", code=1)


def test_what_kueue_keeps_for_pods_that_are_not_bound_is_told_apart_and_counted_once(place: Place) -> None:
    _, requests = place.most("a whole node", LAYER3)
    before = place.flavor()["resources"][GPU]
    with ExitStack() as job:
        with place.paused("kube-scheduler"):
            job.enter_context(place.job("kept", 4, requests, {REQUIRED: LAYER3}))
            place.until(lambda: place.admitted("kept") and len(place.pods("kept")) == 4)
            assert place.flavor()["resources"][GPU] == before | {"reserved": 32, "free": before["free"] - 32}
            assert place.verdict("kept")["state"] == "waiting"
        place.wait_bound("kept", 4)
        assert place.flavor()["resources"][GPU] == before | {"used": 32, "free": before["free"] - 32}
