"""Dispatching jobs from one cluster to others: Kueue's MultiKueue."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from config.findings import did_you_mean, quoted
from config.vocabulary import LabelValue, Model, Name, Seconds, Words, problem

MAX_WORKERS = 20
"""Most clusters of a MultiKueueConfig (Kueue)."""

DISPATCHED = {
    "batch/job": ("batch", "jobs"),
    "kubeflow.org/mpijob": ("kubeflow.org", "mpijobs"),
    "kubeflow.org/paddlejob": ("kubeflow.org", "paddlejobs"),
    "kubeflow.org/pytorchjob": ("kubeflow.org", "pytorchjobs"),
    "kubeflow.org/tfjob": ("kubeflow.org", "tfjobs"),
    "kubeflow.org/xgboostjob": ("kubeflow.org", "xgboostjobs"),
    "kubeflow.org/jaxjob": ("kubeflow.org", "jaxjobs"),
    "ray.io/rayjob": ("ray.io", "rayjobs"),
    "ray.io/raycluster": ("ray.io", "rayclusters"),
    "jobset.x-k8s.io/jobset": ("jobset.x-k8s.io", "jobsets"),
    "trainer.kubeflow.org/trainjob": ("trainer.kubeflow.org", "trainjobs"),
    "workload.codeflare.dev/appwrapper": ("workload.codeflare.dev", "appwrappers"),
    "pod": ("", "pods"),
    "statefulset": ("apps", "statefulsets"),
}
"""Frameworks that Kueue 0.16 dispatches, with group and resource of their API. Not among them: Deployments, LeaderWorkerSets."""


def _dispatched(value: str) -> str:
    if value not in DISPATCHED:
        remedy = did_you_mean(value, list(DISPATCHED)) or "submit jobs of this kind on a worker"
        raise problem("framework_not_dispatched", f"{quoted(value)} is not a framework that MultiKueue dispatches", remedy)
    return value


class MultiKueue(Model):
    """Jobs submitted on one cluster run on another that has room (Kueue's MultiKueue; kueue backend)."""

    manager: Name
    """The cluster that takes the jobs and runs none. Each team of a worker has a queue there, with the sum of its quotas."""
    workers: Annotated[Words(Name), Field(min_length=1, max_length=MAX_WORKERS)]  # type: ignore[valid-type]
    """The clusters that run them, 1–20; their queues stay as they are without a manager."""
    dispatcher: Literal["all_at_once", "incremental"] = "all_at_once"
    """Which workers a job is offered to: all, and the first that admits it runs it; or three more every five minutes."""
    frameworks: Annotated[Words(Annotated[str, AfterValidator(_dispatched)]), Field(min_length=1)] = ("batch/job",)  # type: ignore[valid-type]
    """Kinds of jobs that the manager takes. The API servers of manager and workers must have the CRDs of all of them."""
    gc_interval: Seconds = 60
    """How often the manager looks for what it has left on workers while they couldn't be reached."""
    worker_lost_timeout: Seconds = 900
    """How long a worker may be out of reach before its jobs are queued again."""
    origin: Annotated[LabelValue, Field(min_length=1)] | None = None
    """Label value by which the manager knows its own on the workers; default the environment's name.

    Two managers of one worker need different ones: each deletes what it doesn't know.
    """
