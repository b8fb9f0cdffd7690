"""Fair shares: what part of contested idle compute a team's weight gives it."""

from __future__ import annotations

from fractions import Fraction

from governance.model import ClusterPlan, TeamPlan
from governance.sharing import parents_first


def fair_shares(cluster: ClusterPlan) -> dict[str, Fraction]:
    """Each competing team's part of the compute that is idle while all of them want more of it, from 0 to 1.

    Siblings share by weight, cohort by cohort from the root down; siblings that all have a weight of 0 share equally, as Kueue
    compares them then. A team that is held or draining, or that can't borrow, doesn't compete. Empty where idle compute goes by
    arrival. Borrow limits may leave a team less than its share.
    """
    if cluster.policy.idle_compute != "fair_share":
        return {}
    parents = {cohort.name: cohort.parent for cohort in cluster.cohorts}
    weights = {cohort.name: cohort.weight or 0 for cohort in cluster.cohorts}
    teams: dict[str, list[TeamPlan]] = {}
    for team in cluster.teams.values():
        if team.cohort is not None and _competes(team):
            teams.setdefault(team.cohort, []).append(team)
    order = parents_first(parents)
    alive = _alive(order, parents, teams)
    below: dict[str, list[str]] = {}
    for name in order:
        parent = parents[name]
        if parent is not None and name in alive:
            below.setdefault(parent, []).append(name)
    shares: dict[str, Fraction] = {}
    cohort_share = {name: Fraction(1) for name in order if parents[name] is None}
    for name in order:
        if name not in cohort_share:
            continue
        inner, members = below.get(name, []), teams.get(name, [])
        total = sum(weights[cohort] for cohort in inner) + sum(team.weight for team in members)
        equal = Fraction(1, len(inner) + len(members)) if inner or members else Fraction(0)
        own = cohort_share[name]
        for cohort in inner:
            cohort_share[cohort] = own * (Fraction(weights[cohort], total) if total else equal)
        for team in members:
            shares[team.name] = own * (Fraction(team.weight, total) if total else equal)
    return shares


def _competes(team: TeamPlan) -> bool:
    return team.state == "active" and any(quota.borrowing_limit != 0 for flavor in team.flavors for quota in flavor.quotas)


def _alive(order: list[str], parents: dict[str, str | None], teams: dict[str, list[TeamPlan]]) -> set[str]:
    """Cohorts with a competing team in them or below."""
    alive: set[str] = set()
    for name in reversed(order):
        if name in teams:
            alive.add(name)
        parent = parents[name]
        if name in alive and parent is not None:
            alive.add(parent)
    return alive
