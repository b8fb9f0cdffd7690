"""The managed backend of one cluster, put together: rows 11-15 of AWS's order."""

import pulumi

from components.base import SEPARATOR
from components.governance.access import declare_access_entries
from components.governance.kueue.access import SharedAccess
from components.governance.managed.addon import TaskGovernance
from components.governance.managed.scheduler import Scheduler
from components.governance.managed.team import Team
from components.site import Site, Worker
from governance.model import ClusterPlan


def declare_governance(cluster: ClusterPlan, site: Site) -> Worker | None:
    """The add-on, the scheduler configuration, each team's quota, and the teams' access.

    AWS owns the Kueue objects that it makes of these; none is declared here, and no cluster is a worker.
    """
    cloud = site.cloud
    if cloud is None:
        raise pulumi.RunError(f"{cluster.name}: the managed backend needs a HyperPod cluster of the platform layer")

    def named(part: str) -> str:
        return f"{cluster.name}{SEPARATOR}{part}"

    # `providers`, not `provider`: only the former reaches children of every package.
    opts = pulumi.ResourceOptions(providers=[site.kubernetes, cloud.aws, cloud.aws_native])
    addon = TaskGovernance(named("task-governance"), cluster, cloud, site.ready, opts)
    scheduler = Scheduler(named("scheduler"), cluster, cloud, addon.ready, opts)
    below = [*addon.ready, *scheduler.ready]
    access = SharedAccess(named("access"), cluster, below, opts)
    # What all members share goes only when no team is left, and so does what a quota needs.
    teams = {team.name: Team(team, cluster, cloud, [*below, *access.ready], opts) for team in cluster.teams.values()}
    entries = declare_access_entries(cluster, site, {name: [team.quota] for name, team in teams.items()})
    for name, team in teams.items():
        team.admit(access.member, entries.get(name, ()))
    return None
