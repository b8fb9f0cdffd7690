"""A HyperPod cluster and everything that it stands on, built by the platform layer."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from config.chart import ChartSource
from config.cluster import Kueue
from config.eks import AddonVersion, Eks, KeyArn
from config.findings import quoted
from config.groups import HyperPodGroup, Lifecycle, RestrictedGroup, SharedFileSystem
from config.network import Network
from config.vocabulary import Model, Name, RoleArn, problem

_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}\Z")
_ACCOUNT = re.compile(r"[0-9]{12}\Z")
_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]\Z")
_TAG = re.compile(r"[\w\s.:/=+\-@]*\Z")
TASK_GOVERNANCE_VERSION = "v1.6.0-eksbuild.1"
"""Default version of the task governance add-on: Kueue 0.19.2 inside."""


def _cluster_name(value: str) -> str:
    if len(value) > 63 or not _NAME.match(value):
        words = f"has {len(value)} characters; at most 63" if len(value) > 63 else "is not of letters, digits and hyphens alone"
        raise problem("cluster_name", f"{quoted(value)} {words}", "1-63 letters, digits and hyphens; none at the ends")
    return value


def _account(value: str) -> str:
    if not _ACCOUNT.match(value):
        raise problem(
            "account", f"{quoted(value)} is not the number of an AWS account", 'write its 12 digits in quotes: "012345678901"'
        )
    return value


def _region(value: str) -> str:
    if not _REGION.match(value):
        raise problem("region", f"{quoted(value)} is not an AWS region", "write one as us-west-2")
    return value


def _tag(value: str) -> str:
    if not _TAG.match(value) or value.lower().startswith("aws:"):
        raise problem(
            "tag", f"{quoted(value)} is not a tag", "letters, digits, spaces and _ . : / = + - @; not beginning with aws:"
        )
    return value


ClusterName = Annotated[str, AfterValidator(_cluster_name)]
"""1-63 letters, digits and hyphens (SageMaker API, ClusterName)."""
AccountId = Annotated[str, AfterValidator(_account)]
Region = Annotated[str, AfterValidator(_region)]
TagKey = Annotated[str, Field(min_length=1, max_length=128), AfterValidator(_tag)]
TagValue = Annotated[str, Field(max_length=256), AfterValidator(_tag)]


class TieredStorage(Model):
    """Managed tiered checkpointing: a part of the nodes' memory as the first tier."""

    memory_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    """Percent of an instance's memory, 0-100; default SageMaker's own."""


class HyperPod(Model):
    """The HyperPod cluster itself."""

    name: ClusterName | None = None
    """Its name; default `<environment>-<cluster>`. Another name is another cluster: a change replaces it."""
    node_recovery: Literal["automatic", "none"] = "automatic"
    """Whether faulty nodes are rebooted or replaced without being asked."""
    continuous_provisioning: bool = True
    """Work with the nodes that are there while others are still being provisioned."""
    karpenter: bool = False
    """HyperPod's own Karpenter scales the groups marked `autoscaled`. Not together with topology-aware placement."""
    tiered_storage: TieredStorage | None = None
    execution_role: RoleArn | None = None
    """Existing role of the instances; default: one is made, with least privilege."""
    lifecycle: Lifecycle | None = None
    """Script that nodes run; default none (SageMaker's bootstrap mode)."""
    volume_key: KeyArn | None = None
    """KMS key of the instances' volumes; default: the cluster's own key."""
    chart: ChartSource = Field(default_factory=ChartSource)
    """Where HyperPod's dependency chart comes from; it must be on the cluster before the nodes."""


class TaskGovernance(Model):
    """The EKS add-on for task governance (managed backend)."""

    version: AddonVersion = TASK_GOVERNANCE_VERSION
    """Pinned version; from v1.3 it knows quotas by accelerator, vCPU and memory. v1.3 can't be updated to v1.5 in place."""
    scheduler_name: ClusterName | None = None
    """Name of the scheduler configuration; default `<HyperPod cluster>-scheduler-config`. Another name replaces it."""
    scheduler_description: Annotated[str, Field(max_length=1024)] | None = None
    """Its description, for an existing one."""


class HyperPodCluster(Model):
    """A HyperPod cluster on EKS with its network, roles and storage."""

    kind: Literal["hyperpod"]
    account: AccountId
    """The AWS account; credentials of another one are refused."""
    region: Region
    protection: bool = True
    """Protect what a mistake must not delete: VPC, EKS (its own deletion protection too), HyperPod cluster, keys, bucket."""
    permissions_boundary: Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:iam::([0-9]{12}|aws):policy/.+$")] | None = None
    """IAM policy that bounds every role made here."""
    tags: Annotated[dict[TagKey, TagValue], Field(max_length=45)] = Field(default_factory=dict)
    """Tags of everything that takes tags, at most 45: AWS takes 50, some of them are ours."""
    network: Network
    eks: Eks = Field(default_factory=Eks)
    hyperpod: HyperPod = Field(default_factory=HyperPod)
    instance_groups: Annotated[dict[Name, HyperPodGroup], Field(min_length=1, max_length=100)]
    """Groups of nodes by name, 1-100."""
    restricted_instance_groups: Annotated[dict[Name, RestrictedGroup], Field(max_length=100)] = Field(default_factory=dict)
    """Groups that only run Amazon Nova customization, at most 100."""
    restricted_file_system: SharedFileSystem | None = None
    """File system that restricted groups share."""
    task_governance: TaskGovernance = Field(default_factory=TaskGovernance)
    kueue: Kueue = Field(default_factory=Kueue)

    @property
    def sandbox(self) -> bool:
        """Never this machine's sandbox."""
        return False

    @property
    def kubeconfig(self) -> None:
        """The platform layer makes it."""
        return

    @property
    def context(self) -> None:
        """The only one of that kubeconfig."""
        return
