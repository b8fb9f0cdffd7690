"""Whatever is declared and rendered reads back as a declaration that renders the same."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from strategies import ENVIRONMENT, ProjectData, loaded, projects

from components.render import render
from governance.adoption.kueue import declaration
from governance.adoption.model import Connection, Declaration, KueueCluster
from governance.model import ClusterPlan, Plan
from governance.nodes import nodes
from governance.plan import plan
from governance.units import PODS
from live.adoption.comparing import Difference, compare
from live.drift.state import by_key

KINDS = ("ClusterQueue", "LocalQueue", "ResourceFlavor", "Cohort", "Topology", "WorkloadPriorityClass", "Namespace")


def running(cluster: ClusterPlan) -> KueueCluster:
    """The cluster as an API server would answer, once everything is declared on it."""
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for manifest in render(cluster):
        if manifest["kind"] in found:
            found[manifest["kind"]].append(manifest)
    live_nodes = tuple(
        {
            "metadata": {"name": node.name, "labels": node.labels},
            "spec": {"taints": [{"key": t.key, "value": t.value, "effect": t.effect} for t in node.taints]},
            "status": {"capacity": node.capacity},
        }
        for node in nodes(cluster)
    )
    of = {kind: tuple(objects) for kind, objects in found.items()}
    return KueueCluster(
        of["ClusterQueue"],
        of["LocalQueue"],
        of["ResourceFlavor"],
        of["Cohort"],
        of["Topology"],
        of["WorkloadPriorityClass"],
        of["Namespace"],
        live_nodes,
        fair_sharing="fairSharing" in cluster.manager,
    )


def replanned(found: Declaration) -> Plan:
    return plan(loaded(ProjectData(found.environment, found.teams)))


def kueue_objects(cluster: ClusterPlan) -> list[dict[str, Any]]:
    return [manifest for manifest in render(cluster) if manifest["kind"] in KINDS]


@settings(max_examples=60)
@given(projects())
def test_a_declared_cluster_reads_back_as_itself(project: ProjectData) -> None:
    for declared in project.environment["clusters"].values():
        for group in declared["instance_groups"].values():
            group["count"] = max(1, group["count"])  # a group's taints are read from its nodes
    first = plan(loaded(project))
    for cluster in first.clusters.values():
        connection = Connection(cluster.name)
        found = declaration(
            running(cluster), connection, ENVIRONMENT, ["a@example.com"], idle_sharing=cluster.policy.idle_sharing
        )
        assert [note for note in found.notes if note.id != "import-left"] == []
        again = replanned(found).clusters[cluster.name]
        compared = compare(kueue_objects(again), by_key(render(cluster)))
        without = _without_pods(cluster)
        assert [one for one in compared.differences if not _ended(one) and one.subject not in without] == []
        assert compared.made == ()


def _without_pods(cluster: ClusterPlan) -> set[str]:
    """Queues that count pods and give none, for all that they have is extra quota that has ended: nothing declares such a one."""
    return {
        f"ClusterQueue {team.cluster_queue}"
        for team in cluster.teams.values()
        if PODS in team.covered and not any(flavor.nominal()[PODS] for flavor in team.flavors)
    }


def _ended(one: Difference) -> bool:
    """The flavor of an extra quota that has ended takes no pods at all. No declaration without the extra quota says so."""
    return one.field.endswith(".resources[pods].nominalQuota") and one.live == "0"
