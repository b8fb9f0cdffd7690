"""`hpctl why` on a real Kueue: each reason is produced, its numbers are right, and what is said to unblock a workload does."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from project_files import write_files

from cli.main import run
from components.render import render
from config.load import Project
from governance.nodes import nodes
from governance.plan import plan
from live.connection import APPLY, JSON_PATCH, MERGE_PATCH, ApiError, Connection, connect
from live.kube import Reader
from live.why.declared import Declared
from live.why.model import Answer, Cause
from live.why.reach import Way, ask
from sandbox.local import Sandbox
from sandbox.progress import SilentProgress

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
GPU, KIND, LAYER = "nvidia.com/gpu", "ml.p5.48xlarge", "topology.k8s.aws/network-node-layer-3"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
HEAD = "apiVersion: hyperpod-platform/v1\nowners: [someone@example.com]\n"
FILES = {
    "environments/main.yaml": """apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 6, network: {nodes_per_block: 2}}
governance:
  priority_classes: {high: {weight: 90}, low: {weight: 10}}
  topology: {levels: [topology.k8s.aws/network-node-layer-3, kubernetes.io/hostname]}
""",
    "teams/alpha.yaml": f"{HEAD}quota: {{{KIND}: {{accelerators: 8}}}}\nweight: 10\nsharing: {{borrow_limit: 50}}\n",
    "teams/beta.yaml": f"{HEAD}quota: {{{KIND}: {{accelerators: 8}}}}\nweight: 10\nsharing: {{borrow_limit: 100}}\n",
    "teams/gamma.yaml": f"{HEAD}quota: {{{KIND}: {{instances: 2}}}}\nweight: 30\nsharing: {{borrow_limit: 100}}\n",
    "teams/delta.yaml": f"{HEAD}quota: {{{KIND}: {{accelerators: 8}}}}\nsharing: dont_lend\n",
}


def owner(item: dict[str, Any]) -> str:
    """Name of the job of a Workload or pod."""
    return str((item["metadata"].get("ownerReferences") or [{}])[0].get("name", ""))


class Cluster:
    """Four teams on six nodes in three blocks, declared on a sandbox of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        write_files(root, FILES)
        (root / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
        self.platform = Project(root).load("main")
        self.plan = plan(self.platform)
        self.sandbox = Sandbox(f"test-why-{os.getpid()}")

    def up(self) -> None:
        cluster = self.plan.clusters["main"]
        self.sandbox.down()  # a killed run may have left one of this name
        self.sandbox.up(dict(cluster.manager), nodes(cluster), SilentProgress())
        self.api: Connection = connect(str(self.sandbox.kubeconfig), "", "")
        for item in render(cluster):
            self.api.request("PATCH", self._path(item), item, {"fieldManager": "test", "force": "true"}, APPLY)

    def _path(self, item: dict[str, Any]) -> str:
        version = item["apiVersion"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        served = self.api.request("GET", base).body["resources"]
        (kind,) = [one for one in served if one["kind"] == item["kind"] and "/" not in one["name"]]
        space = f"/namespaces/{item['metadata']['namespace']}" if kind["namespaced"] else ""
        return f"{base}{space}/{kind['name']}/{item['metadata']['name']}"

    # -- jobs ------------------------------------------------------------------------------------------------------------

    def submit(
        self,
        team: str,
        name: str,
        gpus: int,
        pods: int = 1,
        *,
        priority: str = "low-priority",
        labels: dict[str, str] | None = None,
        node: str = "",
        block: bool = False,
        namespace: str = "",
        **more: str,
    ) -> None:
        """A job of `pods` pods with `gpus` GPUs each, which runs until it is deleted."""
        known = {QUEUE: f"hyperpod-ns-{team}-localqueue", PRIORITY: priority} if labels is None else labels
        amounts = {GPU: str(gpus), **more}
        annotations = {"pod-complete.stage.kwok.x-k8s.io/delay": "24h"}
        if block:
            annotations["kueue.x-k8s.io/podset-required-topology"] = LAYER
        pod = {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}],
            **({"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}),
        }
        template = {"metadata": {"labels": known, "annotations": annotations}, "spec": pod}
        job = {
            "metadata": {"name": name, "labels": known},
            "spec": {"parallelism": pods, "completions": pods, "suspend": True, "template": template},
        }
        space = namespace or f"hyperpod-ns-{team}"
        self.api.request("POST", f"/apis/batch/v1/namespaces/{space}/jobs", job)

    def end(self, team: str, *names: str) -> None:
        for name in names:
            self._delete(f"/apis/batch/v1/namespaces/hyperpod-ns-{team}/jobs/{name}")
        self._collect(lambda one: one["metadata"]["namespace"] == f"hyperpod-ns-{team}" and owner(one) in names)

    def clear(self) -> None:
        for job in self.api.request("GET", "/apis/batch/v1/jobs").body["items"]:
            self._delete(f"/apis/batch/v1/namespaces/{job['metadata']['namespace']}/jobs/{job['metadata']['name']}")
        self._collect(lambda one: True)

    def _delete(self, path: str) -> None:
        with suppress(ApiError):
            self.api.request("DELETE", path, query={"propagationPolicy": "Background"})

    def _collect(self, gone: Callable[[dict[str, Any]], bool]) -> None:
        """Delete Workloads and pods of deleted jobs as the garbage collector does, which may rest.

        At every look: Kueue, if it hears of a Workload's end before its job's, makes it anew.
        """

        def left() -> list[str]:
            found = [
                f"{KUEUE}/namespaces/{one['metadata']['namespace']}/workloads/{one['metadata']['name']}"
                for one in self.workloads()
                if gone(one)
            ]
            pods = self.api.request("GET", "/api/v1/pods").body["items"]
            return found + [
                f"/api/v1/namespaces/{one['metadata']['namespace']}/pods/{one['metadata']['name']}" for one in pods if gone(one)
            ]

        def collected() -> bool:
            found = left()
            for path in found:
                self._delete(path)
            return not found

        self.wait(collected, lambda: f"left: {left()}", 90)

    def workloads(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.api.request("GET", f"{KUEUE}/workloads").body["items"]
        return found

    def state(self, team: str, job: str) -> str:
        """`admitted`, `pending` (Kueue has said why), `new`, or nothing where there is no Workload."""
        for one in self.workloads():
            meta = one["metadata"]
            if meta["namespace"] == f"hyperpod-ns-{team}" and owner(one) == job:
                conditions = {c["type"]: c["status"] for c in one.get("status", {}).get("conditions", [])}
                if conditions.get("Admitted") == "True":
                    return "admitted"
                return "pending" if conditions.get("QuotaReserved") == "False" else "new"
        return ""

    def reaches(self, team: str, job: str, state: str) -> None:
        self.wait(lambda: self.state(team, job) == state, lambda: f"{team}/{job} is {self.state(team, job)!r}, not {state}")

    @staticmethod
    def wait(done: Callable[[], bool], said: Callable[[], str] = lambda: "not in time", seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, said()
            time.sleep(0.05)

    def fill(self, team: str, *jobs: tuple[str, int], **more: Any) -> None:
        for name, gpus in jobs:
            self.submit(team, name, gpus, **more)
            self.reaches(team, name, "admitted")

    # -- answers ---------------------------------------------------------------------------------------------------------

    def why(self, name: str, team: str | None = None, *, declared: bool = True, namespace: str | None = None) -> Answer:
        known = Declared(self.platform, self.plan.clusters["main"]) if declared else None
        return ask(Way(Reader(self.api), known), name, team, namespace, SilentProgress())

    def patch(self, path: str, body: Any, content_type: str = MERGE_PATCH) -> None:
        self.api.request("PATCH", path, body, content_type=content_type)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = Cluster(tmp_path_factory.mktemp("project"))
    try:
        found.up()
        yield found
    finally:
        found.sandbox.down()


@pytest.fixture
def cluster(up: Cluster) -> Iterator[Cluster]:
    yield up
    up.clear()


def first(answer: Answer, reason: str) -> Cause:
    assert answer.causes, answer
    assert answer.causes[0].reason == reason, [(str(one.reason), one.message) for one in answer.causes]
    return answer.causes[0]


def ends(cause: Cause) -> list[tuple[str, ...]]:
    """Names of the jobs that must end, by remedy."""
    return [tuple(name.partition("/")[2] for name in one.workloads) for one in cause.remedies if one.action == "finish"]


def gpus(cause: Cause) -> dict[str, int]:
    (one,) = [one for one in cause.shortages if one.resource == GPU]
    return {name: getattr(one, name) for name in ("needed", "free", "nominal", "used", "most")}


def workload(names: tuple[str, ...], job: str) -> bool:
    return any(name.startswith(f"job-{job}-") for name in names)


def test_own_quota_is_used(cluster: Cluster) -> None:
    cluster.fill("delta", ("one", 4), ("two", 4))
    cluster.submit("delta", "next", 4)
    cluster.reaches("delta", "next", "pending")
    cause = first(cluster.why("next", "delta"), "quota")
    assert (cause.when, gpus(cause)) == ("later", {"needed": 4, "free": 0, "nominal": 8, "used": 8, "most": 8})
    alone = ends(cause)
    assert len(alone) == 2
    assert all(len(names) == 1 for names in alone), "each of the two is enough"
    (change,) = [one for one in cause.remedies if one.action == "change"]
    assert (change.file, change.field, change.value) == ("teams/delta.yaml", f"quota.{KIND}", "accelerators: 12")
    cluster.end("delta", "one")
    cluster.reaches("delta", "next", "admitted")


def test_the_borrow_limit_binds(cluster: Cluster) -> None:
    cluster.fill("alpha", ("base", 8))
    cluster.submit("alpha", "more", 2, 4)
    cluster.reaches("alpha", "more", "pending")
    answer = cluster.why("more")
    cause = first(answer, "borrow-limit")
    assert gpus(cause) == {"needed": 8, "free": 4, "nominal": 8, "used": 8, "most": 12}
    assert cause.shortages[0].borrowing_limit == cause.shortages[0].could_borrow == 4
    by = {one.action: one for one in cause.remedies}
    assert (by["lower"].value, by["lower"].checked) == ("2", True)
    borrow = next(one for one in cause.remedies if one.field == "sharing.borrow_limit")
    assert (borrow.file, borrow.value, borrow.checked) == ("teams/alpha.yaml", "100", True)
    # What is said to be enough is, each by itself.
    cluster.submit("alpha", "lowered", 2, int(by["lower"].value))
    cluster.reaches("alpha", "lowered", "admitted")
    cluster.end("alpha", "lowered")
    queue = f"{KUEUE}/clusterqueues/hyperpod-ns-alpha-clusterqueue"
    resources = cluster.api.request("GET", queue).body["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    at = next(i for i, one in enumerate(resources) if one["name"] == GPU)
    path = f"/spec/resourceGroups/0/flavors/0/resources/{at}/borrowingLimit"
    cluster.patch(queue, [{"op": "replace", "path": path, "value": "8"}], JSON_PATCH)
    cluster.reaches("alpha", "more", "admitted")
    cluster.patch(queue, [{"op": "replace", "path": path, "value": "4"}], JSON_PATCH)


def test_without_the_declaration_the_live_field_is_named(cluster: Cluster) -> None:
    cluster.fill("alpha", ("base", 8))
    cluster.submit("alpha", "more", 8)
    cluster.reaches("alpha", "more", "pending")
    answer = cluster.why("job/more", declared=False)
    assert answer.team == "alpha", "the queue's label says so"
    cause = first(answer, "borrow-limit")
    fields = {one.field: one.value for one in cause.remedies if one.action == "change"}
    assert fields == {"borrowingLimit": f"{GPU}=8", "nominalQuota": f"{GPU}=16"}
    assert workload(ends(cause)[0], "base") or ends(cause)[0][0].startswith("job-base")


def test_fair_share_leaves_it_behind_a_larger_weight(cluster: Cluster) -> None:
    cluster.fill("gamma", ("g1", 8), ("g2", 8), ("g3", 8))
    cluster.fill("beta", ("b1", 8))
    cluster.submit("beta", "b2", 8)
    cluster.reaches("beta", "b2", "pending")
    cause = first(cluster.why("b2", "beta"), "fair-share-behind")
    assert "team beta would have a share of 25 with it" in cause.message, cause.message
    assert "team gamma 8" in cause.message
    assert cause.shortages[0].borrowers == {"team gamma": 8}
    names = {name[0].rpartition("-")[0] for name in ends(cause)}
    assert names <= {"job-g1", "job-g2", "job-g3", "job-b1"}
    cluster.end("gamma", "g3")
    cluster.reaches("beta", "b2", "admitted")


def test_others_of_the_queue_come_first(cluster: Cluster) -> None:
    cluster.fill("delta", ("run", 8), priority="high-priority")
    cluster.submit("delta", "late", 8)
    cluster.reaches("delta", "late", "pending")
    cluster.submit("delta", "urgent", 8, priority="high-priority")
    cluster.reaches("delta", "urgent", "pending")
    answer = cluster.why("late", "delta")
    first(answer, "quota")
    behind = answer.causes[1]
    assert (behind.reason, behind.when) == ("priority-behind", "later")
    assert workload(tuple(name.partition("/")[2] for name in behind.numbers["ahead"]), "urgent")
    assert "hyperpod-ns-delta/urgent" in behind.message
    assert len(cluster.why("urgent", "delta").causes) == 1
    cluster.end("delta", "run")
    cluster.reaches("delta", "urgent", "admitted")
    assert cluster.state("delta", "late") == "pending"


def test_no_block_is_large_enough_now_and_ever(cluster: Cluster) -> None:
    cluster.fill("alpha", ("a", 8), node="h100-000")
    cluster.fill("beta", ("b", 8), node="h100-002")
    cluster.fill("delta", ("d", 8), node="h100-004")
    cluster.submit("gamma", "wide", 8, 2, block=True)
    cluster.reaches("gamma", "wide", "pending")
    cause = first(cluster.why("wide", "gamma"), "topology-block")
    assert (cause.when, cause.numbers["best"], cause.numbers["ever"], cause.numbers["wanted"]) == ("later", 1, 2, 2)
    assert {names[0].rpartition("-")[0] for names in ends(cause)} == {"job-a", "job-b", "job-d"}
    cluster.end("beta", "b")
    cluster.reaches("gamma", "wide", "admitted")
    assert sorted(cluster.why("wide").placement.values()) == [1, 1]
    cluster.end("gamma", "wide")
    cluster.submit("gamma", "wider", 8, 3, block=True)
    cluster.reaches("gamma", "wider", "pending")
    cause = first(cluster.why("wider"), "topology-block")
    assert (cause.when, cause.numbers["ever"]) == ("never", 2)
    assert {one.action: one.value for one in cause.remedies}["lower"] == "2"


def test_nodes_that_are_cordoned_keep_it_out(cluster: Cluster) -> None:
    names = ("h100-000", "h100-002", "h100-004")
    for name in names:
        cluster.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
    try:
        cluster.submit("gamma", "pair", 8, 2, block=True)
        cluster.reaches("gamma", "pair", "pending")
        cause = first(cluster.why("pair"), "node-not-ready")
        assert (cause.when, cause.numbers["best"], cause.numbers["mended"]) == ("later", 1, 2)
        assert cause.numbers["nodes"] == dict.fromkeys(names, "is cordoned")
    finally:
        for name in names:
            cluster.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": None}})
    cluster.reaches("gamma", "pair", "admitted")


def test_what_never_fits(cluster: Cluster) -> None:
    cluster.submit("alpha", "huge", 8, 2)
    cluster.submit("alpha", "thing", 1, **{"example.com/thing": "1"})
    cluster.submit("alpha", "thick", 1, cpu="192")
    for name in ("huge", "thing", "thick"):
        cluster.reaches("alpha", name, "pending")
    cause = first(cluster.why("huge"), "never-fits")
    assert (cause.when, gpus(cause)) == ("never", {"needed": 16, "free": 12, "nominal": 8, "used": 0, "most": 12})
    lower, borrow, quota = cause.remedies
    assert (lower.value, borrow.value, quota.value) == ("1", "100", "accelerators: 16")
    cause = first(cluster.why("thing"), "resource-not-covered")
    assert (cause.when, cause.numbers["resources"]) == ("never", ["example.com/thing"])
    cause = first(cluster.why("thick"), "never-fits")
    assert "no node of flavor" in cause.message
    assert cause.numbers["per_node"] == 0


def test_a_held_queue(cluster: Cluster) -> None:
    queue = f"{KUEUE}/clusterqueues/hyperpod-ns-beta-clusterqueue"
    cluster.patch(queue, {"spec": {"stopPolicy": "Hold"}})
    cluster.submit("beta", "job", 1)
    cluster.reaches("beta", "job", "pending")
    (cause,) = cluster.why("job").causes
    assert (cause.reason, cause.when, cause.remedies[0].field) == ("queue-held", "never", "spec.stopPolicy")
    cluster.patch(queue, {"spec": {"stopPolicy": cause.remedies[0].value}})
    cluster.reaches("beta", "job", "admitted")


def test_wrong_labels(cluster: Cluster) -> None:
    cluster.submit("alpha", "lost", 1, labels={QUEUE: "hyperpod-ns-alpha-localqeue"})
    cluster.reaches("alpha", "lost", "pending")
    (cause,) = cluster.why("lost").causes
    assert (cause.reason, cause.when) == ("wrong-queue", "never")
    assert "did you mean `hyperpod-ns-alpha-localqueue`?" in cause.remedies[0].text
    cluster.submit("alpha", "odd", 1, priority="hihg-priority")
    answer = cluster.why("odd")
    assert answer.state == "unmanaged"
    assert first(answer, "wrong-priority-class").numbers["class"] == "hihg-priority"
    assert "did you mean `high-priority`?" in answer.causes[0].remedies[0].text


def test_namespaces_that_a_queue_or_kueue_does_not_serve(cluster: Cluster) -> None:
    spaces = {"elsewhere": {"sagemaker.amazonaws.com/sagemaker-managed-queue": "true"}, "nowhere": {}}
    for name, labels in spaces.items():
        cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    local = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "side-door"},
        "spec": {"clusterQueue": "hyperpod-ns-alpha-clusterqueue"},
    }
    path = f"{KUEUE}/namespaces/elsewhere/localqueues"
    cluster.api.request("POST", path, local)
    # Kueue passes over a job for good whose namespace it has not heard of; it knows both once it says something of the queue.
    cluster.wait(lambda: bool(cluster.api.request("GET", f"{path}/side-door").body.get("status", {}).get("conditions")))
    cluster.submit("", "stray", 1, labels={QUEUE: "side-door"}, namespace="elsewhere")
    cluster.wait(lambda: any(one.get("status", {}).get("conditions") for one in cluster.workloads()))
    (cause,) = cluster.why("stray", namespace="elsewhere").causes
    assert (cause.reason, cause.when) == ("namespace", "never")
    cluster.submit("", "bare", 1, labels={}, namespace="elsewhere")
    cause = first(cluster.why("bare"), "no-queue-name")
    assert (cause.remedies[0].field, cause.remedies[0].value) == (QUEUE, "side-door")
    cluster.submit("", "outside", 1, labels={QUEUE: "side-door"}, namespace="nowhere")
    (cause,) = cluster.why("outside").causes
    assert (cause.reason, cause.when) == ("namespace", "never")
    assert "managedJobsNamespaceSelector" in cause.message


def test_who_preempted_it_and_on_whose_quota_it_runs(cluster: Cluster) -> None:
    cluster.fill("gamma", ("own", 8), ("two", 8), ("borrowed", 8), ("extra", 8))
    names = ("own", "two", "borrowed", "extra")
    held = {name: next(one for one in cluster.why(name, "gamma").held if one.resource == GPU) for name in names}
    borrowing = {name for name, one in held.items() if one.borrowed == one.amount == 8}
    assert len(borrowing) == 2
    assert all(held[name].borrowed == 0 for name in held.keys() - borrowing)
    assert cluster.why("own", "gamma").happened[0].what == "admitted"
    cluster.fill("alpha", ("mine", 8))
    (preempted,) = [name for name in names if cluster.state("gamma", name) != "admitted"]
    assert preempted in borrowing, "what is said to be borrowed is what is taken back"
    cluster.reaches("gamma", preempted, "pending")
    answer = cluster.why(preempted, "gamma")
    (event,) = [one for one in answer.happened if one.what == "preempted"]
    assert (event.by, event.reason, event.past) == ("hyperpod-ns-alpha/mine (team alpha)", "InCohortReclamation", False)
    assert answer.causes[0].reason in ("cohort-quota", "fair-share-behind")
    (did,) = [one for one in cluster.why("mine").happened if one.what == "preempts"]
    assert did.by == f"hyperpod-ns-gamma/{preempted} (team gamma)"
    cluster.end("alpha", "mine")
    cluster.reaches("gamma", preempted, "admitted")
    (event,) = [one for one in cluster.why(preempted, "gamma").happened if one.what == "preempted"]
    assert (event.reason, event.past) == ("InCohortReclamation", True)


def test_the_verb(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.fill("delta", ("run", 8))
    cluster.submit("delta", "next", 8)
    cluster.reaches("delta", "next", "pending")
    pods = "/api/v1/namespaces/hyperpod-ns-delta/pods"
    cluster.wait(lambda: len(cluster.api.request("GET", pods).body["items"]) == 1)  # it comes after the admission
    (pod,) = cluster.api.request("GET", pods).body["items"]
    where = ["--kubeconfig", str(cluster.sandbox.kubeconfig)]

    def hpctl(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(["--project", str(cluster.root), "why", *arguments, *where])
        return code, *capsys.readouterr()

    code, out, _ = hpctl("next", "--team", "delta", "--stack", "main")
    assert code == 0
    assert "hyperpod-ns-delta/Job/next (team delta, queue hyperpod-ns-delta-clusterqueue, priority 10) waits" in out
    assert "quota (waiting helps): the quota of team delta is used, and it can't borrow: it needs 8 nvidia.com/gpu" in out
    assert "raise quota.ml.p5.48xlarge to at least accelerators: 16 (teams/delta.yaml:3:" in out
    assert "Kueue says: couldn't assign flavors" in out
    code, out, _ = hpctl(pod["metadata"]["name"], "--json")
    found = json.loads(out)
    assert (code, found["state"], found["job"], found["team"]) == (0, "admitted", "Job/run", "delta")
    assert [one["amount"] for one in found["held"] if one["resource"] == GPU] == ["8"]
    code, out, err = hpctl("nxt", "--namespace", "hyperpod-ns-delta")
    assert (code, out) == (1, "")
    assert "there is no workload, job or pod nxt in namespace hyperpod-ns-delta; did you mean `next`?" in err
    assert hpctl("next", "--team", "dleta", "--stack", "main")[0] == 1
