"""What the platform layer hands to the governance layer, in one stack or across two."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi

from components.connection import kubernetes_provider
from components.platform.providers import cloud_providers
from components.site import CloudSite, Site
from governance.model import ClusterPlan

PLATFORM, KUBECONFIGS = "platform", "kubeconfigs"
"""Outputs of a stack: names and ARNs by cluster, and the kubeconfigs by cluster, which are secret."""
FACTS = ("account", "region", "eks_name", "hyperpod_name", "hyperpod_arn", "execution_role_arn", "vpc_id")
"""What is handed over of each cluster."""


@dataclass(frozen=True, slots=True)
class Built:
    """One cluster's platform."""

    site: Site
    kubeconfig: pulumi.Output[str]
    facts: Mapping[str, pulumi.Input[Any]]
    """Names, ids and ARNs for the stack's outputs."""


def export(built: Mapping[str, Built]) -> None:
    """Export what a governance stack, and whoever runs jobs, needs."""
    if built:
        pulumi.export(PLATFORM, {name: dict(one.facts) for name, one in built.items()})
        pulumi.export(KUBECONFIGS, pulumi.Output.secret({name: one.kubeconfig for name, one in built.items()}))


def referred(clusters: Mapping[str, ClusterPlan], environment: str, stack: str) -> dict[str, Built]:
    """The platforms that another stack has built; `stack` is its full name, `organization/project/stack`."""
    reference = pulumi.StackReference(stack)
    facts, kubeconfigs = reference.require_output(PLATFORM), reference.require_output(KUBECONFIGS)
    return {name: _referred(cluster, environment, facts, kubeconfigs) for name, cluster in clusters.items()}


def _referred(cluster: ClusterPlan, environment: str, facts: pulumi.Output[Any], kubeconfigs: pulumi.Output[Any]) -> Built:
    assert cluster.platform is not None, "only built clusters are referred to"  # noqa: S101
    own: dict[str, pulumi.Output[str]] = {name: _item(facts, cluster.name, name) for name in FACTS}
    kubeconfig: pulumi.Output[str] = pulumi.Output.secret(_item(kubeconfigs, cluster.name))
    aws, aws_native = cloud_providers(cluster.platform)
    cloud = CloudSite(aws, aws_native, own["eks_name"], own["hyperpod_arn"])
    return Built(Site(kubernetes_provider(environment, cluster, kubeconfig), cloud), kubeconfig, own)


def given(
    clusters: Mapping[str, ClusterPlan], environment: str, facts: Mapping[str, Any], settings: pulumi.Config
) -> dict[str, Built]:
    """Clusters that no stack of ours has built: names and ARNs stand in the stack's settings, kubeconfigs in its secrets."""
    found = {}
    for name, cluster in clusters.items():
        assert cluster.platform is not None, "only HyperPod clusters are described"  # noqa: S101
        own = {key: str(value) for key, value in facts[name].items()}
        kubeconfig = settings.require_secret(f"kubeconfig-{name}")
        cloud = CloudSite(*cloud_providers(cluster.platform), own["eks_name"], own["hyperpod_arn"])
        found[name] = Built(Site(kubernetes_provider(environment, cluster, kubeconfig), cloud), kubeconfig, own)
    return found


def _item(output: pulumi.Output[Any], *path: str) -> pulumi.Output[str]:
    def follow(value: Any) -> str:
        for key in path:
            value = value[key]
        return str(value)

    return output.apply(follow)
