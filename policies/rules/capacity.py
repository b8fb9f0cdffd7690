"""What quotas guarantee, against what the nodes have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from policies.model import Properties, Stack, Undecided, Violation, items, part

CLUSTER, COMPUTE_QUOTA = "aws-native:sagemaker:Cluster", "aws-native:sagemaker:ComputeQuota"
QUEUES = ("kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue", "kubernetes:kueue.x-k8s.io/v1beta1:ClusterQueue")
COHORTS = ("kubernetes:kueue.x-k8s.io/v1beta2:Cohort", "kubernetes:kueue.x-k8s.io/v1beta1:Cohort")
FLAVORS = ("kubernetes:kueue.x-k8s.io/v1beta2:ResourceFlavor", "kubernetes:kueue.x-k8s.io/v1beta1:ResourceFlavor")
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
INSTANCES, DEVICES = "instances", "accelerators"
"""Units that SageMaker counts in, beside those of Kubernetes."""
_UNITS = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_ROUNDING = 1e-6

Amounts = dict[tuple[str, str], float]
"""By flavor (or instance type) and resource."""


def beyond(stack: Stack) -> Iterator[Violation | Undecided]:
    """Where the sum of guarantees is above what is there; and once, what can't be told for want of a capacity."""
    asked = guaranteed(stack)
    unknown: set[str] = set()
    for (flavor, resource), amount in sorted(asked.items()):
        there = capacity(stack, flavor, resource)
        if there is None:
            unknown.add(f"{resource} of {flavor}")
        elif amount > there * (1 + _ROUNDING):
            yield Violation(None, f"{resource} of {flavor}: {amount:g} are guaranteed, {there:g} are there")
    if unknown:
        yield Undecided(f"the settings state no capacity for {', '.join(sorted(unknown))}")


def guaranteed(stack: Stack) -> Amounts:
    """Sums over all teams, and over cohorts' own pools; what is zero is left out."""
    total: Amounts = defaultdict(float)
    for queue in (*stack.of(*QUEUES), *stack.of(*COHORTS)):
        for group in items(part(queue.properties, "spec"), "resourceGroups"):
            for flavor in items(group, "flavors"):
                for one in items(flavor, "resources"):
                    total[str(flavor["name"]), str(one["name"])] += amount_of(one.get("nominalQuota", 0))
    for quota in stack.of(COMPUTE_QUOTA):
        for entry in items(part(quota.properties, "computeQuotaConfig"), "computeQuotaResources"):
            for resource, amount in _entry(entry, stack.parameters.instances):
                total[str(entry["instanceType"]), resource] += amount
    return {key: amount for key, amount in total.items() if amount}


def _entry(entry: Properties, instances: Mapping[str, Mapping[str, float | str]]) -> Iterator[tuple[str, float]]:
    """What one entry of a compute quota takes, in devices where one knows how many an instance has, else in instances.

    Partitions of devices are left to the plan's own check, which knows their slices.
    """
    devices = instances.get(str(entry["instanceType"]), {}).get(DEVICES)
    if entry.get("count"):
        yield (INSTANCES, float(entry["count"])) if devices is None else (DEVICES, float(entry["count"]) * amount_of(devices))
    if entry.get("accelerators"):
        yield DEVICES, float(entry["accelerators"])


def capacity(stack: Stack, flavor: str, resource: str) -> float | None:
    """What the settings state, or what the stack's own HyperPod groups make together; None where neither tells."""
    stated = stack.parameters.capacity.get(flavor)
    if stated is not None:
        return amount_of(stated.get(resource, 0))
    clusters = list(stack.of(CLUSTER))
    each = 1 if resource == INSTANCES else stack.parameters.instances.get(_type(stack, flavor), {}).get(resource)
    if not clusters or each is None:
        return None
    groups = [group for cluster in clusters for group in items(cluster.properties, "instanceGroups")]
    count = sum(float(group.get("instanceCount", 0)) for group in groups if group.get("instanceType") == _type(stack, flavor))
    return count * amount_of(each)


def _type(stack: Stack, flavor: str) -> str:
    """The instance type whose nodes a flavor has; a compute quota names the type itself."""
    for one in stack.of(*FLAVORS):
        if part(one.properties, "metadata").get("name") == flavor:
            return str(part(part(one.properties, "spec"), "nodeLabels").get(INSTANCE_TYPE, flavor))
    return flavor


def amount_of(quantity: object) -> float:
    """A Kubernetes quantity in units: `500m` is 0.5, `2Gi` is 2147483648. Raises ValueError for another text."""
    text = str(quantity)
    for suffix in sorted(_UNITS, key=len, reverse=True):
        if text.endswith(suffix):
            return float(text.removesuffix(suffix)) * _UNITS[suffix]
    return float(text)
