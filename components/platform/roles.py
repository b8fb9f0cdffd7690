"""IAM roles of the platform, each with least privilege."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from governance.platform import policies
from governance.platform.iam import Document, text
from governance.platform.model import PlatformPlan


class ExecutionRole(PlatformComponent, module="platform"):
    """The role of HyperPod's instances; an existing one where the declaration names it, of which nothing is changed."""

    arn: pulumi.Input[str]
    ready: list[pulumi.Resource]
    """There once every policy is attached: a cluster that is made earlier fails, for its role can't be used."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that the policy names
        self,
        name: str,
        plan: PlatformPlan,
        vpc_id: pulumi.Input[str],
        subnets: Sequence[pulumi.Input[str]],
        security_groups: Sequence[pulumi.Input[str]],
        eks_arn: pulumi.Input[str],
        bucket_arn: pulumi.Input[str] | None,
        key_arn: pulumi.Input[str],
        opts: pulumi.ResourceOptions,
    ) -> None:
        existing = plan.declared.hyperpod.execution_role
        super().__init__(name, {"cluster": plan.cluster, "existing": existing}, opts)
        if existing is not None:
            self.arn, self.ready = existing, []
            self.finish({"arn": existing})
            return

        given = pulumi.Output.all(
            vpc=vpc_id,
            subnets=list(subnets),
            security_groups=list(security_groups),
            eks=eks_arn,
            bucket=bucket_arn,
            key=key_arn,
        )
        role = _role(self, plan, plan.names.execution_role, policies.execution_trust(plan))
        self.arn = role.arn
        self.ready = [
            _attached(self, plan, role, policies.INSTANCE_POLICY),
            _inline(self, role, given.apply(lambda known: policies.execution_policy(plan, **known))),
        ]
        self.finish({"arn": self.arn})


class KarpenterRole(PlatformComponent, module="platform"):
    """The role with which HyperPod's own Karpenter adds and removes nodes."""

    arn: pulumi.Output[str]
    ready: list[pulumi.Resource]

    def __init__(self, name: str, plan: PlatformPlan, key_arn: pulumi.Input[str], opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {"cluster": plan.cluster}, opts)
        role = _role(self, plan, plan.names.karpenter_role, policies.karpenter_trust(plan))
        document = pulumi.Output.from_input(key_arn).apply(lambda key: policies.karpenter_policy(plan, key=key))
        self.arn = role.arn
        self.ready = [_inline(self, role, document)]
        self.finish({"arn": self.arn})


class EksRole(PlatformComponent, module="platform"):
    """The role of EKS's control plane."""

    role: aws.iam.Role
    ready: list[pulumi.Resource]

    def __init__(self, name: str, plan: PlatformPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {"cluster": plan.cluster}, opts)
        self.role = _role(self, plan, plan.names.eks_role, policies.eks_trust(plan))
        self.ready = [_attached(self, plan, self.role, policies.EKS_POLICY)]
        self.finish()


def _role(owner: PlatformComponent, plan: PlatformPlan, name: str, trust: Document) -> aws.iam.Role:
    return aws.iam.Role(
        owner.child_name("role"),
        name=name,
        assume_role_policy=text(trust),
        permissions_boundary=plan.declared.permissions_boundary,
        tags=dict(plan.tags),
        # The name is its identity: a second one of the name can't be made before the first has gone.
        opts=owner.child_options(delete_before_replace=True),
    )


def _attached(owner: PlatformComponent, plan: PlatformPlan, role: aws.iam.Role, policy: str) -> aws.iam.RolePolicyAttachment:
    return aws.iam.RolePolicyAttachment(
        owner.child_name(policy),
        role=role.name,
        policy_arn=policies.managed_policy(plan, policy),
        opts=owner.child_options(),
    )


def _inline(owner: PlatformComponent, role: aws.iam.Role, policy: pulumi.Output[Document]) -> aws.iam.RolePolicy:
    return aws.iam.RolePolicy(
        owner.child_name("policy"),
        name="platform",
        role=role.name,
        policy=policy.apply(text),
        opts=owner.child_options(delete_before_replace=True),
    )
