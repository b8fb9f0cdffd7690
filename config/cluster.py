"""What every cluster has, whatever it stands on: groups of instances, and Kueue."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from config.kueue import FRAMEWORKS, Framework, KueueVersion
from config.team import InstanceTypeName, Partitions
from config.vocabulary import LabelKey, Labels, LabelValue, List, Model, Name, Words


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
