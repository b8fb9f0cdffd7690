"""`hpctl quotas`: who may use what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import console, print_findings, print_json
from cli.context import JsonOption, StackOption, planned, root_of
from config.findings import ConfigError, Finding, Severity, Where, did_you_mean

if TYPE_CHECKING:
    from rich.table import Table

    from governance.summary import TeamRow, TypeRow
    from governance.units import Resources


def quotas(
    context: typer.Context,
    stack: StackOption = "local",
    team: Annotated[str | None, typer.Option("--team", "-t", help="One team; default all.")] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="All resources; default accelerators, vCPUs of CPU types.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show capacity, guarantees, what each team may borrow, and the largest job it can ever run."""
    from governance.summary import team_rows, type_rows

    platform, plan = planned(root_of(context), stack)
    if team is not None and team not in platform.teams:
        known = did_you_mean(team, list(platform.teams))
        raise ConfigError([Finding("team-unknown", Severity.ERROR, Where("--team"), f"there is no team `{team}`", known)])
    types, teams = type_rows(plan), [row for row in team_rows(plan) if team in (None, row.team)]
    if as_json:
        findings = [finding.as_dict() for finding in plan.findings]
        print_json({"types": [t.as_dict() for t in types], "teams": [t.as_dict() for t in teams], "findings": findings})
        return
    if team is None:
        _print_types(types, every=every)
    _print_teams(teams, every=every)
    print_findings(plan.findings)


def _print_types(rows: list[TypeRow], *, every: bool) -> None:
    from governance.units import shown

    table = _table(("cluster", "instance type", "nodes", "resource", "capacity", "guaranteed", "unowned", ""))
    for row in rows:
        for first, resource in _resources({**row.capacity, **row.guaranteed}, every=every):
            over = row.over.get(resource, 0)
            table.add_row(
                *((row.cluster, row.instance_type, str(row.nodes)) if first else ("", "", "")),
                resource,
                *(shown(resource, amounts.get(resource, 0)) for amounts in (row.capacity, row.guaranteed, row.unowned)),
                f"[yellow]{shown(resource, over)} above capacity[/]" if over else "",
            )
    console(out=True).print(table)


def _print_teams(rows: list[TeamRow], *, every: bool) -> None:
    from governance.units import shown

    table = _table(("cluster", "team", "instance type", "resource", "guaranteed", "borrowable", "largest job", ""))
    last = ("", "")
    for row in rows:
        for first, resource in _resources(row.largest_job, every=every):
            most, placeable = row.largest_job[resource], row.largest_placeable[resource]
            again = (row.cluster, row.team) == last
            table.add_row(
                *(("", "") if again else (row.cluster, row.team)),
                row.instance_type if first else "",
                resource,
                *(shown(resource, amounts[resource]) for amounts in (row.guaranteed, row.borrowable, row.largest_job)),
                f"[yellow]nodes for {shown(resource, placeable)}[/]" if placeable < most else "",
            )
            last = (row.cluster, row.team)
    console(out=True).print(table)


def _table(columns: tuple[str, ...]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        numeric = name in ("nodes", "capacity", "guaranteed", "unowned", "borrowable", "largest job")
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    return table


def _resources(amounts: Resources, *, every: bool) -> list[tuple[bool, str]]:
    """The resources to show, each with whether it is the first; without `every` only what people count in."""
    from governance.units import CPU, is_device

    present = [resource for resource, amount in amounts.items() if amount]
    wanted = present if every else ([r for r in present if is_device(r)] or [r for r in present if r == CPU])
    return [(index == 0, resource) for index, resource in enumerate(wanted)]
