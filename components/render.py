"""What a cluster gets, as plain manifests: the same maps that the components register. Imports nothing of Pulumi."""

from collections.abc import Iterator

from components.governance.kueue.manifests import Manifest, access, admission, multikueue, team
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
    own = [*_shared(cluster), *_worker(cluster), *_manager(cluster)]
    return [*own, *(item for plan in teams for item in _team(cluster, plan))]


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


def _worker(cluster: ClusterPlan) -> Iterator[Manifest]:
    multi = cluster.policy.multi_kueue
    if cluster.manager_cluster is not None and multi is not None:
        yield multikueue.account(cluster)
        yield multikueue.watcher(multi.frameworks)
        yield multikueue.watcher_binding(cluster)
        yield multikueue.dispatcher(multi.frameworks)
        yield multikueue.token(cluster)


def _manager(cluster: ClusterPlan) -> Iterator[Manifest]:
    """The Secrets with the ways to the workers are without content."""
    if cluster.dispatch is not None:
        for worker in cluster.dispatch.workers:
            yield multikueue.connection(cluster, worker)
            yield multikueue.worker_cluster(worker)
        for check in cluster.dispatch.checks:
            yield multikueue.config(check)
            yield multikueue.admission_check(check)


def _team(cluster: ClusterPlan, plan: TeamPlan) -> Iterator[Manifest]:
    yield team.namespace(plan)
    yield team.cluster_queue(plan)
    yield from team.local_queues(plan).values()
    if cluster.manager_cluster is not None:
        yield multikueue.dispatcher_binding(cluster, plan)
    yield team.role_binding(plan)
