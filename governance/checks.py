"""Findings on what a declaration means, beyond its syntax, that need no resolved quota."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.environment import HOSTNAME
from config.findings import Finding, Severity, did_you_mean, problem_at
from config.load import Platform
from config.team import Team
from config.yamlsource import Path_
from governance import names
from governance.extra_quota import extra_quota_findings

_GROUP_LABELS = (HOSTNAME, names.INSTANCE_TYPE_LABEL, names.GROUP_LABEL, names.HEALTH_LABEL)
"""Labels of nodes that the node, its cloud or HyperPod sets."""


def platform_findings(platform: Platform) -> Iterator[Finding]:
    """What can be said without resolving a quota."""
    governance = platform.environment.governance
    for team in platform.teams.values():
        yield from _references(platform, team)
        yield from _reserved(platform, team)
        yield from _unused_roles(platform, team)
    yield from _group_labels(platform)
    yield from _equal_priorities(platform)
    yield from _unranked_priorities(platform)
    yield from extra_quota_findings(platform)
    if governance.backend == "managed":
        for name, cluster in platform.environment.clusters.items():
            if cluster.kind == "hyperpod":
                continue
            where = platform.where("", ("governance", "backend"))
            message = f"the managed backend needs a HyperPod cluster; `{name}` is of kind existing"
            yield problem_at("managed-needs-hyperpod", where, message, "use the kueue backend")


def _references(platform: Platform, team: Team) -> Iterator[Finding]:
    """Names that must exist elsewhere in the declaration."""
    governance = platform.environment.governance
    references: list[tuple[Path_, str, str | None, Mapping[str, object]]] = [
        (("default_priority",), "priority class", team.default_priority, governance.priority_classes),
        (("department",), "department", team.department, governance.departments),
        *((("clusters", i), "cluster", name, platform.environment.clusters) for i, name in enumerate(team.clusters or ())),
        *((("cluster_quota", name), "cluster", name, platform.environment.clusters) for name in team.cluster_quota),
    ]
    for path, what, name, known in references:
        if name is not None and name not in known:
            message = f"there is no {what} `{name}` in the environment `{platform.name}`"
            remedy = did_you_mean(name, list(known)) or f"add it to environments/{platform.name}.yaml"
            where = platform.where(team.name, path, key=path[0] == "cluster_quota")
            yield problem_at(f"{what.replace(' ', '-')}-unknown", where, message, remedy)
    for name in team.cluster_quota:
        if team.clusters is not None and name not in team.clusters and name in platform.environment.clusters:
            where = platform.where(team.name, ("cluster_quota", name), key=True)
            message = f"team `{team.name}` doesn't work on the cluster `{name}`: this quota counts nothing"
            yield Finding("cluster-quota-unused", Severity.WARNING, where, message, "remove it, or add the cluster to `clusters`")


def _reserved(platform: Platform, team: Team) -> Iterator[Finding]:
    """Labels and namespaces that are not a team's to choose."""
    for key in team.labels:
        if names.is_reserved_label(key):
            where = platform.where(team.name, ("labels", key), key=True)
            yield problem_at("label-reserved", where, f"the label `{key}` is not a team's to set", "choose another prefix")
    own = team.names.namespace
    kueue = {cluster.kueue.namespace for cluster in platform.environment.clusters.values()}
    if own is not None and (names.is_reserved_namespace(own) or own in kueue):
        where = platform.where(team.name, ("names", "namespace"))
        yield problem_at("namespace-reserved", where, f"the namespace `{own}` is the system's", "give the team its own")


def _unused_roles(platform: Platform, team: Team) -> Iterator[Finding]:
    """IAM roles become members through EKS access entries, which only the cluster's own declaration can make."""
    for name, cluster in platform.environment.clusters.items():
        if (
            team.access.iam_roles
            and cluster.kind == "existing"
            and not cluster.sandbox
            and (team.clusters is None or name in team.clusters)
        ):
            where = platform.where(team.name, ("access", "iam_roles"), key=True)
            message = f"IAM roles get no access to the cluster `{name}`, which is of kind existing"
            remedy = f"give them an access entry with the group {names.group(team.name)} there"
            yield Finding("iam-roles-unused", Severity.ADVICE, where, message, remedy)


def _group_labels(platform: Platform) -> Iterator[Finding]:
    for name, cluster in platform.environment.clusters.items():
        for group_name, group in cluster.instance_groups.items():
            for key in group.labels:
                if key in _GROUP_LABELS:
                    where = platform.where("", ("clusters", name, "instance_groups", group_name, "labels", key), key=True)
                    message = f"the node sets the label `{key}` itself"
                    yield problem_at("label-reserved", where, message, "remove it")


def _equal_priorities(platform: Platform) -> Iterator[Finding]:
    """Two classes of one weight are one rank: allowed, yet rarely meant."""
    first: dict[int, str] = {}
    for name, declared in platform.environment.governance.priority_classes.items():
        if declared.weight in first:
            where = platform.where("", ("governance", "priority_classes", name), key=True)
            message = (
                f"the priority classes `{first[declared.weight]}` and `{name}` have one weight: neither goes before the other"
            )
            yield Finding("priority-equal", Severity.ADVICE, where, message, "give them different weights, or use one class")
        first.setdefault(declared.weight, name)


def _unranked_priorities(platform: Platform) -> Iterator[Finding]:
    """A task without a class ranks at 0: a class that isn't above that makes naming it a disadvantage, or nothing."""
    for name, declared in platform.environment.governance.priority_classes.items():
        if declared.weight <= 0:
            where = platform.where("", ("governance", "priority_classes", name), key=True)
            rank = "as high as" if declared.weight == 0 else "below"
            message = f"the priority class `{name}` has weight {declared.weight}: its tasks rank {rank} those that name no class"
            yield Finding("priority-unranked", Severity.ADVICE, where, message, "give it a weight of 1 or more")
