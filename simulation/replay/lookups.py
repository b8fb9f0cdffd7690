"""What a replay looks up in the plan: who competes with whom, and where nodes stand."""

from __future__ import annotations

from governance.model import ClusterPlan
from governance.nodes import nodes
from simulation.replay.workloads import Layers


def roots(cluster: ClusterPlan) -> dict[str, str]:
    """The root cohort of each team, or its queue where it has no cohort: nothing outside competes with it."""
    parents = {cohort.name: cohort.parent for cohort in cluster.cohorts}

    def root(cohort: str) -> str:
        parent = parents.get(cohort)
        return cohort if parent is None else root(parent)

    return {
        team.name: f"queue {team.cluster_queue}" if team.cohort is None else f"cohort {root(team.cohort)}"
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
