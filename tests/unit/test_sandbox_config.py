"""How the sandbox's processes are configured: folders, keys, argument lists, Kueue's and kwok's configuration, nodes."""

from __future__ import annotations

import base64
import json
import os
import stat
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from governance.nodes import NodeSpec, Taint
from sandbox import kueue, kwok, local, nodes, paths
from sandbox.controlplane import STOP_ORDER, ControlPlane
from sandbox.errors import SandboxError
from sandbox.layout import Layout, Ports
from sandbox.local import Sandbox
from sandbox.pki import USERS, Pki
from sandbox.progress import SilentProgress
from sandbox.state import fingerprint, identity, write_json
from sandbox.toolchain import CLUSTER_TOOLS

PORTS = Ports(1, 2, 3, 4, 5, 6, 7, 8, 9)
PLAN: dict[str, Any] = {
    "leaderElection": {"leaderElect": True, "resourceName": "x"},
    "metrics": {"bindAddress": ":8443", "enableClusterQueueResources": True},
    "webhook": {"port": 9443},
    "clientConnection": {"qps": 50, "burst": 2000},
    "managedJobsNamespaceSelector": {"matchLabels": {"a": "b"}},
    "integrations": {"frameworks": ["batch/job", "ray.io/rayjob", "pod"], "externalFrameworks": ["Foo.v1.example.com"]},
    "fairSharing": {"preemptionStrategies": ["LessThanInitialShare"]},
    "featureGates": {"ElasticJobsViaWorkloadSlices": True},
}


def test_cache_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HPCTL_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert paths.tools_root() == tmp_path / "own" / "tools"
    monkeypatch.delenv("HPCTL_CACHE")
    assert paths.sandbox_dir("a-b.c") == tmp_path / "xdg" / "hyperpod-platform" / "sandboxes" / "a-b.c"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert paths.cache_root() == tmp_path / "home" / ".cache" / "hyperpod-platform"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a..b", "A", "-a", "a.", "a" * 101, "a\n"])
def test_names_that_are_no_folders_are_refused(name: str) -> None:
    with pytest.raises(SandboxError, match="can't be a sandbox's name"):
        paths.sandbox_dir(name)


def test_error_is_one_sentence_with_log_and_remedy() -> None:
    assert (
        str(SandboxError("etcd ended", log=Path("/x/etcd.log"), remedy="boot anew")) == "etcd ended; log: /x/etcd.log; boot anew"
    )
    assert str(SandboxError("etcd ended")) == "etcd ended"


def test_private_files_are_private_from_their_first_moment(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("old")
    path.chmod(0o644)
    paths.write_private(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)
    assert list(tmp_path.iterdir()) == [path]


def test_ports_are_free_and_different() -> None:
    for _ in range(20):
        found = astuple(Ports.free())
        assert len(set(found)) == len(found)
        assert all(1024 < port < 65536 for port in found)


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> ControlPlane:
    layout = Layout(tmp_path_factory.mktemp("box"))
    paths.private_dir(layout.etc)
    found = ControlPlane(layout, PORTS, {name: Path("/bin") / name for name in CLUSTER_TOOLS})
    found.pki.ensure()
    return found


def test_keys_are_private_and_stay(plane: ControlPlane) -> None:
    files = [path for path in plane.pki.folder.rglob("*") if path.is_file()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    before = {path: path.read_bytes() for path in files}
    plane.pki.ensure()
    assert {path: path.read_bytes() for path in files} == before
    assert len({plane.pki.token(holder) for holder in USERS}) == len(USERS)


def test_certificates_are_what_their_readers_expect(plane: ControlPlane) -> None:
    server = x509.load_pem_x509_certificate(plane.pki.cert.read_bytes())
    server.verify_directly_issued_by(x509.load_pem_x509_certificate(plane.pki.ca.read_bytes()))
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    # Kueue's rotator replaces certificates that differ from its own in any of these.
    ca = x509.load_pem_x509_certificate((plane.pki.kueue / "ca.crt").read_bytes())
    own = x509.load_pem_x509_certificate((plane.pki.kueue / "tls.crt").read_bytes())
    key = ca.public_key()
    assert isinstance(key, RSAPublicKey)
    assert own.signature_hash_algorithm is not None
    key.verify(own.signature, own.tbs_certificate_bytes, padding.PKCS1v15(), own.signature_hash_algorithm)
    authority = ca.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert authority.get_values_for_type(x509.DNSName) == ["kueue-ca"]
    service = own.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "kueue-webhook-service.kueue-system.svc" in service.get_values_for_type(x509.DNSName)
    assert (plane.pki.kueue / "ca.key").read_text().startswith("-----BEGIN RSA PRIVATE KEY-----")


def test_every_address_is_loopback_and_every_port_is_used_once(plane: ControlPlane) -> None:
    listening = {
        "etcd": ["--listen-client-urls=https://127.0.0.1:1", "--listen-peer-urls=https://127.0.0.1:2"],
        "kube-apiserver": ["--bind-address=127.0.0.1", "--secure-port=3"],
        "kube-controller-manager": ["--bind-address=127.0.0.1", "--secure-port=4"],
        "kube-scheduler": ["--bind-address=127.0.0.1", "--secure-port=5"],
        "kwok": ["--server-address=127.0.0.1:6"],
        "kueue": [],
    }
    assert set(listening) == set(CLUSTER_TOOLS) == {name for group in STOP_ORDER for name in group}
    for name, wanted in listening.items():
        argv = plane.process(name).argv
        assert argv[0] == f"/bin/{name}"
        assert set(wanted) <= set(argv)
    assert plane.process("kueue").health == "http://127.0.0.1:8/readyz"


def test_etcd_stops_last_and_admits_only_the_api_server(plane: ControlPlane) -> None:
    assert STOP_ORDER[-2:] == (("kube-apiserver",), ("etcd",))
    assert {"--client-cert-auth", "--peer-client-cert-auth"} <= set(plane.process("etcd").argv)
    assert "--anonymous-auth=false" in plane.process("kube-apiserver").argv


def test_kubeconfigs_are_private_and_whole(plane: ControlPlane) -> None:
    plane.write_files("dev")
    config = yaml.safe_load(plane.layout.kubeconfig.read_text())
    assert config["current-context"] == "sandbox-dev"
    cluster = config["clusters"][0]["cluster"]
    assert cluster["server"] == "https://127.0.0.1:3"
    assert base64.b64decode(cluster["certificate-authority-data"]) == plane.pki.ca.read_bytes()
    assert config["users"][0]["user"]["token"] == plane.pki.token("admin")
    files = [plane.layout.kubeconfig, *plane.layout.etc.glob("*.kubeconfig")]
    assert len(files) == len(USERS) - 1  # a lean sandbox's Kueue has one of its own
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_kueues_configuration_keeps_decisions_and_changes_surroundings() -> None:
    before = json.dumps(PLAN)
    found = kueue.manager_configuration(PLAN, PORTS, Path("/certs"))
    assert json.dumps(PLAN) == before
    assert found["fairSharing"] == PLAN["fairSharing"]
    assert found["managedJobsNamespaceSelector"] == PLAN["managedJobsNamespaceSelector"]
    assert found["leaderElection"] == {"leaderElect": False}
    assert found["webhook"] == {"host": "127.0.0.1", "port": 7, "certDir": "/certs"}
    assert found["health"] == {"healthProbeBindAddress": "127.0.0.1:8"}
    assert found["metrics"] == {"bindAddress": "127.0.0.1:9", "enableClusterQueueResources": True}
    assert found["clientConnection"] == {"qps": 500, "burst": 2000}
    assert found["integrations"] == {"frameworks": ["batch/job", "pod"], "externalFrameworks": ["Foo.v1.example.com"]}
    assert found["featureGates"] == {"ElasticJobsViaWorkloadSlices": True, "VisibilityOnDemand": False}


@pytest.mark.parametrize("plan", [{}, {"integrations": {"frameworks": ["ray.io/rayjob"]}}, {"integrations": None}])
def test_kueue_always_handles_jobs(plan: dict[str, Any]) -> None:
    assert kueue.manager_configuration(plan, PORTS, Path("/c"))["integrations"]["frameworks"] == ["batch/job"]


def hook(group: str, resource: str) -> dict[str, Any]:
    service = {"name": "webhook-service", "namespace": "system", "path": f"/do-{resource}"}
    return {
        "name": f"{resource}.kb.io",
        "clientConfig": {"service": service},
        "rules": [{"apiGroups": [group], "resources": [resource]}],
    }


def test_webhooks_lead_to_the_port_and_only_those_of_handled_kinds_stay(tmp_path: Path) -> None:
    hooks = [
        hook("kueue.x-k8s.io", "clusterqueues"),
        hook("batch", "jobs"),
        hook("", "pods"),
        hook("apps", "deployments"),
        hook("ray.io", "rayjobs"),
    ]
    documents = [
        {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "validating-webhook-configuration"}, "webhooks": hooks}
    ]
    (tmp_path / "m.yaml").write_text(yaml.safe_dump_all(documents))
    configuration = kueue.manager_configuration(PLAN, PORTS, Path("/c"))
    (found,) = kueue.webhook_configurations(tmp_path / "m.yaml", configuration, 7, "Q0E=")
    assert found["metadata"]["name"] == "kueue-validating-webhook-configuration"
    assert [one["name"] for one in found["webhooks"]] == ["clusterqueues.kb.io", "jobs.kb.io", "pods.kb.io"]
    assert {json.dumps(one["clientConfig"]) for one in found["webhooks"]} == {
        json.dumps({"url": f"https://127.0.0.1:7/do-{what}", "caBundle": "Q0E="}) for what in ("clusterqueues", "jobs", "pods")
    }
    assert [one.get("namespaceSelector") for one in found["webhooks"]] == [
        None,
        {"matchLabels": {"a": "b"}},
        {"matchLabels": {"a": "b"}},
    ]
    del configuration["managedJobsNamespaceSelector"]
    (found,) = kueue.webhook_configurations(tmp_path / "m.yaml", configuration, 7, "Q0E=")
    assert found["webhooks"][1]["namespaceSelector"]["matchExpressions"][0]["values"] == ["kube-system", "kueue-system"]


def test_only_converted_crds_get_a_conversion() -> None:
    versions = [{"name": "v1beta1", "storage": False}, {"name": "v1beta2", "storage": True}]
    crd = {"spec": {"names": {"plural": "workloads"}, "versions": versions}}
    converted = kueue.with_conversion(crd, 7, "Q0E=")
    assert converted["spec"]["conversion"]["webhook"]["clientConfig"]["url"] == "https://127.0.0.1:7/convert"
    assert converted["spec"]["versions"] == versions
    assert kueue.with_conversion(crd, 7, "Q0E=", lean=True)["spec"]["versions"] == versions[1:]
    plain = {"spec": {"names": {"plural": "topologies"}}}
    assert kueue.with_conversion(plain, 7, "Q0E=") == plain


def test_certificate_secret_holds_what_lies_in_the_folder(plane: ControlPlane) -> None:
    secret = kueue.certificate_secret(Pki(plane.layout.pki))
    assert set(secret["data"]) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    assert base64.b64decode(secret["data"]["tls.crt"]) == (plane.pki.kueue / "tls.crt").read_bytes()


def test_kwok_takes_annotated_run_times(tmp_path: Path) -> None:
    delay = {"durationMilliseconds": 9, "durationFrom": {"expressionFrom": "x"}, "jitterDurationMilliseconds": 5000}
    (tmp_path / "a.yaml").write_text(
        yaml.safe_dump({"kind": "Stage", "metadata": {"name": "pod-complete"}, "spec": {"delay": delay, "next": {}}})
    )
    (tmp_path / "b.yaml").write_text(
        yaml.safe_dump({"kind": "Stage", "metadata": {"name": "pod-ready"}, "spec": {"delay": delay}})
    )
    options, complete, ready = yaml.safe_load_all(kwok.configuration(tmp_path))
    assert options["options"]["enableDebuggingHandlers"] is False
    assert complete["spec"] == {"delay": {"durationMilliseconds": 1000, "durationFrom": {"expressionFrom": "x"}}, "next": {}}
    assert ready["spec"]["delay"] == delay


SPEC = NodeSpec(
    "n", {"a": "1"}, {"memory": "2048Gi", "cpu": "4"}, {"memory": "2Ti", "cpu": "3500m"}, (Taint("t", "v", "NoSchedule"),)
)


def test_a_node_differs_only_where_it_does() -> None:
    live = nodes.node_object(SPEC)
    live["status"]["capacity"] = {"memory": "2Ti", "cpu": "4"}  # as the API server writes it
    live["spec"]["taints"] = [*live["spec"]["taints"], {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    assert nodes.differences(SPEC, live) == (None, None)
    live["metadata"]["labels"] |= {"a": "2", "b": "3"}
    live["spec"]["taints"].append({"key": "by-hand", "effect": "NoSchedule"})
    live["status"]["allocatable"] = {"memory": "2Ti", "cpu": "3", "nvidia.com/gpu": "8"}
    patch, status = nodes.differences(SPEC, live)
    assert patch is not None
    assert patch["metadata"] == {"labels": {"a": "1", "b": None}}
    assert [taint["key"] for taint in patch["spec"]["taints"]] == ["t", "node.kubernetes.io/unschedulable"]
    assert status == {"status": {"allocatable": {"memory": "2Ti", "cpu": "3500m", "nvidia.com/gpu": None}}}


def lose_the_api_server(monkeypatch: pytest.MonkeyPatch, cache: Path, **found: Any) -> tuple[Sandbox, list[str]]:
    """A sandbox whose API server stops while the nodes are brought up to date, and the status that is found then; the tries."""
    monkeypatch.setenv("HPCTL_CACHE", str(cache))
    box, tries = Sandbox("a"), []
    file = Layout(box.dir).status
    status = {"supervisor": identity(os.getpid()), "message": "", "manager": fingerprint({}), "ready": ["kube-apiserver"]}

    def sync(*_: object) -> None:
        tries.append("sync")
        if len(tries) == 1:
            write_json(file, {**status, **found})
            raise SandboxError("the API server does not answer")

    paths.private_dir(box.dir)
    write_json(file, {**status, "phase": "starting"})
    monkeypatch.setattr(local, "ensure", lambda *_: {})
    monkeypatch.setattr(Sandbox, "_request", lambda *_: {"manager": {}})
    monkeypatch.setattr(Sandbox, "_serves", lambda *_: True)
    monkeypatch.setattr(local, "sync_nodes", sync)
    return box, tries


def test_an_api_server_that_went_with_a_failed_sandbox_is_not_the_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failed = {"phase": "failed", "message": "kueue ended with exit status 1: noSuchField", "log": "/x/kueue.log"}
    box, _ = lose_the_api_server(monkeypatch, tmp_path, **failed)
    with pytest.raises(SandboxError, match="the sandbox failed: kueue ended with exit status 1: noSuchField") as caught:
        box.up({}, [], SilentProgress())
    assert caught.value.log == Path("/x/kueue.log")


def test_nodes_are_brought_up_to_date_after_a_second_boot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    box, tries = lose_the_api_server(monkeypatch, tmp_path, phase="running")
    assert box.up({}, [], SilentProgress()).phase == "running"
    assert tries == ["sync", "sync"]
