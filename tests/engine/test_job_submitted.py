"""`hpctl job` against a real API server and Kueue: what it prints and submits is admitted as its team's contract says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from project_files import write_files

from cli.main import run
from components.render import render
from config.load import Project
from governance.plan import plan
from live.connection import APPLY, ApiError, Connection, connect
from live.submit import BY_OBJECT
from sandbox import stacks
from sandbox.progress import SilentProgress

pytestmark = pytest.mark.engine

KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
ALPHA, BETA = "hyperpod-ns-alpha", "hyperpod-ns-beta"
LAYER = "topology.k8s.aws/network-node-layer-3"
P5 = ("--team", "alpha", "-i", "ml.p5.48xlarge", "--image", "train:1")
RUNS_LONG = {"pod-complete.stage.kwok.x-k8s.io/delay": "2h"}
FILES = {
    "Pulumi.yaml": "name: hyperpod-platform\nruntime: python\n",
    "environments/main.yaml": """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 8}
governance:
  priority_classes: {high: {weight: 90}, low: {weight: 10}}
""",
    "teams/alpha.yaml": (
        "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nquota: {ml.p5.48xlarge: {instances: 4}}\n"
        "default_priority: high\nmax_run_time: 2h\nweight: 1\nsharing: {strategy: lend_and_borrow, borrow_limit: 100}\n"
    ),
    "teams/beta.yaml": (
        "apiVersion: hyperpod-platform/v1\nowners: [b@example.com]\nquota: {ml.p5.48xlarge: {instances: 4}}\n"
        "default_priority: low\nweight: 1\nsharing: lend\n"
    ),
}


class Cluster:
    """A project whose sandbox runs, with everything that its plan renders."""

    def __init__(self, root: Path) -> None:
        self.root = root
        write_files(root, FILES)
        platform = Project(root).load("main")
        resolved = plan(platform)
        stacks.remove(root, "main")  # a killed run may have left one of this path
        stacks.boot(root, "main", platform, resolved, SilentProgress())
        self.kubeconfig = stacks.sandbox_of(root, "main", "main").kubeconfig
        self.api: Connection = connect(str(self.kubeconfig), "", "")
        for item in render(resolved.clusters["main"]):
            self.api.request("PATCH", self.path_of(item), item, {"fieldManager": "test", "force": "true"}, APPLY)

    def path_of(self, item: dict[str, Any]) -> str:
        version = item["apiVersion"]
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        (kind,) = [
            one
            for one in self.api.request("GET", base).body["resources"]
            if one["kind"] == item["kind"] and "/" not in one["name"]
        ]
        space = f"/namespaces/{item['metadata']['namespace']}" if kind["namespaced"] else ""
        return f"{base}{space}/{kind['name']}/{item['metadata']['name']}"

    def hpctl(self, *arguments: str) -> int:
        return run(["--project", str(self.root), "job", *arguments, "--stack", "main"])

    def items(self, path: str) -> list[dict[str, Any]]:
        return list(self.api.request("GET", path).body["items"])

    def workload(self, owner: str, namespace: str = ALPHA) -> dict[str, Any] | None:
        """The workload of a job or pod."""
        owned = [
            one
            for one in self.items(f"{KUEUE}/namespaces/{namespace}/workloads")
            if any(ref["name"] == owner for ref in one["metadata"].get("ownerReferences", ()))
        ]
        return owned[0] if owned else None

    def admitted(self, owner: str, namespace: str = ALPHA) -> dict[str, Any]:
        return wait_for(lambda: (found := self.workload(owner, namespace)) and is_true(found, "Admitted") and found)

    def clear(self) -> None:
        wait_for(self._cleared, 90)

    def _cleared(self) -> bool:
        """Deletes at every look, as a controller that has not heard yet makes more. Pods too stay until theirs lets them go."""
        for namespace in (ALPHA, BETA):
            for kind in ("apps/v1/deployments", "apps/v1/replicasets", "batch/v1/jobs"):
                group, _, plural = kind.rpartition("/")
                self.api.request(
                    "DELETE", f"/apis/{group}/namespaces/{namespace}/{plural}", query={"propagationPolicy": "Background"}
                )
            self.api.request("DELETE", f"/api/v1/namespaces/{namespace}/pods", query={"gracePeriodSeconds": "0"})
            for service in self.items(f"/api/v1/namespaces/{namespace}/services"):
                with suppress(ApiError):  # the garbage collector may have been first
                    self.api.request("DELETE", f"/api/v1/namespaces/{namespace}/services/{service['metadata']['name']}")
            # The garbage collector would come to them too, at times after half a minute.
            self.api.request("DELETE", f"{KUEUE}/namespaces/{namespace}/workloads")
        pods = [pod for namespace in (ALPHA, BETA) for pod in self.items(f"/api/v1/namespaces/{namespace}/pods")]
        return not pods and not self.items(f"{KUEUE}/workloads")


def wait_for(what: Callable[[], Any], seconds: float = 90.0) -> Any:
    end = time.monotonic() + seconds
    while not (answer := what()):
        assert time.monotonic() < end, "did not come to pass"
        time.sleep(0.2)
    return answer


def is_true(workload: dict[str, Any], condition: str) -> bool:
    conditions = (workload.get("status") or {}).get("conditions") or []
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    root = tmp_path_factory.mktemp("project")
    try:
        yield Cluster(root)
    finally:
        stacks.remove(root, "main")


@pytest.fixture
def cluster(booted: Cluster) -> Iterator[Cluster]:
    yield booted
    booted.clear()


def test_a_submitted_job_is_admitted_as_its_contract_says(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("llama", *P5, "--nodes", "2", "--required-topology", "layer-3", "--max-run-time", "1h")
    assert cluster.hpctl(*asked, "--dry-run") == 0
    assert "Job/llama would be created in hyperpod-ns-alpha" in capsys.readouterr().err
    assert cluster.workload("llama") is None
    assert cluster.hpctl(*asked, "--submit") == 0
    assert "Job/llama created in hyperpod-ns-alpha" in capsys.readouterr().err

    workload = cluster.admitted("llama")
    assert workload["spec"]["queueName"] == "hyperpod-ns-alpha-localqueue"
    assert workload["spec"]["priority"] == 90
    assert workload["spec"]["maximumExecutionTimeSeconds"] == 3600
    (assigned,) = workload["status"]["admission"]["podSetAssignments"]
    assert assigned["flavors"]["nvidia.com/gpu"] == "ml.p5.48xlarge"
    assert assigned["resourceUsage"]["nvidia.com/gpu"] == "16"

    pods = wait_for(lambda: [pod for pod in cluster.items(f"/api/v1/namespaces/{ALPHA}/pods") if pod["spec"].get("nodeName")][1:])
    assert pods
    names = {pod["spec"]["nodeName"] for pod in cluster.items(f"/api/v1/namespaces/{ALPHA}/pods")}
    blocks = {cluster.api.request("GET", f"/api/v1/nodes/{name}").body["metadata"]["labels"][LAYER] for name in names}
    assert len(names) == 2
    assert len(blocks) == 1

    before = cluster.api.request("GET", f"/apis/batch/v1/namespaces/{ALPHA}/jobs/llama").body["metadata"]["uid"]
    assert cluster.hpctl(*asked, "--submit") == 1
    err = capsys.readouterr().err
    assert "there is a Job `llama` in hyperpod-ns-alpha already; it stays as it is [job-exists]" in err
    assert "Traceback" not in err
    assert cluster.api.request("GET", f"/apis/batch/v1/namespaces/{ALPHA}/jobs/llama").body["metadata"]["uid"] == before


def test_a_deployment_is_admitted_pod_by_pod(cluster: Cluster) -> None:
    assert cluster.hpctl("serve", *P5, "--kind", "deployment", "--pods", "3", "-a", "4", "--submit") == 0
    pods = wait_for(
        lambda: [p for p in cluster.items(f"/api/v1/namespaces/{ALPHA}/pods") if p["status"]["phase"] == "Running"][2:]
    )
    assert pods
    for pod in cluster.items(f"/api/v1/namespaces/{ALPHA}/pods"):
        workload = cluster.admitted(pod["metadata"]["name"])
        assert workload["spec"]["queueName"] == "hyperpod-ns-alpha-localqueue"
        assert workload["spec"]["priority"] == 90


def test_a_plain_pod_is_queued(cluster: Cluster) -> None:
    assert cluster.hpctl("ide", *P5, "--kind", "pod", "-a", "1", "--submit") == 0
    assert cluster.admitted("ide")["spec"]["queueName"] == "hyperpod-ns-alpha-localqueue"


def test_nothing_is_submitted_where_something_is_wrong(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.hpctl("huge", *P5, "--nodes", "9", "--required-topology", "layer-9", "--priority", "hihg", "--submit") == 1
    err = capsys.readouterr().err
    assert "[topology-level]" in err
    assert "[priority-class-unknown]" in err
    assert cluster.hpctl("huge", *P5, "--nodes", "9", "--submit") == 1
    assert "[job-too-large]" in capsys.readouterr().err
    assert cluster.items(f"/apis/batch/v1/namespaces/{ALPHA}/jobs") == []
    assert cluster.items(f"/api/v1/namespaces/{ALPHA}/services") == []


def test_the_largest_job_that_is_let_through_is_admitted(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Its guarantee and all that it may borrow, in pods of one GPU: as many find room on a node as it has GPUs."""
    assert cluster.hpctl("large", *P5, "--pods", "65", "-a", "1", "--submit") == 1
    assert "[job-too-large]" in capsys.readouterr().err
    assert cluster.hpctl("large", *P5, "--pods", "64", "-a", "1", "--submit") == 0
    assert "32 are guaranteed" in capsys.readouterr().err
    (assigned,) = cluster.admitted("large")["status"]["admission"]["podSetAssignments"]
    assert assigned["resourceUsage"]["nvidia.com/gpu"] == "64"
    placed = "/api/v1/namespaces/hyperpod-ns-alpha/pods"
    wait_for(lambda: sum(bool(pod["spec"].get("nodeName")) for pod in cluster.items(placed)) == 64)


def test_a_member_submits_with_the_rights_of_a_member_alone(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kubeconfig of somebody who is a member of beta: beta's job goes through, alpha's is refused in a sentence."""
    kubeconfig = member_of(cluster, BETA, tmp_path)
    own = ("mine", "--team", "beta", "-i", "ml.p5.48xlarge", "--image", "train:1", "--nodes", "2")
    assert cluster.hpctl(*own, "--submit", "--kubeconfig", str(kubeconfig)) == 0
    assert cluster.admitted("mine", BETA)["spec"]["priority"] == 10
    capsys.readouterr()
    assert cluster.hpctl("theirs", *P5, "-a", "1", "--submit", "--kubeconfig", str(kubeconfig)) == 1
    err = capsys.readouterr().err
    assert "the API server refuses it: jobs.batch is forbidden" in err
    assert "Traceback" not in err
    assert cluster.workload("theirs") is None


def member_of(cluster: Cluster, namespace: str, folder: Path) -> Path:
    """The kubeconfig of a service account that has a member's role in one namespace."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    cluster.api.request("POST", accounts, {"metadata": {"name": "member"}})
    binding = {
        "metadata": {"name": "test-member"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "hyperpod-team-member"},
        "subjects": [{"kind": "ServiceAccount", "name": "member", "namespace": namespace}],
    }
    cluster.api.request("POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings", binding)
    token = cluster.api.request("POST", f"{accounts}/member/token", {"spec": {}}).body["status"]["token"]
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["users"] = [{"name": config["users"][0]["name"], "user": {"token": token}}]
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    member = connect(str(path), "", "")
    wait_for(lambda: may_list(member, namespace))  # the API server hears of a binding a little later
    return path


def may_list(member: Connection, namespace: str) -> bool:
    try:
        member.request("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs")
    except ApiError:
        return False
    return True


def test_a_reclaim_takes_the_elastic_part_alone_and_it_grows_back(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Four nodes are alpha's, four beta's and idle: the job has eight until beta wants three of its own."""
    elastic = ("--min-replicas", "4", "--max-replicas", "8", "--increment", "2", "--whole-node")
    capsys.readouterr()
    assert cluster.hpctl("llama", *P5, *elastic, "--format", "json") == 0
    objects = json.loads(capsys.readouterr().out)["items"]
    for one in objects:
        kind = BY_OBJECT[one["apiVersion"], one["kind"]]
        if kind.kind == "Job":
            one["spec"]["template"]["metadata"]["annotations"] = RUNS_LONG
        cluster.api.request("POST", f"{kind.path}/namespaces/{ALPHA}/{kind.plural}", one)
    parts = ("llama", "llama-elastic-1", "llama-elastic-2")
    assert [cluster.admitted(name)["spec"]["priority"] for name in parts] == [90, 10, 10]
    before = {name: cluster.admitted(name)["metadata"]["uid"] for name in parts}

    mine = (
        "mine",
        "--team",
        "beta",
        "-i",
        "ml.p5.48xlarge",
        "--image",
        "serve:1",
        "--kind",
        "deployment",
        "--pods",
        "3",
        "-a",
        "8",
    )
    assert cluster.hpctl(*mine, "--submit") == 0
    wait_for(lambda: sum(is_true(one, "Admitted") for one in cluster.items(f"{KUEUE}/namespaces/{BETA}/workloads")) == 3, 60)
    base = cluster.workload("llama")
    assert base is not None
    assert is_true(base, "Admitted")
    assert not is_true(base, "Evicted")
    evicted = {name for name in parts[1:] if not is_true(cluster.workload(name) or {}, "Admitted")}
    assert evicted == set(parts[1:])

    cluster.api.request("DELETE", f"/apis/apps/v1/namespaces/{BETA}/deployments/mine", query={"propagationPolicy": "Background"})
    assert {name: cluster.admitted(name)["metadata"]["uid"] for name in parts} == before
