"""Whether a cluster is in the state that cases start from: the plan's queues are there, and nobody else uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from governance.model import ClusterPlan, Plan, TeamPlan
from governance.units import quantity
from simulation.cases import Case
from simulation.cluster import Cluster, DemoError, Object
from simulation.verdicts import condition, flavors_of

_ACTIVE_WITHIN: Final = 30.0
_FREE_WITHIN: Final = 5.0
_REMEDY: Final = "declare the teams first: `hpctl up`"


def check_plan(plan: Plan, cluster: str) -> ClusterPlan:
    """The cluster's plan. Raises DemoError where cases must not run: they add and remove nodes and end pods by decree."""
    found = plan.clusters[cluster]
    if not found.declared.sandbox:
        raise DemoError(
            f"the cluster `{cluster}` of `{plan.environment}` is no sandbox; cases run on fake nodes only",
            remedy="name a stack with a sandbox: `--stack local`",
        )
    return found


def check_queues(cluster: Cluster, plan: ClusterPlan, cases: Iterable[Case]) -> None:
    """The plan's queues and priority classes are there and active. Raises DemoError."""
    teams = [plan.teams[name] for name in sorted({team for case in cases for team in case.teams})]
    missing = [team.name for team in teams if cluster.queue(team.cluster_queue) is None]
    if missing:
        raise DemoError(f"the cluster has no queues of the teams {', '.join(missing)}", remedy=_REMEDY)
    changed = [team.name for team in teams if _differs(team, cluster.queue(team.cluster_queue) or {})]
    if changed:
        raise DemoError(f"the teams {', '.join(changed)} have other quotas on the cluster than in their files", remedy=_REMEDY)
    wanted = {w.priority for case in cases for w in case.workloads.values() if w.priority is not None}
    absent = sorted({c.name for c in plan.priority_classes if c.declared in wanted} - cluster.priority_classes())
    if absent:
        raise DemoError(f"the cluster has no priority classes {', '.join(absent)}", remedy=_REMEDY)

    def inactive() -> list[str]:
        active = (condition(cluster.queue(team.cluster_queue) or {}, "Active") for team in teams)
        return [
            f"{team.name} ({found.get('message', 'no status yet')})"
            for team, found in zip(teams, active, strict=True)
            if found.get("status") != "True"
        ]

    if not cluster.wait(lambda: not inactive(), _ACTIVE_WITHIN):
        raise DemoError(f"queues are not active: {', '.join(inactive())}", remedy=_REMEDY)


def check_free(cluster: Cluster, plan: ClusterPlan, case: Case) -> None:
    """Nobody else's workloads are in the case's queues, or hold quota of its flavors. Raises DemoError."""
    namespaces = {plan.teams[team].namespace for team in case.teams}
    flavors = {plan.flavors[workload.instance_type].name for workload in case.workloads.values()}

    def others() -> list[str]:
        return sorted(_shown(one) for one in cluster.workloads if _in_the_way(cluster, one, namespaces, flavors))

    if cluster.wait(lambda: not others(), _FREE_WITHIN):
        return
    found = others()
    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    raise DemoError(
        f"the case `{case.name}` needs quota that other workloads use: {', '.join(found[:3])}{more}",
        remedy="wait until they have finished, delete their jobs, or run other cases: `--case <name>`",
    )


def _in_the_way(cluster: Cluster, workload: Object, namespaces: set[str], flavors: set[str]) -> bool:
    if cluster.is_ours(workload) or condition(workload, "Finished").get("status") == "True":
        return False
    return workload["metadata"]["namespace"] in namespaces or not flavors_of(workload).isdisjoint(flavors)


def _shown(workload: Object) -> str:
    meta = workload["metadata"]
    owner = next(iter(meta.get("ownerReferences", ())), {"kind": "Workload", "name": meta["name"]})
    return f"{owner['kind']} {meta['namespace']}/{owner['name']}"


def _differs(team: TeamPlan, queue: Object) -> bool:
    """Whether the live queue's guarantees are others than the plan's."""
    planned = {
        (flavor.flavor, quota.resource): quantity(quota.resource, quota.nominal)
        for flavor in team.flavors
        for quota in flavor.quotas
    }
    live = dict(_nominal(queue))
    if planned.keys() != live.keys():
        return True
    from kubernetes.utils.quantity import parse_quantity

    return any(parse_quantity(planned[cell]) != parse_quantity(live[cell]) for cell in planned)


def _nominal(queue: Object) -> Iterator[tuple[tuple[str, str], str]]:
    for group in queue["spec"].get("resourceGroups", ()):
        for flavor in group["flavors"]:
            for resource in flavor["resources"]:
                yield (flavor["name"], resource["name"]), resource["nominalQuota"]
