"""Quotas, priorities, topology and teams' queues, on either backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from policies.model import Domain, Properties, Resource, Stack, Undecided, Violation, has, items, part
from policies.rules.capacity import beyond

KUEUE = Domain("kueue", "Kueue and task governance")
_API = "kubernetes:kueue.x-k8s.io/v1beta"


def kinds(kind: str) -> tuple[str, str]:
    """A kind of Kueue's in either version of its API."""
    return f"{_API}2:{kind}", f"{_API}1:{kind}"


COMPUTE_QUOTA, EXTENSION = "aws-native:sagemaker:ComputeQuota", "aws-native:index:ExtensionResource"
NAMESPACE = "kubernetes:core/v1:Namespace"
TEAM_LABEL, MANAGED_LABEL = "hyperpod-platform/team", "sagemaker.amazonaws.com/sagemaker-managed-queue"
HOSTNAME, ZONE, LAYER = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.k8s.aws/network-node-layer-"
WEIGHTS, VALUES = (0, 100), (-1_000_000_000, 1_000_000_000)
"""Bounds of a weight of SageMaker's, and of a value that Kubernetes leaves to users (those above are the system's)."""


@KUEUE.stack_rule(
    "quota-within-capacity",
    "No more is guaranteed than there is",
    severity="high",
    anchors=["own"],
    remedy="Lower a quota, or add instances. For clusters of another stack, state `capacity` in the settings.",
)
def within_capacity(stack: Stack) -> Iterator[Violation | Undecided]:
    for cluster in stack.clusters():
        yield from beyond(cluster)


@KUEUE.rule(
    "quota-cohort-limits",
    "What a team may borrow has a limit",
    types=[*kinds("ClusterQueue"), COMPUTE_QUOTA],
    severity="medium",
    anchors=["own"],
    remedy="Set `sharing.borrow_limit`; without it one team takes all that is idle and waits for nobody.",
)
def cohort_limits(properties: Properties) -> Iterator[str]:
    if has(properties, "computeQuotaConfig"):
        sharing = part(properties["computeQuotaConfig"], "resourceSharingConfig")
        if sharing.get("strategy") == "LendAndBorrow" and not {"borrowLimit", "absoluteBorrowLimits"} & set(sharing):
            yield "it borrows without a limit"
        return
    spec = part(properties, "spec")
    if not spec.get("cohortName", spec.get("cohort")):
        return
    for group in items(spec, "resourceGroups"):
        for flavor in items(group, "flavors"):
            free = [str(one.get("name")) for one in items(flavor, "resources") if not has(one, "borrowingLimit")]
            if free:
                yield f"it borrows {', '.join(free)} of {flavor.get('name')} without a limit"


def _classes(stack: Stack) -> Iterator[tuple[Resource, list[tuple[str, int]], tuple[int, int]]]:
    """Priority classes that rank against each other, with the bounds of their values."""
    for config in stack.of(EXTENSION):
        scheduler = part(part(config.properties, "properties"), "SchedulerConfig")
        found = [(str(one["Name"]), int(one["Weight"])) for one in items(scheduler, "PriorityClasses")]
        if found:
            yield config, found, WEIGHTS
    classes = list(stack.of(*kinds("WorkloadPriorityClass")))
    clusters: dict[str, list[Resource]] = {}
    for one in classes:
        clusters.setdefault(one.cluster, []).append(one)
    for members in clusters.values():
        yield members[0], [(one.name, int(one.properties.get("value", 0))) for one in members], VALUES


@KUEUE.stack_rule(
    "priority-values",
    "Priority classes differ, and keep to their bounds",
    severity="medium",
    anchors=["own"],
    remedy="Give each class a weight of its own: equal ones preempt nobody and are ordered by age.",
)
def priority_values(stack: Stack) -> Iterator[Violation]:
    for resource, classes, (lowest, highest) in _classes(stack):
        counts = Counter(value for _, value in classes)
        for value in sorted(value for value, count in counts.items() if count > 1):
            names = ", ".join(name for name, own in classes if own == value)
            yield Violation(resource, f"{names} all have the value {value}")
        for name, value in classes:
            if not lowest <= value <= highest:
                yield Violation(resource, f"{name} has the value {value}, outside of {lowest}…{highest}")


def _rank(label: str) -> int | None:
    """How far from the node a level is; None for labels of one's own, whose order nobody else knows."""
    if label == ZONE:
        return 0
    if label.startswith(LAYER) and label.removeprefix(LAYER).isdigit():
        return int(label.removeprefix(LAYER))
    return 1_000 if label == HOSTNAME else None


@KUEUE.rule(
    "topology-levels",
    "A topology goes from the farthest level to the nearest",
    types=kinds("Topology"),
    severity="high",
    anchors=["own"],
    remedy=f"Order the levels: zone, {LAYER}1, -2, -3, {HOSTNAME}.",
)
def topology_levels(properties: Properties) -> Iterator[str]:
    labels = [str(level.get("nodeLabel")) for level in items(part(properties, "spec"), "levels")]
    if len(set(labels)) < len(labels):
        yield "a level is there twice"
    ranks = [rank for label in labels if (rank := _rank(label)) is not None]
    if ranks != sorted(ranks):
        yield f"levels are not ordered from the farthest to the nearest: {', '.join(labels)}"
    if HOSTNAME in labels[:-1]:
        yield f"{HOSTNAME} is not the last level, which Kueue demands"


@KUEUE.stack_rule(
    "team-queue",
    "Every namespace of a team has a queue, and the label that Kueue looks for",
    severity="high",
    anchors=["own"],
    remedy=f"Declare a LocalQueue in it, of a ClusterQueue of the stack, and the label `{MANAGED_LABEL}`.",
)
def team_queue(stack: Stack) -> Iterator[Violation]:
    queues: dict[tuple[str, str], list[Resource]] = {}
    for queue in stack.of(*kinds("LocalQueue")):
        namespace = part(queue.properties, "metadata").get("namespace", "")
        queues.setdefault((queue.cluster, str(namespace)), []).append(queue)
    known = {(one.cluster, _name(one)) for one in stack.of(*kinds("ClusterQueue"))}
    for namespace in stack.of(NAMESPACE):
        labels = part(part(namespace.properties, "metadata"), "labels")
        if not {TEAM_LABEL, MANAGED_LABEL} & set(labels):
            continue
        own = queues.get((namespace.cluster, _name(namespace)), [])
        if not own:
            yield Violation(namespace, "jobs in it have no LocalQueue to name")
        if MANAGED_LABEL not in set(labels):
            yield Violation(namespace, f"without the label {MANAGED_LABEL} Kueue lets its jobs run beside every quota")
        for queue in own:
            target = str(part(queue.properties, "spec").get("clusterQueue"))
            if (queue.cluster, target) not in known:
                yield Violation(queue, f"its ClusterQueue {target} is not declared")


def _name(one: Resource) -> str:
    return str(part(one.properties, "metadata").get("name", one.name))
