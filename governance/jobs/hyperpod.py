"""What only HyperPod has: jobs of its training operator, and spaces of its IDE add-on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from config.findings import Finding, Severity, Where
from governance.jobs.elastic import discrete_values
from governance.jobs.model import Resolved
from governance.jobs.pod import Manifest, affinity, env, metadata, node_selector, resources, template

RUN: Final = "hyperpodrun"
"""The entry point of HyperPod's elastic agent; takes torchrun's arguments."""
_REPLACED: Final = ("torchrun", "python", "python3")
AGENT_PORT: Final = 8080
"""Where the agent listens to the operator."""


def entry_point(job: Resolved) -> tuple[str, ...]:
    """The command under the elastic agent. One that starts with anything but a Python or torchrun stands as it is.

    Arguments of torchrun that were given stay; those that say how many pods and processes there are come before them.
    """
    command = job.command
    if not command or command[0] not in _REPLACED:
        return command
    if command[0] != "torchrun" and command[1:2] and command[1].startswith("-") and command[1] != "-m":
        return command
    flags = {"--nnodes": str(job.pods), "--nproc-per-node": str(job.processes or 1), "--rdzv-backend": "hyperpod"}
    given = {word.partition("=")[0].replace("_", "-") for word in command[1:]}
    added = [f"{flag}={value}" for flag, value in flags.items() if flag not in given]
    return (RUN, *added, *command[1:])


def entry_findings(job: Resolved) -> Iterator[Finding]:
    """A command that doesn't visibly start the agent, which the operator talks to."""
    command = entry_point(job)
    if job.kind.name == "hyperpodpytorchjob" and command and command[0] != RUN:
        message = f"the command starts {command[0]}, and the operator waits for the agent that {RUN} starts"
        remedy = f"give the script alone or after {RUN}; or see to it that {command[0]} runs it"
        yield Finding("job-entry-point", Severity.WARNING, Where("--command"), message, remedy)


def pytorch_job(job: Resolved) -> list[Manifest]:
    """HyperPodPyTorchJob. Its operator makes the Workloads; of an elastic job, a base and elastic ones."""
    pod = template(job, job.workers, container="pytorch", restart=None)
    container = pod["spec"]["containers"][0]
    if job.command:
        container["command"] = list(entry_point(job))
    ports = container.pop("ports", [])
    container["ports"] = [{"containerPort": AGENT_PORT}, *(port for port in ports if port["containerPort"] != AGENT_PORT)]
    replica: Manifest = {"name": "pods", "replicas": job.pods}
    if job.sizes:
        replica["maxReplicas"] = job.order.elastic.most
    spec: Manifest = {"nprocPerNode": str(job.processes or "auto")}
    if job.sizes:
        spec["elasticPolicy"] = _elastic_policy(job)
    spec["replicaSpecs"] = [{**replica, "template": pod}]
    spec["runPolicy"] = {"cleanPodPolicy": "None"}
    return [{"apiVersion": job.kind.api, "kind": job.kind.kind, "metadata": metadata(job), "spec": spec}]


def _elastic_policy(job: Resolved) -> Manifest:
    elastic = job.order.elastic
    policy: Manifest = {"minReplicas": elastic.least, "maxReplicas": elastic.most}
    if elastic.discrete is not None:
        policy["replicaDiscreteValues"] = list(discrete_values(elastic))
    else:
        policy["replicaIncrementStep"] = elastic.increment
    timeouts = {
        "scalingTimeoutInSeconds": elastic.scaling_timeout,
        "gracefulShutdownTimeoutInSeconds": elastic.graceful_shutdown_timeout,
        "faultyScaleDownTimeoutInSeconds": elastic.faulty_timeout,
    }
    return policy | {name: seconds for name, seconds in timeouts.items() if seconds is not None}


def space(job: Resolved) -> list[Manifest]:
    """A Workspace, which the HyperPod CLI calls a space: JupyterLab or Code Editor as the administrators' template says."""
    spec: Manifest = {"displayName": job.order.name, "desiredStatus": "Running"}
    if job.order.image:
        spec["image"] = job.order.image
    if job.command:
        spec["containerConfig"] = {"command": list(job.command)}
    if job.env:
        spec["env"] = env(job.env)
    spec |= {"resources": resources(job.workers), "nodeSelector": node_selector(job, job.workers)}
    if job.labelled_nodes:
        spec["affinity"] = affinity()
    return [{"apiVersion": job.kind.api, "kind": job.kind.kind, "metadata": metadata(job), "spec": spec}]
