"""MultiKueue's objects: on a worker, the account that its manager uses; on the manager, the way to each worker, and the checks.

What the account may do, and why:

* On the whole worker, it reads: Kueue watches Workloads and jobs in all namespaces at once. Refused, it thinks the worker lost.
* It creates, changes and deletes in team namespaces alone. With that right everywhere, as in Kueue's own guide, whoever holds the
  manager could start pods in `kube-system` of every worker.
"""

from collections.abc import Iterable

from components.governance.kueue.manifests.access import RBAC
from components.governance.kueue.manifests.objects import KUEUE, Manifest, manifest
from config.multikueue import DISPATCHED
from governance.model import CheckPlan, ClusterPlan, TeamPlan
from governance.names import TEAM_LABEL

ACCOUNT = "hyperpod-multikueue"
"""The manager's ServiceAccount on a worker, the Secret with its token, and its RoleBindings in team namespaces."""
WATCHER = "hyperpod-multikueue-watcher"
"""ClusterRole of what it reads on the whole worker, and its binding's name."""
DISPATCHER = "hyperpod-multikueue-dispatcher"
"""ClusterRole of what it does in team namespaces."""
KUBECONFIG = "kubeconfig"
"""Key of a Secret under which Kueue looks for a kubeconfig."""

_CONTROLLER = "kueue.x-k8s.io/multikueue"
_WAIT_FOR = "pulumi.com/waitFor"


def account(worker: ClusterPlan) -> Manifest:
    """Who the manager is on the worker."""
    return manifest("v1", "ServiceAccount", ACCOUNT, namespace=worker.kueue.namespace, automountServiceAccountToken=False)


def token(worker: ClusterPlan) -> Manifest:
    """Its token, which the worker's controller manager fills in. It lasts as long as this object: Kueue renews none."""
    return manifest(
        "v1",
        "Secret",
        ACCOUNT,
        namespace=worker.kueue.namespace,
        annotations={"kubernetes.io/service-account.name": ACCOUNT, _WAIT_FOR: "jsonpath={.data.token}"},
        type="kubernetes.io/service-account-token",
    )


def watcher(frameworks: Iterable[str]) -> Manifest:
    """Reading, on the whole worker."""
    return _role(WATCHER, frameworks, ["get", "list", "watch"], ["get", "list", "watch"])


def watcher_binding(worker: ClusterPlan) -> Manifest:
    """Puts the reading into force."""
    return manifest(f"{RBAC}/v1", "ClusterRoleBinding", WATCHER, roleRef=_ref(WATCHER), subjects=[_subject(worker)])


def dispatcher(frameworks: Iterable[str]) -> Manifest:
    """Dispatching, to be bound in team namespaces."""
    role = _role(DISPATCHER, frameworks, ["create", "delete"], ["create", "delete", "update"])
    role["rules"].append(
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads/status"], "verbs": ["get", "patch", "update"]}
    )
    return role


def dispatcher_binding(worker: ClusterPlan, team: TeamPlan) -> Manifest:
    """Puts the dispatching into force in one namespace."""
    labels = {TEAM_LABEL: team.name} if team.marked else {}
    ref, subjects = _ref(DISPATCHER), [_subject(worker)]
    return manifest(f"{RBAC}/v1", "RoleBinding", ACCOUNT, namespace=team.namespace, labels=labels, roleRef=ref, subjects=subjects)


def connection_name(worker: str) -> str:
    """The Secret with the way to a worker."""
    return f"{ACCOUNT}-{worker}"


def connection(manager: ClusterPlan, worker: str) -> Manifest:
    """The Secret with the way to a worker, without its content."""
    return manifest("v1", "Secret", connection_name(worker), namespace=manager.kueue.namespace, type="Opaque")


def worker_cluster(worker: str) -> Manifest:
    """A worker, as the manager knows it. It is Active once the manager watches everything there."""
    source = {"kubeConfig": {"locationType": "Secret", "location": connection_name(worker)}}
    annotations = {_WAIT_FOR: "condition=Active"}
    return manifest(KUEUE, "MultiKueueCluster", worker, annotations=annotations, spec={"clusterSource": source})


def config(check: CheckPlan) -> Manifest:
    """The workers of a check."""
    return manifest(KUEUE, "MultiKueueConfig", check.name, spec={"clusters": list(check.workers)})


def admission_check(check: CheckPlan) -> Manifest:
    """What a queue names so that its jobs are handed to workers."""
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": check.name}
    annotations = {_WAIT_FOR: "condition=Active"}
    spec = {"controllerName": _CONTROLLER, "parameters": parameters}
    return manifest(KUEUE, "AdmissionCheck", check.name, annotations=annotations, spec=spec)


def _role(name: str, frameworks: Iterable[str], verbs: list[str], workload_verbs: list[str]) -> Manifest:
    groups: dict[str, list[str]] = {}
    for framework in frameworks:
        group, resource = DISPATCHED[framework]
        groups.setdefault(group, []).append(resource)
    rules = [{"apiGroups": [group], "resources": sorted(groups[group]), "verbs": verbs} for group in sorted(groups)]
    rules.append({"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads"], "verbs": workload_verbs})
    return manifest(f"{RBAC}/v1", "ClusterRole", name, rules=rules)


def _ref(role: str) -> dict[str, str]:
    return {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}


def _subject(worker: ClusterPlan) -> dict[str, str]:
    return {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": worker.kueue.namespace}
