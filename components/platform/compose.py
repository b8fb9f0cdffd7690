"""The platform of one cluster, put together: each part waits for what it needs, and goes before it."""

from pathlib import Path

import pulumi

from components.base import SEPARATOR
from components.connection import kubernetes_provider
from components.platform.addons import NetworkAddons, NodeAddons
from components.platform.chart import DependencyChart
from components.platform.cluster import HyperPod, HyperPodParts
from components.platform.eks import EksCluster
from components.platform.handover import Built
from components.platform.keys import Key
from components.platform.network import Network
from components.platform.providers import cloud_providers, eks_provider
from components.platform.roles import ExecutionRole, KarpenterRole
from components.platform.security import ControlPlaneRules, NodeSecurity
from components.platform.storage import LifecycleBucket
from components.site import CloudSite, Site
from governance.model import ClusterPlan
from governance.platform.model import PlatformPlan


def declare_platform(cluster: ClusterPlan, plan: PlatformPlan, root: Path) -> Built:
    """Key, network, EKS, roles, dependency chart, HyperPod, add-ons: rows 1-9 of AWS's order, in this order."""
    aws, aws_native = cloud_providers(plan)
    # `providers`, not `provider`: only the former reaches children of every package.
    opts = pulumi.ResourceOptions(providers=[aws, aws_native, eks_provider(plan)])

    def named(part: str) -> str:
        return f"{cluster.name}{SEPARATOR}{part}"

    key = Key(named("key"), plan, opts)
    network = Network(named("network"), plan, key.logs_arn, opts)
    security = NodeSecurity(named("security"), plan, network.vpc_id, network.s3_prefix_list, opts)
    eks = EksCluster(named("eks"), plan, network, key, security.ready, opts)
    rules = ControlPlaneRules(named("control-plane"), plan, security.group_id, eks.security_group_id, opts)
    addons = NetworkAddons(named("addons"), plan, eks, opts)
    bucket = LifecycleBucket(named("lifecycle"), plan, key.arn, root, opts) if plan.declared.hyperpod.lifecycle else None
    # Whatever goes onto the cluster waits for its provider, and so for the way to it, for admins and for the network add-ons.
    reachable = [*network.ready, *eks.ready, *rules.ready, *addons.ready]
    kubernetes = kubernetes_provider(plan.environment, cluster, eks.kubeconfig, after=reachable)
    chart = DependencyChart(named("chart"), plan, root, pulumi.ResourceOptions(providers=[kubernetes]))
    role = ExecutionRole(
        named("execution-role"),
        plan,
        network.vpc_id,
        list(network.node_subnets.values()),
        [security.group_id],
        eks.arn,
        bucket.bucket_arn if bucket else None,
        key.arn,
        opts,
    )
    karpenter = KarpenterRole(named("karpenter-role"), plan, key.arn, opts) if plan.declared.hyperpod.karpenter else None
    ready = [*network.ready, *security.ready, *rules.ready, *eks.ready, *addons.ready, *chart.ready, *role.ready]
    ready += [*(bucket.ready if bucket else ()), *(karpenter.ready if karpenter else ())]
    parts = HyperPodParts(
        node_subnets=network.node_subnets,
        security_groups=[security.group_id],
        execution_role_arn=role.arn,
        karpenter_role_arn=karpenter.arn if karpenter else None,
        eks_arn=eks.arn,
        key_arn=key.arn,
        lifecycle_uri=bucket.source_uri if bucket else None,
        after=ready,
    )
    hyperpod = HyperPod(named("hyperpod"), plan, parts, opts)
    nodes = NodeAddons(named("node-addons"), plan, eks, hyperpod.ready, opts)
    facts: dict[str, pulumi.Input[str]] = {
        "account": plan.declared.account,
        "region": plan.declared.region,
        "eks_name": eks.cluster_name,
        "hyperpod_name": plan.names.hyperpod,
        "hyperpod_arn": hyperpod.arn,
        "execution_role_arn": role.arn,
        "vpc_id": network.vpc_id,
    }
    cloud = CloudSite(aws, aws_native, eks.cluster_name, hyperpod.arn)
    return Built(Site(kubernetes, cloud, [*hyperpod.ready, *nodes.ready]), eks.kubeconfig, facts)
