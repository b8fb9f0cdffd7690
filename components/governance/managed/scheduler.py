"""The cluster's scheduler configuration."""

from collections.abc import Sequence

import pulumi
import pulumi_aws_native as aws_native

from components.base import PlatformComponent
from components.site import CloudSite
from governance.managed import SCHEDULER_CONFIG, SCHEDULER_CREATE_ONLY, scheduler_config
from governance.model import ClusterPlan

INIT_ERROR = "#initerror"
"""The engine's own key for a resource that was created, but failed then: with it, the next run replaces such a one."""
_TIMEOUTS = pulumi.CustomTimeouts(create="20m", update="20m", delete="20m")


class Scheduler(PlatformComponent, module="managed"):
    """Priority classes, fair share and idle sharing: one configuration a cluster, before any quota.

    Through pulumi-aws-native's ExtensionResource, which takes any CloudFormation type.
    """

    ready: list[pulumi.Resource]

    def __init__(
        self, name: str, cluster: ClusterPlan, cloud: CloudSite, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
    ) -> None:
        """`after` is the add-on."""
        super().__init__(name, {"cluster": cluster.name}, opts)
        config = aws_native.ExtensionResource(
            self.child_name("config"),
            type=SCHEDULER_CONFIG,
            properties={**scheduler_config(cluster), "ClusterArn": cloud.hyperpod_arn},
            create_only=list(SCHEDULER_CREATE_ONLY),
            opts=self.child_options(
                depends_on=[*after],
                replace_on_changes=[*(f"properties.{name}" for name in SCHEDULER_CREATE_ONLY), INIT_ERROR],
                delete_before_replace=True,
                custom_timeouts=_TIMEOUTS,
            ),
        )
        self.ready = [config]
        self.finish()
