"""A stack's life on a real engine, API server and Kueue: up, change, refusal, removal, and nothing left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from project_files import write_files
from sandbox_support import rewrite

from cli.console import progress
from cli.deploy import say_losses
from cli.main import run
from config.findings import ConfigError
from config.load import Project
from governance.plan import plan
from live.connection import ApiError, Connection, connect
from sandbox import stacks
from sandbox.deploy import prepare

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
FLAVORS = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors"

ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false}
    instance_groups:
      l4: {instance_type: ml.g6.12xlarge, count: 2}
      h100: {instance_type: ml.p5.48xlarge, count: 2}
governance:
  priority_classes: {high: {weight: 90}, low: {weight: 10}}
  idle_sharing: true
"""
TEAMS = {
    "alpha": "quota: {ml.g6.12xlarge: {accelerators: 4}}\naccess: {groups: [alpha-people]}\ndefault_queue: true",
    "beta": "quota: {ml.g6.12xlarge: {accelerators: 4}, ml.p5.48xlarge: {instances: 1}}\nmax_run_time: 1h",
    "gamma": "quota: {ml.p5.48xlarge: {instances: 1}}\nsharing: dont_lend",
}


class Stack:
    """A project of its own in a temporary folder, and the API server of its sandbox."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, file: str, text: str) -> None:
        write_files(self.root, {file: text})

    def team(self, name: str, text: str) -> None:
        self.write(f"teams/{name}.yaml", f"apiVersion: hyperpod-platform/v1\nowners: [someone@example.com]\n{text}\n")

    def hpctl(self, *arguments: str) -> int:
        return run(["--project", str(self.root), *arguments])

    def up(self, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
        capsys.readouterr()
        code = self.hpctl("up", "--stack", "main", "--yes", "--json")
        out, err = capsys.readouterr()
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found

    @property
    def api(self) -> Connection:
        return connect(str(stacks.sandbox_of(self.root, "main", "main").kubeconfig), "", "")

    def get(self, path: str) -> dict[str, Any] | None:
        try:
            return self.api.request("GET", path).body
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def names(self, path: str) -> set[str]:
        found = self.get(path)
        return {item["metadata"]["name"] for item in found["items"]} if found else set()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    root = tmp_path_factory.mktemp("project")
    found = Stack(root)
    for name in ("Pulumi.yaml", "__main__.py"):
        found.write(name, (ROOT / name).read_text())
    found.write("environments/main.yaml", ENVIRONMENT)
    for name, text in TEAMS.items():
        found.team(name, text)
    yield found
    stacks.remove(root, "main")


RUNS_LONG = {"pod-complete.stage.kwok.x-k8s.io/delay": "2h"}


def job(name: str, namespace: str, labels: dict[str, str], gpus: int = 1) -> dict[str, Any]:
    requests = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": str(gpus)}
    container = {"name": "main", "image": "none", "resources": {"requests": requests, "limits": requests}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "template": {
                "metadata": {"labels": labels, "annotations": RUNS_LONG},
                "spec": {"restartPolicy": "Never", "containers": [container]},
            }
        },
    }


def submit(stack: Stack, manifest: dict[str, Any]) -> dict[str, Any]:
    return stack.api.request("POST", f"/apis/batch/v1/namespaces/{manifest['metadata']['namespace']}/jobs", manifest).body


def refusal(stack: Stack, manifest: dict[str, Any]) -> str:
    """What the API server says against a job."""
    with pytest.raises(ApiError) as caught:
        submit(stack, manifest)
    return str(caught.value)


def wait_for(what: Any, seconds: float = 120.0) -> Any:
    """The first true answer of `what`, asked again and again."""
    import time

    end = time.monotonic() + seconds
    while True:
        answer = what()
        if answer:
            return answer
        assert time.monotonic() < end, "did not come to pass"
        time.sleep(0.1)


def nominal(queue: dict[str, Any], flavor: str, resource: str) -> str:
    flavors = queue["spec"]["resourceGroups"][0]["flavors"]
    resources = next(f for f in flavors if f["name"] == flavor)["resources"]
    return str(next(r for r in resources if r["name"] == resource)["nominalQuota"])


def queue_of(team: str) -> str:
    return f"{QUEUES}/hyperpod-ns-{team}-clusterqueue"


# The tests of this file are one story; each stands on the stack that the last one left.


def test_up_declares_every_team(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    document = stack.up(capsys)
    assert document["stack"] == "main"
    assert document["changes"]["create"] > 20
    assert [document["changes"][what] for what in ("update", "delete", "replace")] == [0, 0, 0]
    assert [contract["team"] for contract in document["teams"]] == ["alpha", "beta", "gamma"]
    assert stack.names("/api/v1/namespaces") >= {f"hyperpod-ns-{team}" for team in TEAMS}
    assert stack.names(QUEUES) == {f"hyperpod-ns-{team}-clusterqueue" for team in TEAMS}
    assert stack.names(FLAVORS) == {"ml.g6.12xlarge", "ml.p5.48xlarge"}
    namespace = stack.get("/api/v1/namespaces/hyperpod-ns-alpha")
    assert namespace is not None
    assert namespace["metadata"]["labels"]["sagemaker.amazonaws.com/quota-allocation-id"] == "alpha"
    assert namespace["metadata"]["labels"]["sagemaker.amazonaws.com/sagemaker-managed-queue"] == "true"


def test_every_queue_is_active(stack: Stack) -> None:
    for team in TEAMS:
        queue = stack.get(queue_of(team))
        assert queue is not None
        conditions = {c["type"]: c["status"] for c in queue["status"]["conditions"]}
        assert conditions["Active"] == "True", team


def test_a_second_up_changes_nothing(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    document = stack.up(capsys)
    assert [document["changes"][what] for what in ("create", "update", "delete", "replace")] == [0, 0, 0, 0]
    assert document["changes"]["same"] > 20


def test_a_quota_change_is_an_update_in_place(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    before = stack.get(queue_of("alpha"))
    stack.team("alpha", TEAMS["alpha"].replace("accelerators: 4", "accelerators: 3"))
    document = stack.up(capsys)
    after = stack.get(queue_of("alpha"))
    assert before is not None
    assert after is not None
    assert document["changes"]["update"] >= 1
    assert [document["changes"][what] for what in ("create", "delete", "replace")] == [0, 0, 0]
    assert before["metadata"]["uid"] == after["metadata"]["uid"]
    assert nominal(before, "ml.g6.12xlarge", "nvidia.com/gpu") == "4"
    assert nominal(after, "ml.g6.12xlarge", "nvidia.com/gpu") == "3"


def test_jobs_need_the_queue_label_unless_the_team_has_a_default_queue(stack: Stack) -> None:
    assert "kueue.x-k8s.io/queue-name" in refusal(stack, job("bare", "hyperpod-ns-gamma", {}))
    submit(stack, job("bare", "hyperpod-ns-alpha", {}))
    accepted = stack.get("/apis/batch/v1/namespaces/hyperpod-ns-alpha/jobs/bare")
    assert accepted is not None
    assert accepted["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "default"
    stack.api.request("DELETE", "/apis/batch/v1/namespaces/hyperpod-ns-alpha/jobs/bare", {"propagationPolicy": "Background"})


def test_a_maximum_run_time_must_be_asked_for_and_kept_to(stack: Stack) -> None:
    queue = {"kueue.x-k8s.io/queue-name": "hyperpod-ns-beta-localqueue"}
    limit = "kueue.x-k8s.io/max-exec-time-seconds"
    assert limit in refusal(stack, job("long", "hyperpod-ns-beta", queue))
    assert limit in refusal(stack, job("long", "hyperpod-ns-beta", queue | {limit: "3601"}))
    submit(stack, job("short", "hyperpod-ns-beta", queue | {limit: "3600"}))
    stack.api.request("DELETE", "/apis/batch/v1/namespaces/hyperpod-ns-beta/jobs/short", {"propagationPolicy": "Background"})


@pytest.mark.parametrize(
    ("group", "verb", "resource", "api_group", "namespace", "allowed"),
    [
        ("alpha-people", "create", "jobs", "batch", "hyperpod-ns-alpha", True),
        ("hyperpod-ns-alpha-namespace-level-group", "create", "jobs", "batch", "hyperpod-ns-alpha", True),
        ("alpha-people", "list", "pods", "", "hyperpod-ns-alpha", True),
        ("alpha-people", "get", "workloads", "kueue.x-k8s.io", "hyperpod-ns-alpha", True),
        ("alpha-people", "list", "localqueues", "kueue.x-k8s.io", "hyperpod-ns-alpha", True),
        ("alpha-people", "get", "clusterqueues", "kueue.x-k8s.io", None, True),
        ("alpha-people", "create", "jobs", "batch", "hyperpod-ns-beta", False),
        ("alpha-people", "list", "secrets", "", "hyperpod-ns-alpha", False),
        ("alpha-people", "get", "secrets", "", "hyperpod-ns-alpha", False),
        ("alpha-people", "patch", "workloads", "kueue.x-k8s.io", "hyperpod-ns-alpha", False),
        ("alpha-people", "patch", "localqueues", "kueue.x-k8s.io", "hyperpod-ns-alpha", False),
        ("alpha-people", "update", "clusterqueues", "kueue.x-k8s.io", None, False),
        ("alpha-people", "create", "rolebindings", "rbac.authorization.k8s.io", "hyperpod-ns-alpha", False),
    ],
)
def test_members_may_do_their_work_and_no_more(
    stack: Stack, group: str, verb: str, resource: str, api_group: str, namespace: str | None, allowed: bool
) -> None:
    attributes = {"verb": verb, "resource": resource, "group": api_group} | ({"namespace": namespace} if namespace else {})
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": "someone", "groups": [group], "resourceAttributes": attributes},
    }
    answer = stack.api.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review).body
    assert answer["status"]["allowed"] is allowed


def test_another_queue_name_replaces_the_local_queue(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/hyperpod-ns-alpha/localqueues/hyperpod-ns-alpha-localqueue"
    before = stack.get(path)
    stack.team("alpha", TEAMS["alpha"] + "\nnames: {cluster_queue: alpha-queue}\nstate: draining")
    stack.up(capsys)
    after = stack.get(path)
    assert before is not None
    assert after is not None
    assert before["metadata"]["uid"] != after["metadata"]["uid"]
    assert after["spec"]["clusterQueue"] == "alpha-queue"
    assert stack.get(f"{QUEUES}/hyperpod-ns-alpha-clusterqueue") is None


def test_a_topology_change_is_refused_while_workloads_run(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "hyperpod-ns-gamma-localqueue"}
    submit(stack, job("busy", "hyperpod-ns-gamma", labels, gpus=8))
    wait_for(lambda: _reserved(stack, "gamma"))
    before = stack.get(queue_of("gamma"))
    stack.write(
        "environments/main.yaml",
        ENVIRONMENT + "  topology: {levels: [topology.k8s.aws/network-node-layer-3, kubernetes.io/hostname]}\n",
    )
    assert stack.hpctl("up", "--stack", "main", "--yes") == 1
    err = capsys.readouterr().err
    assert "flavor-in-use" in err
    assert "state: draining" in err
    after = stack.get(queue_of("gamma"))
    assert before is not None
    assert after is not None
    assert after["spec"] == before["spec"]
    assert stack.names(FLAVORS) == {"ml.g6.12xlarge", "ml.p5.48xlarge"}


def _reserved(stack: Stack, team: str) -> bool:
    queue = stack.get(queue_of(team))
    return bool(queue and queue.get("status", {}).get("reservingWorkloads"))


def test_the_cluster_itself_refuses_to_drop_a_flavor_in_use(stack: Stack) -> None:
    def change(queue: dict[str, Any]) -> None:
        queue["spec"]["resourceGroups"][0]["flavors"][0]["name"] = "ml.g6.12xlarge"

    with pytest.raises(ApiError) as caught:
        rewrite(stack.api, queue_of("gamma"), change)
    assert "drain" in str(caught.value)


def test_a_topology_change_goes_through_on_drained_queues(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    stack.write("environments/main.yaml", ENVIRONMENT)
    for name, text in TEAMS.items():
        stack.team(name, f"{text}\nstate: draining")
    stack.up(capsys)
    wait_for(lambda: not _reserved(stack, "gamma"))
    stack.write(
        "environments/main.yaml",
        ENVIRONMENT + "  topology: {levels: [topology.k8s.aws/network-node-layer-3, kubernetes.io/hostname]}\n",
    )
    stack.up(capsys)
    flavors = stack.names(FLAVORS)
    assert "ml.p5.48xlarge" not in flavors
    assert len([name for name in flavors if name.startswith("ml.p5.48xlarge-")]) == 1
    assert "ml.g6.12xlarge" in flavors  # has no network layers, so nothing changes for it
    for name, text in TEAMS.items():
        stack.team(name, text)
    stack.up(capsys)
    wait_for(lambda: _reserved(stack, "gamma"))  # the evicted job runs again, on the new flavor


def test_an_active_team_can_not_be_removed(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    (stack.root / "teams" / "gamma.yaml").unlink()
    assert stack.hpctl("check", "--stack", "main") == 0
    assert stack.hpctl("check", "--stack", "main", "--live") == 1  # what CI asks before a plain `pulumi up`
    assert "it runs job-busy-" in capsys.readouterr().err
    assert stack.hpctl("up", "--stack", "main", "--yes") == 1
    err = capsys.readouterr().err
    assert "team-not-drained" in err
    assert "state: draining" in err
    assert "it runs job-busy-" in err
    assert stack.get("/api/v1/namespaces/hyperpod-ns-gamma") is not None
    stack.team("gamma", TEAMS["gamma"])


def test_a_stack_where_something_runs_is_not_taken_down(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    """As for a cluster that is no sandbox: what runs there is named, and nothing is touched unless somebody says to lose it."""
    project = Project(stack.root)
    platform = project.load("main")
    with progress() as shown:
        deployment = prepare(stack.root, "main", platform, plan(platform), shown)
    with deployment.engine() as engine:
        outputs, resources = engine.outputs(), engine.state()["deployment"]["resources"]
    with pytest.raises(ConfigError) as caught:
        say_losses(deployment, outputs, resources, free=False)
    assert {finding.id for finding in caught.value.findings} == {"team-still-runs", "stack-protected"}
    assert "still runs job-busy-" in str(caught.value)
    say_losses(deployment, outputs, resources, free=True)
    said = capsys.readouterr().err
    assert "team gamma on main: namespace hyperpod-ns-gamma with all that is in it: job-busy-" in said
    assert "team alpha on main: namespace hyperpod-ns-alpha with all that is in it\n" in said
    stack.api.request("DELETE", "/apis/batch/v1/namespaces/hyperpod-ns-gamma/jobs/busy", {"propagationPolicy": "Background"})


def test_a_drained_team_is_removed_and_leaves_nothing(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    stack.team("beta", f"{TEAMS['beta']}\nstate: draining")
    stack.up(capsys)
    (stack.root / "teams" / "beta.yaml").unlink()
    document = stack.up(capsys)
    assert document["changes"]["delete"] >= 4
    assert stack.get("/api/v1/namespaces/hyperpod-ns-beta") is None
    assert stack.get(queue_of("beta")) is None
    assert stack.get("/api/v1/namespaces/hyperpod-ns-gamma") is not None


def test_bad_input_touches_nothing(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    before = stack.names("/api/v1/namespaces")
    stack.team("delta", "quotas: {ml.p5.48xlrge: {instances: 1}}")
    stack.team("epsilon", "quota: {ml.p5.48xlrge: {instances: one}}")
    assert stack.hpctl("up", "--stack", "main", "--yes") == 1
    err = capsys.readouterr().err
    assert "teams/delta.yaml:3:" in err
    assert "teams/epsilon.yaml:3:" in err
    assert "ml.p5.48xlarge" in err
    assert stack.names("/api/v1/namespaces") == before
    for name in ("delta", "epsilon"):
        (stack.root / "teams" / f"{name}.yaml").unlink()


def test_down_leaves_nothing(stack: Stack) -> None:
    assert stack.hpctl("down", "--stack", "main", "--yes") == 0
    assert stack.names(QUEUES) == set()
    assert stack.names(FLAVORS) == set()
    assert not [name for name in stack.names("/api/v1/namespaces") if name.startswith("hyperpod-ns-")]
    policies = stack.names("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")
    assert not [name for name in policies if name.startswith("hyperpod-")]
    for kind in ("topologies", "cohorts", "workloadpriorityclasses"):
        assert stack.names(f"/apis/kueue.x-k8s.io/v1beta2/{kind}") == set(), kind
