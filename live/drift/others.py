"""Objects on a cluster that no deployment has made, though they bear on what a stack governs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from components.governance.kueue.manifests.access import MEMBER, RBAC, READER
from components.governance.kueue.manifests.objects import KUEUE
from governance.names import TEAM_LABEL
from live.drift.model import Finding, Kind, Thing
from live.drift.owners import creator
from live.drift.state import Key, Object

BINDINGS: Final = ((f"{RBAC}/v1", "RoleBinding"), (f"{RBAC}/v1", "ClusterRoleBinding"))
QUEUES: Final = (
    (KUEUE, "Cohort"),
    (KUEUE, "ClusterQueue"),
    (KUEUE, "LocalQueue"),
    ("v1", "Namespace"),
)
"""Kinds that are looked through on the backend `kueue`; on the other, AWS makes them."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is ours on a cluster."""

    cohorts: frozenset[str]
    queues: frozenset[str]
    namespaces: Mapping[str, str]
    """Teams by namespace."""


def known(manifests: Iterable[Object]) -> Known:
    """What manifests, declared or deployed, say is ours."""
    cohorts, queues, namespaces = set[str](), set[str](), dict[str, str]()
    for one in manifests:
        meta, kind = one.get("metadata") or {}, one.get("kind")
        if kind == "Cohort":
            cohorts.add(str(meta.get("name")))
        elif kind == "ClusterQueue":
            queues.add(str(meta.get("name")))
        elif kind in ("RoleBinding", "LocalQueue"):
            namespaces[str(meta.get("namespace"))] = str((meta.get("labels") or {}).get(TEAM_LABEL, ""))
    return Known(frozenset(cohorts), frozenset(queues), namespaces)


def unmanaged(cluster: str, live: Mapping[Key, Object], ours: Known, told: Collection[Key]) -> Iterator[Finding]:
    """Each object that bears on ours, with the reason why; `told` are those that are compared anyway."""
    for key, one in live.items():
        if key in told:
            continue
        labels = (one.get("metadata") or {}).get("labels") or {}
        reason = _reason(key, one, ours, labels)
        if reason:
            team = str(labels.get(TEAM_LABEL) or ours.namespaces.get(key.namespace, ""))
            thing = Thing(cluster, key.kind, key.name, key.namespace, team)
            yield Finding(thing, (Kind.UNMANAGED,), author=creator(one), remark=reason)


def _reason(key: Key, live: Object, ours: Known, labels: Mapping[str, str]) -> str:
    spec, role = live.get("spec") or {}, (live.get("roleRef") or {}).get("name")
    if TEAM_LABEL in labels:
        return f"carries the label {TEAM_LABEL}: {labels[TEAM_LABEL]}"
    if key.kind == "ClusterQueue" and spec.get("cohortName") in ours.cohorts:
        return f"shares in the cohort {spec['cohortName']}"
    if key.kind == "Cohort" and spec.get("parentName") in ours.cohorts:
        return f"shares in the cohort {spec['parentName']}"
    if key.kind == "LocalQueue" and spec.get("clusterQueue") in ours.queues:
        return f"gives access to the queue {spec['clusterQueue']}"
    if key.kind == "LocalQueue" and key.namespace in ours.namespaces:
        return "in the namespace of a team"
    if key.kind in ("RoleBinding", "ClusterRoleBinding") and role in (MEMBER, READER):
        return f"gives the rights of {role}"
    return ""
