"""Security groups: what nodes may say to each other, to the control plane, and to the world."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from governance.platform.model import PlatformPlan
from governance.platform.plan import CLUSTER_TAG, ENVIRONMENT_TAG
from governance.platform.rules import (
    ITSELF,
    Rule,
    control_plane_traffic,
    missing_rules,
    node_rules,
    private_access,
)

RULE_TAG = "hyperpod-platform/rule"
"""On rules of ours: they don't count as having been in an existing group, or they would be taken away at the next run."""
_INTERFACES_GONE = "30m"
"""HyperPod's and EKS's network interfaces outlive their nodes by some minutes, and keep the group from being deleted."""


class NodeSecurity(PlatformComponent, module="platform"):
    """The nodes' security group. An existing one gets the rules that it lacks, and nothing else of it is changed."""

    group_id: pulumi.Input[str]
    ready: list[pulumi.Resource]
    """The rules."""

    def __init__(
        self,
        name: str,
        plan: PlatformPlan,
        vpc_id: pulumi.Input[str],
        s3_prefix_list: pulumi.Input[str] | None,
        opts: pulumi.ResourceOptions,
    ) -> None:
        """`s3_prefix_list`: where S3 is reached in a closed network, which lets nodes go nowhere else."""
        existing = plan.network.security_group
        super().__init__(name, {"cluster": plan.cluster, "existing": existing}, opts)
        wanted = node_rules(plan)
        if existing is not None:
            self.group_id = existing
            _check(plan, existing, self)
            wanted = missing_rules(wanted, _present(plan, existing, self), existing)
        else:
            group = aws.ec2.SecurityGroup(
                self.child_name("group"),
                name=f"{plan.names.prefix}-nodes",
                description="Nodes of the HyperPod cluster",
                vpc_id=vpc_id,
                tags={**plan.tags, "Name": f"{plan.names.prefix}-nodes"},
                opts=self.child_options(custom_timeouts=pulumi.CustomTimeouts(delete=_INTERFACES_GONE)),
            )
            self.group_id = group.id
        self.ready = [declare_rule(self, plan, self.group_id, rule, s3_prefix_list) for rule in wanted]
        self.finish({"groupId": self.group_id})


class ControlPlaneRules(PlatformComponent, module="platform"):
    """Traffic between nodes and control plane, on both of their groups."""

    ready: list[pulumi.Resource]

    def __init__(
        self,
        name: str,
        plan: PlatformPlan,
        node_group_id: pulumi.Input[str],
        eks_group_id: pulumi.Input[str],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__(name, {"cluster": plan.cluster}, opts)
        self.ready = []
        # Where both groups were there before, so was their traffic: EC2 refuses a rule that a group has already.
        if plan.declared.eks.existing is None or plan.network.security_group is None:
            traffic = control_plane_traffic(plan)
            self.ready += [declare_rule(self, plan, node_group_id, rule, eks_group_id, "nodes/") for rule in traffic.nodes]
            self.ready += [declare_rule(self, plan, eks_group_id, rule, node_group_id, "eks/") for rule in traffic.control_plane]
        if plan.declared.eks.existing is None:
            self.ready += [declare_rule(self, plan, eks_group_id, rule, where="eks/") for rule in private_access(plan)]
        self.finish()


def declare_rule(
    owner: PlatformComponent,
    plan: PlatformPlan,
    group: pulumi.Input[str],
    rule: Rule,
    peer: pulumi.Input[str] | None = None,
    where: str = "",
) -> pulumi.Resource:
    """Declare a rule of a group; `peer` is the id of the other group, or of the prefix list, that the rule names."""
    kind = aws.vpc.SecurityGroupIngressRule if rule.direction == "ingress" else aws.vpc.SecurityGroupEgressRule
    return kind(
        owner.child_name(f"{where}{rule.name}"),
        security_group_id=group,
        description=rule.description,
        ip_protocol=rule.protocol,
        from_port=rule.first,
        to_port=rule.last,
        cidr_ipv4=rule.cidr,
        prefix_list_id=peer if rule.prefix_list else None,
        referenced_security_group_id=(group if rule.group == ITSELF else peer) if rule.group else None,
        tags={**plan.tags, RULE_TAG: rule.name},
        opts=owner.child_options(),
    )


def _check(plan: PlatformPlan, group: str, owner: pulumi.Resource) -> None:
    """Raises RunError for a group of another VPC than the declared one: HyperPod would find out after everything else is made."""
    found = aws.ec2.get_security_group(id=group, opts=pulumi.InvokeOptions(parent=owner))
    if found.vpc_id != plan.network.vpc:
        message = f"the security group {group} lies in {found.vpc_id}, not in {plan.network.vpc}: correct `network`"
        raise pulumi.RunError(f"{message} in the environment")


def _present(plan: PlatformPlan, group: str, owner: pulumi.Resource) -> Sequence[Rule]:
    """The rules of an existing group that are not this cluster's own; those of another cluster, which shares the group, count.

    When that cluster goes, its rules go with it: this one's next run adds what is missing then.
    """
    options = pulumi.InvokeOptions(parent=owner)
    found = aws.vpc.get_security_group_rules(filters=[{"name": "group-id", "values": [group]}], opts=options)
    rules = [aws.vpc.get_security_group_rule(security_group_rule_id=one, opts=options) for one in sorted(found.ids)]
    return [_rule(one) for one in rules if not _ours(plan, one.tags or {})]


def _ours(plan: PlatformPlan, tags: Mapping[str, str]) -> bool:
    return RULE_TAG in tags and all(tags.get(key) == plan.tags[key] for key in (ENVIRONMENT_TAG, CLUSTER_TAG))


def _rule(found: aws.vpc.GetSecurityGroupRuleResult) -> Rule:
    return Rule(
        "egress" if found.is_egress else "ingress",
        found.ip_protocol,
        found.from_port,
        found.to_port,
        found.referenced_security_group_id or None,
        found.cidr_ipv4 or found.cidr_ipv6 or None,
        found.prefix_list_id or None,
    )
