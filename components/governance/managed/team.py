"""A team on one cluster of the managed backend."""

from collections.abc import Sequence

import pulumi
import pulumi_aws_native as aws_native

from components.base import SEPARATOR, PlatformComponent
from components.governance.kueue.manifests.team import role_binding
from components.governance.managed.scheduler import INIT_ERROR
from components.site import CloudSite
from governance.managed import compute_quota
from governance.model import ClusterPlan, TeamPlan

_TIMEOUTS = pulumi.CustomTimeouts(create="20m", update="20m", delete="20m")


class Team(PlatformComponent, module="managed"):
    """A team's compute quota, of which AWS makes namespace and queues, and the RoleBinding in that namespace.

    Both are protected until the team drains. As nothing depends on the RoleBinding, a removal comes to it first, and a refused
    one takes nothing with it.

    A quota that SageMaker failed to create can't be updated, only deleted and made again: the next run does that.
    """

    quota: pulumi.Resource

    def __init__(
        self,
        team: TeamPlan,
        cluster: ClusterPlan,
        cloud: CloudSite,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        """`after` are add-on and scheduler configuration. `admit` completes the team."""
        inputs = {"cluster": cluster.name, "team": team.name, "state": team.state, "namespace": team.namespace}
        super().__init__(f"{cluster.name}{SEPARATOR}{team.name}", inputs, opts)
        self._team = team
        self.quota = aws_native.sagemaker.ComputeQuota(
            self.child_name("quota"),
            cluster_arn=cloud.hyperpod_arn,
            **compute_quota(team, cluster),
            opts=self.child_options(
                protect=team.protected,
                depends_on=[*after],
                replace_on_changes=[INIT_ERROR],
                delete_before_replace=True,
                custom_timeouts=_TIMEOUTS,
            ),
        )

    def admit(self, member: pulumi.Resource, after: Sequence[pulumi.Resource]) -> None:
        """Let members in, as the last act: `member` is their ClusterRole, `after` what else must be there."""
        self.declare(
            "rolebinding", role_binding(self._team), protect=self._team.protected, depends_on=[self.quota, member, *after]
        )
        self.finish()
