"""The jobs of a cluster that ask for a topology, with their pods and what Kueue assigned them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from governance.names import QUOTA_ID_LABEL, TEAM_LABEL, namespace
from governance.topologymap.placement import Pod, PodSet, Wish
from live.kube import Reader
from live.topology import (
    WORKLOAD_ANNOTATION,
    Cluster,
    assigned_domains,
    assignments,
    per_pod_of,
    pods_by_workload,
    wish_of,
)

Object = dict[str, Any]
_JOB_LABELS: Final = (
    "batch.kubernetes.io/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "kueue.x-k8s.io/pod-group-name",
    "leaderworkerset.sigs.k8s.io/name",
    "ray.io/cluster",
    "training.kubeflow.org/job-name",
)
"""Labels of pods that name the job they belong to."""


def namespaces_of(reader: Reader, team: str) -> list[str]:
    """The team's namespaces, by their labels or by the name that HyperPod gives them."""
    found = []
    for one in reader.items("/api/v1/namespaces"):
        meta = one["metadata"]
        labels = meta.get("labels") or {}
        if team in (labels.get(TEAM_LABEL), labels.get(QUOTA_ID_LABEL)) or meta["name"] == namespace(team):
            found.append(str(meta["name"]))
    return found


def podsets(cluster: Cluster, name: str | None = None, spaces: Collection[str] | None = None) -> list[PodSet]:
    """Pod sets with a topology, in the order of their names; with `name` all of that job's. `spaces`: namespaces to look into.

    Jobs that wait for admission count only where they are named.
    """
    started = pods_by_workload(cluster.pods)
    found: list[PodSet] = []
    for workload in cluster.workloads:
        meta = workload["metadata"]
        if (spaces is None or meta["namespace"] in spaces) and (name is None or name in _names(workload)):
            own = list(_of_workload(workload, started))
            found += own if name is not None else [one for one in own if one.assigned is not None]
    loose = [pod for pod in cluster.pods if not _annotations(pod).get(WORKLOAD_ANNOTATION)]
    if spaces is not None:
        loose = [pod for pod in loose if pod["metadata"]["namespace"] in spaces]
    waiting = {(one.namespace, one.job) for one in found}
    found += [one for one in _without_workload(loose, name) if (one.namespace, one.job) not in waiting]
    return sorted(found, key=lambda one: (one.namespace, one.job, one.name))


def _of_workload(workload: Object, started: dict[tuple[str, str, str], list[Object]]) -> Iterator[PodSet]:
    meta = workload["metadata"]
    admitted = {one["name"]: one for one in assignments(workload)}
    for podset in workload["spec"]["podSets"]:
        one = admitted.get(podset["name"], {})
        assignment = one.get("topologyAssignment")
        request = podset.get("topologyRequest") or {}
        yield PodSet(
            job=_job(workload, "Workload"),
            namespace=meta["namespace"],
            workload=meta["name"],
            name=podset["name"],
            flavor=next(iter(sorted((one.get("flavors") or {}).values())), ""),
            count=one.get("count") or podset["count"],
            asked=_asked(request),
            per_pod=per_pod_of(one),
            assigned=assigned_domains(assignment) if assignment else None,
            levels=tuple(assignment["levels"]) if assignment else (),
            pods=tuple(_pods(started.get((meta["namespace"], meta["name"], podset["name"]), ()))),
            group=request.get("podSetGroupName") or "",
        )


def _asked(request: Object) -> Wish:
    return Wish(
        request.get("required"),
        request.get("preferred"),
        bool(request.get("unconstrained")),
        request.get("podSetSliceRequiredTopology"),
        request.get("podSetSliceSize") or 0,
    )


def _without_workload(pods: Iterable[Object], name: str | None) -> Iterator[PodSet]:
    """Pods that ask for a topology, though Kueue doesn't know them: by their owner."""
    grouped: dict[tuple[str, str], list[Object]] = {}
    for pod in pods:
        wish = wish_of(_annotations(pod))
        if (name is None and (wish.binds or wish.preferred)) or (name is not None and name in _names(pod)):
            grouped.setdefault((pod["metadata"]["namespace"], _job(pod, "Pod")), []).append(pod)
    for (space, job), own in grouped.items():
        yield PodSet(job, space, "", "", "", len(own), None, {}, None, (), tuple(_pods(own)))


def _pods(pods: Iterable[Object]) -> Iterator[Pod]:
    for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"])):
        yield Pod(pod["metadata"]["name"], pod["spec"].get("nodeName") or "", wish_of(_annotations(pod)))


def _annotations(pod: Object) -> dict[str, str]:
    return pod["metadata"].get("annotations") or {}


def _job(item: Object, kind: str) -> str:
    """Kind and name of what owns a Workload or a pod; else its own."""
    owners = item["metadata"].get("ownerReferences") or ()
    owner = next((one for one in owners if one.get("controller")), owners[0] if owners else None)
    return f"{owner['kind']} {owner['name']}" if owner else f"{kind} {item['metadata']['name']}"


def _names(item: Object) -> set[str]:
    """Names by which a job is known: its own, its owners', and what its labels say."""
    meta = item["metadata"]
    labels = meta.get("labels") or {}
    owners = {str(one["name"]) for one in meta.get("ownerReferences") or ()}
    return {str(meta["name"])} | owners | {labels[label] for label in _JOB_LABELS if label in labels}
