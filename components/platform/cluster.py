"""The HyperPod cluster."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi_aws_native.sagemaker import Cluster

from components.base import PlatformComponent
from governance.platform.model import PlatformPlan
from governance.platform.payload import PayloadInputs, cluster_args, ignored_counts, shifted_counts

TIMEOUT = "720m"
"""How long AWS's handlers may take to create, update or delete a cluster (CloudFormation schema, `timeoutInMinutes`)."""
RETRIES, PAUSE_SECONDS = 12, 15
"""A new role is known everywhere in IAM within seconds, rarely minutes: try again for three minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HyperPodParts:
    """What the cluster stands on."""

    node_subnets: Mapping[str, pulumi.Input[str]]
    """Id of the nodes' subnet by availability zone."""
    security_groups: Sequence[pulumi.Input[str]]
    execution_role_arn: pulumi.Input[str]
    karpenter_role_arn: pulumi.Input[str] | None
    eks_arn: pulumi.Input[str]
    key_arn: pulumi.Input[str]
    lifecycle_uri: pulumi.Input[str] | None
    after: Sequence[pulumi.Resource]
    """Leaves that are there before the cluster and go after it: rules, routes, add-ons, scripts, policies, dependency chart."""


class HyperPod(PlatformComponent, module="platform"):
    """`AWS::SageMaker::Cluster`, with every instance group.

    Its name, its network and its EKS cluster can't be changed: another one means another cluster, and all nodes with it. That is
    refused while the cluster is protected. Where it is allowed, the old cluster goes first: an EKS cluster holds one HyperPod
    cluster at a time, and reserved capacity can't be in both.
    """

    arn: pulumi.Output[str]
    ready: list[pulumi.Resource]
    """Created once the cluster is in service."""

    def __init__(self, name: str, plan: PlatformPlan, parts: HyperPodParts, opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {"cluster": plan.cluster, "name": plan.names.hyperpod}, opts)
        inputs = PayloadInputs(
            node_subnets=parts.node_subnets,
            security_groups=parts.security_groups,
            execution_role_arn=parts.execution_role_arn,
            eks_arn=parts.eks_arn,
            key_arn=parts.key_arn,
            karpenter_role_arn=parts.karpenter_role_arn,
            lifecycle_uri=parts.lifecycle_uri,
        )
        cluster = Cluster(
            self.child_name("cluster"),
            **cluster_args(plan, inputs),
            opts=self.child_options(
                depends_on=[*parts.after],
                protect=plan.protected,
                delete_before_replace=True,
                ignore_changes=ignored_counts(plan) or None,
                custom_timeouts=pulumi.CustomTimeouts(create=TIMEOUT, update=TIMEOUT, delete=TIMEOUT),
                hooks=pulumi.ResourceHookBinding(
                    before_update=[_count_guard(self.child_name("counts"), plan)],
                    on_error=[pulumi.ErrorHook(self.child_name("role"), _retry_new_role)],
                ),
            ),
        )
        self.arn = cluster.cluster_arn
        self.ready = [cluster]
        self.finish({"arn": self.arn})


def _count_guard(name: str, plan: PlatformPlan) -> pulumi.ResourceHook:
    """A hook that refuses an update which would give an autoscaled group the count of another one; in previews too.

    Where it lets one pass that changes the groups, it tells the counts that go with it: pulumi-aws-native sends the whole list,
    with the counts that state holds, and these are as old as the last refresh.
    """
    autoscaled = {group.name: group.declared.count for group in plan.groups if group.declared.autoscaled}

    def guard(args: pulumi.ResourceHookArgs) -> None:
        old, new = _groups(args.old_inputs), _groups(args.new_inputs)
        sent = _counts(new)
        refuse_shifted(_counts(old), sent, autoscaled)
        if autoscaled and old != new:
            counts = ", ".join(f"`{group}` {sent[group]}" for group in autoscaled)
            pulumi.log.warn(
                f"{args.name}: this update sends Karpenter's groups the counts of the last refresh ({counts}); "
                "deploy with `--refresh` unless they are still right"
            )

    return pulumi.ResourceHook(name, guard, pulumi.ResourceHookOptions(on_dry_run=True))


def refuse_shifted(old: Mapping[str, int], sent: Mapping[str, int], autoscaled: Mapping[str, int]) -> None:
    """Raises ValueError, with the way out, where a count that Karpenter owns would change; see `shifted_counts`."""
    shifts = shifted_counts(old, sent, autoscaled)
    if shifts:
        groups = ", ".join(f"`{shift.group}`" for shift in shifts)
        moves = ", ".join(f"`{shift.group}` would get {shift.sent} instances in place of {shift.wanted}" for shift in shifts)
        raise ValueError(
            "counts that Karpenter owns are kept by their place in the list of instance groups, and this change moves them: "
            f"{moves}. Deploy twice: first with `autoscaled: false` and the present count at {groups}, "
            "then with `autoscaled: true` again"
        )


def _groups(inputs: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    return (inputs or {}).get("instanceGroups") or ()


def _counts(groups: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    return {group["instanceGroupName"]: int(group["instanceCount"]) for group in groups}


async def _retry_new_role(args: pulumi.ErrorHookArgs) -> bool:
    """Try again while IAM has not spread a role that was made a moment ago; any other failure stands."""
    if not retries(args.failed_operation, args.errors):
        return False
    pulumi.log.info(f"{args.name}: SageMaker can't assume the new role yet; trying again in {PAUSE_SECONDS} seconds")
    await asyncio.sleep(PAUSE_SECONDS)
    return True


def retries(operation: str, errors: Sequence[str]) -> bool:
    """Whether a failed operation is worth another attempt. `errors`: of all attempts so far, the newest first."""
    newest = errors[0].lower() if errors else ""
    unknown_role = "assume" in newest and "role" in newest
    return operation in ("create", "update") and unknown_role and len(errors) <= RETRIES
