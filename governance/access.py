"""Which IAM roles come onto a cluster, and as members of which Kubernetes groups."""

from __future__ import annotations

from config.hyperpod import HyperPodCluster
from governance import names
from governance.model import ClusterPlan


def role_groups(cluster: ClusterPlan) -> dict[str, tuple[str, ...]]:
    """Groups of each IAM role over all its teams, sorted: EKS has one access entry for a role, with all of its groups."""
    result: dict[str, set[str]] = {}
    for team in cluster.teams.values():
        for role in team.iam_roles:
            # The team's own group alone: the others are those of an identity provider.
            result.setdefault(role, set()).add(names.group(team.name))
    return {role: tuple(sorted(groups)) for role, groups in sorted(result.items())}


def conflicting_roles(cluster: ClusterPlan) -> dict[str, tuple[str, ...]]:
    """Teams by IAM role that has an access entry already, and can't have another: an administrator's, or the instances' own.

    HyperPod itself makes the entry of the execution role.
    """
    declared = cluster.declared
    if not isinstance(declared, HyperPodCluster):
        return {}
    taken = {*declared.eks.admins, *filter(None, (declared.hyperpod.execution_role,))}
    return {
        role: tuple(sorted(team.name for team in cluster.teams.values() if role in team.iam_roles))
        for role in role_groups(cluster)
        if role in taken
    }
