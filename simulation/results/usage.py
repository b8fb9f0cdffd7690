"""Who used what of which instance type: amounts × time, within guarantees and borrowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from governance.model import ClusterPlan, cells
from governance.promotion.shares import fair_shares
from governance.sharing import Cell
from governance.units import CPU, is_device
from simulation.results.amounts import Held, Measured, Use
from simulation.results.lives import Life
from simulation.results.model import Line
from simulation.results.steps import Steps, integral, joined, steps


@dataclass(frozen=True, slots=True)
class Usage:
    """Of all teams."""

    by_team: Mapping[str, Mapping[Measured, Use]]
    held: Mapping[Measured, Held]
    lines: Mapping[str, Mapping[Measured, Line]]
    """What each team used over time; teams and types that used nothing are left out."""


def usage(lives: Iterable[Life], cluster: ClusterPlan, until: int) -> Usage:
    """Up to `until`. Resources are those that people count in: accelerators, vCPUs of types without."""
    measured = measures(cluster)
    changes: dict[tuple[str, Cell], list[tuple[int, int]]] = {}
    waits: dict[str, list[Life]] = {}
    for life in lives:
        waits.setdefault(life.job.team, []).append(life)
        for stay in life.stays:
            end = until if stay.end is None else stay.end
            for cell, amount in stay.usage.items():
                if cell in measured:
                    changes.setdefault((life.job.team, cell), []).extend(((stay.start, amount), (end, -amount)))
    by_team: dict[str, dict[Measured, Use]] = {team: {} for team in cluster.teams}
    lines: dict[str, dict[Measured, Line]] = {}
    held: dict[Measured, Held] = {}
    shares = {team: float(share) for team, share in fair_shares(cluster).items()}
    for cell, name in measured.items():
        used = {team: steps(changes[team, cell]) for team in cluster.teams if (team, cell) in changes}
        nominal = {team: quota.nominal for team, plan in cluster.teams.items() if (quota := cells(plan.flavors).get(cell))}
        held[name] = _held(used, nominal, cluster.capacity.get(name[0], {}).get(name[1], 0), name[1], until)
        contested = _contested(waits, shares, name, until)
        for team, use in _uses(used, nominal, contested, shares, name[1], until):
            by_team[team][name] = use
        for team, line in used.items():
            lines.setdefault(team, {})[name] = _line(line, nominal.get(team, 0))
    return Usage(by_team, held, lines)


def measures(cluster: ClusterPlan) -> dict[Cell, Measured]:
    """Kueue's cells that are measured, in the order of the plan's types."""
    result: dict[Cell, Measured] = {}
    for kind, flavor in cluster.flavors.items():
        there = cluster.capacity.get(kind, {})
        owned = {
            r for team in cluster.teams.values() for (f, r), q in cells(team.flavors).items() if f == flavor.name and q.nominal
        }
        counted = {r for r in (*there, *owned) if is_device(r) and (there.get(r) or r in owned)}
        for resource in sorted(counted) or [CPU]:
            result[flavor.name, resource] = (kind, resource)
    return result


def _held(used: Mapping[str, Steps], nominal: Mapping[str, int], capacity: int, resource: str, until: int) -> Held:
    within = sum(_within(line, nominal.get(team, 0), until) for team, line in used.items())
    total = _total(used.values())
    return Held(
        resource=resource,
        capacity=capacity,
        within=within,
        borrowed=integral(total, until) - within,
        idle=integral(total, until, lambda amount: max(0, capacity - amount)),
        over=integral(total, until, lambda amount: max(0, amount - capacity)),
    )


def _uses(
    used: Mapping[str, Steps],
    nominal: Mapping[str, int],
    contested: Steps,
    shares: Mapping[str, float],
    resource: str,
    until: int,
) -> Iterable[tuple[str, Use]]:
    """Of each team that owns something or used something."""
    teams = [team for team in dict.fromkeys((*nominal, *used)) if nominal.get(team) or team in used]
    within = {team: _within(used.get(team, []), nominal.get(team, 0), until) for team in teams}
    borrowed = {team: integral(used.get(team, []), until) - within[team] for team in teams}
    fought = {team: _while(used.get(team, []), nominal.get(team, 0), contested, until) for team in teams}
    for team in teams:
        own = nominal.get(team, 0)
        yield (
            team,
            Use(
                resource=resource,
                guarantee=own,
                within=within[team],
                borrowed=borrowed[team],
                unused=own * until - within[team],
                contested=fought[team],
                borrowed_share=_part(borrowed[team], borrowed.values()),
                contested_share=_part(fought[team], fought.values()),
                fair_share=shares.get(team),
            ),
        )


def _within(line: Steps, nominal: int, until: int) -> int:
    return integral(line, until, lambda amount: min(amount, nominal))


def _while(line: Steps, nominal: int, contested: Steps, until: int) -> int:
    """Borrowed while it was contested."""
    return sum(seconds * max(0, amount - nominal) for seconds, amount, fought in joined(line, contested, until) if fought)


def _contested(waits: Mapping[str, Sequence[Life]], shares: Mapping[str, float], name: Measured, until: int) -> Steps:
    """How many jobs wait that would like to borrow this, where idle compute goes by fair share."""
    kind, resource = name
    return steps(
        change
        for team in shares
        for life in waits.get(team, ())
        if life.job.instance_type in (None, kind) and life.job.per_pod.get(resource)
        for start, end in life.waits(until)
        if end > start
        for change in ((start, 1), (end, -1))
    )


def _total(lines: Iterable[Steps]) -> Steps:
    return steps((moment, amount - before) for line in lines for (_, before), (moment, amount) in pairwise([(0, 0), *line]))


def _line(line: Steps, nominal: int) -> Line:
    return Line(
        tuple(moment for moment, _ in line),
        {
            "within": tuple(min(amount, nominal) for _, amount in line),
            "borrowed": tuple(max(0, amount - nominal) for _, amount in line),
        },
    )


def _part(amount: int, of: Iterable[int]) -> float | None:
    whole = sum(of)
    return amount / whole if whole else None
