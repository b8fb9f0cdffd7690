"""The job contract: all that a data scientist needs to know to submit a job, and an operator to see what a team has."""

from __future__ import annotations

from typing import Any

from governance.model import ClusterPlan, FlavorQuota, Plan, TeamPlan
from governance.names import PREFERRED_TOPOLOGY, PRIORITY_LABEL, QUEUE_LABEL, REQUIRED_TOPOLOGY
from governance.units import quantities


def job_contracts(plan: Plan) -> list[dict[str, Any]]:
    """The contracts of all teams, by cluster and team."""
    return [job_contract(cluster, team) for cluster in plan.clusters.values() for team in cluster.teams.values()]


def job_contract(cluster: ClusterPlan, team: TeamPlan) -> dict[str, Any]:
    """A team's contract on one cluster, as JSON-ready data. Amounts are Kubernetes quantities."""
    return {
        "team": team.name,
        "cluster": cluster.name,
        "namespace": team.namespace,
        "queue": team.local_queue,
        "cluster_queue": team.cluster_queue,
        "state": team.state,
        "weight": team.weight,
        "cohort": team.cohort,
        "queue_label": {QUEUE_LABEL: team.local_queue},
        "priority_labels": {found.declared: {PRIORITY_LABEL: found.name} for found in cluster.priority_classes},
        "default_priority": team.default_priority,
        "topology": {
            "annotation_required": REQUIRED_TOPOLOGY,
            "annotation_preferred": PREFERRED_TOPOLOGY,
            "levels": {
                quota.instance_type: list(topology.levels)
                for quota in team.flavors
                if (topology := cluster.flavors[quota.instance_type].topology) is not None
            },
        },
        "quota": [_quota(team, flavor) for flavor in team.flavors],
        "max_run_time_seconds": team.max_run_time,
        "groups": list(team.groups),
        "runs_on": list(cluster.dispatch.workers_of(team.name)) if cluster.dispatch else [cluster.name],
    }


def _quota(team: TeamPlan, flavor: FlavorQuota) -> dict[str, Any]:
    largest = {quota.resource: team.largest[flavor.flavor, quota.resource] for quota in flavor.quotas}
    reach = {quota.resource: team.potential[flavor.flavor, quota.resource] for quota in flavor.quotas}
    return {
        "instance_type": flavor.instance_type,
        "flavor": flavor.flavor,
        "guaranteed": quantities(flavor.nominal()),
        "borrowable": quantities({resource: max(0, most - flavor.nominal()[resource]) for resource, most in reach.items()}),
        "largest_job": quantities(largest),
    }
