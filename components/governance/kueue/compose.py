"""The kueue backend of one cluster, put together."""

from collections.abc import Mapping, Sequence

import pulumi

from components.base import SEPARATOR
from components.governance.access import declare_access_entries
from components.governance.kueue.access import SharedAccess
from components.governance.kueue.admission import AdmissionRules
from components.governance.kueue.foundation import Foundation
from components.governance.kueue.multikueue import MultiKueue, WorkerAccount, way_to
from components.governance.kueue.team import Shared, Team
from components.site import Site, Worker
from governance.model import ClusterPlan


def declare_governance(cluster: ClusterPlan, site: Site) -> Worker | None:
    """Kueue where it is wanted, what teams share, and each team; of a worker, the way to it."""
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
    account = WorkerAccount(f"{cluster.name}{SEPARATOR}account", cluster, ready, opts) if cluster.manager_cluster else None
    checks = _checks(cluster, site, ready, opts)
    shared = Shared(cluster, ready, foundation, rules, access, entries, account, checks)
    for team in cluster.teams.values():
        Team(team, shared, opts)
    if account is None or site.kubeconfig is None:
        return None
    return Worker(way_to(cluster, site.kubeconfig, account.token), account.ready)


def _checks(
    cluster: ClusterPlan, site: Site, ready: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
) -> Mapping[str, pulumi.Resource]:
    """The checks of a manager by name; none of any other cluster."""
    if cluster.dispatch is None:
        return {}
    return MultiKueue(f"{cluster.name}{SEPARATOR}multikueue", cluster, site.workers, ready, opts).checks
