"""Adopting a cluster with Kueue."""

from __future__ import annotations

from collections.abc import Sequence

from components.governance.kueue.manifests.objects import KUEUE
from components.render import render
from config.files import ENVIRONMENTS, SUFFIX
from config.findings import ConfigError, Where, problem_at
from governance.adoption.kueue import declaration
from governance.adoption.model import Connection, Declaration, KueueCluster, Note
from governance.model import Plan
from live.adoption.adopting import Adoption, Target, best, declared_files, finished, note_findings, planned, refuse
from live.adoption.comparing import Comparison, compare
from live.adoption.importing import import_file
from live.adoption.reading import read_objects
from live.adoption.registering import registrations
from live.drift.reading import Source


def adopt_kueue(source: Source, found: KueueCluster, connection: Connection, target: Target, owners: Sequence[str]) -> Adoption:
    """The adoption of what was read; nothing is written. Raises ConfigError, UnreachableError and ApiError."""
    if found.other_versions:
        message = f"{connection.cluster}: its Kueue serves {', '.join(found.other_versions)}, and not {KUEUE}, which is read here"
        where = Where(f"{ENVIRONMENTS}/{target.environment}{SUFFIX}")
        raise ConfigError([problem_at("import-empty", where, message, "bring Kueue up to 0.15 or newer")])
    if not found.cluster_queues:
        raise ConfigError(note_findings([Note("import-empty", connection.cluster, "there is no ClusterQueue")], target))

    def judge(one: Declaration) -> tuple[Plan, Comparison]:
        plan = planned(declared_files(one, target), target)
        manifests = [manifest for cluster in plan.clusters.values() for manifest in render(cluster)]
        return plan, compare(manifests, read_objects(source, manifests))

    candidates = [
        declaration(found, connection, target.environment, owners, idle_sharing=sharing) for sharing in _idle_sharing(found)
    ]
    refuse(candidates, target)
    chosen, plan, comparison = best(candidates, judge)
    content = import_file(registrations(plan, target.stack), comparison.there, {})
    return finished(chosen, plan, target, comparison, content)


def _idle_sharing(found: KueueCluster) -> list[bool]:
    """A cohort's own quotas may be what no team owns; where they are anything else, they aren't declared, and stay."""
    return [True, False] if any((one.get("spec") or {}).get("resourceGroups") for one in found.cohorts) else [False]
