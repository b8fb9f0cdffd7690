"""Settings that differ, as dotted paths of the merged declarations with both values."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from config.environment import Environment
from config.team import Team
from governance.promotion.model import Value

_MISSING = object()
_GROUPS = ("instance_groups", "restricted_instance_groups")
TOLD_OF_TEAMS = frozenset(
    {
        *("apiVersion", "name", "quota", "weight", "sharing", "state", "default_priority", "access", "default_queue"),
        *("department", "preemption", "max_run_time", "cluster_quota"),
    }
)
"""Fields of a team's file that the comparison of its plans tells already."""
_VERSIONS = (("eks", "version"), ("eks", "addons"), ("task_governance", "version"), ("kueue", "version"), ("kueue", "chart"))


def differences(old: Any, new: Any, path: tuple[str, ...] = ()) -> Iterator[Value]:
    """Leaves that differ. Maps are compared key by key, lists and scalars as a whole; what is unset on a side is None."""
    if old == new:
        return
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in dict.fromkeys((*old, *new)):
            yield from differences(old.get(key, _MISSING), new.get(key, _MISSING), (*path, str(key)))
        return
    before, after = _bare(old), _bare(new)
    if before != after:
        yield Value(".".join(path), before, after)


def _bare(value: Any) -> Any:
    """Without what is unset, for a map that is on one side only; None for nothing at all."""
    if value is _MISSING:
        return None
    if isinstance(value, Mapping):
        return {key: inner for key, item in value.items() if (inner := _bare(item)) not in (None, {}, [])}
    return [_bare(item) for item in value] if isinstance(value, list) else value


def environment_settings(old: Environment, new: Environment, renamed: Mapping[str, str], *, side_by_side: bool) -> list[Value]:
    """What two environments set otherwise, without what is told elsewhere: groups, versions, priority classes.

    `renamed`: the first one's clusters by the name under which they are compared. Clusters of one side only are left out.
    """
    if old == new:
        return []
    before, after = _told_apart(old, renamed), _told_apart(new, {})
    if side_by_side:
        before.pop("base", None)
        after.pop("base", None)
    both = before["clusters"].keys() & after["clusters"].keys()
    for side in (before, after):
        side["clusters"] = {name: cluster for name, cluster in side["clusters"].items() if name in both}
    return list(differences(before, after))


def _told_apart(environment: Environment, renamed: Mapping[str, str]) -> dict[str, Any]:
    data = environment.model_dump(mode="json")
    data.pop("apiVersion")
    data["governance"].pop("priority_classes")
    data["clusters"] = {renamed.get(name, name): _without_told(cluster) for name, cluster in data["clusters"].items()}
    return data


def _without_told(cluster: dict[str, Any]) -> dict[str, Any]:
    for key in _GROUPS:
        cluster.pop(key, None)
    for section, key in _VERSIONS:
        cluster.get(section, {}).pop(key, None)
    return cluster


def team_settings(old: Mapping[str, Team], new: Mapping[str, Team], told: Collection[str]) -> Iterator[Value]:
    """What files of teams on both sides say otherwise. `told`: teams whose amounts the comparison tells."""
    for name in sorted(old.keys() & new.keys()):
        before, after = old[name], new[name]
        if before == after:
            continue
        skipped = TOLD_OF_TEAMS if name in told else TOLD_OF_TEAMS - {"quota", "sharing"}
        yield from differences(
            before.model_dump(mode="json", exclude=set(skipped)),
            after.model_dump(mode="json", exclude=set(skipped)),
            ("teams", name),
        )
