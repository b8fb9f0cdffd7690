"""What a cluster gets, as plain manifests: the same maps that the components register. Imports nothing of Pulumi."""

from collections.abc import Iterator

from components.governance.kueue.manifests import Manifest, access, admission, team
from components.governance.kueue.manifests import cluster as shared
from governance.model import ClusterPlan, TeamPlan


def render(cluster: ClusterPlan) -> list[Manifest]:
    """All Kubernetes objects of a cluster, in an order in which they can be applied.

    Kueue itself is not among them: where it is declared, it is a Helm release. On the managed backend they are the teams' access
    alone: AWS makes namespaces, queues, flavors and priority classes of the quotas, and owns them.
    """
    teams = cluster.teams.values()
    if cluster.policy.backend == "managed":
        return [*_access(cluster), *map(team.role_binding, teams)]
    return [*_shared(cluster), *(item for team_plan in teams for item in _team(team_plan))]


def _shared(cluster: ClusterPlan) -> Iterator[Manifest]:
    yield from map(shared.priority_class, cluster.priority_classes)
    yield from map(shared.topology, cluster.topologies)
    yield from map(shared.flavor, cluster.flavors.values())
    for cohort in cluster.cohorts:
        yield shared.cohort(cohort, cluster.covered)
    yield from _access(cluster)
    for policy, binding in admission.rules(cluster):
        yield policy
        yield binding


def _access(cluster: ClusterPlan) -> Iterator[Manifest]:
    yield access.member_role()
    yield access.reader_role()
    reader_binding = access.reader_binding(cluster)
    if reader_binding is not None:
        yield reader_binding


def _team(plan: TeamPlan) -> Iterator[Manifest]:
    yield team.namespace(plan)
    yield team.cluster_queue(plan)
    yield from team.local_queues(plan).values()
    yield team.role_binding(plan)
