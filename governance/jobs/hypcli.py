"""The same job as a command of the HyperPod CLI (version 3), and what that command can't say.

Options are those of the templates `hyp-pytorch-job` 1.1 and `hyp-space` 1.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from config.findings import Finding, Where, problem_at
from governance import names
from governance.jobs.elastic import discrete_values
from governance.jobs.hyperpod import AGENT_PORT, entry_point
from governance.jobs.model import Resolved
from governance.jobs.pod import affinity, env, node_selector
from governance.units import CPU, EFA, GPU, MEMORY, quantity

_LEVELS = ("topology.k8s.aws/ultraserver-id", *(f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3)))
"""Levels that the template takes."""
_TRIMMED = "\"'[]"
"""What the CLI takes away around a list and around its words, beside space."""
_RUNS = "; the image's own command would run"


@dataclass(frozen=True, slots=True)
class Command:
    """A command, its options in order, and in words what has no option."""

    verb: str
    options: tuple[tuple[str, str], ...]
    left_out: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The command as a shell's words."""
        return ("hyp", "create", self.verb, *(word for option in self.options for word in option))


def equivalent(job: Resolved) -> Command | Finding:
    """The command; a finding where the HyperPod CLI has none for the kind."""
    if job.kind.name == "hyperpodpytorchjob":
        return Command("hyp-pytorch-job", tuple(_training(job)), tuple(_not_in_training(job)))
    if job.kind.name == "space":
        return Command("hyp-space", tuple(_space(job)), tuple(_not_in_space(job)))
    message = f"the HyperPod CLI has no command for a {job.kind.kind} in a queue"
    remedy = "use --kind hyperpodpytorchjob or space, or apply the manifest with kubectl"
    return problem_at("job-hyperpod-cli", Where("--hyperpod-cli"), message, remedy)


def _training(job: Resolved) -> Iterator[tuple[str, str]]:
    order, elastic = job.order, job.order.elastic
    yield "--job-name", order.name
    yield "--namespace", job.team.namespace
    yield "--image", order.image or ""
    command = entry_point(job)
    if command and not any(map(_lost_in_list, command)):
        yield "--command", f"[{', '.join(command)}]"
    if job.env:
        yield "--environment", json.dumps(dict(job.env))
    yield "--instance-type", job.type.name
    yield "--replica-count", str(job.pods)
    yield "--tasks-per-node", str(job.processes or "auto")
    yield from _queue(job)
    yield from _amounts(job)
    if job.topology and job.topology[1] in _LEVELS:
        yield f"--{'required' if job.topology[0] == names.REQUIRED_TOPOLOGY else 'preferred'}-topology", job.topology[1]
    if job.sizes:
        yield "--max-replica-count", str(elastic.most)
        if elastic.discrete is not None:
            yield "--elastic-replica-discrete-values", f"[{', '.join(map(str, discrete_values(elastic)))}]"
        else:
            yield "--elastic-replica-increment-step", str(elastic.increment)
        if elastic.graceful_shutdown_timeout is not None:
            yield "--elastic-graceful-shutdown-timeout-in-seconds", str(elastic.graceful_shutdown_timeout)
        if elastic.scaling_timeout is not None:
            yield "--elastic-scaling-timeout-in-seconds", str(elastic.scaling_timeout)


def _queue(job: Resolved) -> Iterator[tuple[str, str]]:
    yield "--queue-name", job.team.local_queue
    if job.priority:
        yield "--priority", job.priority.name


def _amounts(job: Resolved) -> Iterator[tuple[str, str]]:
    """Requests, and limits that equal them; vCPUs and GiB as decimal numbers."""
    resources = job.workers.resources
    found = {
        "accelerators": str(job.devices) if job.devices else "",
        "vcpu": _decimal(resources.get(CPU, 0), 1000),
        "memory": _decimal(resources.get(MEMORY, 0), 1024),
        "efa": str(resources.get(EFA) or ""),
    }
    for name, amount in found.items():
        if amount:
            yield f"--{name}", amount
            yield f"--{name}-limit", amount
    if job.order.partition:
        count = str(job.order.partition_count or 1)
        yield "--accelerator-partition-type", job.order.partition
        yield "--accelerator-partition-count", count
        yield "--accelerator-partition-limit", count


def _decimal(amount: int, base: int) -> str:
    """Exactly, for both bases divide a power of ten: 2.5, never 2.500 or 3e+01."""
    text = f"{Decimal(amount) / base:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _lost_in_list(word: str) -> bool:
    """Whether a list in brackets would split, trim or drop the word."""
    return not word or "," in word or word != word.strip().strip(_TRIMMED)


def _not_in_training(job: Resolved) -> Iterator[str]:
    if any(map(_lost_in_list, entry_point(job))):
        yield (
            "--command, as a whole: a word of it is empty, holds a comma, or begins or ends with a space, quote or bracket"
            + _RUNS
        )
    if job.topology and job.topology[1] not in _LEVELS:
        yield f"the topology level {job.topology[1]}"
    if job.order.elastic.faulty_timeout is not None and job.sizes:
        yield "--faulty-timeout (faultyScaleDownTimeoutInSeconds)"
    if job.order.port not in (None, AGENT_PORT):
        yield "--port"
    yield from _never(job)
    if job.labelled_nodes:
        yield "the affinity to healthy nodes; HyperPod taints the others"


def _never(job: Resolved) -> Iterator[str]:
    if job.run_time is not None:
        yield f"the label {names.MAX_RUN_TIME_LABEL}: {job.run_time}"


def _space(job: Resolved) -> Iterator[tuple[str, str]]:
    order, resources = job.order, job.workers.resources
    yield "--name", order.name
    yield "--display-name", order.name
    yield "--namespace", job.team.namespace
    if order.image:
        yield "--image", order.image
    yield from _queue(job)
    for option, resource in (("cpu", CPU), ("memory", MEMORY), ("gpu", GPU)):
        if resources.get(resource):
            amount = quantity(resource, resources[resource])
            yield f"--{option}", amount
            yield f"--{option}-limit", amount
    if order.partition:
        yield "--accelerator-partition-type", order.partition
        yield "--accelerator-partition-count", str(order.partition_count or 1)
    yield "--node-selector", json.dumps(node_selector(job, job.workers))
    if job.labelled_nodes:
        yield "--affinity", json.dumps(affinity())
    if job.env:
        yield "--env", json.dumps(env(job.env))
    if job.command and not any(map(_lost_in_space, job.command)):
        yield "--container-config", f"command={';'.join(job.command)}"


def _lost_in_space(word: str) -> bool:
    """Whether the container's configuration would split, trim or drop the word."""
    return not word or word != word.strip() or any(character in word for character in ",;=")


def _not_in_space(job: Resolved) -> Iterator[str]:
    if any(map(_lost_in_space, job.command)):
        yield (
            "--command, as a whole: a word of it is empty, holds a comma, semicolon or equals sign, or has space around it"
            + _RUNS
        )
    for resource in job.workers.resources:
        if resource not in (CPU, MEMORY, GPU) and not resource.startswith("nvidia.com/mig-"):
            yield f"the amount of {resource}"
