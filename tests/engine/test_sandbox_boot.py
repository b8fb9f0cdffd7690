"""The sandbox's life on real processes: boot, use, change, faults, removal."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from sandbox_support import LAYER, MANAGER, QUEUED, gpu_node, runs

from live.connection import MERGE_PATCH, ApiError, Connection, connect
from sandbox.kwok import RUN_TIME
from sandbox.local import Sandbox, sandboxes
from sandbox.nodes import add_nodes, remove_nodes, sync_nodes
from sandbox.paths import tools_root
from sandbox.state import Status, leftovers
from sandbox.supervisor import answers
from sandbox.toolchain import SilentProgress

pytestmark = pytest.mark.engine
KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
PROCESSES = {"supervisor", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kueue"}


def eventually(check: Callable[[], Any], seconds: float = 120) -> Any:
    """The first true result of `check`."""
    deadline = time.monotonic() + seconds
    while True:
        found = check()
        if found:
            return found
        assert time.monotonic() < deadline, f"not so within {seconds} s; last: {found!r}"
        time.sleep(0.1)


def condition(item: dict[str, Any], kind: str) -> str | None:
    """The status of one condition of an object."""
    conditions = item.get("status", {}).get("conditions") or []
    return next((str(one["status"]) for one in conditions if one["type"] == kind), None)


@pytest.fixture
def api(sandbox: Sandbox) -> Connection:
    return connect(str(sandbox.kubeconfig), "", "")


@pytest.fixture
def queue(api: Connection) -> Iterator[str]:
    """A namespace with a LocalQueue `main` over 16 GPUs; its name is also that of flavor and ClusterQueue."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": QUEUED}})
    flavor = {"nodeLabels": {"node.kubernetes.io/instance-type": "ml.p5.48xlarge"}}
    api.request("POST", f"{KUEUE}/resourceflavors", kueue_object("ResourceFlavor", name, flavor))
    api.request("POST", f"{KUEUE}/clusterqueues", cluster_queue(name, {"nominalQuota": "16"}))
    local = kueue_object("LocalQueue", "main", {"clusterQueue": name})
    api.request("POST", f"{KUEUE}/namespaces/{name}/localqueues", local)
    eventually(lambda: condition(api.request("GET", f"{KUEUE}/clusterqueues/{name}").body, "Active") == "True")
    yield name
    api.request("DELETE", f"/api/v1/namespaces/{name}")


def kueue_object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec}


def cluster_queue(name: str, quota: dict[str, str], **spec: Any) -> dict[str, Any]:
    flavors = [{"name": name, "resources": [{"name": "nvidia.com/gpu", **quota}]}]
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}]
    return kueue_object("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": groups, **spec})


def job(name: str, gpus: int, run_time: str | None = None) -> dict[str, Any]:
    annotations = {RUN_TIME: run_time} if run_time else {}
    resources = {"requests": {"nvidia.com/gpu": str(gpus)}, "limits": {"nvidia.com/gpu": str(gpus)}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kueue.x-k8s.io/queue-name": "main"}},
        "spec": {
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none", "resources": resources}]},
            }
        },
    }


def alive(pids: dict[str, int]) -> set[str]:
    return {name for name, pid in pids.items() if runs(pid)}


def up(one: Sandbox, nodes: int = 1) -> Status:
    return one.up(MANAGER, [gpu_node(number) for number in range(nodes)], SilentProgress())


def test_status_tells_what_runs(sandbox: Sandbox) -> None:
    status = sandbox.status()
    assert status.phase == "running"
    assert set(status.pids) == PROCESSES == alive(dict(status.pids))
    assert status.versions["kueue"] == "0.16.6"
    assert sandbox.name in [one.name for one in sandboxes()]
    assert json.loads(json.dumps(status.as_dict()))["server"] == f"https://127.0.0.1:{status.ports['apiserver']}"


def test_listens_on_the_loopback_interface_only(sandbox: Sandbox) -> None:
    status = sandbox.status()

    def listening() -> set[tuple[str, int]]:
        return {
            (connection.laddr.ip, connection.laddr.port)
            for pid in status.pids.values()
            for connection in psutil.Process(pid).net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        }

    wanted = {("127.0.0.1", port) for port in status.ports.values()}
    deadline = time.monotonic() + 60  # metrics and probes come a little after readiness
    while listening() < wanted and time.monotonic() < deadline:
        time.sleep(0.2)
    assert listening() == wanted


def test_keys_and_credentials_are_the_owners_only(sandbox: Sandbox) -> None:
    secret = [
        path for path in sandbox.dir.rglob("*") if path.suffix in (".key", ".csv", ".kubeconfig") or path.name == "kubeconfig"
    ]
    assert len(secret) >= 8
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}
    assert stat.S_IMODE(sandbox.dir.stat().st_mode) == 0o700


def test_a_stranger_without_token_is_refused(sandbox: Sandbox) -> None:
    stranger = connect(sandbox.kubeconfig.read_text().replace('"token"', '"username"'), "", "")
    with pytest.raises(ApiError) as refused:
        stranger.request("GET", "/api/v1/secrets")
    assert refused.value.status == 401


def test_kueues_crds_are_established(api: Connection) -> None:
    found = api.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").body["items"]
    kueue = [crd for crd in found if crd["spec"]["group"] == "kueue.x-k8s.io"]
    assert len(kueue) == 11
    assert {condition(crd, "Established") for crd in kueue} == {"True"}


def test_webhook_refuses_a_lending_limit_above_the_quota(api: Connection, queue: str) -> None:
    bad = cluster_queue(f"{queue}-bad", {"nominalQuota": "1", "lendingLimit": "2"}, cohortName="all")
    with pytest.raises(ApiError, match="must be less than or equal to the nominalQuota"):
        api.request("POST", f"{KUEUE}/clusterqueues", bad)


def test_older_version_of_the_api_is_converted(api: Connection, queue: str) -> None:
    api.request("PATCH", f"{KUEUE}/clusterqueues/{queue}", {"spec": {"cohortName": "all"}}, content_type=MERGE_PATCH)
    assert api.request("GET", f"/apis/kueue.x-k8s.io/v1beta1/clusterqueues/{queue}").body["spec"]["cohort"] == "all"


def test_a_job_is_admitted_and_finishes(api: Connection, queue: str) -> None:
    jobs = f"/apis/batch/v1/namespaces/{queue}/jobs"
    assert api.request("POST", jobs, job("train", 8)).body["spec"]["suspend"] is True
    eventually(lambda: condition(api.request("GET", f"{jobs}/train").body, "Complete") == "True")
    workloads = f"{KUEUE}/namespaces/{queue}/workloads"
    eventually(lambda: [condition(one, "Finished") for one in api.request("GET", workloads).body["items"]] == ["True"])
    (workload,) = api.request("GET", workloads).body["items"]
    assert condition(workload, "Admitted") == "True"
    (pod,) = api.request("GET", f"/api/v1/namespaces/{queue}/pods").body["items"]
    assert pod["spec"]["nodeName"].startswith("gpu-")


def test_a_job_runs_as_long_as_its_annotation_says_and_the_next_one_waits(api: Connection, queue: str) -> None:
    jobs, pods = f"/apis/batch/v1/namespaces/{queue}/jobs", f"/api/v1/namespaces/{queue}/pods"
    api.request(
        "POST", jobs, {**job("long", 8, "1h"), "spec": {**job("long", 8, "1h")["spec"], "parallelism": 2, "completions": 2}}
    )
    eventually(lambda: [pod["status"].get("phase") for pod in api.request("GET", pods).body["items"]] == ["Running"] * 2)
    api.request("POST", jobs, job("late", 1))
    workloads = f"{KUEUE}/namespaces/{queue}/workloads"

    def waits() -> str | None:
        found = [item for item in api.request("GET", workloads).body["items"] if "late" in item["metadata"]["name"]]
        conditions = found[0].get("status", {}).get("conditions", []) if found else []
        return next((str(one["message"]) for one in conditions if one["type"] == "QuotaReserved"), None)

    assert "insufficient unused quota for nvidia.com/gpu" in eventually(waits)
    api.request("DELETE", f"{jobs}/long", query={"propagationPolicy": "Background"})
    eventually(lambda: condition(api.request("GET", f"{jobs}/late").body, "Complete") == "True")


def test_deleted_namespaces_go(api: Connection) -> None:
    name = f"gone-{uuid.uuid4().hex[:8]}"
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    api.request("DELETE", f"/api/v1/namespaces/{name}")
    eventually(lambda: name not in [item["metadata"]["name"] for item in api.request("GET", "/api/v1/namespaces").body["items"]])


def test_nodes_follow_the_declaration(sandbox: Sandbox, api: Connection, queue: str) -> None:
    def names() -> set[str]:
        return {item["metadata"]["name"] for item in api.request("GET", "/api/v1/nodes").body["items"]}

    usual = [gpu_node(number) for number in range(4)]
    api.request("POST", "/api/v1/nodes", {"metadata": {"name": "of-somebody-else"}})
    try:
        add_nodes(sandbox.kubeconfig, [gpu_node(8)])
        assert names() == {spec.name for spec in usual} | {"gpu-008", "of-somebody-else"}
        added = api.request("GET", "/api/v1/nodes/gpu-008").body
        assert condition(added, "Ready") == "True"
        assert not added["spec"].get("taints")
        assert added["metadata"]["labels"][LAYER] == "block-4"
        api.request(
            "PATCH", "/api/v1/nodes/gpu-008", {"metadata": {"labels": {LAYER: "moved", "x": "y"}}}, content_type=MERGE_PATCH
        )
        pinned = job("pinned", 1, "1h")
        pinned["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "gpu-008"}
        api.request("POST", f"/apis/batch/v1/namespaces/{queue}/jobs", pinned)
        pods = f"/api/v1/namespaces/{queue}/pods"
        eventually(lambda: [pod["spec"].get("nodeName") for pod in api.request("GET", pods).body["items"]] == ["gpu-008"])
        (first,) = [pod["metadata"]["uid"] for pod in api.request("GET", pods).body["items"]]
        add_nodes(sandbox.kubeconfig, [gpu_node(8)])
        assert api.request("GET", "/api/v1/nodes/gpu-008").body["metadata"]["labels"] == added["metadata"]["labels"]
        remove_nodes(sandbox.kubeconfig, ["gpu-008", "of-somebody-else", "unknown"])
        eventually(lambda: first not in [pod["metadata"]["uid"] for pod in api.request("GET", pods).body["items"]])
    finally:
        sync_nodes(sandbox.kubeconfig, usual)
        assert names() == {spec.name for spec in usual} | {"of-somebody-else"}
        api.request("DELETE", "/api/v1/nodes/of-somebody-else")


def test_many_nodes_take_a_few_seconds(sandbox: Sandbox, api: Connection) -> None:
    try:
        sync_nodes(sandbox.kubeconfig, [gpu_node(number) for number in range(256)])
        assert len(api.request("GET", "/api/v1/nodes").body["items"]) == 256
    finally:
        sync_nodes(sandbox.kubeconfig, [gpu_node(number) for number in range(4)])
    assert len(api.request("GET", "/api/v1/nodes").body["items"]) == 4


def test_up_again_changes_nothing(sandbox: Sandbox) -> None:
    before = sandbox.status()
    assert up(sandbox, 4) == before


def test_only_kueue_restarts_when_its_configuration_changes(sandbox: Sandbox, api: Connection, queue: str) -> None:
    before = dict(sandbox.status().pids)
    changed = MANAGER | {"resources": {"excludeResourcePrefixes": ["example.com/"]}}
    after = dict(sandbox.up(changed, [gpu_node(number) for number in range(4)], SilentProgress()).pids)
    assert {name for name in PROCESSES if before[name] != after[name]} == {"kueue"}
    # The new configuration decides: a resource that no queue covers is no obstacle any more.
    extra = job("extra", 1)
    for kind in ("requests", "limits"):
        extra["spec"]["template"]["spec"]["containers"][0]["resources"][kind]["example.com/thing"] = "1"
    api.request("POST", f"/apis/batch/v1/namespaces/{queue}/jobs", extra)
    workloads = f"{KUEUE}/namespaces/{queue}/workloads"
    eventually(lambda: "True" in [condition(item, "Admitted") for item in api.request("GET", workloads).body["items"]])
    api.request("DELETE", f"/apis/batch/v1/namespaces/{queue}/jobs/extra", query={"propagationPolicy": "Background"})
    up(sandbox, 4)


@pytest.fixture(scope="module")
def other() -> Iterator[Sandbox]:
    """A second sandbox, for harm."""
    one = Sandbox(f"test-{os.getpid()}-other")
    yield one
    one.down()


def test_a_second_sandbox_is_apart(sandbox: Sandbox, other: Sandbox) -> None:
    status = up(other)
    assert set(status.ports.values()).isdisjoint(sandbox.status().ports.values())
    connect(str(other.kubeconfig), "", "").request("POST", "/api/v1/namespaces", {"metadata": {"name": "kept"}})
    with pytest.raises(ApiError, match="not found"):
        connect(str(sandbox.kubeconfig), "", "").request("GET", "/api/v1/namespaces/kept")


def test_a_dead_child_is_named_and_the_next_up_boots_anew(sandbox: Sandbox, other: Sandbox) -> None:
    before = dict(up(other).pids)
    os.kill(before["kube-scheduler"], signal.SIGKILL)
    status = eventually(lambda: other.status() if other.status().phase == "failed" else None)
    assert status.message.startswith("kube-scheduler was killed by signal 9")
    assert status.log == other.logs / "kube-scheduler.log"
    assert status.log.is_file()
    assert status.tail
    eventually(lambda: not alive(before))
    assert str(status.log) in status.describe()
    after = up(other)
    assert after.phase == "running"
    assert (other.logs / "kube-scheduler.previous.log").is_file()
    connect(str(other.kubeconfig), "", "").request("GET", "/api/v1/namespaces/kept")
    assert sandbox.status().phase == "running"


def crash_kwok(one: Sandbox, status: Status) -> None:
    """Make kwok write its traces and end with 2, as a Go program does after a panic, and wait until it is not there any more.

    It does so once its runtime listens to signals, some time after it is there: before, the signal kills it.
    """

    def gone() -> bool:
        return one.status().pids.get("kwok") != status.pids["kwok"]

    eventually(lambda: gone() or answers(f"http://127.0.0.1:{status.ports['kwok']}/readyz", one.dir / "pki" / "ca.crt"))
    with suppress(ProcessLookupError):  # it may crash by itself, too
        os.kill(status.pids["kwok"], signal.SIGQUIT)
    eventually(gone)


def test_kwok_is_started_again_when_it_crashes_but_not_for_ever(other: Sandbox) -> None:
    pids = up(other, nodes=2).pids
    while (status := other.status()).phase == "running":
        assert {**status.pids, "kwok": 0} == {**pids, "kwok": 0}
        crash_kwok(other, status)
    assert status.phase == "failed"
    assert status.message.startswith("kwok ended with exit status 2: ")
    # All crashes of this boot, be they its own: three were borne.
    lines = (other.logs / "kwok.log").read_text().splitlines()
    assert len([line for line in lines if line.startswith(("panic: ", "fatal error: ", "SIGQUIT: "))]) == 4
    assert up(other).phase == "running"


def test_a_configuration_that_kueue_refuses_is_an_error_with_its_words(other: Sandbox) -> None:
    from sandbox.errors import SandboxError

    with pytest.raises(SandboxError, match=r"kueue ended with exit status 1.*noSuchField") as caught:
        other.up(MANAGER | {"noSuchField": True}, [], SilentProgress())
    assert caught.value.log == other.logs / "kueue.log"
    assert other.status().phase == "failed"
    assert up(other).phase == "running"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the death signal of a parent exists on Linux only")
def test_children_die_with_their_supervisor(other: Sandbox) -> None:
    pids = dict(up(other).pids)
    os.kill(pids["supervisor"], signal.SIGKILL)
    eventually(lambda: not alive(pids))
    status = other.status()
    assert (status.phase, dict(status.pids)) == ("stopped", {})
    assert "its supervisor is gone" in status.message
    assert up(other).phase == "running"


@pytest.mark.parametrize("moment", ["starting etcd and the API server", "starting the controllers and Kueue"])
def test_an_interrupted_boot_leaves_no_process(other: Sandbox, moment: str) -> None:
    other.down()
    # It stays in the boot, however late the signal comes; the supervisor goes on by itself, at worst past the moment.
    code = """if True:
        import sys, time
        from sandbox.local import Sandbox
        from sandbox.toolchain import SilentProgress

        class Held(SilentProgress):
            def step(self, text):
                if text.startswith("starting "):
                    while (status := box.status()).phase == "starting" and status.message != sys.argv[2]:
                        time.sleep(0.01)
                    print("now", flush=True)
                    time.sleep(300)

        box = Sandbox(sys.argv[1])
        box.up({}, [], Held())
    """
    root = str(Path(__file__).parents[2])
    booting = subprocess.Popen(
        [sys.executable, "-c", code, other.name, moment], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root
    )
    assert booting.stdout is not None
    assert booting.stdout.readline() == "now\n"
    assert leftovers(other.dir, tools_root())
    booting.send_signal(signal.SIGINT)
    _, errors = booting.communicate(timeout=120)
    assert "KeyboardInterrupt" in errors
    assert not leftovers(other.dir, tools_root())
    assert up(other).phase == "running"


def test_down_leaves_nothing(other: Sandbox) -> None:
    pids = dict(up(other).pids)
    assert other.down() is True
    assert not alive(pids)
    assert not leftovers(other.dir, tools_root())
    assert not other.dir.exists()
    assert other.status().phase == "stopped"
    assert other.down() is False
