"""What is asked for, and what it means on one cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from config.catalogue import InstanceType
from governance.jobs.kinds import Kind
from governance.model import ClusterPlan, PriorityClassPlan, TeamPlan
from governance.units import Resources

MOST_PODS: Final = 100_000
"""Of one job. Kubernetes itself is made for 150,000 pods on a cluster."""


@dataclass(frozen=True, slots=True)
class Elasticity:
    """How a job may grow and shrink: pods at least and at most, and the sizes between."""

    least: int | None = None
    most: int | None = None
    increment: int | None = None
    """Pods by which it grows."""
    discrete: str | None = None
    """In its place, the very sizes: `2,4,8`."""
    scaling_timeout: int | None = None
    """Seconds to wait before it grows."""
    graceful_shutdown_timeout: int | None = None
    """Seconds for a checkpoint before it changes its size."""
    faulty_timeout: int | None = None
    """Seconds to wait for a faulty pod before it shrinks."""

    @property
    def timeouts(self) -> dict[str, int]:
        """Those that are given, by option."""
        named = {
            "--scaling-timeout": self.scaling_timeout,
            "--graceful-shutdown-timeout": self.graceful_shutdown_timeout,
            "--faulty-timeout": self.faulty_timeout,
        }
        return {option: seconds for option, seconds in named.items() if seconds is not None}

    @property
    def asked(self) -> bool:
        sizes = (self.least, self.most, self.increment, self.discrete)
        return any(value is not None for value in sizes) or bool(self.timeouts)


@dataclass(frozen=True, slots=True)
class Order:
    """A job as its options say it; nothing is checked yet."""

    name: str
    team: str
    kind: str
    instance_type: str
    cluster: str | None = None
    pods: int | None = None
    nodes: int | None = None
    accelerators: int | None = None
    """Of one pod, as all amounts."""
    vcpu: float | None = None
    memory_gib: float | None = None
    efa: int | None = None
    whole_node: bool = False
    partition: str | None = None
    partition_count: int | None = None
    priority: str | None = None
    elastic_priority: str | None = None
    required_topology: str | None = None
    preferred_topology: str | None = None
    image: str | None = None
    command: str | None = None
    """One line, as a shell splits it."""
    env: tuple[str, ...] = ()
    """`KEY=value` each."""
    port: int | None = None
    max_run_time: str | None = None
    elastic: Elasticity = Elasticity()


@dataclass(frozen=True, slots=True)
class PodSet:
    """Equal pods of a job, as Kueue counts them."""

    name: str
    count: int
    resources: Resources
    """Of one pod, in base units."""
    instance_type: str


@dataclass(frozen=True, slots=True)
class Part:
    """One workload of an elastic job: the base, or pods that come and go."""

    name: str
    pods: int
    elastic: bool
    priority: str | None
    """Name of the WorkloadPriorityClass."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A job that the plan can place."""

    order: Order
    kind: Kind
    cluster: ClusterPlan
    team: TeamPlan
    type: InstanceType
    pod_sets: tuple[PodSet, ...]
    """The first is the workers'."""
    priority: PriorityClassPlan | None
    elastic_priority: PriorityClassPlan | None
    topology: tuple[str, str] | None
    """Annotation and level."""
    command: tuple[str, ...]
    env: Mapping[str, str]
    run_time: int | None
    """Seconds."""
    sizes: tuple[int, ...]
    """Numbers of pods that an elastic job may have, ascending; empty for others."""
    notes: tuple[str, ...] = ()
    """What was decided that nobody asked for."""

    @property
    def workers(self) -> PodSet:
        return self.pod_sets[0]

    @property
    def pods(self) -> int:
        """Workers; of an elastic job at least."""
        return self.workers.count

    @property
    def devices(self) -> int:
        """Whole accelerators of one worker."""
        return self.workers.resources.get(self.type.resource or "", 0)

    @property
    def processes(self) -> int:
        """Processes of one worker: one for each accelerator or part of one; 0 where it has none."""
        return self.devices or (self.order.partition_count or 1 if self.order.partition else 0)

    @property
    def labelled_nodes(self) -> bool:
        """Whether nodes carry HyperPod's labels: on HyperPod, and on the sandbox, which imitates it."""
        declared = self.cluster.declared
        return declared.kind == "hyperpod" or declared.sandbox
