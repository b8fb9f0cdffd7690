"""IAM roles as members of teams' Kubernetes groups, on either backend."""

from collections.abc import Mapping, Sequence

import pulumi

from components.base import SEPARATOR, PlatformComponent
from components.site import CloudSite, Site
from governance.access import role_groups
from governance.model import ClusterPlan

_TIMEOUTS = pulumi.CustomTimeouts(create="10m", update="10m", delete="10m")


def declare_access_entries(
    cluster: ClusterPlan, site: Site, after: Mapping[str, Sequence[pulumi.Resource]]
) -> Mapping[str, Sequence[pulumi.Resource]]:
    """Declare one EKS access entry for each IAM role over all teams; none for a cluster that is not on AWS.

    `after` is, by team, what its roles' entries wait for. Returned are the entries by team: they come before the team's
    RoleBinding, which is what gives a member any right. So a removal comes to the binding first, and where the binding is
    protected, the refused removal deletes no entry.
    """
    if site.cloud is None:
        return {}
    # `providers`, not `provider`: only the former reaches children of every package.
    opts = pulumi.ResourceOptions(providers=[site.cloud.aws])
    entries = AccessEntries(f"{cluster.name}{SEPARATOR}access-entries", cluster, site.cloud, after, opts).entries
    return {team.name: [entries[role] for role in team.iam_roles] for team in cluster.teams.values()}


class AccessEntries(PlatformComponent, module="governance"):
    """The access entries of members. A role that has one otherwise is a finding: EKS allows one entry for a role."""

    entries: Mapping[str, pulumi.Resource]
    """By the role's ARN."""

    def __init__(
        self,
        name: str,
        cluster: ClusterPlan,
        cloud: CloudSite,
        after: Mapping[str, Sequence[pulumi.Resource]],
        opts: pulumi.ResourceOptions,
    ) -> None:
        import pulumi_aws as aws  # not for clusters elsewhere

        super().__init__(name, {"cluster": cluster.name}, opts)
        self.entries = {
            role: aws.eks.AccessEntry(
                self.child_name(role_name(role)),
                cluster_name=cloud.eks_name,
                principal_arn=role,
                kubernetes_groups=list(groups),
                type="STANDARD",
                tags=dict(cluster.platform.tags) if cluster.platform else {},
                opts=self.child_options(
                    depends_on=[
                        resource
                        for team in cluster.teams.values()
                        if role in team.iam_roles
                        for resource in after.get(team.name, ())
                    ],
                    delete_before_replace=True,
                    custom_timeouts=_TIMEOUTS,
                ),
            )
            for role, groups in role_groups(cluster).items()
        }
        self.finish()


def role_name(arn: str) -> str:
    """`<account>/<path and name>` of a role: what tells it apart, without the `::` that URNs are divided by."""
    account, _, role = arn.removeprefix("arn:").split(":", 3)[-1].partition(":role/")
    return f"{account}{SEPARATOR}{role}"
