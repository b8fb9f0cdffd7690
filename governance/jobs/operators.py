"""Jobs of operators that Kueue knows: PyTorchJob, RayJob, JobSet, TrainJob. All are created suspended; Kueue starts them."""

from __future__ import annotations

import shlex
from typing import Final

from governance.jobs.model import PodSet, Resolved
from governance.jobs.pod import Manifest, affinity, contract, env, meet, metadata, node_selector, resources, template, topology
from governance.units import CPU, GPU

_GROUP: Final = "kueue.x-k8s.io/podset-group-name"
"""Two pod sets of one group are placed together: leader and workers in one block."""
_RUNTIME: Final = "torch-distributed"
"""The ClusterTrainingRuntime that Kubeflow Trainer brings for PyTorch; its one job is called `node`."""


def pytorch_job(job: Resolved) -> list[Manifest]:
    """Kubeflow's PyTorchJob: one master and the rest workers, all alike."""

    def replicas(count: int) -> Manifest:
        pod = template(job, job.workers, container="pytorch", restart=None)  # the container's name is the operator's
        if job.topology and job.pods > 1:
            pod["metadata"]["annotations"][_GROUP] = job.order.name
        return {"replicas": count, "restartPolicy": "OnFailure", "template": pod}

    roles = {"Master": replicas(1)} | ({"Worker": replicas(job.pods - 1)} if job.pods > 1 else {})
    return [
        {
            "apiVersion": job.kind.api,
            "kind": job.kind.kind,
            "metadata": metadata(job),
            "spec": {
                "nprocPerNode": str(job.processes or "auto"),
                "runPolicy": {"suspend": True, "cleanPodPolicy": "Running"},
                "pytorchReplicaSpecs": roles,
            },
        }
    ]


def ray_job(job: Resolved) -> list[Manifest]:
    """KubeRay's RayJob with a cluster of its own, which goes when the job ends: it would hold the quota on."""
    workers, head, submitter = job.pod_sets
    # No tasks on the head: its node has nothing for them.
    start = {"num-cpus": "0", "dashboard-host": "0.0.0.0"}  # noqa: S104 - inside the pod
    return [
        {
            "apiVersion": job.kind.api,
            "kind": job.kind.kind,
            "metadata": metadata(job),
            "spec": {
                "suspend": True,
                "shutdownAfterJobFinishes": True,
                "submissionMode": "K8sJobMode",
                "entrypoint": shlex.join(job.command),
                "rayClusterSpec": {
                    "headGroupSpec": {"rayStartParams": start, "template": _ray(job, head, "ray-head")},
                    "workerGroupSpecs": [
                        {
                            "groupName": "workers",
                            "replicas": job.pods,
                            "minReplicas": job.pods,
                            "maxReplicas": job.pods,
                            "rayStartParams": _ray_start(job, workers),
                            "template": _ray(job, workers, "ray-worker"),
                        }
                    ],
                },
                "submitterPodTemplate": template(job, submitter, container="ray-job-submitter"),
            },
        }
    ]


def _ray(job: Resolved, pods: PodSet, container: str) -> Manifest:
    """A pod of the Ray cluster: the operator gives it its command, the job's is the entry point."""
    pod = template(job, pods, container=container, restart=None)
    pod["spec"]["containers"][0].pop("command", None)
    if pods is not job.workers and job.env:
        pod["spec"]["containers"][0]["env"] = env(job.env)
    return pod


def _ray_start(job: Resolved, workers: PodSet) -> dict[str, str]:
    """What a worker offers to tasks; whole vCPUs, as Ray counts."""
    start = {"num-cpus": str(max(1, workers.resources.get(CPU, 0) // 1000))}
    return start | ({"num-gpus": str(job.processes)} if job.type.resource == GPU and job.processes else {})


def job_set(job: Resolved) -> list[Manifest]:
    """A JobSet of one replicated job; its pods find each other by the names that JobSet gives them."""
    pod = template(job, job.workers, container="train")
    if job.pods > 1:
        meet(job, pod, f"{job.order.name}-workers-0-0.{job.order.name}")
    inner = {
        "parallelism": job.pods,
        "completions": job.pods,
        "completionMode": "Indexed",
        "template": pod,
    }
    return [
        {
            "apiVersion": job.kind.api,
            "kind": job.kind.kind,
            "metadata": metadata(job),
            "spec": {
                "suspend": True,
                "replicatedJobs": [
                    {"name": "workers", "replicas": 1, "template": {"metadata": {"labels": contract(job)}, "spec": inner}}
                ],
            },
        }
    ]


def train_job(job: Resolved) -> list[Manifest]:
    """Kubeflow Trainer's TrainJob on the runtime for PyTorch: the pods come from there, the contract goes over them."""
    trainer: Manifest = {
        "image": job.order.image,
        "numNodes": job.pods,
        "numProcPerNode": job.processes or "auto",
        "resourcesPerNode": resources(job.workers),
    }
    if job.command:
        trainer["command"] = list(job.command)
    if job.env:
        trainer["env"] = env(job.env)
    place: Manifest = {"nodeSelector": node_selector(job, job.workers)}
    if job.labelled_nodes:
        place["affinity"] = affinity()
    annotations = topology(job)
    return [
        {
            "apiVersion": job.kind.api,
            "kind": job.kind.kind,
            "metadata": metadata(job),
            "spec": {
                "suspend": True,
                "runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "ClusterTrainingRuntime", "name": _RUNTIME},
                "trainer": trainer,
                "podTemplateOverrides": [
                    {
                        "targetJobs": [{"name": "node"}],
                        "metadata": {"labels": contract(job), **({"annotations": annotations} if annotations else {})},
                        "spec": place,
                    }
                ],
            },
        }
    ]
