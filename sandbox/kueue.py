"""Kueue outside a cluster: the plan's configuration with the changes that this takes, its CRDs and its webhooks."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from sandbox.apiserver import ApiServer, Object
from sandbox.errors import SandboxError
from sandbox.layout import HOST, Ports
from sandbox.pki import KUEUE_NAMESPACE, KUEUE_SERVICE, LEAN_KUEUE, USERS, Pki

FRAMEWORKS: Final = {
    "batch/job": ("batch", "jobs"),
    "pod": ("", "pods"),
    "deployment": ("apps", "deployments"),
    "statefulset": ("apps", "statefulsets"),
}
"""`integrations.frameworks` whose API the sandbox's server has → group and resource."""
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_SECRET: Final = "kueue-webhook-server-cert"  # noqa: S105
_CONVERTED: Final = ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
"""CRDs that Kueue converts between versions; its certificate rotator insists on their conversion stanza."""
_CONCURRENCY: Final = {"Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 5}
_QPS: Final = 500
_BURST: Final = 1000
_ESTABLISHED_WITHIN: Final = 30.0
_TOUCHED_AFTER: Final = 2.0


def manager_configuration(manager_config: Mapping[str, Any], ports: Ports, certificates: Path) -> Object:
    """The plan's configuration with what running outside a cluster needs. Everything that decides about workloads stays."""
    wanted = dict(manager_config)
    integrations = dict(wanted.get("integrations") or {})
    asked = integrations.get("frameworks") or ["batch/job"]
    integrations["frameworks"] = [name for name in asked if name in FRAMEWORKS] or ["batch/job"]
    controller = dict(wanted.get("controller") or {})
    controller.setdefault("groupKindConcurrency", _CONCURRENCY)
    connection = wanted.get("clientConnection") or {}
    return wanted | {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": KUEUE_NAMESPACE,
        "health": {"healthProbeBindAddress": f"{HOST}:{ports.kueue_health}"},
        "metrics": {**(wanted.get("metrics") or {}), "bindAddress": f"{HOST}:{ports.kueue_metrics}"},
        "webhook": {"host": HOST, "port": ports.kueue_webhook, "certDir": str(certificates)},
        "leaderElection": {"leaderElect": False},
        # Without the internal certificates, Kueue reads files below /etc that only root could put there.
        "internalCertManagement": {"enable": True, "webhookServiceName": KUEUE_SERVICE, "webhookSecretName": _SECRET},
        "clientConnection": {
            **connection,
            "qps": max(_QPS, connection.get("qps", 0)),
            "burst": max(_BURST, connection.get("burst", 0)),
        },
        "controller": controller,
        "integrations": integrations,
        # Its server would need a certificate at a fixed path and an APIService that leads out of the API server.
        "featureGates": {**(wanted.get("featureGates") or {}), "VisibilityOnDemand": False},
    }


def certificate_secret(pki: Pki) -> Object:
    """The Secret that Kueue's certificate rotator expects, with the files that lie in `webhook.certDir`."""
    data = {path.name: _encoded(path) for path in sorted(pki.kueue.iterdir()) if not path.name.startswith(".")}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _SECRET, "namespace": KUEUE_NAMESPACE},
        "data": data,
    }


def lean_rights() -> list[Object]:
    """What Kueue may do in a lean sandbox: read everything, and write Workloads and its own certificates.

    Events and the status of queues would take half of the API server's time. Kueue decides by its own memory, not by them,
    and goes on without them.
    """
    rules = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
        {
            "apiGroups": ["kueue.x-k8s.io"],
            "resources": ["workloads", "workloads/status", "workloads/finalizers"],
            "verbs": ["create", "delete", "patch", "update"],
        },
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["update"]},
        {
            "apiGroups": ["admissionregistration.k8s.io", "apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions", "mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            "verbs": ["update"],
        },
        # Kueue asks who reads its metrics, and whether they may.
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ]
    metadata = {"name": LEAN_KUEUE}
    version, group = "rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io"
    role = {"apiGroup": group, "kind": "ClusterRole", "name": LEAN_KUEUE}
    subject = {"apiGroup": group, "kind": "User", "name": USERS[LEAN_KUEUE][0]}
    return [
        {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": rules},
        {"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": role, "subjects": [subject]},
    ]


def crds(folder: Path) -> list[Object]:
    """The CRDs of the pinned Kueue."""
    import yaml

    return [yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader) for path in sorted(folder.glob("*.yaml"))]


def with_conversion(crd: Object, port: int, ca: str, *, lean: bool = False) -> Object:
    """A CRD whose versions Kueue converts, as its chart has it.

    `lean`: with the stored version alone. The API server keeps a copy of all objects in each version, and has every change of
    a Workload converted for the others, read or not.
    """
    if crd["spec"]["names"]["plural"] not in _CONVERTED:
        return crd
    client = {"url": f"https://{HOST}:{port}/convert", "caBundle": ca}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
    versions = [version for version in crd["spec"]["versions"] if version["storage"] or not lean]
    return {**crd, "spec": {**crd["spec"], "conversion": conversion, "versions": versions}}


def webhook_configurations(
    manifests: Path, configuration: Mapping[str, Any], port: int, ca: str, *, lean: bool = False
) -> list[Object]:
    """Kueue's webhook configurations, leading to a loopback port, for the kinds that it handles here.

    Webhooks of jobs see the namespaces of `managedJobsNamespaceSelector` only, as in Kueue's chart. `lean`: none for Workloads,
    whose schema and rules the API server checks all the same.
    """
    import yaml

    handled = {FRAMEWORKS[name] for name in configuration["integrations"]["frameworks"]}
    selector = configuration.get("managedJobsNamespaceSelector") or {
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system", KUEUE_NAMESPACE]}
        ]
    }
    found: list[Object] = []
    for document in yaml.load_all(manifests.read_bytes(), Loader=yaml.CSafeLoader):
        hooks = []
        for hook in document["webhooks"]:
            rule = hook["rules"][0]
            group, resource = rule["apiGroups"][0], rule["resources"][0].split("/")[0]
            own = group == "kueue.x-k8s.io"
            if lean and own and resource == "workloads":
                continue
            if own or (group, resource) in handled:
                path = hook["clientConfig"]["service"]["path"]
                client = {"url": f"https://{HOST}:{port}{path}", "caBundle": ca}
                hooks.append({**hook, "clientConfig": client} | ({} if own else {"namespaceSelector": selector}))
        name = f"kueue-{document['metadata']['name']}"
        found.append({**document, "metadata": {"name": name}, "webhooks": hooks})
    return found


class Installation:
    """Kueue's objects on one API server."""

    def __init__(self, api: ApiServer, files: Path, pki: Pki, ports: Ports, *, lean: bool = False) -> None:
        self._api = api
        self._lean = lean
        self._files = files
        self._pki = pki
        self._ports = ports
        self._ca = _encoded(pki.kueue / "ca.crt")
        self._crds = crds(files / "crds")

    def install(self, configuration: Mapping[str, Any], go_on: Callable[[], None]) -> None:
        """Put everything there; return when every CRD is established. Raises SandboxError.

        `go_on` is called while waiting and raises to end it.
        """
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": KUEUE_NAMESPACE}}
        self._api.put("/api/v1/namespaces", namespace, replace=False)
        self._api.put(f"/api/v1/namespaces/{KUEUE_NAMESPACE}/secrets", certificate_secret(self._pki))
        if self._lean:
            for one in lean_rights():
                self._api.put(f"/apis/rbac.authorization.k8s.io/v1/{one['kind'].lower()}s", one)
        self.install_webhooks(configuration)
        names = [crd["metadata"]["name"] for crd in self._crds]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self._install_crd, self._crds))
            deadline = time.monotonic() + _ESTABLISHED_WITHIN
            touch_at = time.monotonic() + _TOUCHED_AFTER
            while names:
                go_on()
                if time.monotonic() > touch_at:
                    list(pool.map(self._touch, [crd for crd in self._crds if crd["metadata"]["name"] in names]))
                    touch_at = time.monotonic() + _TOUCHED_AFTER
                if time.monotonic() > deadline:
                    raise SandboxError(f"the CRDs {', '.join(names)} were not established within {_ESTABLISHED_WITHIN:.0f} s")
                names = [name for name, done in zip(names, pool.map(self._established, names), strict=True) if not done]
                if names:
                    time.sleep(0.05)

    def install_webhooks(self, configuration: Mapping[str, Any]) -> None:
        """The webhook configurations alone: they depend on the manager's configuration. Raises SandboxError."""
        manifests, port = self._files / "webhooks.yaml", self._ports.kueue_webhook
        for one in webhook_configurations(manifests, configuration, port, self._ca, lean=self._lean):
            self._api.put(f"/apis/admissionregistration.k8s.io/v1/{one['kind'].lower()}s", one)

    def _install_crd(self, crd: Object) -> None:
        self._api.put(_CRDS, with_conversion(crd, self._ports.kueue_webhook, self._ca, lean=self._lean))

    def _touch(self, crd: Object) -> None:
        """Change the CRD without meaning.

        An API server that was killed between accepting a CRD's names and establishing it does the latter only at the next change
        that it sees after its start.
        """
        metadata = crd["metadata"]
        annotations = {**metadata.get("annotations", {}), "hyperpod-platform/touched": f"{time.time():.0f}"}
        self._install_crd({**crd, "metadata": {**metadata, "annotations": annotations}})

    def _established(self, name: str) -> bool:
        conditions = (self._api.get(f"{_CRDS}/{name}").get("status") or {}).get("conditions") or []
        return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
