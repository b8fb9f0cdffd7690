"""Drift on a real engine, API server and Kueue: what was changed by hand is found, with its author, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from project_files import write_files
from sandbox_support import rewrite

from cli.main import run
from components.render import render
from config.load import Project
from governance.plan import plan
from live.connection import APPLY, MERGE_PATCH, Connection, UnreachableError, connect
from live.drift.kube import outside
from live.drift.reading import read
from live.drift.state import by_key
from live.kube import Reader
from sandbox import stacks
from sandbox.deploy import attach
from sandbox.engine_errors import EngineError
from sandbox.progress import SilentProgress

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
QUEUE = f"{KUEUE}/clusterqueues/hyperpod-ns-alpha-clusterqueue"
OTHER = f"{KUEUE}/clusterqueues/hyperpod-ns-beta-clusterqueue"
BINDING = "/apis/rbac.authorization.k8s.io/v1/namespaces/hyperpod-ns-beta/rolebindings/hyperpod-team-member"
FILES = {
    "environments/main.yaml": """
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
  topology: {levels: [topology.k8s.aws/network-node-layer-3, kubernetes.io/hostname]}
""",
    "teams/alpha.yaml": "quota: {ml.g6.12xlarge: {accelerators: 4}}\naccess: {groups: [alpha-people]}\ndefault_queue: true\n",
    "teams/beta.yaml": "quota: {ml.p5.48xlarge: {instances: 1}}\nmax_run_time: 1h\n",
}


class Stack:
    """A project in a temporary folder, deployed on a sandbox of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("Pulumi.yaml", "__main__.py"):
            self.write(name, (ROOT / name).read_text())
        for name, text in FILES.items():
            self.write(name, text)

    def write(self, file: str, text: str) -> None:
        head = "apiVersion: hyperpod-platform/v1\nowners: [someone@example.com]\n" if file.startswith("teams") else ""
        write_files(self.root, {file: head + text})

    def hpctl(self, *arguments: str) -> int:
        return run(["--project", str(self.root), *arguments])

    def drift(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = self.hpctl("drift", "--stack", "main", "--json", *arguments)
        out, err = capsys.readouterr()
        assert out, err
        return code, json.loads(out)

    @property
    def api(self) -> Connection:
        return connect(str(stacks.sandbox_of(self.root, "main", "main").kubeconfig), "", "")

    def declared(self, name: str) -> dict[str, Any]:
        """An object as `hpctl render` writes it."""
        (cluster,) = plan(Project(self.root).load("main")).clusters.values()
        return next(one for one in render(cluster) if one["metadata"]["name"] == name)

    def refresh(self) -> None:
        """What `pulumi up --refresh` does."""
        platform = Project(self.root).load("main")
        deployment = attach(self.root, "main", platform, plan(platform), SilentProgress())
        assert deployment is not None
        with deployment.engine() as engine:
            engine.up(refresh=True)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    found = Stack(tmp_path_factory.mktemp("project"))
    yield found
    stacks.remove(found.root, "main")


def told(found: dict[str, Any]) -> dict[tuple[str, str], tuple[list[str], dict[str, str], list[str]]]:
    """By object: what is the matter, the paths changed outside with their authors, and those that wait."""
    return {
        (one["kind"], one["name"]): (
            one["status"],
            {prop["path"]: prop["changed_by"]["name"] for prop in one["properties"]},
            [prop["path"] for prop in one["pending"]],
        )
        for one in found["drift"]
    }


# The tests of this file are one story; each stands on the stack that the last one left.


def test_a_stack_that_was_never_deployed_has_no_drift(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = stack.drift(capsys)
    assert (code, found["deployed"], found["drift"]) == (0, False, [])
    assert stack.hpctl("drift", "--stack", "main", "--pending") == 3
    assert capsys.readouterr().out == "main: not deployed: the backend that Pulumi asked holds nothing of it\n"
    assert not stacks.folder(stack.root, "main").exists(), "looking leaves nothing behind"


def test_what_was_just_deployed_has_no_drift(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    """Though Kueue has added finalizers and status by now, and the API server its defaults and labels."""
    assert stack.hpctl("up", "--stack", "main", "--yes") == 0
    queue = stack.api.request("GET", QUEUE).body
    assert queue["metadata"]["finalizers"]
    assert queue["status"]
    for arguments in ((), ("--no-state",), ("--platform",)):
        code, found = stack.drift(capsys, *arguments)
        assert (code, found["drift"], found["pending"], found["unreachable"], found["notes"]) == (0, [], [], [], []), arguments
        assert found["compared"]["main"] > 20
        assert found.get("platform", []) == []


def test_servers_fill_in_nothing_of_spec_that_is_not_declared(stack: Stack) -> None:
    """So that all of it counts in an object from which somebody has taken the record of who wrote its fields."""
    (cluster,) = plan(Project(stack.root).load("main")).clusters.values()
    declared = by_key(render(cluster))
    found, _ = read(Reader(stack.api), {(key.api_version, key.kind) for key in declared})
    for key, manifest in declared.items():
        meta = {name: value for name, value in found[key]["metadata"].items() if name != "managedFields"}
        assert list(outside(manifest, {**found[key], "metadata": meta})) == [], key


def _change(stack: Stack) -> None:
    """What people do by hand."""
    api = stack.api

    def change(queue: dict[str, Any]) -> None:
        resources = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
        next(one for one in resources if one["name"] == "nvidia.com/gpu")["nominalQuota"] = "8"
        next(one for one in resources if one["name"] == "cpu")["nominalQuota"] = "48000m"  # means the same as 48

    rewrite(api, QUEUE, change, {"fieldManager": "alice"})
    labels = {"metadata": {"labels": {"hyperpod-platform/tier": "gold", "theirs": "yes"}}}
    api.request("PATCH", "/api/v1/namespaces/hyperpod-ns-beta", labels, {"fieldManager": "bob"}, MERGE_PATCH)
    api.request("DELETE", BINDING)
    scope = {"spec": {"admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"}}}
    api.request("PATCH", OTHER, scope, {"fieldManager": "pulumi-kubernetes-other"}, MERGE_PATCH)
    extra = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "side-door", "namespace": "hyperpod-ns-beta"},
        "spec": {"clusterQueue": "hyperpod-ns-alpha-clusterqueue"},
    }
    path = f"{KUEUE}/namespaces/hyperpod-ns-beta/localqueues/side-door"
    api.request("PATCH", path, extra, {"fieldManager": "carol", "force": "true"}, APPLY)


def test_exactly_what_was_changed_is_reported(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    _change(stack)
    stack.write("teams/beta.yaml", FILES["teams/beta.yaml"].replace("1h", "2h"))
    code, found = stack.drift(capsys)
    assert code == 3
    quota = "spec.resourceGroups[0].flavors[ml.g6.12xlarge].resources[nvidia.com/gpu].nominalQuota"
    label, limit = 'metadata.labels["hyperpod-platform/tier"]', 'metadata.annotations["hyperpod-platform/max-run-time-seconds"]'
    assert told(found) == {
        ("ClusterQueue", "hyperpod-ns-alpha-clusterqueue"): (["changed outside"], {quota: "alice"}, []),
        ("ClusterQueue", "hyperpod-ns-beta-clusterqueue"): (
            ["changed outside"],
            {"spec.admissionScope": "pulumi-kubernetes-other"},
            [],
        ),
        ("LocalQueue", "side-door"): (["unmanaged"], {}, []),
        ("Namespace", "hyperpod-ns-beta"): (["changed outside", "not deployed yet"], {label: "bob"}, [limit]),
        ("RoleBinding", "hyperpod-team-member"): (["missing"], {}, []),
    }
    queue, _, extra, _, binding = found["drift"]
    assert [queue["properties"][0][side] for side in ("declared", "state", "live")] == ["4", "4", "8"]
    assert extra["changed_by"]["name"] == "carol"
    assert (binding["namespace"], binding["team"]) == ("hyperpod-ns-beta", "beta")
    assert found["pending"] == []


def test_the_same_in_words(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    assert stack.hpctl("drift", "--stack", "main") == 3
    out = capsys.readouterr().out
    assert "nominalQuota: 4 → 8\n        by alice (Update, 20" in out
    assert "main: 25 objects compared on main: 3 changed outside, 1 missing, 1 unmanaged; 1 not deployed yet\n" in out
    assert stack.hpctl("drift", "--stack", "main", "--markdown") == 3
    assert "nominalQuota` | 4 → 8 | 4 | alice (Update, 20" in capsys.readouterr().out


def test_without_the_state_the_declaration_is_compared(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = stack.drift(capsys, "--no-state")
    assert code == 3
    assert found["pending"] == []
    (namespace,) = (one for one in found["drift"] if one["kind"] == "Namespace")
    assert sorted(one["live"] for one in namespace["properties"]) == ["3600", "gold"]


def test_an_up_with_refresh_repairs(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    """But for what somebody else holds, and what nobody declared."""
    with pytest.raises(EngineError, match=r"alice manages \.spec\.resourceGroups"):
        stack.refresh()
    _, found = stack.drift(capsys)
    (waiting,) = (one for one in found["pending"] if one["kind"] == "ClusterQueue")
    assert waiting["pending"][0]["changed_by"]["name"] == "alice", "the refresh has taken the change over into the state"
    queue = stack.declared(QUEUE.rpartition("/")[2])
    stack.api.request("PATCH", QUEUE, queue, {"fieldManager": "kubectl", "force": "true"}, APPLY)
    label = {"metadata": {"labels": {"hyperpod-platform/tier": None}}}
    stack.api.request("PATCH", "/api/v1/namespaces/hyperpod-ns-beta", label, None, MERGE_PATCH)
    stack.api.request("PATCH", OTHER, {"spec": {"admissionScope": None}}, None, MERGE_PATCH)
    stack.api.request("DELETE", f"{KUEUE}/namespaces/hyperpod-ns-beta/localqueues/side-door")
    assert stack.hpctl("up", "--stack", "main", "--yes", "--refresh") == 0
    code, found = stack.drift(capsys, "--pending")
    assert (code, found["drift"], found["pending"]) == (0, [], [])
    assert stack.api.request("GET", BINDING).body["metadata"]["name"] == "hyperpod-team-member"


def test_the_ways_to_clusters(stack: Stack) -> None:
    """A kubeconfig may also be one of the stack's secrets, as the sandbox's is for the program."""
    platform = Project(stack.root).load("main")
    deployment = attach(stack.root, "main", platform, plan(platform), SilentProgress())
    assert deployment is not None
    file = Path(deployment.way("main", {}))
    assert deployment.engine().setting("hyperpod-platform:kubeconfig-main") == file.read_text().strip()
    with pytest.raises(UnreachableError, match="nothing says how cluster `other` is reached"):
        deployment.way("other", {})
    assert deployment.way("other", {"kubeconfigs": {"other": "text"}}) == "text"


def test_kinds_that_are_not_served_are_told(stack: Stack) -> None:
    found, unserved = read(Reader(stack.api), {("kueue.x-k8s.io/v1", "ClusterQueue"), ("v1", "Namespace")})
    assert unserved == [("kueue.x-k8s.io/v1", "ClusterQueue")]
    assert {key.kind for key in found} == {"Namespace"}


def test_a_cluster_that_does_not_answer_is_told(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    stacks.sandbox_of(stack.root, "main", "main").down()
    code, found = stack.drift(capsys)
    assert code == 4
    assert [(one["cluster"], one["what"]) for one in found["unreachable"]] == [("main", "Kubernetes")]
    assert found["drift"] == []
