"""Who may do what: two ClusterRoles for all teams, so that a team costs one RoleBinding.

What members get, and why:

* Jobs of every kind that Kueue queues, in full; Deployments and StatefulSets for serving, and spaces with an IDE; Services and
  ConfigMaps beside them.
* Pods may be created, read and deleted, but not changed: a pod waits on a scheduling gate until Kueue admits it, and whoever may
  change pods may remove the gate.
* exec and port-forward: debugging a training process and opening a dashboard is daily work, and whoever may create a pod can run
  anything in the namespace already. `get` beside `create`, for clients that open a websocket.
* Workloads are read-only: with `patch`, a member could raise the priority of any workload or stop a colleague's.
* No Secrets: not even listing them. Pods may use those that administrators put there. No volumes beyond reading claims, no
  access to roles and bindings, and no wildcard anywhere.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from components.governance.kueue.manifests.objects import Manifest, manifest
from governance.model import ClusterPlan

RBAC = "rbac.authorization.k8s.io"
MEMBER = "hyperpod-team-member"
"""ClusterRole of a member in the team's namespace, and the RoleBinding's name there."""
READER = "hyperpod-team-reader"
"""ClusterRole of all members for the cluster-wide objects that a job or queue refers to, and its binding's name."""

_READ = ("get", "list", "watch")
_FULL = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SCALE = ("get", "patch", "update")

_MEMBER_RULES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("", ("pods",), ("create", "delete", "deletecollection", *_READ)),
    ("", ("pods/log",), ("get",)),
    ("", ("pods/exec", "pods/portforward"), ("create", "get")),
    ("", ("configmaps", "services"), _FULL),
    ("", ("events", "persistentvolumeclaims"), _READ),
    ("", ("serviceaccounts",), ("get", "list")),
    ("events.k8s.io", ("events",), _READ),
    ("batch", ("cronjobs", "jobs"), _FULL),
    ("apps", ("deployments", "statefulsets"), _FULL),
    ("apps", ("deployments/scale", "statefulsets/scale"), _SCALE),
    ("apps", ("replicasets",), _READ),
    ("kubeflow.org", ("jaxjobs", "mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"), _FULL),
    ("ray.io", ("rayclusters", "rayjobs", "rayservices"), _FULL),
    ("jobset.x-k8s.io", ("jobsets",), _FULL),
    ("leaderworkerset.x-k8s.io", ("leaderworkersets",), _FULL),
    ("trainer.kubeflow.org", ("trainjobs",), _FULL),
    ("workload.codeflare.dev", ("appwrappers",), _FULL),
    ("sagemaker.amazonaws.com", ("hyperpodpytorchjobs",), _FULL),
    ("workspace.jupyter.org", ("workspaces",), _FULL),
    ("kueue.x-k8s.io", ("localqueues", "workloads"), _READ),
    ("visibility.kueue.x-k8s.io", ("localqueues/pendingworkloads",), ("get",)),
)

_READER_RULES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    # HyperPod's command line finds a team's namespace by its labels.
    ("", ("namespaces",), ("get", "list")),
    ("kueue.x-k8s.io", ("clusterqueues", "cohorts", "resourceflavors", "topologies", "workloadpriorityclasses"), _READ),
)


def member_role() -> Manifest:
    """What a member may do in the team's namespace."""
    return manifest(f"{RBAC}/v1", "ClusterRole", MEMBER, rules=_rules(_MEMBER_RULES))


def reader_role() -> Manifest:
    """What every member may read in the cluster."""
    return manifest(f"{RBAC}/v1", "ClusterRole", READER, rules=_rules(_READER_RULES))


def reader_binding(cluster: ClusterPlan) -> Manifest | None:
    """The groups of all teams are readers; None where there is no team."""
    groups = sorted({group for team in cluster.teams.values() for group in team.groups})
    if not groups:
        return None
    return manifest(
        f"{RBAC}/v1",
        "ClusterRoleBinding",
        READER,
        roleRef={"apiGroup": RBAC, "kind": "ClusterRole", "name": READER},
        subjects=[group_subject(group) for group in groups],
    )


def group_subject(group: str) -> dict[str, str]:
    """A group as the subject of a binding."""
    return {"apiGroup": RBAC, "kind": "Group", "name": group}


def _rules(rules: Iterable[tuple[str, Sequence[str], Sequence[str]]]) -> list[dict[str, Any]]:
    return [{"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)} for group, resources, verbs in rules]
