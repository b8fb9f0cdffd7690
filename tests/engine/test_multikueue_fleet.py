"""One manager, two workers: real API servers and Kueues, deployed by the real engine."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from project_files import write_files

from cli.main import run
from live.connection import ApiError, Connection, connect
from sandbox import stacks

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
WORKERS = ("east", "west")
NAMESPACE = "hyperpod-ns-nlp"
LABELS = {"kueue.x-k8s.io/queue-name": f"{NAMESPACE}-localqueue"}
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
SECRETS = "/api/v1/namespaces/kueue-system/secrets"
_CLUSTER = "{kind: existing, sandbox: true, kueue: {install: false}, instance_groups: {"
_GROUP = "h100: {instance_type: ml.p5.48xlarge, count: 1}"
CLUSTERS = f"""
apiVersion: hyperpod-platform/v1
clusters:
  hub: {_CLUSTER}}}}}
  east: {_CLUSTER}{_GROUP}}}}}
  west: {_CLUSTER}{_GROUP}}}}}
"""
POLICY = "governance: {multi_kueue: {manager: hub, workers: [east, west], worker_lost_timeout: 2s, gc_interval: 2s}}\n"
TEAM = """
apiVersion: hyperpod-platform/v1
owners: [someone@example.com]
cluster_quota:
  east: {ml.p5.48xlarge: {accelerators: 4}}
  west: {ml.p5.48xlarge: {accelerators: 8}}
"""


class Fleet:
    """A project of its own, and the API servers of its sandboxes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("Pulumi.yaml", (ROOT / "Pulumi.yaml").read_text())
        self.write("__main__.py", (ROOT / "__main__.py").read_text())
        self.write("environments/main.yaml", CLUSTERS + POLICY)
        self.write("teams/nlp.yaml", TEAM)

    def write(self, file: str, text: str) -> None:
        write_files(self.root, {file: text})

    def up(self, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
        capsys.readouterr()
        code = run(["--project", str(self.root), "up", "--stack", "main", "--yes", "--json"])
        out, err = capsys.readouterr()
        assert code == 0, err
        assert "oken" not in out
        found: dict[str, Any] = json.loads(out)
        return found

    def api(self, cluster: str) -> Connection:
        return connect(str(stacks.sandbox_of(self.root, "main", cluster).kubeconfig), "", "")

    def get(self, cluster: str, path: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api(cluster).request("GET", path).body
        return found

    def submit(self, cluster: str, name: str, gpus: int, seconds: str = "2h") -> None:
        self.api(cluster).request("POST", JOBS, job(name, gpus, seconds))

    def fill(self, cluster: str) -> None:
        """Take all that the team has on a worker, on the worker itself: its own queue stays open."""
        self.submit(cluster, f"fills-{cluster}", 8)
        until(lambda: self.get(cluster, f"{JOBS}/fills-{cluster}")["status"].get("active"), "the job doesn't start")

    def delete(self, cluster: str, name: str) -> None:
        self.api(cluster).request("DELETE", f"{JOBS}/{name}", {"propagationPolicy": "Background"})

    def jobs(self, cluster: str) -> set[str]:
        return {one["metadata"]["name"] for one in self.get(cluster, JOBS)["items"]}

    def where(self, name: str) -> str:
        """The worker that a job of the manager runs on; empty before it has one."""
        found = self.get("hub", f"{KUEUE}/namespaces/{NAMESPACE}/workloads")["items"]
        status = next((one.get("status", {}) for one in found if one["metadata"]["ownerReferences"][0]["name"] == name), {})
        ready = [check for check in status.get("admissionChecks", []) if check["state"] == "Ready"]
        return str(status.get("clusterName", "")) if ready else ""

    def offered(self, name: str) -> list[str]:
        """The workers whose Kueue has said something of their copy of a job."""
        return [
            worker
            for worker in WORKERS
            for one in self.get(worker, f"{KUEUE}/namespaces/{NAMESPACE}/workloads")["items"]
            if one["metadata"]["name"].startswith(f"job-{name}-") and one.get("status", {}).get("conditions")
        ]

    def why(self, name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
        """What `hpctl why` says when the manager is asked."""
        capsys.readouterr()
        assert run(["--project", str(self.root), "why", name, "--stack", "main", "--cluster", "hub", "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    def active(self) -> list[tuple[str, str]]:
        """What the manager says of its workers together: it is written apart from what jobs do."""
        (check,) = self.get("hub", f"{KUEUE}/admissionchecks")["items"]
        return [(one["status"], one["reason"]) for one in check["status"]["conditions"]]

    def state(self) -> str:
        """All that Pulumi keeps of the stack."""
        folder = stacks.folder(self.root, "main") / "state"
        return "\n".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file())


def job(name: str, gpus: int, seconds: str) -> dict[str, Any]:
    requests = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(gpus)}
    container = {"name": "main", "image": "none", "resources": {"requests": requests, "limits": requests}}
    annotations = {"pod-complete.stage.kwok.x-k8s.io/delay": seconds}
    template = {
        "metadata": {"labels": LABELS, "annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    meta = {"name": name, "namespace": NAMESPACE, "labels": LABELS}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template}}


def until(what: Callable[[], Any], message: str) -> None:
    """In time for a lost worker, and a garbage collector that rests for half a minute."""
    deadline = time.monotonic() + 120
    while not what():
        assert time.monotonic() < deadline, message
        time.sleep(0.1)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    found = Fleet(tmp_path_factory.mktemp("fleet"))
    stacks.remove(found.root, "main")  # a killed run may have left one of this path
    yield found
    stacks.remove(found.root, "main")


def test_the_fleet_stands_and_its_tokens_are_nowhere_in_clear(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    assert fleet.up(capsys)["changes"]["create"] > 50
    for path in ("multikueueclusters", "admissionchecks"):
        for one in fleet.get("hub", f"{KUEUE}/{path}")["items"]:
            assert [c["status"] for c in one["status"]["conditions"] if c["type"] == "Active"] == ["True"], one
    queue = fleet.get("hub", f"{KUEUE}/clusterqueues/{NAMESPACE}-clusterqueue")
    amounts = {one["name"]: one["nominalQuota"] for one in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]}
    assert amounts["nvidia.com/gpu"] == "12"
    state = fleet.state()
    for worker in WORKERS:
        encoded = fleet.get(worker, f"{SECRETS}/hyperpod-multikueue")["data"]["token"]
        kubeconfig = fleet.get("hub", f"{SECRETS}/hyperpod-multikueue-{worker}")["data"]["kubeconfig"]
        token = base64.b64decode(encoded).decode()
        assert token in base64.b64decode(kubeconfig).decode()
        for text in (token, encoded, kubeconfig):
            assert text not in state
    assert f"{NAMESPACE}-clusterqueue" in state, "the state was looked at"


def test_a_look_for_drift_reads_no_secret(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--project", str(fleet.root), "drift", "--stack", "main", "--json"]) == 0
    out, _ = capsys.readouterr()
    report = json.loads(out)
    assert (report["drift"], list(report["compared"])) == ([], ["east", "hub", "west"])
    assert "ciphertext" not in out
    assert "ca.crt" not in out


def test_a_job_goes_to_the_worker_that_has_room(fleet: Fleet) -> None:
    fleet.fill("west")
    fleet.submit("hub", "moves", 4, "1s")
    until(lambda: fleet.where("moves"), "no worker has taken the job")
    assert fleet.where("moves") == "east"
    assert fleet.get("hub", f"{JOBS}/moves")["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    assert "moves" not in fleet.jobs("west")
    until(lambda: fleet.get("hub", f"{JOBS}/moves")["status"].get("succeeded") == 1, "the job doesn't finish on the manager")
    until(lambda: "moves" not in fleet.jobs("east"), "what the manager made on the worker stays there")
    assert not fleet.get("hub", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"], "nothing runs on the manager"


def test_a_job_waits_where_no_worker_has_room(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.submit("hub", "waits", 8)
    until(lambda: fleet.offered("waits") == [*WORKERS], "it isn't offered to both")
    assert fleet.where("waits") == ""
    found = fleet.why("waits", capsys)
    assert (found["state"], found["reason"], found["offered"]) == ("waiting", "no-worker", ["east", "west"])
    assert {name: (one["reason"], one["when"]) for name, one in found["there"].items()} == {
        "east": ("never-fits", "never"),
        "west": ("borrow-limit", "later"),
    }
    fleet.delete("west", "fills-west")
    until(lambda: fleet.where("waits") == "west", "it doesn't start as there is room")
    found = fleet.why("waits", capsys)
    assert (found["state"], found["worker"], list(found["there"])) == ("admitted", "west", ["west"])
    assert found["there"]["west"]["state"] == "admitted"
    fleet.delete("hub", "waits")
    until(lambda: not fleet.jobs("west"), "a job that is deleted on the manager goes on")


def test_a_job_larger_than_every_worker_is_told_to_wait_for_ever(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.submit("hub", "large", 12)
    until(lambda: fleet.why("large", capsys)["offered"], "it has no quota on the manager")
    found = fleet.why("large", capsys)
    assert (found["reason"], found["when"], found["causes"][0]["numbers"]["largest"]) == ("never-fits", "never", "8")
    fleet.delete("hub", "large")
    until(lambda: "large" not in fleet.jobs("hub"), "it stays")


def test_the_manager_may_act_in_team_namespaces_alone(fleet: Fleet, tmp_path: Path) -> None:
    kubeconfig = fleet.get("hub", f"{SECRETS}/hyperpod-multikueue-east")["data"]["kubeconfig"]
    file = tmp_path / "account"
    file.write_bytes(base64.b64decode(kubeconfig))
    account = connect(str(file), "", "")
    account.request("GET", "/apis/batch/v1/jobs")
    elsewhere = {**job("elsewhere", 1, "1s"), "metadata": {"name": "elsewhere", "namespace": "default"}}
    for method, path, body in (
        ("POST", "/apis/batch/v1/namespaces/default/jobs", elsewhere),
        ("GET", SECRETS, None),
        ("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}),
    ):
        with pytest.raises(ApiError) as caught:
            account.request(method, path, body)
        assert caught.value.status == 403


def test_a_pod_of_its_own_is_refused_on_the_manager(fleet: Fleet) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "stray", "namespace": NAMESPACE, "labels": LABELS},
        "spec": {"containers": [{"name": "main", "image": "none"}]},
    }
    with pytest.raises(ApiError, match="hands jobs to others"):
        fleet.api("hub").request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", pod)


def test_jobs_of_a_lost_worker_start_again_elsewhere(fleet: Fleet) -> None:
    fleet.fill("west")
    fleet.submit("hub", "moves-on", 4)
    until(lambda: fleet.where("moves-on") == "east", "east doesn't take the job")
    fleet.delete("west", "fills-west")
    stacks.sandbox_of(fleet.root, "main", "east")._stop()
    until(lambda: fleet.where("moves-on") == "west", "the job isn't started again on the other worker")
    until(lambda: fleet.active() == [("True", "SomeActiveClusters")], "the check doesn't tell of the lost worker")


def test_a_worker_comes_back_and_the_manager_is_taken_away(fleet: Fleet, capsys: pytest.CaptureFixture[str]) -> None:
    fleet.delete("hub", "moves-on")
    fleet.write("environments/main.yaml", CLUSTERS)
    fleet.up(capsys)
    for path in ("multikueueclusters", "multikueueconfigs", "admissionchecks"):
        assert fleet.get("hub", f"{KUEUE}/{path}")["items"] == []
    assert {one["metadata"]["name"] for one in fleet.get("hub", SECRETS)["items"]} == {"kueue-webhook-server-cert"}
    for worker in WORKERS:
        assert {one["metadata"]["name"] for one in fleet.get(worker, SECRETS)["items"]} == {"kueue-webhook-server-cert"}
        bindings = fleet.get(worker, f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings")["items"]
        assert {one["metadata"]["name"] for one in bindings} == {"hyperpod-team-member"}
