"""What a cluster gets, as plain manifests: the same maps that the components register. Imports nothing of Pulumi."""

from collections.abc import Iterator

from components.governance.kueue.manifests import Manifest, access, admission, team
from components.governance.kueue.manifests import cluster as shared
from governance.model import ClusterPlan, TeamPlan


def render(cluster: ClusterPlan) -> list[Manifest]:
    """All Kubernetes objects of a cluster on the kueue backend, in an order in which they can be applied.

    Kueue itself is not among them: where it is declared, it is a Helm release.
    """
    return [*_shared(cluster), *(item for team_plan in cluster.teams.values() for item in _team(team_plan))]


def _shared(cluster: ClusterPlan) -> Iterator[Manifest]:
    yield from map(shared.priority_class, cluster.priority_classes)
    yield from map(shared.topology, cluster.topologies)
    yield from map(shared.flavor, cluster.flavors.values())
    for cohort in cluster.cohorts:
        yield shared.cohort(cohort, cluster.covered)
    yield access.member_role()
    yield access.reader_role()
    reader_binding = access.reader_binding(cluster)
    if reader_binding is not None:
        yield reader_binding
    for policy, binding in admission.rules(cluster):
        yield policy
        yield binding


def _team(plan: TeamPlan) -> Iterator[Manifest]:
    yield team.namespace(plan)
    yield team.cluster_queue(plan)
    yield from team.local_queues(plan).values()
    yield team.role_binding(plan)
