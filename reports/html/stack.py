"""The report of a stack, from its plan and what its clusters have told."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from config.hyperpod import HyperPodCluster
from config.load import Platform
from governance.model import ClusterPlan, Plan
from live.looking import Look
from live.topology import declared_layout
from reports.html.collect import collect
from reports.html.model import ClusterFacts, Drawing, Report
from reports.topology import View, view
from reports.topologysvg import svg

PLAN_ONLY = "no cluster was asked: all figures are from the plan alone."


def stack_report(
    platform: Platform,
    plan: Plan,
    stack: str,
    looks: Mapping[str, Look | None],
    made_at: datetime,
    simulation: Mapping[str, Any] | None = None,
) -> Report:
    """The report on the clusters of `looks`; None stands for one that wasn't asked."""
    return collect(
        platform,
        plan,
        stack,
        made_at=made_at,
        usages={name: look.usage for name, look in looks.items() if look and look.usage},
        facts=tuple(_facts(plan, plan.clusters[name], look) for name, look in looks.items()),
        drawings=tuple(_drawing(plan.clusters[name], look) for name, look in looks.items() if not plan.clusters[name].dispatch),
        simulation=simulation,
    )


def _facts(plan: Plan, cluster: ClusterPlan, look: Look | None) -> ClusterFacts:
    kind = "sandbox" if cluster.declared.sandbox else "HyperPod" if isinstance(cluster.declared, HyperPodCluster) else "existing"
    workers = cluster.dispatch.workers if cluster.dispatch else ()
    if look is None:
        return ClusterFacts(cluster.name, kind, _keeper(plan, cluster, ""), None, PLAN_ONLY, workers)
    note = look.problem
    if note and look.usage is None:
        note = f"{note.rstrip('.')}. Its figures are from the plan alone."
    read_at = look.usage.read_at if look.usage else None
    return ClusterFacts(cluster.name, kind, _keeper(plan, cluster, look.kueue), read_at, note, workers)


def _keeper(plan: Plan, cluster: ClusterPlan, live: str) -> str:
    """Who keeps the queues: what runs where that is seen, what is declared otherwise."""
    if plan.backend == "managed":
        return f"HyperPod task governance{f' (Kueue {live})' if live else ''}"
    if live:
        return f"Kueue {live}"
    return f"Kueue {cluster.kueue.version}" if cluster.kueue.install or cluster.declared.sandbox else "the cluster’s own Kueue"


def _drawing(cluster: ClusterPlan, look: Look | None) -> Drawing:
    layout = look.layout if look and look.layout else declared_layout(cluster)
    found = view(layout)
    return Drawing(cluster.name, f"Nodes of {cluster.name} by network block, {found.source}", svg([found]), _words(found))


def _words(found: View) -> str:
    """The map in a sentence or two."""
    nodes = sum(len(section.nodes) for section in found.sections)
    kinds = ", ".join(f"{len(section.nodes)} of {section.instance_type}" for section in found.sections)
    notes = "".join(f" {note[:1].upper()}{note[1:]}." for note in found.notes())
    return f"{nodes} nodes: {kinds}.{notes}"
