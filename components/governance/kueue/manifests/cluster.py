"""Kueue's cluster-wide objects: what nodes there are, who shares, and how tasks rank."""

from collections.abc import Iterable
from typing import Any

from components.governance.kueue.manifests.objects import KUEUE, Manifest, manifest
from governance.flavors import FlavorPlan, TopologyPlan
from governance.model import CohortPlan, FlavorQuota, PriorityClassPlan
from governance.sharing import Quota
from governance.units import quantity


def topology(plan: TopologyPlan) -> Manifest:
    """Node labels from the farthest network layer to the nearest; immutable in Kueue, hence named after its levels."""
    return manifest(KUEUE, "Topology", plan.name, spec={"levels": [{"nodeLabel": level} for level in plan.levels]})


def flavor(plan: FlavorPlan) -> Manifest:
    """The nodes of one instance type."""
    spec: dict[str, Any] = {"nodeLabels": dict(plan.node_labels)}
    if plan.tolerations:
        spec["tolerations"] = [
            {"key": t.key, "operator": "Equal", "value": t.value, "effect": t.effect} for t in plan.tolerations
        ]
    if plan.topology is not None:
        spec["topologyName"] = plan.topology.name
    return manifest(KUEUE, "ResourceFlavor", plan.name, spec=spec)


def cohort(plan: CohortPlan, covered: Iterable[str]) -> Manifest:
    """Who shares with whom, and the capacity that no team owns."""
    spec: dict[str, Any] = {}
    if plan.parent is not None:
        spec["parentName"] = plan.parent
    if plan.weight is not None:
        spec["fairSharing"] = {"weight": str(plan.weight)}
    if plan.pool:
        spec["resourceGroups"] = resource_groups(plan.pool, covered)
    return manifest(KUEUE, "Cohort", plan.name, spec=spec)


def priority_class(plan: PriorityClassPlan) -> Manifest:
    """A rank for workloads: preemption and order of admission, independent of the pods' own priority."""
    result = manifest(KUEUE, "WorkloadPriorityClass", plan.name, value=plan.value)
    if plan.description:
        result["description"] = plan.description
    return result


def resource_groups(flavors: Iterable[FlavorQuota], covered: Iterable[str]) -> list[dict[str, Any]]:
    """One group of all flavors; empty where there is none, for a group needs at least one.

    Kueue's webhook wants every flavor's resources in the order of `coveredResources`; the plan lists them so.
    """
    listed = [{"name": f.flavor, "resources": [_quota(quota) for quota in f.quotas]} for f in flavors]
    return [{"coveredResources": list(covered), "flavors": listed}] if listed else []


def _quota(quota: Quota) -> dict[str, str]:
    amounts = {"nominalQuota": quota.nominal, "borrowingLimit": quota.borrowing_limit, "lendingLimit": quota.lending_limit}
    return {
        "name": quota.resource,
        **{field: quantity(quota.resource, amount) for field, amount in amounts.items() if amount is not None},
    }
