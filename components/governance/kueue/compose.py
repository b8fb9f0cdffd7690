"""The kueue backend of one cluster, put together."""

import pulumi

from components.base import SEPARATOR
from components.governance.access import declare_access_entries
from components.governance.kueue.access import SharedAccess
from components.governance.kueue.admission import AdmissionRules
from components.governance.kueue.foundation import Foundation
from components.governance.kueue.team import Shared, Team
from components.site import Site
from governance.model import ClusterPlan


def declare_governance(cluster: ClusterPlan, site: Site) -> None:
    """Kueue where it is wanted, what teams share, and each team."""
    # `providers`, not `provider`: only the former reaches children of every package.
    opts = pulumi.ResourceOptions(providers=[site.kubernetes])
    ready: list[pulumi.Resource] = [*site.ready]
    if cluster.kueue.install:
        # Imported here: a cluster that has Kueue doesn't pay for it.
        from components.governance.kueue.release import KueueRelease

        ready.append(KueueRelease(f"{cluster.name}{SEPARATOR}kueue", cluster, site.ready, opts).ready)
    foundation = Foundation(cluster, ready, opts)
    rules = AdmissionRules(f"{cluster.name}{SEPARATOR}rules", cluster, opts)
    below = [*foundation.classes, *foundation.flavors.values(), *foundation.cohorts.values(), *rules.bindings]
    access = SharedAccess(f"{cluster.name}{SEPARATOR}access", cluster, below, opts)
    entries = declare_access_entries(cluster, site, dict.fromkeys(cluster.teams, access.ready))
    shared = Shared(cluster, ready, foundation, rules, access, entries)
    for team in cluster.teams.values():
        Team(team, shared, opts)
