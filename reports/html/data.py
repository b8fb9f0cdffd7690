"""The report as data, for `--json`: amounts are Kubernetes quantities, times are seconds and moments in UTC."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any, Final

from governance.units import quantity
from reports.html.model import CapacityRow, ClassRow, ClusterFacts, Loan, Report, ShareRow
from reports.html.sections import totals

_NUMBERS: Final = frozenset({"nodes"})
"""Of rows that count a resource, what counts something else."""


def as_dict(report: Report) -> dict[str, Any]:
    """The whole report, JSON-ready; pictures are left out, `hpctl topology --json` has what they show."""
    return {
        "environment": report.environment,
        "stack": report.stack,
        "backend": report.backend,
        "made_at": _moment(report.made_at),
        "live": report.live,
        "clusters": [_cluster(one) for one in report.clusters],
        "accelerators": asdict(totals(report)),
        "capacity": [_amounts(one) | _extra(one) for one in report.capacity],
        "shares": [_amounts(one) for one in report.shares],
        "teams": [asdict(one) for one in report.teams],
        "loans": [_loan(one) for one in report.loans],
        "tasks": [_class(one) for one in report.classes],
        "waiting": [asdict(one) for one in report.waiting],
        "findings": [finding.as_dict() for finding in report.findings],
        "simulation": report.simulation,
    }


def _cluster(one: ClusterFacts) -> dict[str, Any]:
    return {**asdict(one), "read_at": _moment(one.read_at) if one.read_at else None}


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _of(resource: str) -> Callable[[int | None], str | None]:
    return lambda number: None if number is None else quantity(resource, number)


def _amounts(row: CapacityRow | ShareRow) -> dict[str, Any]:
    """A row, its amounts as quantities."""
    shown = _of(row.resource)
    values = {one.name: getattr(row, one.name) for one in fields(row)}
    return {name: value if name in _NUMBERS or isinstance(value, str) else shown(value) for name, value in values.items()}


def _extra(row: CapacityRow) -> dict[str, Any]:
    shown = _of(row.resource)
    return {"unowned": shown(row.unowned), "overcommitted": shown(row.over)}


def _loan(one: Loan) -> dict[str, Any]:
    shown = _of(one.resource)
    return {
        "cluster": one.cluster,
        "instance_type": one.instance_type,
        "resource": one.resource,
        "borrowers": {name: shown(number) for name, number in one.borrowers.items()},
        "idle_of": {name: shown(number) for name, number in one.lenders.items()},
    }


def _class(one: ClassRow) -> dict[str, Any]:
    return {"cluster": one.cluster, "priority_class": one.name or None, "weight": one.value, **_tasks(asdict(one.use))}


def _tasks(use: dict[str, Any]) -> dict[str, Any]:
    del use["name"]
    return use
