"""Flow logs of a VPC."""

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from governance.platform.iam import allow, document, text, trust
from governance.platform.model import PlatformPlan

_WRITE = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
_FIND = ["logs:DescribeLogGroups"]
"""A list, which knows no resource (Amazon VPC, "IAM role for publishing flow logs")."""


class FlowLogs(PlatformComponent, module="platform"):
    """What traffic was accepted and rejected, in an encrypted log group."""

    def __init__(
        self,
        name: str,
        plan: PlatformPlan,
        vpc_id: pulumi.Input[str],
        key_arn: pulumi.Input[str],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__(name, {"cluster": plan.cluster}, opts)
        group_name = f"/aws/vpc/{plan.names.prefix}/flow-logs"
        group = aws.cloudwatch.LogGroup(
            self.child_name("logs"),
            name=group_name,
            retention_in_days=plan.declared.network.flow_log_days,
            kms_key_id=key_arn,
            tags=dict(plan.tags),
            opts=self.child_options(protect=plan.protected),
        )
        role = aws.iam.Role(
            self.child_name("role"),
            name=plan.names.flow_log_role,
            description=f"Writes the flow logs of {plan.names.prefix}",
            assume_role_policy=text(trust("vpc-flow-logs.amazonaws.com", plan.declared.account)),
            permissions_boundary=plan.declared.permissions_boundary,
            tags=dict(plan.tags),
            opts=self.child_options(delete_before_replace=True),  # its name is given, and can't be had twice
        )
        streams = plan.arn("logs", f"log-group:{group_name}:*")
        policy = aws.iam.RolePolicy(
            self.child_name("role/write"),
            role=role.name,
            policy=text(document(allow("Write", _WRITE, [streams]), allow("Find", _FIND, ["*"]))),
            opts=self.child_options(),
        )
        aws.ec2.FlowLog(
            self.child_name("flow-log"),
            vpc_id=vpc_id,
            traffic_type="ALL",
            log_destination_type="cloud-watch-logs",
            log_destination=group.arn,
            iam_role_arn=role.arn,
            tags={**plan.tags, "Name": f"{plan.names.prefix}-flow-log"},
            # Nothing depends on it: a refused removal would begin with it.
            opts=self.child_options(depends_on=[policy], protect=plan.protected),
        )
        self.finish()
