"""An environment's file: its clusters, and how compute is governed on them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from config.cluster import ExistingCluster
from config.findings import quoted
from config.hyperpod import HyperPodCluster
from config.multikueue import MultiKueue
from config.team import InstanceTypeName
from config.vocabulary import ClassName, LabelKey, Labels, Model, Moment, Name, ObjectName, Seconds, Words, problem
from config.waivers import Waiver

Cluster = Annotated[ExistingCluster | HyperPodCluster, Field(discriminator="kind")]
"""A cluster that is there already, or one that the platform layer builds."""
Backend = Literal["kueue", "managed"]
"""Who keeps the queues: `kueue`, open-source Kueue set up by us; `managed`, the EKS add-on for HyperPod task governance."""
Overcommit = Literal["allow", "warn", "forbid"]
TaskRanking = Literal["priority_classes", "first_come_first_served"]
IdleCompute = Literal["fair_share", "first_come_first_served"]

ROOT_COHORT = "hyperpod"
"""The cohort that all sharing teams and departments of a cluster stand under."""
HOSTNAME = "kubernetes.io/hostname"
"""Label of the node itself: the nearest level of a topology."""
DEFAULT_TOPOLOGY_LEVELS = (
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    HOSTNAME,
)
"""Node labels from the farthest layer to the node itself, as EC2 gives them and task governance uses them."""


class PriorityClass(Model):
    """A rank for tasks; higher runs first. A task without a class has 0."""

    weight: Annotated[int, Field(ge=-2_147_483_648, le=2_147_483_647)]
    """0–100 on the managed backend, any 32-bit integer on the kueue backend."""
    description: Annotated[str, Field(max_length=2048)] = ""


class Department(Model):
    """Teams that share with each other before they share with others: a parent cohort (kueue backend)."""

    weight: Annotated[int, Field(ge=0, le=100)] = 1
    """Fair-share weight among departments, 0–100."""
    parent: Name | None = None
    """Department above; default the cluster's root cohort."""
    alone: bool = False
    """Stands on its own, without a parent: shares with nobody outside. For adopting a cohort that does."""


class Topology(Model):
    """Topology-aware placement."""

    enabled: bool = True
    levels: Annotated[Words(LabelKey), Field(min_length=1, max_length=16)] = DEFAULT_TOPOLOGY_LEVELS  # type: ignore[valid-type]
    """Node labels, farthest layer first, 1–16; `kubernetes.io/hostname` only as the last."""


class Gang(Model):
    """All pods of a job or none (Kueue's waitForPodsReady)."""

    timeout: Seconds = 300
    """How long all pods may take to be ready before the job is evicted and queued again."""
    recovery_timeout: Moment | None = None
    """How long a running job may lack a pod, as after a node's failure; default `timeout`, and `0s` for as long as it takes."""
    block_admission: bool = False
    """Admit the next job only when all pods of the last are ready."""
    requeue_from: Literal["eviction", "creation"] = "eviction"
    """Which time places an evicted job in the queue again: that of its eviction, behind what came before, or of its creation."""
    backoff_base: Seconds = 60
    """How long an evicted job stays out of the queue the first time; twice as long each time after."""
    backoff_max: Seconds = 3600
    """How long it stays out at most."""
    backoff_limit: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Evictions before a job is given up; default never."""


class AdoptedFlavor(Model):
    """An existing ResourceFlavor of one instance type."""

    name: ObjectName
    node_labels: Annotated[Labels, Field(max_length=8)] | None = None
    """Labels of the nodes that it stands for, at most 8; default the instance type's."""
    topology: ObjectName | None = None
    """Its Topology, one of `topologies`; default none."""

    @model_validator(mode="after")
    def _nodes_named(self) -> AdoptedFlavor:
        if self.topology is not None and self.node_labels == {}:
            message = f"the flavor {quoted(self.name)} has a topology, yet no labels of its nodes"
            raise problem("flavor_node_labels", message, "name the labels, or remove `node_labels` or `topology`")
        return self


class AdoptedNames(Model):
    """Existing objects that all teams share, to adopt in place of derived ones (kueue backend)."""

    root_cohort: ObjectName | None = None
    """The cohort that sharing teams and departments stand under; default `hyperpod`."""
    priority_classes: dict[ClassName, ObjectName] = Field(default_factory=dict)
    """WorkloadPriorityClasses by the declared class; default `<class>-priority`."""
    flavors: dict[InstanceTypeName, AdoptedFlavor] = Field(default_factory=dict)
    """ResourceFlavors by instance type."""
    topologies: dict[ObjectName, Annotated[Words(LabelKey), Field(min_length=1, max_length=16)]] = Field(default_factory=dict)  # type: ignore[valid-type]
    """Levels of the Topologies that adopted flavors name, farthest layer first, 1–16."""


class Governance(Model):
    """The cluster policy: how tasks rank and how idle compute is shared."""

    backend: Backend = "kueue"
    task_ranking: TaskRanking | None = None
    """Default: by priority classes where there are any, first come, first served otherwise."""
    priority_classes: dict[ClassName, PriorityClass] = Field(default_factory=dict)
    idle_compute: IdleCompute = "fair_share"
    """Who gets idle compute first: by the teams' weights, or by arrival."""
    idle_sharing: bool = False
    """Whether capacity that no team owns may be borrowed."""
    overcommit: Overcommit = "warn"
    """What guarantees above capacity are: fine (jobs wait for nodes), a warning, or an error."""
    enforce_queue_label: bool = True
    """Refuse workloads without a queue label in team namespaces."""
    topology: Topology = Field(default_factory=Topology)
    gang: Gang | None = None
    departments: dict[Name, Department] = Field(default_factory=dict)
    resources: Annotated[Words(LabelKey), Field(min_length=1, max_length=64)] | None = None  # type: ignore[valid-type]
    """Resources that queues count, 1–64, in their order (kueue backend).

    Default vCPU, memory, GPUs, Neuron devices, EFA interfaces, and what quotas name beside them.
    """
    names: AdoptedNames = Field(default_factory=AdoptedNames)
    multi_kueue: MultiKueue | None = None

    @property
    def root_cohort(self) -> str:
        """The cohort that sharing teams and departments stand under."""
        return self.names.root_cohort or ROOT_COHORT


class TeamSelection(Model):
    """Which teams an environment takes."""

    select: Labels = Field(default_factory=dict)
    """Labels that a team must carry, all of them; default every team."""


class Environment(Model):
    """One environment, merged with its base."""

    apiVersion: Literal["hyperpod-platform/v1"]  # noqa: N815 - the field's own spelling
    base: Name | None = None
    """Environment whose file this one inherits from: maps merge by key, scalars and lists replace."""
    description: Annotated[str, Field(max_length=1024)] = ""
    clusters: Annotated[dict[Name, Cluster], Field(min_length=1)]
    governance: Governance = Field(default_factory=Governance)
    teams: TeamSelection = Field(default_factory=TeamSelection)
    waivers: dict[str, Waiver] = Field(default_factory=dict)
    """Findings on this environment, its teams' files included, that are set aside, by rule."""
