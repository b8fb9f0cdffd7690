"""Teams on two sides of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from config.team import Sharing
from governance.model import ClusterPlan, TeamPlan
from governance.promotion.model import FAIR_SHARE, Amount, Measure, TeamChange, Value
from governance.promotion.shares import fair_shares
from governance.sharing import Quota
from governance.units import PODS

_MEASURES: tuple[Measure, ...] = ("guaranteed", "borrowable", "lendable", "largest job")
_OWN = ("guaranteed", "lendable")
"""Measures that only the team's own declaration changes."""
_NOTHING = (0, 0, 0, 0)
_Amounts = dict[tuple[str, str], tuple[int, int, int, int]]
"""By instance type and resource, in the order of `_MEASURES`."""


def team_changes(old: ClusterPlan | None, new: ClusterPlan | None, name: str) -> Iterator[TeamChange]:
    """What differs for each team of a cluster, by the team's name; teams to whom nothing happens are left out."""
    before, after = _shares(old), _shares(new)
    old_teams: Mapping[str, TeamPlan] = old.teams if old else {}
    new_teams: Mapping[str, TeamPlan] = new.teams if new else {}
    for team in sorted(old_teams.keys() | new_teams.keys()):
        shares = before.get(team), after.get(team)
        change = _change(name, team, old_teams.get(team), new_teams.get(team), shares)
        if change is not None:
            yield change


def _shares(cluster: ClusterPlan | None) -> dict[str, float]:
    """Percent, to one decimal: a team among a thousand changes everybody's share by less than that."""
    return {team: _percent(share) for team, share in fair_shares(cluster).items()} if cluster else {}


def _percent(share: Fraction) -> float:
    return round(float(share * 100), 1)


def _change(
    cluster: str, name: str, old: TeamPlan | None, new: TeamPlan | None, shares: tuple[float | None, float | None]
) -> TeamChange | None:
    amounts = tuple(_amounts(old, new))
    share = () if shares[0] == shares[1] else (Value(FAIR_SHARE, *shares),)
    if old is None or new is None:
        values = tuple(_facts(old, new))
        return TeamChange(cluster, name, "new" if old is None else "removed", (*values, *share), amounts)
    values = tuple(_values(old, new))
    if values or any(amount.measure in _OWN for amount in amounts):
        return TeamChange(cluster, name, "changed", (*values, *share), amounts)
    return TeamChange(cluster, name, "affected", share, amounts) if share or amounts else None


def _amounts(old: TeamPlan | None, new: TeamPlan | None) -> Iterator[Amount]:
    if old is not None and new is not None and _reach(old) == _reach(new):
        return
    before, after = _of(old), _of(new)
    for kind, resource in dict.fromkeys((*before, *after)):
        was, becomes = before.get((kind, resource), _NOTHING), after.get((kind, resource), _NOTHING)
        if was == becomes:
            continue
        for measure, one, other in zip(_MEASURES, was, becomes, strict=True):
            if one != other:
                yield Amount(kind, resource, measure, one, other)


def _reach(team: TeamPlan) -> tuple[Any, ...]:
    return team.flavors, team.largest, team.potential


def _of(team: TeamPlan | None) -> _Amounts:
    if team is None:
        return {}
    found: _Amounts = {}
    shares = team.cohort is not None
    for flavor in team.flavors:
        for quota in flavor.quotas:
            if quota.resource != PODS:
                cell, key = (flavor.flavor, quota.resource), (flavor.instance_type, quota.resource)
                borrowable = max(0, team.potential[cell] - quota.nominal)
                found[key] = (quota.nominal, borrowable, _lendable(quota) if shares else 0, team.largest[cell])
    return found


def _lendable(quota: Quota) -> int:
    return quota.nominal if quota.lending_limit is None else min(quota.nominal, quota.lending_limit)


def _facts(old: TeamPlan | None, new: TeamPlan | None) -> Iterator[Value]:
    """What says who a new or a removed team is."""
    for field, before, after in (
        ("namespace", old and old.namespace, new and new.namespace),
        ("state", old and old.state, new and new.state),
        ("weight", old.weight if old else None, new.weight if new else None),
        ("sharing", sharing_words(old.sharing) if old else None, sharing_words(new.sharing) if new else None),
        ("default priority", old and old.default_priority, new and new.default_priority),
        ("access", sorted(_access(old)) if old else None, sorted(_access(new)) if new else None),
    ):
        if before is not None or after is not None:
            yield Value(field, before, after)


def _values(old: TeamPlan, new: TeamPlan) -> Iterator[Value]:
    pairs: tuple[tuple[str, Any, Any], ...] = (
        ("state", old.state, new.state),
        ("weight", old.weight, new.weight),
        ("cohort", old.cohort, new.cohort),
        ("namespace", old.namespace, new.namespace),
        ("queue", old.local_queue, new.local_queue),
        ("cluster queue", old.cluster_queue, new.cluster_queue),
        ("queue `default`", old.default_queue, new.default_queue),
        ("default priority", old.default_priority, new.default_priority),
        ("longest run time", old.max_run_time, new.max_run_time),
        ("preemption in its queue", old.within_queue, new.within_queue),
    )
    yield from (Value(field, before, after) for field, before, after in pairs if before != after)
    if old.sharing != new.sharing:
        yield Value("sharing", sharing_words(old.sharing), sharing_words(new.sharing))
    yield from _types(old, new)
    gone, come = _access(old) - _access(new), _access(new) - _access(old)
    if gone or come:
        yield Value("access", sorted(gone), sorted(come))


def _types(old: TeamPlan, new: TeamPlan) -> Iterator[Value]:
    before = {flavor.instance_type: flavor.flavor for flavor in old.flavors}
    after = {flavor.instance_type: flavor.flavor for flavor in new.flavors}
    both = before.keys() & after.keys()
    for kind in sorted(both):
        if before[kind] != after[kind]:
            yield Value(f"flavor of {kind}", before[kind], after[kind])
    order, ordered = [kind for kind in before if kind in both], [kind for kind in after if kind in both]
    if order != ordered:
        yield Value("order of instance types", order, ordered)


def _access(team: TeamPlan) -> set[str]:
    return {*team.groups, *team.iam_roles}


def sharing_words(sharing: Sharing) -> str:
    """The sharing rule in a few words."""
    words = [sharing.strategy.replace("_", " ")]
    if sharing.borrow_unlimited:
        words.append("without limit")
    elif sharing.borrow:
        words.append(f"up to own limits on {', '.join(sorted(sharing.borrow))}")
    elif sharing.strategy == "lend_and_borrow":
        words.append(f"up to {sharing.borrow_percent} %")
    if sharing.lend:
        words.append(f"lends by own limits on {', '.join(sorted(sharing.lend))}")
    elif sharing.lend_limit is not None:
        words.append(f"lends up to {sharing.lend_limit} %")
    return f"{words[0]} {words[1]}" + "".join(f", {word}" for word in words[2:]) if len(words) > 1 else words[0]
