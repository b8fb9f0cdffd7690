"""A team on one cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi

from components.base import SEPARATOR, KubernetesObject, PlatformComponent
from components.governance.kueue.access import SharedAccess
from components.governance.kueue.admission import AdmissionRules
from components.governance.kueue.foundation import Foundation
from components.governance.kueue.manifests import multikueue
from components.governance.kueue.manifests import team as manifests
from components.governance.kueue.multikueue import WorkerAccount
from governance.model import ClusterPlan, TeamPlan

_NAMESPACE_TIMEOUTS = pulumi.CustomTimeouts(delete="10m")
_QUEUE_TIMEOUTS = pulumi.CustomTimeouts(create="5m", update="5m", delete="15m")
"""A queue is waited for until it is Active, and goes only when nothing holds its quota any more."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What the teams of a cluster share."""

    cluster: ClusterPlan
    ready: Sequence[pulumi.Resource]
    foundation: Foundation
    rules: AdmissionRules
    access: SharedAccess
    entries: Mapping[str, Sequence[pulumi.Resource]]
    """EKS access entries of the members' IAM roles, by team."""
    account: WorkerAccount | None = None
    """That of the manager that hands jobs to the cluster."""
    checks: Mapping[str, pulumi.Resource] = field(default_factory=dict)
    """Checks that hand jobs to other clusters, by name."""


class Team(PlatformComponent, module="kueue"):
    """Namespace, ClusterQueue, LocalQueue and RoleBinding.

    Members come in last, when all is there. Deletion goes the other way: access first, so that nothing new arrives, then the
    LocalQueue, the ClusterQueue, and what it names.

    Namespace, ClusterQueue and RoleBinding are protected until the team drains. The engine deletes layer by layer and meets
    protection only when it comes to an object; as nothing depends on the RoleBinding, it comes to that first, and a refused
    removal takes nothing with it.
    """

    def __init__(self, team: TeamPlan, shared: Shared, opts: pulumi.ResourceOptions) -> None:
        inputs = {"cluster": shared.cluster.name, "team": team.name, "state": team.state, "namespace": team.namespace}
        super().__init__(f"{shared.cluster.name}{SEPARATOR}{team.name}", inputs, opts)
        namespace = self.declare(
            "namespace",
            manifests.namespace(team),
            protect=team.protected,
            depends_on=[*shared.access.ready],
            custom_timeouts=_NAMESPACE_TIMEOUTS,
        )
        queue = self.declare(
            "clusterqueue",
            manifests.cluster_queue(team),
            protect=team.protected,
            depends_on=_below(team, shared),
            custom_timeouts=_QUEUE_TIMEOUTS,
        )
        queues = [
            self.declare(
                suffix,
                manifest,
                depends_on=[namespace, queue],
                replace_on_changes=["spec.clusterQueue"],  # immutable in Kueue
                delete_before_replace=True,
            )
            for suffix, manifest in manifests.local_queues(team).items()
        ]
        entered: list[pulumi.Resource] = [namespace, *queues]
        if shared.account is not None:
            binding = multikueue.dispatcher_binding(shared.cluster, team)
            after = [namespace, *queues, shared.account.dispatcher]
            entered.append(self.declare("dispatcher-binding", binding, depends_on=after))
        self.declare(
            "rolebinding",
            manifests.role_binding(team),
            protect=team.protected,
            depends_on=[*entered, shared.access.member, *shared.entries.get(team.name, ())],
        )
        self.finish()


def _below(team: TeamPlan, shared: Shared) -> list[pulumi.Resource]:
    """What the team's queue names, or needs before it."""
    flavors: list[KubernetesObject] = [shared.foundation.flavors[quota.flavor] for quota in team.flavors]
    cohort = [shared.foundation.cohorts[team.cohort]] if team.cohort is not None else []
    check = [shared.checks[team.admission_check]] if team.admission_check is not None else []
    return [*shared.ready, shared.rules.flavor_guard, *flavors, *cohort, *check]
