"""An environment's file: its clusters, and how compute is governed on them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from config.kueue import FRAMEWORKS, Framework, KueueVersion
from config.team import InstanceTypeName, Partitions
from config.vocabulary import ClassName, LabelKey, Labels, LabelValue, List, Model, Name, Seconds, Words

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


class Taint(Model):
    """A taint on every node of a group."""

    key: LabelKey
    value: LabelValue = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class NetworkLayout(Model):
    """How network blocks nest where no live node tells: used for the sandbox's nodes."""

    nodes_per_block: Annotated[int, Field(ge=1, le=10_000)] = 4
    """Nodes that share a network node of layer 3."""
    blocks_per_spine: Annotated[int, Field(ge=1, le=10_000)] = 4
    """Layer-3 network nodes below one of layer 2."""
    spines_per_core: Annotated[int, Field(ge=1, le=10_000)] = 4
    """Layer-2 network nodes below one of layer 1."""


class InstanceGroup(Model):
    """Nodes of one type."""

    instance_type: InstanceTypeName
    count: Annotated[int, Field(ge=0, le=6758)]
    """Instances, 0–6,758 (SageMaker API, ClusterInstanceGroupSpecification.InstanceCount)."""
    availability_zone: Annotated[LabelValue, Field(min_length=1)] | None = None
    """Zone of the nodes, as `us-east-1a`."""
    labels: Annotated[Labels, Field(max_length=50)] = Field(default_factory=dict)
    """Labels of the nodes, at most 50 (SageMaker API, KubernetesConfig)."""
    taints: Annotated[List(Taint), Field(max_length=8)] = ()  # type: ignore[valid-type]
    """Taints of the nodes. At most 8: a ResourceFlavor holds no more tolerations."""
    partitions: Partitions = Field(default_factory=dict)
    """MIG partitions of one instance by profile; GPUs that hold partitions are no longer whole devices."""
    network: NetworkLayout = Field(default_factory=NetworkLayout)


class Kueue(Model):
    """The Kueue of a cluster on the kueue backend."""

    install: bool = True
    """Install the Helm chart. False where Kueue is there already; the declaration then only fills it."""
    version: KueueVersion = "0.16.6"
    chart: Annotated[str, Field(min_length=1)] = "oci://registry.k8s.io/kueue/charts/kueue"
    """The chart: an OCI reference, a mirror's, or a local path."""
    namespace: Name = "kueue-system"
    frameworks: Words(Framework) = FRAMEWORKS  # type: ignore[valid-type]
    """Kinds of jobs that Kueue queues (`integrations.frameworks`)."""
    external_frameworks: Words(Annotated[str, Field(pattern=r"^[^.]+\.[^.]+\..+$")]) = ()  # type: ignore[valid-type]
    """Kinds that another controller integrates, as `Kind.version.group`."""
    feature_gates: dict[str, bool] = Field(default_factory=dict)
    """Feature gates of the pinned version; an unknown one would stop Kueue from starting."""
    exclude_resources: Words(Annotated[str, Field(min_length=1)]) = ("hugepages-", "ephemeral-storage")  # type: ignore[valid-type]
    """Prefixes of resource names that quotas ignore."""
    replicas: Annotated[int, Field(ge=1, le=9)] = 1
    client_qps: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Requests a second that Kueue may send to the API server."""
    client_burst: Annotated[int, Field(ge=1, le=20_000)] = 100


class ExistingCluster(Model):
    """A Kubernetes cluster that is there already: EKS, on-premises, or the local sandbox."""

    kind: Literal["existing"]
    sandbox: bool = False
    """The cluster is this machine's sandbox; its nodes are made from the instance groups."""
    kubeconfig: Annotated[str, Field(min_length=1)] | None = None
    """Path of a kubeconfig file. Without it, the stack's secret `kubeconfig-<cluster>` is used."""
    context: Annotated[str, Field(min_length=1)] | None = None
    instance_groups: Annotated[dict[Name, InstanceGroup], Field(max_length=100)]
    """The cluster's capacity, by group name; at most 100."""
    kueue: Kueue = Field(default_factory=Kueue)


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


class Topology(Model):
    """Topology-aware placement."""

    enabled: bool = True
    levels: Annotated[Words(LabelKey), Field(min_length=1, max_length=16)] = DEFAULT_TOPOLOGY_LEVELS  # type: ignore[valid-type]
    """Node labels, farthest layer first, 1–16; `kubernetes.io/hostname` only as the last."""


class Gang(Model):
    """All pods of a job or none (Kueue's waitForPodsReady)."""

    timeout: Seconds = 300
    """How long all pods may take to be ready before the job is evicted and queued again."""
    recovery_timeout: Seconds | None = None
    block_admission: bool = False
    """Admit the next job only when all pods of the last are ready."""
    backoff_base: Seconds = 60
    backoff_max: Seconds = 3600
    backoff_limit: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Evictions before a job is given up; default never."""


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
    clusters: Annotated[dict[Name, ExistingCluster], Field(min_length=1)]
    governance: Governance = Field(default_factory=Governance)
    teams: TeamSelection = Field(default_factory=TeamSelection)
