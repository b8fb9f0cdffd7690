"""Finding what a job's options name in the plan: its cluster and its instance type."""

from __future__ import annotations

from config.catalogue import InstanceType, instance_types
from config.findings import Finding, Where, did_you_mean, problem_at, quoted
from governance.jobs.amounts import known
from governance.jobs.model import Order
from governance.model import ClusterPlan, Plan, TeamPlan


def cluster_of(order: Order, plan: Plan, found: list[Finding]) -> ClusterPlan | None:
    """The cluster that is meant, by default the team's manager or only one.

    Where there is none, any cluster, for further findings.
    """
    homes = [cluster for cluster in plan.clusters.values() if order.team in cluster.teams]
    homes.sort(key=lambda cluster: cluster.dispatch is None)  # a manager takes the jobs of its workers
    if order.cluster is not None and order.cluster not in plan.clusters:
        message = f"there is no cluster {quoted(order.cluster)}"
        found.append(problem_at("cluster-unknown", Where("--cluster"), message, did_you_mean(order.cluster, list(plan.clusters))))
    if not homes:
        teams = sorted({team for cluster in plan.clusters.values() for team in cluster.teams})
        remedy = did_you_mean(order.team, teams) or "see `hpctl quotas`"
        found.append(problem_at("team-unknown", Where("--team"), f"there is no team {quoted(order.team)}", remedy))
        return plan.clusters.get(order.cluster or "") or next(iter(plan.clusters.values()), None)
    names = ", ".join(f"`{cluster.name}`" for cluster in homes)
    chosen = plan.clusters.get(order.cluster) if order.cluster is not None else None
    if chosen is not None and chosen not in homes:
        message = f"team `{order.team}` is not on the cluster `{chosen.name}`"
        found.append(problem_at("job-cluster", Where("--cluster"), message, f"use {names}"))
    elif order.cluster is None and len(homes) > 1 and homes[0].dispatch is None:
        message = f"team `{order.team}` is on {len(homes)} clusters"
        found.append(problem_at("job-cluster", Where("--cluster"), message, f"name one: {names}"))
    home = chosen if chosen in homes else homes[0]
    if home is not None and home.teams[order.team].state != "active":
        state = home.teams[order.team].state
        message = f"team `{order.team}` is {state}: Kueue admits nothing of it"
        found.append(problem_at("team-inactive", Where("--team"), message, "use an active team, or set its `state: active`"))
    return home


def levels_of(order: Order, cluster: ClusterPlan, type_: InstanceType, plan: Plan) -> tuple[str, ...] | None:
    """Levels of the type's topology, farthest first; None where no cluster that may place the pods has a flavor of it.

    A manager's jobs are placed by the workers of the team: a level that one of them has is enough.
    """
    placing = [cluster]
    if cluster.dispatch is not None:
        known = order.team in cluster.dispatch.teams
        placing = [
            plan.clusters[name] for name in (cluster.dispatch.workers_of(order.team) if known else cluster.dispatch.workers)
        ]
    flavors = [one.flavors[type_.name] for one in placing if type_.name in one.flavors]
    if not flavors:
        return None
    return tuple(dict.fromkeys(level for flavor in flavors if flavor.topology for level in flavor.topology.levels))


def type_of(order: Order, cluster: ClusterPlan | None, team: TeamPlan | None, found: list[Finding]) -> InstanceType | None:
    type_ = instance_types().get(order.instance_type)
    where = Where("--instance-type")
    if type_ is None:
        near = did_you_mean(order.instance_type, sorted(cluster.kinds) if cluster else sorted(instance_types()))
        message = f"there is no instance type {quoted(order.instance_type)}"
        found.append(problem_at("instance-type-unknown", where, message, near or "name one as ml.p5.48xlarge"))
        return None
    if team is not None and type_.name not in {flavor.instance_type for flavor in team.flavors}:
        kinds = ", ".join(flavor.instance_type for flavor in team.flavors) or "nothing"
        message = f"the queue of team `{team.name}` has no {type_.name}"
        found.append(problem_at("job-type", where, message, f"it has {kinds}"))
        return None
    return type_ if known(type_) else None
