"""From the declaration of a HyperPod cluster to its platform's plan."""

from __future__ import annotations

from config.hyperpod import HyperPodCluster
from governance.platform.model import GroupPlan, PlatformPlan
from governance.platform.names import partition_of, platform_names
from governance.platform.network import network_plan

ENVIRONMENT_TAG, CLUSTER_TAG, MANAGED_BY_TAG = (
    "hyperpod-platform/environment",
    "hyperpod-platform/cluster",
    "hyperpod-platform/managed-by",
)


def platform_plan(environment: str, name: str, declared: HyperPodCluster, *, managed: bool) -> PlatformPlan:
    """The platform of the cluster `name`. Raises ValueError for a network that can't be divided."""
    partition, suffix = partition_of(declared.region)
    ordered = sorted(declared.instance_groups.items())
    return PlatformPlan(
        environment=environment,
        cluster=name,
        declared=declared,
        partition=partition,
        dns_suffix=suffix,
        names=platform_names(environment, name, declared),
        tags={**declared.tags, ENVIRONMENT_TAG: environment, CLUSTER_TAG: name, MANAGED_BY_TAG: "pulumi"},
        network=network_plan(declared.network, restricted=bool(declared.restricted_instance_groups)),
        groups=tuple(GroupPlan(group, settings) for group, settings in ordered),
        managed=managed,
    )
