"""`hpctl demo`: sample workloads, and what Kueue decides about them."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cli.console import console, print_json, progress
from cli.context import JsonOption, StackOption, planned, root_of


def demo(
    context: typer.Context,
    stack: StackOption = "local",
    case: Annotated[list[str] | None, typer.Option("--case", "-c", help="Only this case; may be given several times.")] = None,
    as_json: JsonOption = False,
) -> int:
    """Run the cases of workloads/ on a sandbox and show each verdict of Kueue's. Exit code 1 where one is not as expected."""
    from sandbox import stacks
    from simulation.cases import load_cases
    from simulation.demo import run

    root = root_of(context)
    platform, plan = planned(root, stack)
    cluster = stacks.only_cluster(platform)
    cases = load_cases(root, plan.clusters[cluster], only=case)
    kubeconfig = stacks.running(root, stack, cluster).kubeconfig
    rows: list[Any] = []
    with progress() as shown:
        rows = run(plan, cluster, kubeconfig, cases, on_row=lambda row: None, on_step=shown.step)
    if as_json:
        print_json({"cases": [row.as_dict() for row in rows]})
    else:
        _table(rows)
    return int(any(row.verdict != row.expected for row in rows))


def _table(rows: list[Any]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("case", "team", "workload", "expected", "verdict", "why, in Kueue's words", "nodes"):
        table.add_column(name, overflow="fold")
    last = ""
    for row in rows:
        right = row.verdict == row.expected
        verdict = f"[green]{row.verdict}[/]" if right else f"[bold red]{row.verdict} ✗[/]"
        table.add_row(
            "" if row.case == last else row.case, row.team, row.workload, row.expected, verdict, row.reason, _nodes(row.nodes)
        )
        last = row.case
    console(out=True).print(table)


def _nodes(names: tuple[str, ...]) -> str:
    """Names, the first and last of many."""
    return " ".join(names) if len(names) <= 4 else f"{names[0]} … {names[-1]} ({len(names)})"
