"""Add-ons of the EKS cluster: the network's before the nodes, DNS after them."""

import json
from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from components.platform.eks import EksCluster
from config.eks import EksAddon
from governance.platform.addons import coredns_settings, nodes_expected
from governance.platform.model import PlatformPlan

_DAEMONS: tuple[EksAddon, ...] = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")
_DAEMON_TIMEOUTS = pulumi.CustomTimeouts(create="30m", update="30m", delete="30m")
# Nodes may come after the cluster has been made: a group has three hours to reach its smallest size.
_DNS_TIMEOUTS = pulumi.CustomTimeouts(create="200m", update="60m", delete="30m")


class NetworkAddons(PlatformComponent, module="platform"):
    """What every node runs from its first minute. EKS calls these ACTIVE without nodes. An existing cluster has its own."""

    ready: list[pulumi.Resource]

    def __init__(self, name: str, plan: PlatformPlan, eks: EksCluster, opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {"cluster": plan.cluster}, opts)
        self.ready = []
        if plan.declared.eks.existing is None:
            self.ready += [_addon(self, plan, eks, addon, _DAEMON_TIMEOUTS) for addon in _DAEMONS]
        self.finish()


class NodeAddons(PlatformComponent, module="platform"):
    """DNS, which is ACTIVE only when it runs: declared where nodes come, and after them. An existing cluster has its own."""

    ready: list[pulumi.Resource]

    def __init__(
        self, name: str, plan: PlatformPlan, eks: EksCluster, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
    ) -> None:
        super().__init__(name, {"cluster": plan.cluster}, opts)
        self.ready = []
        if plan.declared.eks.existing is None and nodes_expected(plan):
            settings = coredns_settings(plan)
            self.ready.append(_addon(self, plan, eks, "coredns", _DNS_TIMEOUTS, settings, after))
        self.finish()


def _addon(
    owner: PlatformComponent,
    plan: PlatformPlan,
    eks: EksCluster,
    addon: EksAddon,
    timeouts: pulumi.CustomTimeouts,
    settings: dict[str, object] | None = None,
    after: Sequence[pulumi.Resource] = (),
) -> aws.eks.Addon:
    return aws.eks.Addon(
        owner.child_name(addon),
        cluster_name=eks.cluster_name,
        addon_name=addon,
        addon_version=plan.declared.eks.addons.get(addon) or _default_version(owner, plan, addon),
        configuration_values=json.dumps(settings, sort_keys=True) if settings else None,
        # EKS's own copy is there already and is taken over. Later on, what operators have set on the cluster (replicas,
        # variables) stays: the declaration has no fields for it.
        resolve_conflicts_on_create="OVERWRITE",
        resolve_conflicts_on_update="PRESERVE",
        # Taking an add-on out of the declaration, or a destroy that stops half-way, takes no network from running nodes.
        preserve=True,
        tags=dict(plan.tags),
        # The cluster is waited for, not only named; and its admins with it, who would have to repair an add-on.
        opts=owner.child_options(depends_on=[*eks.ready, *after], custom_timeouts=timeouts),
    )


def _default_version(owner: PlatformComponent, plan: PlatformPlan, addon: EksAddon) -> pulumi.Output[str]:
    """EKS's default for the declared Kubernetes version. Left away, an add-on would stay as it is when EKS is upgraded."""
    found = aws.eks.get_addon_version_output(
        addon_name=addon, kubernetes_version=plan.declared.eks.version, opts=pulumi.InvokeOutputOptions(parent=owner)
    )
    return found.version
