"""The cluster's KMS key."""

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from governance.platform.iam import Document, text
from governance.platform.keypolicy import key_policy, logs_key_policy
from governance.platform.model import PlatformPlan

_DELETION_DAYS = 30
"""The longest time that KMS lets one change one's mind: without the key, what it has encrypted is lost."""


class Key(PlatformComponent, module="platform"):
    """Keys of the cluster, rotated every year: one for EKS's secrets, volumes and the lifecycle bucket, one for logs.

    Apart, because CloudWatch Logs has to be named in its key's policy, with a condition on the encryption context; HyperPod
    takes no key for volumes whose policy has such conditions.
    """

    arn: pulumi.Output[str]
    logs_arn: pulumi.Output[str]

    def __init__(self, name: str, plan: PlatformPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {"cluster": plan.cluster}, opts)
        self.arn = self._key(plan, "key", f"Secrets, volumes and scripts of {plan.names.prefix}", key_policy(plan))
        self.logs_arn = self._key(plan, "logs", f"Logs of {plan.names.prefix}", logs_key_policy(plan))
        self.finish({"arn": self.arn, "logsArn": self.logs_arn})

    def _key(self, plan: PlatformPlan, part: str, description: str, policy: Document) -> pulumi.Output[str]:
        key = aws.kms.Key(
            self.child_name(part),
            description=description,
            enable_key_rotation=True,
            deletion_window_in_days=_DELETION_DAYS,
            policy=text(policy),
            tags=dict(plan.tags),
            opts=self.child_options(protect=plan.protected),
        )
        aws.kms.Alias(
            self.child_name(f"{part}/alias"),
            name=f"alias/{plan.names.prefix}{'' if part == 'key' else f'-{part}'}",
            target_key_id=key.key_id,
            opts=self.child_options(protect=plan.protected),
        )
        return key.arn
