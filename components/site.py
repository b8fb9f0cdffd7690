"""A cluster as the governance layer sees it, whoever has built it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi


@dataclass(frozen=True, slots=True)
class CloudSite:
    """The AWS side of a cluster."""

    aws: pulumi.ProviderResource
    """The account's provider of pulumi-aws."""
    aws_native: pulumi.ProviderResource
    """The same of pulumi-aws-native."""
    eks_name: pulumi.Input[str]
    hyperpod_arn: pulumi.Input[str]
    """ARN of the HyperPod cluster, as quotas and scheduler configurations name it."""


@dataclass(frozen=True, slots=True)
class Worker:
    """What a manager needs of a cluster that it hands jobs to."""

    kubeconfig: pulumi.Output[str]
    """That of the manager's account there; secret."""
    ready: Sequence[pulumi.Resource]
    """There once the account may be used."""


@dataclass(frozen=True, slots=True)
class Site:
    """What governance is declared on."""

    kubernetes: pulumi.ProviderResource
    """The cluster's Kubernetes provider."""
    cloud: CloudSite | None = None
    """None for a cluster that is not on AWS, or not ours."""
    ready: Sequence[pulumi.Resource] = ()
    """What everything on the cluster waits for: its nodes. Leaves, never components."""
    kubeconfig: pulumi.Input[str] | None = None
    """How we reach the cluster, as path or content; needed of a worker."""
    workers: Mapping[str, Worker] = field(default_factory=dict)
    """Clusters declared before, by name; a manager finds its own among them."""
