"""The cluster's KMS key."""

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from governance.platform.iam import text
from governance.platform.keypolicy import key_policy
from governance.platform.model import PlatformPlan

_DELETION_DAYS = 30
"""The longest time that KMS lets one change one's mind: without the key, what it has encrypted is lost."""


class Key(PlatformComponent, module="platform"):
    """One key for EKS's secrets, volumes, the lifecycle bucket and logs; rotated every year."""

    arn: pulumi.Output[str]

    def __init__(self, name: str, plan: PlatformPlan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(name, {"cluster": plan.cluster}, opts)
        key = aws.kms.Key(
            self.child_name("key"),
            description=f"Secrets, volumes, scripts and logs of the HyperPod cluster {plan.names.hyperpod}",
            enable_key_rotation=True,
            deletion_window_in_days=_DELETION_DAYS,
            policy=text(key_policy(plan)),
            tags=dict(plan.tags),
            opts=self.child_options(protect=plan.protected),
        )
        aws.kms.Alias(
            self.child_name("alias"),
            name=f"alias/{plan.names.prefix}",
            target_key_id=key.key_id,
            opts=self.child_options(protect=plan.protected),
        )
        self.arn = key.arn
        self.finish({"arn": key.arn})
