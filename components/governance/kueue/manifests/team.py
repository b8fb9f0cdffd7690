"""A team's objects: its namespace, its quota, the queue that its jobs name, and who may work there."""

from typing import Any

from components.governance.kueue.manifests.access import MEMBER, RBAC, group_subject
from components.governance.kueue.manifests.cluster import resource_groups
from components.governance.kueue.manifests.objects import KUEUE, Manifest, manifest
from governance.model import TeamPlan
from governance.names import DEFAULT_LOCAL_QUEUE, MAX_RUN_TIME_ANNOTATION, TEAM_LABEL

QUEUE_ANNOTATION = "hyperpod-platform/queue"
"""On a team's namespace: the LocalQueue that its jobs should name. Admission rules quote it."""
_SPEC_FIELDS = {
    "namespace_selector": "namespaceSelector",
    "queueing_strategy": "queueingStrategy",
    "flavor_fungibility": "flavorFungibility",
    "fair_sharing": "fairSharing",
}
"""Fields of a ClusterQueue that a team may keep, by the declaration's word."""
WAIT_FOR = "pulumi.com/waitFor"
"""Pulumi's annotation for custom resources, which are not waited for otherwise."""


def namespace(team: TeamPlan) -> Manifest:
    """Where the team works."""
    annotations = {QUEUE_ANNOTATION: team.local_queue} if team.marked else {}
    if team.max_run_time is not None:
        annotations[MAX_RUN_TIME_ANNOTATION] = str(team.max_run_time)
    return manifest("v1", "Namespace", team.namespace, labels=team.labels, annotations=annotations)


def cluster_queue(team: TeamPlan) -> Manifest:
    """The team's quota. Defaults are written out, or what the API server fills in would read as drift."""
    spec: dict[str, Any] = {} if team.cohort is None else {"cohortName": team.cohort}
    kept = {_SPEC_FIELDS[field] for field in team.keep}
    spec |= {
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": team.stop_policy,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": team.namespace}},
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "preemption": {
            "withinClusterQueue": team.within_queue,
            "reclaimWithinCohort": team.reclaim,
            "borrowWithinCohort": {"policy": team.borrow_preemption},
        },
        "fairSharing": {"weight": str(team.weight)},
    }
    spec = {field: value for field, value in spec.items() if field not in kept}
    if team.admission_check is not None:
        # For every flavor: Kueue takes no MultiKueue check for some of them.
        spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": team.admission_check}]}
    if groups := resource_groups(team.flavors, team.covered):
        spec["resourceGroups"] = groups
    # A queue that is held or drained is not Active, and waiting for it would never end.
    annotations = {WAIT_FOR: "condition=Active"} if team.state == "active" and team.marked else None
    return manifest(KUEUE, "ClusterQueue", team.cluster_queue, labels=_labels(team), annotations=annotations, spec=spec)


def _labels(team: TeamPlan) -> dict[str, str]:
    return {TEAM_LABEL: team.name} if team.marked else {}


def local_queues(team: TeamPlan) -> dict[str, Manifest]:
    """What jobs name in their label, by logical name; with `default`, jobs without a label are queued too."""
    queues = {"localqueue": _local_queue(team, team.local_queue)}
    if team.default_queue:
        queues["default-localqueue"] = _local_queue(team, DEFAULT_LOCAL_QUEUE)
    return queues


def _local_queue(team: TeamPlan, name: str) -> Manifest:
    spec = {"clusterQueue": team.cluster_queue, "stopPolicy": "None"}
    return manifest(KUEUE, "LocalQueue", name, namespace=team.namespace, labels=_labels(team), spec=spec)


def role_binding(team: TeamPlan) -> Manifest:
    """The team's groups are members of its namespace."""
    return manifest(
        f"{RBAC}/v1",
        "RoleBinding",
        MEMBER,
        namespace=team.namespace,
        labels={TEAM_LABEL: team.name},
        roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": MEMBER},
        subjects=[group_subject(group) for group in team.groups],
    )
