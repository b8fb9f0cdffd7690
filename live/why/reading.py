"""Reading a cluster: Kueue's objects, nodes, pods and jobs, page by page. What may not be read is left out and told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from live.connection import ApiError, UnreachableError
from live.why.dispatch import CONTROLLER
from live.why.objects import Object
from live.why.snapshot import Snapshot, by_name

KUEUE: Final = "/apis/kueue.x-k8s.io/v1beta2"
_CLUSTER_WIDE: Final[Mapping[str, str]] = {
    "cluster_queues": f"{KUEUE}/clusterqueues",
    "cohorts": f"{KUEUE}/cohorts",
    "flavors": f"{KUEUE}/resourceflavors",
    "topologies": f"{KUEUE}/topologies",
    "classes": f"{KUEUE}/workloadpriorityclasses",
    "checks": f"{KUEUE}/admissionchecks",
    "namespaces": "/api/v1/namespaces",
    "nodes": "/api/v1/nodes",
}
_NAMESPACED: Final[Mapping[str, tuple[str, str]]] = {
    "workloads": (KUEUE, "workloads"),
    "local_queues": (KUEUE, "localqueues"),
    "pods": ("/api/v1", "pods?fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"),
}
_JOBS: Final[tuple[tuple[str, str, str], ...]] = (
    ("batch/v1", "jobs", "Job"),
    ("kubeflow.org/v1", "pytorchjobs", "PyTorchJob"),
    ("kubeflow.org/v1", "tfjobs", "TFJob"),
    ("kubeflow.org/v1", "jaxjobs", "JAXJob"),
    ("kubeflow.org/v1", "xgboostjobs", "XGBoostJob"),
    ("kubeflow.org/v1", "paddlejobs", "PaddleJob"),
    ("kubeflow.org/v2beta1", "mpijobs", "MPIJob"),
    ("sagemaker.amazonaws.com/v1", "hyperpodpytorchjobs", "HyperPodPyTorchJob"),
    ("ray.io/v1", "rayjobs", "RayJob"),
    ("ray.io/v1", "rayclusters", "RayCluster"),
    ("ray.io/v1", "rayservices", "RayService"),
    ("jobset.x-k8s.io/v1alpha2", "jobsets", "JobSet"),
    ("trainer.kubeflow.org/v1alpha1", "trainjobs", "TrainJob"),
    ("apps/v1", "deployments", "Deployment"),
    ("apps/v1", "statefulsets", "StatefulSet"),
    ("leaderworkerset.x-k8s.io/v1", "leaderworkersets", "LeaderWorkerSet"),
    ("workload.codeflare.dev/v1beta2", "appwrappers", "AppWrapper"),
)
_OF_MANAGERS: Final[Mapping[str, str]] = {"worker_sets": f"{KUEUE}/multikueueconfigs", "workers": f"{KUEUE}/multikueueclusters"}
"""Read where a check hands jobs to workers."""
_CONFIGURATION: Final = "/api/v1/namespaces/{}/configmaps/kueue-manager-config"
_AT_ONCE: Final = 8
_FORBIDDEN: Final = frozenset({401, 403})
Plain = dict[str, Any]


class Source(Protocol):
    """Reads from an API server."""

    def get(self, path: str) -> Plain | None: ...
    def pages(self, path: str) -> Iterator[Plain]: ...


@dataclass(frozen=True, slots=True)
class Read:
    """What was read, and what might not be."""

    snapshot: Snapshot
    notes: tuple[str, ...]


def read_cluster(source: Source, namespace: str | None, manager: Mapping[str, Any] | None, kueue: str = "kueue-system") -> Read:
    """The cluster, of what users own in all namespaces where that may be read, else in the one given.

    `manager` is Kueue's configuration where the declaration knows it; else it is read from its ConfigMap. Raises UnreachableError
    where there is no Kueue of this API, and ApiError.
    """
    if source.get(KUEUE) is None:
        group = source.get(KUEUE.rpartition("/")[0]) or {}
        served = ", ".join(str(one["groupVersion"]) for one in group.get("versions") or ())
        raise UnreachableError(
            f"the cluster's Kueue serves {served}, and not kueue.x-k8s.io/v1beta2, which is read here"
            if served
            else "the cluster has no Kueue"
        )
    notes: list[str] = []

    def one(path: str, fallback: str = "") -> list[Plain]:
        try:
            return list(source.pages(path))
        except ApiError as error:
            if error.status not in _FORBIDDEN:
                raise
            if fallback:
                return one(fallback)
            name = path.rpartition("/")[2].partition("?")[0]
            notes.append(f"{name} may not be read, so what they tell is left out")
            return []

    def of(version: str, plural: str) -> list[Plain]:
        inner = f"{version}/namespaces/{namespace}/{plural}" if namespace else ""
        return one(f"{version}/{plural}", inner)

    def jobs(version: str, plural: str, kind: str) -> list[Plain]:
        root = f"/apis/{version}"
        try:
            found = of(root, plural)
        except ApiError as error:
            if error.status == 404:
                return []
            raise
        return [{**item, "apiVersion": version, "kind": kind} for item in found]

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        wide = {name: pool.submit(one, path) for name, path in _CLUSTER_WIDE.items()}
        inner = {name: pool.submit(of, version, plural) for name, (version, plural) in _NAMESPACED.items()}
        of_jobs = [pool.submit(jobs, *each) for each in _JOBS]
        found = {name: future.result() for name, future in (*wide.items(), *inner.items())}
        owned = [item for future in of_jobs for item in future.result()]
    found |= _of_a_manager(found["checks"], one)
    pods = found.pop("pods")
    selector = (manager or {}).get("managedJobsNamespaceSelector") if manager is not None else _selector(source, kueue)
    named = {name: by_name(items) for name, items in found.items()}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Read(Snapshot(**named, pods=pods, jobs=owned, now=now, namespace_selector=selector), tuple(sorted(set(notes))))


def _of_a_manager(checks: Sequence[Plain], read: Callable[[str], list[Plain]]) -> dict[str, list[Plain]]:
    """Its workers; nothing on a cluster that runs jobs itself."""
    if all(check["spec"].get("controllerName") != CONTROLLER for check in checks):
        return {}
    return {name: read(path) for name, path in _OF_MANAGERS.items()}


def events_of(source: Source, namespace: str, name: str) -> list[Object]:
    """Events about one object, oldest first; none where they may not be read."""
    path = f"/api/v1/namespaces/{namespace}/events?fieldSelector=involvedObject.name%3D{name}"
    try:
        found = list(source.pages(path))
    except ApiError as error:
        if error.status in _FORBIDDEN:
            return []
        raise
    return sorted(found, key=lambda one: str(one.get("lastTimestamp") or one.get("eventTime") or ""))


def _selector(source: Source, kueue: str) -> Object | None:
    """Which namespaces Kueue looks after, as its chart's configuration says; None where that isn't known."""
    import yaml

    try:
        config_map = source.get(_CONFIGURATION.format(kueue))
    except ApiError as error:
        if error.status in _FORBIDDEN:
            return None
        raise
    for text in ((config_map or {}).get("data") or {}).values():
        try:
            settings = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if isinstance(settings, dict) and settings.get("kind") == "Configuration":
            found = settings.get("managedJobsNamespaceSelector")
            return found if isinstance(found, dict) else None
    return None
