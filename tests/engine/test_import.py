"""Adopting queues that were made by hand, under names of their own: on a real engine, API server and Kueue."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_support import MANAGER, gpu_node, rewrite

from cli.main import run
from config.stack import PROJECT
from governance.nodes import NodeSpec
from live.connection import Connection, connect
from sandbox.engine import ConfigValue, Engine, EngineSettings, Progress
from sandbox.engine_import import import_existing
from sandbox.local import Sandbox
from sandbox.toolchain import SilentProgress, pulumi_binary

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
LAYER = "topology.k8s.aws/network-node-layer-3"


def quota(flavor: str, *amounts: tuple[str, str, str | None]) -> dict[str, Any]:
    resources = [
        {"name": name, "nominalQuota": nominal} | ({"borrowingLimit": borrow} if borrow is not None else {})
        for name, nominal, borrow in amounts
    ]
    return {"name": flavor, "resources": resources}


def group(*flavors: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"coveredResources": ["cpu", "memory", "nvidia.com/gpu"], "flavors": list(flavors)}]


def kueue(kind: str, name: str, spec: dict[str, Any], namespace: str = "") -> dict[str, Any]:
    meta = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": meta, "spec": spec}


def priority(name: str, value: int) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": f"Rank {value}",
    }


BY_HAND: tuple[tuple[str, dict[str, Any]], ...] = (
    (
        f"{KUEUE}/topologies",
        kueue("Topology", "racks", {"levels": [{"nodeLabel": LAYER}, {"nodeLabel": "kubernetes.io/hostname"}]}),
    ),
    (
        f"{KUEUE}/resourceflavors",
        kueue(
            "ResourceFlavor",
            "h100",
            {"nodeLabels": {"node.kubernetes.io/instance-type": "ml.p5.48xlarge", "pool": "training"}, "topologyName": "racks"},
        ),
    ),
    (
        f"{KUEUE}/resourceflavors",
        kueue("ResourceFlavor", "general", {"nodeLabels": {"node.kubernetes.io/instance-type": "m5.4xlarge"}}),
    ),
    (f"{KUEUE}/cohorts", kueue("Cohort", "company", {})),
    (f"{KUEUE}/cohorts", kueue("Cohort", "research", {"parentName": "company", "fairSharing": {"weight": "3"}})),
    (f"{KUEUE}/workloadpriorityclasses", priority("urgent", 900)),
    (f"{KUEUE}/workloadpriorityclasses", priority("batch-priority", 10)),
    ("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision", "labels": {"owner": "eva"}}}),
    ("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "nlp-lab"}}),
    (
        f"{KUEUE}/clusterqueues",
        kueue(
            "ClusterQueue",
            "vision.gpu",
            {
                "cohortName": "research",
                "namespaceSelector": {},
                "queueingStrategy": "StrictFIFO",
                "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
                "resourceGroups": group(
                    quota("general", ("cpu", "32", None), ("memory", "128Gi", None), ("nvidia.com/gpu", "0", None)),
                    quota("h100", ("cpu", "300", None), ("memory", "3000Gi", None), ("nvidia.com/gpu", "16", None)),
                ),
            },
        ),
    ),
    (
        f"{KUEUE}/clusterqueues",
        kueue(
            "ClusterQueue",
            "nlp",
            {
                "cohortName": "company",
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "nlp-lab"}},
                "preemption": {"reclaimWithinCohort": "Any"},
                "fairSharing": {"weight": "2"},
                "resourceGroups": group(
                    quota("h100", ("cpu", "192", "96"), ("memory", "2048Gi", "1Ti"), ("nvidia.com/gpu", "8", "4")),
                ),
            },
        ),
    ),
    (f"{KUEUE}/namespaces/vision/localqueues", kueue("LocalQueue", "training", {"clusterQueue": "vision.gpu"}, "vision")),
    (f"{KUEUE}/namespaces/nlp-lab/localqueues", kueue("LocalQueue", "jobs", {"clusterQueue": "nlp"}, "nlp-lab")),
)


class Adopted:
    """A cluster with queues made by hand, and a project of its own."""

    def __init__(self, root: Path, kubeconfig: Path) -> None:
        self.root = root
        self.kubeconfig = kubeconfig
        self.api: Connection = connect(str(kubeconfig), "", "")

    def hpctl(self, *arguments: str) -> int:
        return run(["--project", str(self.root), *arguments])

    def take(self, *arguments: str) -> int:
        return self.hpctl(
            "import",
            "--from-cluster",
            "--kubeconfig",
            str(self.kubeconfig),
            "-e",
            "main",
            "--owner",
            "ops@example.com",
            *arguments,
        )

    def versions(self) -> dict[str, str]:
        """The resourceVersion of every object made by hand: any write changes it."""
        return {path: self.live(path)["metadata"]["resourceVersion"] for path in PATHS}

    def rest(self) -> None:
        """Wait until Kueue has written its finalizers and statuses, and nothing more for a while."""
        before, since = self.versions(), time.monotonic()
        deadline = since + 60
        while time.monotonic() < since + 3 or not all(self.answered(path) for path in PATHS):
            assert time.monotonic() < deadline, "Kueue doesn't come to rest"
            time.sleep(0.2)
            now = self.versions()
            if now != before:
                before, since = now, time.monotonic()

    def answered(self, path: str) -> bool:
        """Whether Kueue has written what it writes to an object of that kind."""
        item = self.live(path)
        status = item.get("status") or {}
        if item["kind"] in ("ClusterQueue", "Cohort") and "fairSharing" not in status:  # it always writes how they share
            return False
        if item["kind"] in ("ClusterQueue", "LocalQueue"):
            conditions = status.get("conditions") or ()
            return any(one["type"] == "Active" and one["status"] == "True" for one in conditions)
        return item["kind"] not in ("ResourceFlavor", "Topology") or bool(item["metadata"].get("finalizers"))

    def live(self, path: str) -> dict[str, Any]:
        return self.api.request("GET", path).body

    def settings(self) -> EngineSettings:
        return EngineSettings(
            project_dir=self.root,
            stack="main",
            backend_url=f"file://{self.root / 'state'}",
            pulumi=pulumi_binary(SilentProgress()),
            passphrase="test",
            config={f"{PROJECT}:environment": ConfigValue("main")},
            kubernetes_provider="offline",
            pulumi_home=self.root / "home",
            skip_checkpoints=True,
        )


PATHS = tuple(f"{path}/{manifest['metadata']['name']}" for path, manifest in BY_HAND)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Adopted]:
    root = tmp_path_factory.mktemp("project")
    for name in ("Pulumi.yaml", "__main__.py"):
        (root / name).write_text((ROOT / name).read_text())
    sandbox = Sandbox(f"import-{os.getpid()}")
    general = NodeSpec(
        "cpu-0",
        {"kubernetes.io/hostname": "cpu-0", "node.kubernetes.io/instance-type": "m5.4xlarge"},
        {"cpu": "16", "memory": "64Gi", "pods": "250"},
        {"cpu": "15", "memory": "60Gi", "pods": "250"},
    )
    try:
        sandbox.up(MANAGER, [*(gpu_node(number) for number in range(4)), general], SilentProgress())
        found = Adopted(root, sandbox.kubeconfig)
        for path, manifest in BY_HAND:
            found.api.request("POST", path, manifest)
        found.rest()
        yield found
    finally:
        sandbox.down()


def test_a_dry_run_writes_nothing(cluster: Adopted, capsys: pytest.CaptureFixture[str]) -> None:
    code = cluster.take("--dry-run", "--json")
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert document["differences"] == [], err
    assert code == 0


def test_import_and_up_change_nothing(cluster: Adopted, capsys: pytest.CaptureFixture[str]) -> None:
    before = cluster.versions()
    assert cluster.take() == 0, capsys.readouterr().err
    assert cluster.take() == 0, "what has been written is taken as it is"
    assert "imports/main.json is there already, and says the same" in capsys.readouterr().err
    file = cluster.root / "imports" / "main.json"
    listed = [one for one in json.loads(file.read_text())["resources"] if not one.get("component")]
    assert {one["id"] for one in listed} == {path_id(manifest) for _, manifest in BY_HAND}
    seen: list[Progress] = []
    with Engine(cluster.settings()) as engine:
        import_existing(engine, file)
        assert cluster.versions() == before
        changes = engine.up(on_event=seen.append).changes
        state = engine.state()["deployment"]["resources"]
        again = engine.preview(refresh=True)
    assert cluster.versions() == before
    assert (changes.update, changes.delete, changes.replace) == (0, 0, 0)
    made = {one.urn.split("::")[2].rpartition("$")[2] for one in seen if (one.what, one.op) == ("done", "create")}
    assert made == ADDED
    assert again.total == 0
    protected = {one["id"] for one in state if one.get("protect")}
    assert protected >= {"vision", "nlp-lab", "vision.gpu", "nlp"}


ADDED = {
    "hyperpod:kueue:AdmissionRules",
    "hyperpod:kueue:SharedAccess",
    "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
    "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
    "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
    "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
}
"""What the first `up` brings along: members' access, and the rules of the API server. Nothing of it is Kueue's."""


def path_id(manifest: dict[str, Any]) -> str:
    meta = manifest["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else str(meta["name"])


def test_an_import_refuses_to_overwrite_what_has_changed_since(cluster: Adopted, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("environments/main.yaml", "teams/nlp.yaml"):
        with (cluster.root / name).open("a") as file:
            file.write("# Ours by now.\n")
    before = {file: file.read_text() for file in cluster.root.rglob("*.yaml")}
    assert cluster.take() == 1
    err = capsys.readouterr().err
    for name in ("environments/main.yaml", "teams/nlp.yaml"):
        assert f"{name}: error: the file is there already, and says something else" in err
    assert "teams/vision-gpu.yaml" not in err
    assert {file: file.read_text() for file in cluster.root.rglob("*.yaml")} == before


def test_what_no_declaration_says_is_a_difference_and_an_update(
    cluster: Adopted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(queue: dict[str, Any]) -> None:
        queue["spec"]["preemption"]["withinClusterQueue"] = "LowerOrNewerEqualPriority"

    rewrite(cluster.api, f"{KUEUE}/clusterqueues/nlp", change)
    assert cluster.take("--to", str(tmp_path), "--json") == 3
    out, err = capsys.readouterr()
    (difference,) = json.loads(out)["differences"]
    assert difference == {
        "object": "ClusterQueue nlp",
        "field": "spec.preemption.withinClusterQueue",
        "live": "LowerOrNewerEqualPriority",
        "declared": "Never",
    }
    assert "teams/nlp.yaml: warning: ClusterQueue nlp: spec.preemption.withinClusterQueue is LowerOrNewerEqualPriority" in err
    listed = json.loads((tmp_path / "imports" / "main.json").read_text())["resources"]
    (entry,) = [one for one in listed if one.get("id") == "nlp"]
    assert entry["inputs"]["spec"]["preemption"]["withinClusterQueue"] == "LowerOrNewerEqualPriority"
