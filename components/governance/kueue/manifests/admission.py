"""Rules that the API server itself enforces, a few for the whole cluster (ValidatingAdmissionPolicy, Kubernetes 1.30 or newer).

They keep teams on the right path; they are no wall against somebody who forges an owner reference.
"""

from collections.abc import Iterable
from typing import Any

from components.governance.kueue.manifests.objects import Manifest, manifest
from components.governance.kueue.manifests.team import QUEUE_ANNOTATION
from governance.model import ClusterPlan
from governance.names import MANAGED_QUEUE_LABEL, MAX_RUN_TIME_ANNOTATION, MAX_RUN_TIME_LABEL, QUEUE_LABEL, TEAM_LABEL

ADMISSION = "admissionregistration.k8s.io/v1"
QUEUE_LABEL_RULE = "hyperpod-queue-label"
MAX_RUN_TIME_RULE = "hyperpod-max-run-time"
FLAVOR_GUARD = "hyperpod-flavor-guard"
ONLY_DISPATCHED = "hyperpod-only-dispatched"
_GATE = "kueue.x-k8s.io/admission"
"""Scheduling gate of a pod that waits for Kueue."""

_JOBS: dict[str, tuple[str, ...]] = {
    "": ("pods",),
    "batch": ("jobs", "cronjobs"),
    "kubeflow.org": ("jaxjobs", "mpijobs", "paddlejobs", "pytorchjobs", "tfjobs", "xgboostjobs"),
    "ray.io": ("rayclusters", "rayjobs"),
    "jobset.x-k8s.io": ("jobsets",),
    "trainer.kubeflow.org": ("trainjobs",),
    "workload.codeflare.dev": ("appwrappers",),
    "sagemaker.amazonaws.com": ("hyperpodpytorchjobs",),
}
"""Work that ends, by API group. Whatever kinds a cluster doesn't have, the rules pass over."""
_SERVICES: dict[str, tuple[str, ...]] = {
    "apps": ("daemonsets", "deployments", "replicasets", "statefulsets"),
    "ray.io": ("rayservices",),
    "leaderworkerset.x-k8s.io": ("leaderworkersets",),
    "workspace.jupyter.org": ("workspaces",),
}
"""Work without an end, which a maximum run time doesn't concern. A workspace's operator copies its labels to its Deployment."""

_OWNERS = sorted({*_JOBS, *_SERVICES} - {""})
# What a controller makes for an object that these rules have seen needs no label of its own. Owners of other kinds don't count:
# their pods would run beside every quota.
_NOT_OWNED = {
    "name": "not-part-of-queued-work",
    "expression": (
        "!dyn(object).metadata.?ownerReferences.orValue([]).exists(owner, "
        f"owner.?controller.orValue(false) && owner.apiVersion.split('/')[0] in {_OWNERS})"
    ),
}
# Labels of these kinds don't reach what they make, those of their templates do.
_TEMPLATED = "['DaemonSet', 'ReplicaSet']"
_PLACE = {
    "name": "place",
    "expression": (
        "request.kind.kind == 'CronJob' ? ' (in spec.jobTemplate.metadata.labels)' : "
        f"request.kind.kind in {_TEMPLATED} ? ' (in spec.template.metadata.labels)' : ''"
    ),
}


def rules(cluster: ClusterPlan) -> list[tuple[Manifest, Manifest]]:
    """Each policy with its binding; only those that the plan needs."""
    wanted = [flavor_guard()]
    if cluster.enforce_queue_label:
        wanted.append(queue_label_rule())
    if any(team.max_run_time is not None for team in cluster.teams.values()):
        wanted.append(max_run_time_rule())
    if cluster.dispatch is not None and cluster.policy.multi_kueue is not None:
        wanted.append(only_dispatched_rule(cluster.policy.multi_kueue.frameworks))
    return [(policy, binding(policy)) for policy in wanted]


def queue_label_rule() -> Manifest:
    """Work in a team's namespace names a queue, and goes on naming one; Kueue lets everything else run beside the quotas."""
    team_queue = f"namespaceObject.metadata.?annotations[?'{QUEUE_ANNOTATION}'].orValue('the one in this namespace')"
    return _policy(
        QUEUE_LABEL_RULE,
        _in_team_namespaces(_JOBS, _SERVICES),
        match_conditions=[_NOT_OWNED],
        variables=[_PLACE, *_label(QUEUE_LABEL)],
        # Work that was there before the rule may be changed as ever.
        expression="variables.now != '' || (request.operation == 'UPDATE' && variables.before == '')",
        message=(
            f"'{QUEUE_LABEL}: every ' + request.kind.kind + ' in this namespace needs this label' + variables.place + "
            f"', naming the queue of the team: ' + {team_queue}"
        ),
    )


def max_run_time_rule() -> Manifest:
    """Where a team has a maximum run time, its jobs ask for one that is no longer. Kueue ends them when it has passed."""
    limit = f"int(namespaceObject.metadata.?annotations[?'{MAX_RUN_TIME_ANNOTATION}'].orValue('0'))"
    return _policy(
        MAX_RUN_TIME_RULE,
        _in_team_namespaces(_JOBS),
        match_conditions=[_NOT_OWNED],
        variables=[_PLACE, *_label(MAX_RUN_TIME_LABEL), {"name": "limit", "expression": limit}],
        expression=(
            "variables.limit == 0 || (variables.now.matches('^[1-9][0-9]{0,8}$') && int(variables.now) <= variables.limit)"
            " || (request.operation == 'UPDATE' && variables.before == variables.now)"
        ),
        message=(
            f"'{MAX_RUN_TIME_LABEL}: every ' + request.kind.kind + ' in this namespace needs this label' + variables.place + "
            "', a whole number of seconds from 1 to ' + string(variables.limit) + "
            "(variables.now == '' ? '' : '; it says ' + variables.now)"
        ),
    )


def flavor_guard() -> Manifest:
    """A ClusterQueue keeps the flavors on which its work runs.

    Kueue forgets the usage on a flavor that a queue drops: it would admit the same quota again, on nodes that are taken.
    """
    held = (
        "oldObject.?status.?flavorsReservation.orValue([]).filter(flavor, "
        "flavor.resources.exists(used, quantity(string(used.?total.orValue('0'))).isGreaterThan(quantity('0')))"
        ").map(flavor, flavor.name)"
    )
    lost = (
        "variables.held.filter(name, !object.?spec.?resourceGroups.orValue([])"
        ".exists(group, group.flavors.exists(flavor, flavor.name == name)))"
    )
    rule = _resource_rule("kueue.x-k8s.io", ("clusterqueues",), "UPDATE")
    return _policy(
        FLAVOR_GUARD,
        {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, "resourceRules": [rule]},
        match_conditions=[],
        variables=[{"name": "held", "expression": held}, {"name": "lost", "expression": lost}],
        expression="size(variables.lost) == 0",
        message=(
            "'running work still holds quota of ' + variables.lost.join(', ') + '; without it in the ClusterQueue, Kueue would "
            "forget that usage and give the same nodes away twice. Drain first: set state: draining for the teams that use it, "
            "apply, wait until nothing of theirs runs, then make this change and apply again'"
        ),
    )


def only_dispatched_rule(frameworks: Iterable[str]) -> Manifest:
    """Nothing of a team runs on its manager: of what isn't dispatched, pods would start there beside every quota.

    A pod that Kueue holds by its gate is a copy of one that runs on a worker.
    """
    return _policy(
        ONLY_DISPATCHED,
        _in_team_namespaces({"": ("pods",)}, operations=("CREATE",)),
        match_conditions=[],
        variables=[],
        expression=f"object.spec.?schedulingGates.orValue([]).exists(gate, gate.name == '{_GATE}')",
        message=(
            "'no pod runs on this cluster, which hands jobs to others; it takes jobs with the label "
            f"{QUEUE_LABEL} of these kinds: {', '.join(frameworks)}'"
        ),
    )


def binding(policy: Manifest) -> Manifest:
    """Puts a policy into force: what fails it is refused."""
    name = policy["metadata"]["name"]
    return manifest(ADMISSION, "ValidatingAdmissionPolicyBinding", name, spec={"policyName": name, "validationActions": ["Deny"]})


def _policy(
    name: str,
    constraints: dict[str, Any],
    *,
    match_conditions: list[dict[str, str]],
    variables: list[dict[str, str]],
    expression: str,
    message: str,
) -> Manifest:
    spec: dict[str, Any] = {"failurePolicy": "Fail", "matchConstraints": constraints}
    if match_conditions:
        spec["matchConditions"] = match_conditions
    spec["variables"] = variables
    spec["validations"] = [{"expression": expression, "messageExpression": message, "reason": "Forbidden"}]
    return manifest(ADMISSION, "ValidatingAdmissionPolicy", name, spec=spec)


def _label(key: str) -> list[dict[str, str]]:
    """Variables `now` and `before`: the label's value, empty where it is missing."""

    def value(version: str) -> str:
        return (
            f"(request.kind.kind == 'CronJob' ? dyn({version}).spec.jobTemplate.?metadata.orValue({{}}) : "
            f"request.kind.kind in {_TEMPLATED} ? dyn({version}).spec.template.?metadata.orValue({{}}) : "
            f"dyn({version}).metadata).?labels[?'{key}'].orValue('')"
        )

    return [
        {"name": "now", "expression": value("object")},
        {"name": "before", "expression": f"request.operation == 'CREATE' ? '' : {value('oldObject')}"},
    ]


def _in_team_namespaces(*kinds: dict[str, tuple[str, ...]], operations: tuple[str, ...] = ("CREATE", "UPDATE")) -> dict[str, Any]:
    groups = sorted({group for by_group in kinds for group in by_group})
    return {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchLabels": {MANAGED_QUEUE_LABEL: "true"},
            "matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}],
        },
        "objectSelector": {},
        "resourceRules": [
            _resource_rule(group, sorted(r for by_group in kinds for r in by_group.get(group, ())), *operations)
            for group in groups
        ],
    }


def _resource_rule(group: str, resources: Iterable[str], *operations: str) -> dict[str, Any]:
    return {
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": list(operations),
        "resources": list(resources),
        "scope": "*",
    }
