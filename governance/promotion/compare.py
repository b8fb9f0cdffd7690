"""Comparing two plans. Pure, and linear in what the declarations hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from config.cluster import InstanceGroup
from config.findings import Finding
from config.groups import RestrictedGroup
from config.hyperpod import HyperPodCluster
from governance.model import ClusterPlan, Plan
from governance.promotion.losses import losses
from governance.promotion.model import Comparison, GroupChange, Mode, Side, TypeChange, Value, VersionChange, What
from governance.promotion.settings import differences, environment_settings, team_settings
from governance.promotion.teams import team_changes
from governance.promotion.versions import version_changes
from governance.summary import TypeRow, type_rows

_Group = InstanceGroup | RestrictedGroup


def compare(before: Side, after: Side, mode: Mode) -> Comparison:
    """Everything that differs between the two."""
    old, new = _paired(before.plan, after.plan, mode)
    names = sorted(old.keys() | new.keys())
    both = [name for name in names if name in old and name in new]
    side_by_side, backend = mode == "environments", (before.plan.backend, after.plan.backend)
    teams = tuple(change for name in names for change in team_changes(old.get(name), new.get(name), name))
    told = {change.team for change in teams if change.what != "affected" and (change.amounts or change.what != "changed")}
    told |= {change.team for change in teams if any(value.field == "sharing" for value in change.values)}
    renamed = {cluster.name: name for name, cluster in old.items()}
    settings = environment_settings(before.platform.environment, after.platform.environment, renamed, side_by_side=side_by_side)
    come, gone = _findings(before.plan.findings, after.plan.findings)
    return Comparison(
        before=before.name,
        after=after.name,
        mode=mode,
        clusters=tuple((name, "new" if name in new else "removed") for name in names if name not in both),
        losses=()
        if side_by_side
        else tuple(found for name in sorted(old) for found in losses(old[name], new.get(name), backend=backend)),
        teams=teams,
        types=tuple(_types(type_rows(before.plan), type_rows(after.plan), renamed)),
        groups=tuple(change for name in names for change in _groups(name, _declared(old.get(name)), _declared(new.get(name)))),
        classes=tuple(_classes(before.plan, after.plan)),
        versions=tuple(_versions(old, new, both, backend, side_by_side=side_by_side)),
        settings=(*settings, *team_settings(before.platform.teams, after.platform.teams, told)),
        come=come,
        gone=gone,
    )


def _paired(before: Plan, after: Plan, mode: Mode) -> tuple[dict[str, ClusterPlan], dict[str, ClusterPlan]]:
    """Clusters by the name under which they are compared. Two environments of one cluster each have that in common."""
    old, new = dict(before.clusters), dict(after.clusters)
    if mode == "environments" and len(old) == len(new) == 1:
        old = dict(zip(new, old.values(), strict=True))
    return old, new


def _versions(
    old: Mapping[str, ClusterPlan],
    new: Mapping[str, ClusterPlan],
    both: Iterable[str],
    backend: tuple[str, str],
    *,
    side_by_side: bool,
) -> Iterator[VersionChange]:
    for name in both:
        yield from version_changes(old[name], new[name], backend, side_by_side=side_by_side)


def _types(before: Iterable[TypeRow], after: Iterable[TypeRow], renamed: Mapping[str, str]) -> Iterator[TypeChange]:
    old = {(renamed[row.cluster], row.instance_type): row for row in before}
    new = {(row.cluster, row.instance_type): row for row in after}
    for key in sorted(old.keys() | new.keys()):
        one, other = old.get(key), new.get(key)
        nodes = (one.nodes if one else 0, other.nodes if other else 0)
        held, owned = _both(one, other, "capacity"), _both(one, other, "guaranteed")
        for resource in dict.fromkeys((*held[0], *held[1], *owned[0], *owned[1])):
            capacity = (held[0].get(resource, 0), held[1].get(resource, 0))
            guaranteed = (owned[0].get(resource, 0), owned[1].get(resource, 0))
            if capacity[0] != capacity[1] or guaranteed[0] != guaranteed[1]:
                yield TypeChange(*key, resource, nodes, capacity, guaranteed)


def _both(one: TypeRow | None, other: TypeRow | None, name: str) -> tuple[Mapping[str, int], Mapping[str, int]]:
    return (getattr(one, name) if one else {}, getattr(other, name) if other else {})


def _declared(cluster: ClusterPlan | None) -> dict[str, _Group]:
    if cluster is None:
        return {}
    found: dict[str, _Group] = dict(cluster.groups)
    if isinstance(cluster.declared, HyperPodCluster):
        found |= cluster.declared.restricted_instance_groups
    return found


def _groups(cluster: str, old: Mapping[str, _Group], new: Mapping[str, _Group]) -> Iterator[GroupChange]:
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name), new.get(name)
        if one == other:
            continue
        either = other or one
        assert either is not None  # noqa: S101 - the name is of one of the two
        count = (one.count if one else 0, other.count if other else 0)
        values: tuple[Value, ...] = ()
        if one is not None and other is not None:
            before, after = (group.model_dump(mode="json", exclude={"count"}) for group in (one, other))
            values = tuple(differences(before, after))
        what: What = "changed" if one and other else "new" if other else "removed"
        yield GroupChange(cluster, name, what, either.instance_type, count, values)


def _classes(before: Plan, after: Plan) -> Iterator[Value]:
    old, new = _values(before), _values(after)
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield Value(name, old.get(name), new.get(name))


def _values(found: Plan) -> dict[str, int]:
    """Values by class; the same on all clusters of an environment."""
    return {one.declared: one.value for cluster in found.clusters.values() for one in cluster.priority_classes}


def _findings(before: Iterable[Finding], after: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Findings of one side only. A line that has moved makes no other finding."""
    old, new = ({(f.id, f.severity, f.where.file, f.message, bool(f.waived)): f for f in side} for side in (before, after))
    return tuple(f for key, f in new.items() if key not in old), tuple(f for key, f in old.items() if key not in new)
