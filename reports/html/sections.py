"""The report's figures: tiles, sentences, and the charts of capacity, guarantees and usage."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from config.findings import Severity
from governance.units import is_device
from reports.html.charts import Bar, Chart, bar_chart
from reports.html.model import CapacityRow, Report, ShareRow
from reports.html.words import amount, percent, plural, unit


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the figures at the top."""

    name: str
    figure: str
    of: str
    """In small print beside the figure."""
    aside: str


@dataclass(frozen=True, slots=True)
class Totals:
    """Accelerators of all kinds together; parts of partitioned ones count as one each."""

    capacity: int
    guaranteed: int
    unowned: int
    over: int
    used: int
    borrowed: int


def totals(report: Report) -> Totals:
    """Sums over the clusters, without a manager beside its workers; usage where it is known."""
    rows = [row for row in report.capacity if is_device(row.resource) and row.cluster not in report.sums]
    shares = [row for row in report.shares if is_device(row.resource) and row.cluster not in report.sums]
    return Totals(
        sum(row.capacity for row in rows),
        sum(row.guaranteed for row in rows),
        sum(row.unowned for row in rows),
        sum(row.over for row in rows),
        sum(row.used or 0 for row in rows),
        sum(row.borrowed or 0 for row in shares),
    )


def tiles(report: Report) -> list[Tile]:
    """What a reader wants to know first."""
    sums = totals(report)
    counted = [row for row in report.capacity if row.cluster not in report.sums]
    nodes = sum({(row.cluster, row.instance_type): row.nodes for row in counted}.values())
    found = [
        Tile("Accelerators", f"{sums.capacity:,}", "", f"{plural(nodes, 'node')}, CPU nodes too"),
        Tile("Guaranteed", f"{sums.guaranteed:,}", percent(sums.guaranteed, sums.capacity), f"{sums.unowned:,} are nobody’s"),
    ]
    if report.live:
        used = percent(sums.used, sums.capacity)
        tasks = report.tasks
        found += [
            Tile("In use now", f"{sums.used:,}", used, f"{max(0, sums.capacity - sums.used):,} idle"),
            Tile("Borrowed now", f"{sums.borrowed:,}", percent(sums.borrowed, sums.used), "of what is in use"),
            Tile("Tasks running", f"{tasks.running:,}", "", f"{tasks.pending:,} waiting ({tasks.preempted:,} preempted)"),
        ]
    else:
        teams = len({row.team for row in report.teams})
        found.append(Tile("Teams", f"{teams:,}", "", f"on {plural(len(report.clusters), 'cluster')}"))
    open_ = [finding for finding in report.findings if not finding.waived]
    worst = sum(finding.severity is not Severity.ADVICE for finding in open_)
    found.append(Tile("Findings", f"{len(open_):,}", "", f"{worst:,} to act on; {len(report.findings) - len(open_):,} waived"))
    return found


def capacity_chart(report: Report) -> Chart:
    """Guaranteed, nobody's and overcommitted, by instance type; the full width is the larger of capacity and guarantees."""
    bars = []
    for row in report.capacity:
        full = max(row.capacity, row.guaranteed) or 1
        kept = min(row.guaranteed, row.capacity)
        parts = (("own", kept / full), ("over/", row.over / full))
        of = f"{amount(row.resource, row.guaranteed)} of {amount(row.resource, row.capacity)} {unit(row.resource)}"
        bars.append(Bar(_place(report, row.instance_type, row.cluster), plural(row.nodes, "node"), of, parts))
    legend = [("own", "guaranteed to teams"), ("idle", "belongs to nobody"), ("over/", "guaranteed above capacity")]
    words = f"{len(bars)} bars. " + "; ".join(f"{bar.label}: {bar.value} guaranteed" for bar in bars[:8])
    return bar_chart("capacity", "Guarantees against capacity, by instance type", words, bars, legend)


def guarantee_chart(report: Report) -> Chart:
    """What teams own and could borrow, each as a share of the instance type."""
    full = _widths(report)
    bars = []
    for row in _largest(report.shares, lambda one: (one.guaranteed + one.borrowable) / full[_key(one)]):
        width = full[_key(row)]
        more = f" + {amount(row.resource, row.borrowable)}" if row.borrowable else ""
        value = f"{amount(row.resource, row.guaranteed)}{more} {unit(row.resource)}"
        parts = (("own", row.guaranteed / width), ("borrowed/", row.borrowable / width))
        bars.append(Bar(_place(report, row.team, row.cluster), row.instance_type, value, parts))
    legend = [("own", "guaranteed"), ("borrowed/", "can borrow while others are idle"), ("idle", "other teams’, or nobody’s")]
    words = f"{len(bars)} bars. " + "; ".join(f"{bar.label} on {bar.detail}: {bar.value}" for bar in bars[:8])
    return bar_chart("guarantees", "Each team’s share of its instance types", words, bars, legend)


def type_usage_chart(report: Report) -> Chart:
    """How full each instance type is."""
    borrowed: dict[tuple[str, str, str], int] = {}
    for share in report.shares:
        borrowed[_key(share)] = borrowed.get(_key(share), 0) + (share.borrowed or 0)
    bars = []
    for row in report.capacity:
        if row.used is None:
            continue
        full, lent = max(row.capacity, row.used) or 1, min(borrowed.get(_key(row), 0), row.used)
        parts = (("own", (row.used - lent) / full), ("borrowed", lent / full))
        value = f"{amount(row.resource, row.used)} of {amount(row.resource, row.capacity)} {unit(row.resource)}"
        bars.append(Bar(_place(report, row.instance_type, row.cluster), percent(row.used, row.capacity), value, parts))
    legend = [("own", "used within guarantees"), ("borrowed", "borrowed"), ("idle", "idle")]
    words = f"{len(bars)} bars. " + "; ".join(f"{bar.label}: {bar.value} in use" for bar in bars[:8])
    return bar_chart("types", "In use now, by instance type", words, bars, legend)


def usage_chart(report: Report) -> Chart:
    """What teams use of their guarantees and beyond them, those that use most first."""
    full = _widths(report)
    live = [row for row in report.shares if row.own is not None]
    bars = []
    for row in _largest(live, lambda one: ((one.own or 0) + (one.borrowed or 0)) / full[_key(one)]):
        own, borrowed, idle = row.own or 0, row.borrowed or 0, row.idle or 0
        width = max(full[_key(row)], own + borrowed + idle)
        more = f" + {amount(row.resource, borrowed)} borrowed" if borrowed else ""
        value = f"{amount(row.resource, own)} of {amount(row.resource, own + idle)}{more}"
        parts = (("own", own / width), ("borrowed", borrowed / width), ("own/", idle / width))
        bars.append(Bar(_place(report, row.team, row.cluster), row.instance_type, value, parts))
    legend = [
        ("own", "used within the guarantee"),
        ("borrowed", "borrowed from others"),
        ("own/", "guaranteed and not used by the team (others may be)"),
        ("idle", "other teams’, or nobody’s"),
    ]
    words = f"{len(bars)} bars. " + "; ".join(f"{bar.label} on {bar.detail}: {bar.value}" for bar in bars[:8])
    return bar_chart("usage", "In use now, by team", words, bars, legend)


def _key(row: CapacityRow | ShareRow) -> tuple[str, str, str]:
    return row.cluster, row.instance_type, row.resource


def _widths(report: Report) -> dict[tuple[str, str, str], int]:
    """What a full bar stands for: all of an instance type, or more where a team could have more."""
    full = {_key(row): max(row.capacity, row.guaranteed, 1) for row in report.capacity}
    for row in report.shares:
        full[_key(row)] = max(full.get(_key(row), 1), row.guaranteed + row.borrowable)
    return full


def _largest(rows: Iterable[ShareRow], share: Callable[[ShareRow], float]) -> list[ShareRow]:
    return sorted(rows, key=lambda one: (-share(one), one.cluster, one.team, one.instance_type))


def _place(report: Report, name: str, cluster: str) -> str:
    what = f"{cluster}, sums" if cluster in report.managers else cluster
    return name if len(report.clusters) == 1 else f"{name} ({what})"
