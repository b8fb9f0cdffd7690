"""Kubernetes: pods, wherever a stack declares them itself, and Helm releases."""

from __future__ import annotations

from collections.abc import Iterator

from policies.model import Domain, Properties, has, items, part

PODS = Domain("pods", "Pods and charts")
WORKLOADS = (
    "kubernetes:core/v1:Pod",
    "kubernetes:apps/v1:*",
    "kubernetes:batch/v1:*",
)
RELEASE = "kubernetes:helm.sh/v3:Release"
CONTAINERS = ("initContainers", "containers")


def spec_of(properties: Properties) -> Properties:
    """The pod's spec in a Pod, in what makes pods of a template, or in a CronJob."""
    spec = part(properties, "spec")
    spec = part(spec, "jobTemplate").get("spec", spec) if has(spec, "jobTemplate") else spec
    return part(part(spec, "template"), "spec") if has(spec, "template") else spec


def _containers(properties: Properties) -> Iterator[Properties]:
    spec = spec_of(properties)
    for kind in CONTAINERS:
        yield from items(spec, kind)


def _security(container: Properties) -> Properties:
    return part(container, "securityContext")


@PODS.rule(
    "pod-not-privileged",
    "No container is privileged",
    types=WORKLOADS,
    severity="critical",
    anchors=["CKV_K8S_16", "CIS 4.2.1", "kube-linter privileged-container"],
    remedy="Leave `privileged` away; devices come by the device plugin.",
)
def not_privileged(properties: Properties) -> Iterator[str]:
    for container in _containers(properties):
        if _security(container).get("privileged", False):
            yield f"container {container.get('name')} is root on its node"


@PODS.rule(
    "pod-no-escalation",
    "No process of a container gets more than its parent has",
    types=WORKLOADS,
    severity="high",
    anchors=["CKV_K8S_20", "CIS 4.2.5"],
    remedy="Set `allowPrivilegeEscalation: false`.",
)
def no_escalation(properties: Properties) -> Iterator[str]:
    for container in _containers(properties):
        if _security(container).get("allowPrivilegeEscalation", True):
            yield f"container {container.get('name')} may gain rights by setuid programs"


@PODS.rule(
    "pod-no-host-namespaces",
    "Pods don't share the node's processes, IPC or network",
    types=WORKLOADS,
    severity="high",
    anchors=["CKV_K8S_17", "CKV_K8S_18", "CKV_K8S_19", "CIS 4.2.2", "CIS 4.2.3", "CIS 4.2.4"],
    remedy="Leave `hostPID`, `hostIPC` and `hostNetwork` away; EFA needs none of them.",
)
def no_host_namespaces(properties: Properties) -> Iterator[str]:
    spec = spec_of(properties)
    for key in ("hostPID", "hostIPC", "hostNetwork"):
        if spec.get(key, False):
            yield f"{key} is on"


@PODS.rule(
    "pod-non-root",
    "Containers run as somebody else than root",
    types=WORKLOADS,
    severity="medium",
    anchors=["CKV_K8S_23", "kube-linter run-as-non-root"],
    remedy="Set `runAsNonRoot: true`, on the pod or on each container.",
)
def non_root(properties: Properties) -> Iterator[str]:
    whole = _security(spec_of(properties)).get("runAsNonRoot", False)
    for container in _containers(properties):
        if not _security(container).get("runAsNonRoot", whole):
            yield f"container {container.get('name')} may run as root"


@PODS.rule(
    "pod-service-account-token",
    "Pods get no token of the API server that they don't use",
    types=WORKLOADS,
    severity="medium",
    anchors=["CKV_K8S_38", "CKV_K8S_41", "CIS 4.1.5", "CIS 4.1.6"],
    remedy="Set `automountServiceAccountToken: false`.",
)
def service_account_token(properties: Properties) -> Iterator[str]:
    if spec_of(properties).get("automountServiceAccountToken", True):
        yield "every pod gets a token of the API server"


@PODS.rule(
    "pod-read-only-root",
    "Containers don't write into their image",
    types=WORKLOADS,
    severity="low",
    level="advisory",  # training images write where they stand
    anchors=["CKV_K8S_22", "kube-linter no-read-only-root-fs"],
    remedy="Set `readOnlyRootFilesystem: true` and mount an emptyDir where they write.",
)
def read_only_root(properties: Properties) -> Iterator[str]:
    for container in _containers(properties):
        if not _security(container).get("readOnlyRootFilesystem", False):
            yield f"container {container.get('name')} writes into its image"


@PODS.rule(
    "image-pinned",
    "Images have a version",
    types=WORKLOADS,
    severity="medium",
    anchors=["CKV_K8S_14", "own"],
    remedy="Name a digest, or a tag other than `latest`.",
)
def image_pinned(properties: Properties) -> Iterator[str]:
    for container in _containers(properties):
        image = str(container.get("image", ""))
        tag = image.rpartition("/")[2].partition(":")[2]
        if "@" not in image and tag in {"", "latest"}:
            yield f"image {image} is whatever is newest when a node pulls it"


@PODS.rule(
    "chart-pinned",
    "Charts have a version",
    types=[RELEASE],
    severity="medium",
    anchors=["own"],
    remedy="Give `version`; a chart out of a folder is as its folder.",
)
def chart_pinned(properties: Properties) -> Iterator[str]:
    chart = str(properties.get("chart", ""))
    if chart.startswith(("/", "./", "../")) or "@sha256:" in chart or chart.endswith(".tgz"):
        return
    version = properties.get("version")
    if not version or any(sign in str(version) for sign in "^~*<>x"):
        yield f"chart {chart} is whatever is newest on the day"
