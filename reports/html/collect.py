"""From a plan, and what its clusters say about themselves, to the rows of the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from config.load import Platform
from governance.model import ClusterPlan, Plan, TeamPlan
from governance.sharing import Quota, shared
from governance.summary import team_rows, type_rows
from governance.units import CPU, Resources, is_device
from live.tasks import ClassUse, Task, by_class
from live.usage import QueueUse, Usage
from reports.html.model import CapacityRow, ClassRow, ClusterFacts, Drawing, Loan, Report, ShareRow, TaskCount, TeamRow, WaitRow

WAITING_SHOWN = 15
"""Tasks that are named among those that wait longest."""
NOBODY = "nobody’s (idle pool)"
_STRATEGIES = {"lend_and_borrow": "lends and borrows", "lend": "lends", "dont_lend": "keeps what it has"}


def collect(  # noqa: PLR0913 - all that a page shows
    platform: Platform,
    plan: Plan,
    stack: str,
    *,
    made_at: datetime,
    usages: Mapping[str, Usage],
    facts: tuple[ClusterFacts, ...],
    drawings: tuple[Drawing, ...] = (),
    simulation: Mapping[str, Any] | None = None,
) -> Report:
    """The report on the clusters of `facts`. `usages`: by cluster, of those that have answered."""
    clusters = [plan.clusters[fact.name] for fact in facts]
    names = {cluster.name for cluster in clusters}
    live = [(cluster, _own(cluster, usages)) for cluster in clusters if cluster.name in usages]
    return Report(
        environment=platform.name,
        description=platform.environment.description,
        stack=stack,
        backend=plan.backend,
        made_at=made_at,
        clusters=facts,
        capacity=tuple(row for row in _capacity(plan, usages) if row.cluster in names),
        shares=tuple(row for cluster in clusters for row in _shares(plan, cluster, usages.get(cluster.name))),
        teams=tuple(row for cluster in clusters for row in _teams(cluster, usages.get(cluster.name))),
        findings=plan.findings,
        loans=tuple(loan for cluster in clusters if cluster.name in usages for loan in _loans(cluster, usages[cluster.name])),
        classes=tuple(row for cluster in clusters if cluster.name in usages for row in _classes(cluster, usages[cluster.name])),
        waiting=tuple(row for cluster, tasks in live for row in _waiting(cluster, tasks)),
        tasks=_count(live),
        drawings=drawings,
        simulation=simulation,
    )


def counted(amounts: Resources) -> list[str]:
    """The resources that people count in: accelerators, and vCPUs where there are none."""
    present = [resource for resource, amount in amounts.items() if amount]
    return [r for r in present if is_device(r)] or [r for r in present if r == CPU]


def _capacity(plan: Plan, usages: Mapping[str, Usage]) -> Iterator[CapacityRow]:
    for row in type_rows(plan):
        usage = usages.get(row.cluster)
        flavor = plan.clusters[row.cluster].flavors[row.instance_type].name
        for resource in counted({**row.capacity, **row.guaranteed}):
            amounts = (row.capacity.get(resource, 0), row.guaranteed.get(resource, 0))
            used = None if usage is None else _used(usage, (flavor, resource))
            yield CapacityRow(row.cluster, row.instance_type, row.nodes, resource, *amounts, used)


def _used(usage: Usage, cell: tuple[str, str]) -> int:
    return sum(queue.cells[cell].used for queue in usage.queues.values() if cell in queue.cells)


def _shares(plan: Plan, cluster: ClusterPlan, usage: Usage | None) -> Iterator[ShareRow]:
    for row in team_rows(plan):
        if row.cluster != cluster.name:
            continue
        team = cluster.teams[row.team]
        flavor = next(one for one in team.flavors if one.instance_type == row.instance_type)
        quotas = {quota.resource: quota for quota in flavor.quotas}
        live = usage.queues.get(team.cluster_queue) if usage else None
        for resource in counted({**row.guaranteed, **row.largest_job}):
            cell = live.cells.get((flavor.flavor, resource)) if live else None
            yield ShareRow(
                cluster.name,
                row.team,
                row.instance_type,
                resource,
                cluster.capacity.get(row.instance_type, {}).get(resource, 0),
                row.guaranteed.get(resource, 0),
                row.borrowable.get(resource, 0),
                _limit(team, quotas[resource]),
                shared(quotas[resource]) if team.cohort else 0,
                row.largest_job.get(resource, 0),
                row.largest_placeable.get(resource, 0),
                *((cell.own, cell.borrowed, cell.idle) if cell else (None, None, None)),
            )


def _limit(team: TeamPlan, quota: Quota) -> int | None:
    return quota.borrowing_limit if team.cohort else 0


def _teams(cluster: ClusterPlan, usage: Usage | None) -> Iterator[TeamRow]:
    for team in cluster.teams.values():
        department = team.cohort if team.cohort in cluster.policy.departments else ""
        live = usage.queues.get(team.cluster_queue) if usage else None
        note = "" if usage is None or (live and live.active) else live.message if live else "has no queue on the cluster"
        yield TeamRow(
            cluster.name,
            team.name,
            department or "",
            team.state,
            team.weight,
            _STRATEGIES[team.sharing.strategy],
            live.admitted if live else None,
            _pending(cluster, live) if live else None,
            note,
        )


def _pending(cluster: ClusterPlan, queue: QueueUse) -> int:
    """Tasks without quota; on a manager, those with quota that no worker has taken yet as well."""
    return queue.pending + (max(0, queue.reserving - queue.admitted) if cluster.dispatch else 0)


def _own(cluster: ClusterPlan, usages: Mapping[str, Usage]) -> list[Task]:
    """Its tasks. One that waits on a manager is told there, and not again on each worker that it was offered to."""
    tasks = usages[cluster.name].tasks
    if cluster.manager_cluster not in usages:
        return list(tasks)
    return [one for one in tasks if not (one.copied and one.state == "pending")]


def _count(live: Sequence[tuple[ClusterPlan, Sequence[Task]]]) -> TaskCount:
    """Each task once: what a manager has dispatched runs on a worker."""
    read = {cluster.name for cluster, _ in live}
    running = pending = preempted = 0
    for cluster, tasks in live:
        if cluster.dispatch is None or read.isdisjoint(cluster.dispatch.workers):
            running += sum(one.state == "running" for one in tasks)
        pending += sum(one.state == "pending" for one in tasks)
        preempted += sum(one.preempted for one in tasks)
    return TaskCount(running, pending, preempted)


def _names(cluster: ClusterPlan) -> dict[str, str]:
    """Teams by ClusterQueue."""
    return {team.cluster_queue: team.name for team in cluster.teams.values()}


def _loans(cluster: ClusterPlan, usage: Usage) -> Iterator[Loan]:
    """By tree of cohorts and cell, of what people count in.

    Who lends to whom isn't recorded anywhere: what is borrowed comes from all that lies idle.
    """
    names = _names(cluster)
    types = {flavor.name: kind for kind, flavor in cluster.flavors.items()}
    borrowed: dict[tuple[str, str, str], dict[str, int]] = {}
    idle: dict[tuple[str, str, str], dict[str, int]] = {}
    for queue in usage.queues.values():
        for (flavor, resource), cell in queue.cells.items() if queue.cohort else ():
            key, team = (usage.root(queue.cohort or ""), flavor, resource), names.get(queue.name, queue.name)
            if cell.borrowed:
                borrowed.setdefault(key, {})[team] = cell.borrowed
            if spare := min(cell.lendable, cell.idle):
                idle.setdefault(key, {})[team] = spare
    for cohort, cells in usage.pools.items():
        for (flavor, resource), amount in cells.items():
            if amount:
                pool = idle.setdefault((usage.root(cohort), flavor, resource), {})
                pool[NOBODY] = pool.get(NOBODY, 0) + amount
    for key, borrowers in sorted(borrowed.items()):
        cohort, flavor, resource = key
        if resource not in counted({other[2]: 1 for other in borrowed if other[:2] == (cohort, flavor)}):
            continue
        yield Loan(cluster.name, types.get(flavor, flavor), resource, _most_first(borrowers), _most_first(idle.get(key, {})))


def _most_first(amounts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(amounts.items(), key=lambda item: (-item[1], item[0])))


def _classes(cluster: ClusterPlan, usage: Usage) -> Iterator[ClassRow]:
    """Declared ones first, tasks or not, then those that only the cluster knows; tasks without any come last."""
    declared = {one.name: one.declared for one in cluster.priority_classes}
    values = {**usage.classes, **{one.name: one.value for one in cluster.priority_classes}}
    found = by_class(usage.tasks)
    for name in sorted({*declared, *found}, key=lambda one: (not one, -values.get(one, 0), one)):
        yield ClassRow(cluster.name, declared.get(name, name), values.get(name), found.get(name) or ClassUse(name))


def _waiting(cluster: ClusterPlan, found: Sequence[Task]) -> Iterator[WaitRow]:
    names = _names(cluster)
    declared = {one.name: one.declared for one in cluster.priority_classes}
    tasks = sorted((one for one in found if one.state == "pending"), key=lambda one: (-one.waited, one.namespace, one.name))
    for one in tasks[:WAITING_SHOWN]:
        team, rank = names.get(one.queue, one.namespace), declared.get(one.priority_class, one.priority_class)
        said = f"no worker has taken it; it is offered to {', '.join(one.offered)}" if one.offered else one.message
        yield WaitRow(cluster.name, team, one.name, one.kind, rank, one.waited, one.preempted, said)
