"""Who shares with whom: the cohort of each team, and the cohorts of a cluster."""

from __future__ import annotations

from config.environment import Governance
from config.team import Team
from governance.model import CohortPlan, FlavorQuota
from governance.sharing import Quota, parents_first
from governance.units import Resources


def cohort_of(team: Team, governance: Governance) -> str | None:
    """A team that doesn't share stands outside every cohort, unless its department keeps it (then with limits of 0)."""
    if team.department in governance.departments:
        return team.department
    return None if team.sharing.strategy == "dont_lend" else governance.root_cohort


def cohort_plans(governance: Governance, pool: tuple[FlavorQuota, ...]) -> tuple[CohortPlan, ...]:
    """The root with what no team owns, then the departments, parents before children."""
    departments, root = governance.departments, governance.root_cohort
    parents = {name: department.parent for name, department in departments.items()}
    return (
        CohortPlan(root, None, None, pool),
        *(
            CohortPlan(name, None, None)
            if departments[name].alone
            else CohortPlan(name, parents[name] or root, departments[name].weight)
            for name in parents_first(parents)
        ),
    )


def unowned(covered: tuple[str, ...], held: Resources, guaranteed: Resources) -> tuple[Quota, ...]:
    """Capacity that no team owns, none where guarantees are above it."""
    return tuple(Quota(r, max(0, held.get(r, 0) - guaranteed.get(r, 0))) for r in covered)
