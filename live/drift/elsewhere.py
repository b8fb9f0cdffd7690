"""Which teams other environments of the project deploy to the same clusters: what they have there is no stranger's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from config.environment import Cluster
from config.load import Platform, Project


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Teams of other environments, without those that this one takes as well."""

    certain: frozenset[str] = frozenset()
    """Of environments that name the same cluster."""
    perhaps: Mapping[str, str] = field(default_factory=dict)
    """Of environments that may name it, in a way that the files don't tell; to each team, the first of them."""


def elsewhere(root: Path, platform: Platform) -> dict[str, Elsewhere]:
    """By cluster of an environment. Environments with errors count for nothing: their teams can't be known."""
    project = Project(root, platform.today)
    others = [project.declared(name)[0] for name in project.environments() if name != platform.name]
    return {
        name: _on(cluster, [one for one in others if one is not None], frozenset(platform.teams))
        for name, cluster in platform.environment.clusters.items()
    }


def _on(cluster: Cluster, others: list[Platform], ours: frozenset[str]) -> Elsewhere:
    certain: set[str] = set()
    perhaps: dict[str, str] = {}
    for other in others:
        shared = {same(cluster, one) for one in other.environment.clusters.values()}
        teams = frozenset(other.teams) - ours
        if True in shared:
            certain |= teams
        elif None in shared:
            perhaps = dict.fromkeys(teams, other.name) | perhaps
    return Elsewhere(frozenset(certain), perhaps)


def same(one: Cluster, other: Cluster) -> bool | None:
    """Whether two environments name the same cluster; None where their files can't tell.

    A sandbox is its stack's own. A kubeconfig may be a secret of the stack, and two files may lead to the same place; queues may
    stand on a cluster that the stack of another environment has built.
    """
    if one.sandbox or other.sandbox:
        return False
    if one.kind == "hyperpod" and other.kind == "hyperpod":
        return None if (one.account, one.region) == (other.account, other.region) else False
    named = one.kubeconfig is not None and (one.kubeconfig, one.context) == (other.kubeconfig, other.context)
    return True if named else None
