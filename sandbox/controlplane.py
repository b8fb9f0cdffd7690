"""How each process of a sandbox is started: argument lists, configuration files, and how to tell that it is ready."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox.layout import HOST, Layout, Ports
from sandbox.paths import write_private
from sandbox.pki import LEAN_KUEUE, USERS, Pki

STOP_ORDER: Final = (("kueue", "kwok", "kube-scheduler", "kube-controller-manager"), ("kube-apiserver",), ("etcd",))
"""Groups that stop together. etcd goes last: an API server without it hangs in its shutdown."""
CONTROLLERS: Final = ("kube-controller-manager", "kube-scheduler", "kwok")
"""What makes jobs, pods and nodes work; Kueue decides on Workloads without them."""
_QPS: Final = 500
_BURST: Final = 1000


@dataclass(frozen=True, slots=True)
class Process:
    """A program with its arguments, and where it says that it is ready (None: it doesn't say)."""

    name: str
    argv: tuple[str, ...]
    health: str | None = None


class ControlPlane:
    """The processes of one boot."""

    def __init__(self, layout: Layout, ports: Ports, tools: Mapping[str, Path], *, lean: bool = False) -> None:
        """`lean`: without the controllers, and with a Kueue that may write little more than Workloads."""
        self.lean = lean
        self.layout = layout
        self.ports = ports
        self.tools = tools
        self.pki = Pki(layout.pki)

    def process(self, name: str) -> Process:
        """One process of the sandbox, by its tool's name."""
        made: Process = getattr(self, f"_{name.replace('-', '_')}")()
        return made

    def write_files(self, name: str) -> None:
        """Kubeconfigs and configuration files; `name` is the sandbox's, as kubeconfigs show it."""
        write_private(self.layout.kubeconfig, self._kubeconfig_text("admin", f"sandbox-{name}"))
        for holder in USERS:
            if holder != "admin" and (self.lean or holder != LEAN_KUEUE):
                write_private(self._kubeconfig(holder), self._kubeconfig_text(holder, f"sandbox-{name}"))
        scheduler = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(self._kubeconfig("kube-scheduler")), "qps": _QPS, "burst": _BURST},
            "leaderElection": {"leaderElect": False},
        }
        write_private(self.layout.etc / "kube-scheduler.yaml", json.dumps(scheduler, indent=1))

    def _etcd(self) -> Process:
        client, peer = self._url(self.ports.etcd), self._url(self.ports.etcd_peer)
        return self._made(
            "etcd",
            # A crash of etcd loses nothing; only a power failure could, and a sandbox is made anew in seconds.
            "--unsafe-no-fsync",
            "--name=sandbox",
            f"--data-dir={self.layout.data}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=sandbox={peer}",
            *(f"--{whose}cert-file={self.pki.cert}" for whose in ("", "peer-")),
            *(f"--{whose}key-file={self.pki.key}" for whose in ("", "peer-")),
            *(f"--{whose}trusted-ca-file={self.pki.ca}" for whose in ("", "peer-")),
            *(f"--{whose}client-cert-auth" for whose in ("", "peer-")),
            "--log-level=warn",
        )

    def _kube_apiserver(self) -> Process:
        return self._made(
            "kube-apiserver",
            f"--etcd-servers={self._url(self.ports.etcd)}",
            f"--etcd-cafile={self.pki.ca}",
            f"--etcd-certfile={self.pki.cert}",
            f"--etcd-keyfile={self.pki.key}",
            *self._serving(self.ports.apiserver),
            # Nothing here is reached through the `kubernetes` Service; without these, no boot on a machine without a network.
            f"--advertise-address={HOST}",
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            f"--service-account-key-file={self.pki.service_account_key}",
            f"--service-account-signing-key-file={self.pki.service_account_key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--token-auth-file={self.pki.tokens}",
            "--anonymous-auth=false",
            "--authorization-mode=RBAC",
            # No kubelet will ever take the not-ready taint off a node, and topology-aware scheduling passes by tainted nodes.
            "--disable-admission-plugins=TaintNodesByCondition",
            "--max-requests-inflight=800",
            "--max-mutating-requests-inflight=400",
            *(("--enable-priority-and-fairness=false", "--delete-collection-workers=8") if self.lean else ()),
            "--profiling=false",
            health=f"{self._url(self.ports.apiserver)}/readyz",
        )

    def _kube_controller_manager(self) -> Process:
        return self._made(
            "kube-controller-manager",
            f"--kubeconfig={self._kubeconfig('kube-controller-manager')}",
            *self._serving(self.ports.controller_manager),
            # The node lifecycle controller would taint every node that sends no heartbeat.
            "--controllers=*,-node-lifecycle-controller",
            "--use-service-account-credentials=true",
            f"--root-ca-file={self.pki.ca}",
            f"--service-account-private-key-file={self.pki.service_account_key}",
            "--leader-elect=false",
            f"--kube-api-qps={_QPS}",
            f"--kube-api-burst={_BURST}",
            "--concurrent-job-syncs=20",
            "--profiling=false",
            health=f"{self._url(self.ports.controller_manager)}/healthz",
        )

    def _kube_scheduler(self) -> Process:
        return self._made(
            "kube-scheduler",
            f"--config={self.layout.etc / 'kube-scheduler.yaml'}",
            *self._serving(self.ports.scheduler),
            health=f"{self._url(self.ports.scheduler)}/healthz",
        )

    def _kwok(self) -> Process:
        return self._made(
            "kwok",
            f"--kubeconfig={self._kubeconfig('kwok')}",
            f"--config={self.layout.etc / 'kwok.yaml'}",
            "--manage-all-nodes=true",
            f"--server-address={HOST}:{self.ports.kwok}",
            health=f"http://{HOST}:{self.ports.kwok}/readyz",
        )

    def _kueue(self) -> Process:
        return self._made(
            "kueue",
            f"--kubeconfig={self._kubeconfig(LEAN_KUEUE if self.lean else 'kueue')}",
            f"--config={self.layout.etc / 'kueue.yaml'}",
            "--zap-log-level=2",
            health=f"http://{HOST}:{self.ports.kueue_health}/readyz",
        )

    def _made(self, name: str, *arguments: str, health: str | None = None) -> Process:
        return Process(name, (str(self.tools[name]), *arguments), health)

    def _serving(self, port: int) -> tuple[str, ...]:
        return (
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            f"--tls-cert-file={self.pki.cert}",
            f"--tls-private-key-file={self.pki.key}",
        )

    def _url(self, port: int) -> str:
        return f"https://{HOST}:{port}"

    def _kubeconfig(self, holder: str) -> Path:
        return self.layout.etc / f"{holder}.kubeconfig"

    def _kubeconfig_text(self, holder: str, name: str) -> str:
        """A kubeconfig as JSON, which every reader of YAML takes."""
        cluster = {
            "server": self._url(self.ports.apiserver),
            "certificate-authority-data": base64.b64encode(self.pki.ca.read_bytes()).decode(),
        }
        content: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "users": [{"name": name, "user": {"token": self.pki.token(holder)}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
            "current-context": name,
        }
        return json.dumps(content, indent=1) + "\n"
