"""The objects of a job, ready to be applied: those of Kubernetes itself here, those of operators beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from governance.jobs import hyperpod, operators
from governance.jobs.elastic import elastic_parts
from governance.jobs.model import Part, Resolved
from governance.jobs.pod import ELASTIC_LABEL, PART_LABEL, Manifest, contract, meet, metadata, spec, template


def manifests(job: Resolved) -> list[Manifest]:
    """All objects, in the order in which they are to be created."""
    return _BUILDERS[job.kind.name](job)


def _jobs(job: Resolved) -> list[Manifest]:
    """One Job; of an elastic one, a Job for the base and one for each growth, and names for the pods where there are several."""
    if not job.sizes:
        many = job.pods > 1
        base = Part(job.order.name, job.pods, elastic=False, priority=None)
        return [*([_names(job, {"batch.kubernetes.io/job-name": job.order.name})] if many else []), _job(job, base, many=many)]
    lower = job.elastic_priority.name if job.elastic_priority else None
    own = job.priority.name if job.priority else None
    parts = elastic_parts(job.order.name, job.sizes, own, lower)
    return [
        _names(job, {ELASTIC_LABEL: job.order.name}),
        *(
            _job(job, part, many=True, labels={ELASTIC_LABEL: job.order.name, PART_LABEL: str(index) if index else "base"})
            for index, part in enumerate(parts)
        ),
    ]


def _names(job: Resolved, selector: Mapping[str, str]) -> Manifest:
    """A headless Service: pods find each other by name, before they are ready too."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": job.order.name, "namespace": job.team.namespace},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": dict(selector)},
    }


def _job(job: Resolved, part: Part, *, many: bool, labels: Mapping[str, str] | None = None) -> Manifest:
    found = {**contract(job, part.priority), **(labels or {})}
    pod = template(job, job.workers, container="train", labels=found)
    if many:
        # The first pod of the base is where all of them meet.
        meet(job, pod, f"{job.order.name}-0.{job.order.name}")
        pod["spec"]["subdomain"] = job.order.name
    return {
        "apiVersion": job.kind.api,
        "kind": job.kind.kind,
        "metadata": metadata(job, part.name, found),
        "spec": {
            "suspend": True,
            "parallelism": part.pods,
            "completions": part.pods,
            "completionMode": "Indexed",
            "template": pod,
        },
    }


def _deployment(job: Resolved) -> list[Manifest]:
    selector = {"app.kubernetes.io/name": job.order.name}
    return [
        {
            "apiVersion": job.kind.api,
            "kind": job.kind.kind,
            "metadata": metadata(job),
            "spec": {
                "replicas": job.pods,
                "selector": {"matchLabels": selector},
                "template": template(job, job.workers, container="serve", labels={**selector, **contract(job)}, restart=None),
            },
        }
    ]


def _pod(job: Resolved) -> list[Manifest]:
    found = metadata(job)
    pod = template(job, job.workers, container="work")
    if "annotations" in pod["metadata"]:
        found["annotations"] = pod["metadata"]["annotations"]
    return [
        {"apiVersion": job.kind.api, "kind": job.kind.kind, "metadata": found, "spec": spec(job, job.workers, container="work")}
    ]


_BUILDERS: Final[Mapping[str, Callable[[Resolved], list[Manifest]]]] = {
    "job": _jobs,
    "pytorchjob": operators.pytorch_job,
    "hyperpodpytorchjob": hyperpod.pytorch_job,
    "rayjob": operators.ray_job,
    "jobset": operators.job_set,
    "trainjob": operators.train_job,
    "deployment": _deployment,
    "space": hyperpod.space,
    "pod": _pod,
}
