"""What a replay looks up in the plan: who competes with whom, and where nodes stand."""

from __future__ import annotations

from governance.model import ClusterPlan
from governance.nodes import nodes
from simulation.replay.workloads import Layers


def cohort_roots(cluster: ClusterPlan) -> dict[str, str]:
    """The cohort at the root of each cohort's tree."""
    found: dict[str, str] = {}
    for cohort in cluster.cohorts:  # parents come before children
        found[cohort.name] = cohort.name if cohort.parent is None else found.get(cohort.parent, cohort.parent)
    return found


def roots(cluster: ClusterPlan) -> dict[str, str]:
    """The root cohort of each team, or its queue where it has no cohort: nothing outside competes with it."""
    above = cohort_roots(cluster)
    return {
        team.name: f"queue {team.cluster_queue}" if team.cohort is None else f"cohort {above.get(team.cohort, team.cohort)}"
        for team in cluster.teams.values()
    }


def layers(cluster: ClusterPlan) -> dict[str, Layers]:
    """Of each flavor: its topology's levels, and its nodes' values of them by host name."""
    found: dict[str, Layers] = {}
    specs = nodes(cluster)
    for flavor in cluster.flavors.values():
        keys = flavor.topology.levels if flavor.topology else ()
        labels = [spec.labels for spec in specs if keys and set(keys) <= spec.labels.keys()]
        found[flavor.name] = (keys, {one[keys[-1]]: tuple(one[key] for key in keys) for one in labels})
    return found
