"""`hpctl demo`: sample workloads, and what Kueue decides about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import console, print_json, progress
from cli.context import JsonOption, StackOption, planned, root_of

if TYPE_CHECKING:
    from simulation.rows import CaseRow

_UIDS = re.compile(r" \(UID: [^)]*\)")
"""What no reader of the table wants; `--json` has it."""


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
    cluster, status = next(iter(stacks.running(root, stack, platform).items()))
    cases = load_cases(root, plan.clusters[cluster], only=case)
    with progress() as shown:
        rows = run(plan, cluster, status.kubeconfig, cases, on_row=_nothing, on_step=shown.step)
    if as_json:
        print_json({"cases": [row.as_dict() for row in rows]})
    else:
        _table(rows)
    return int(any(row.verdict != row.expected for row in rows))


def _nothing(_: CaseRow) -> None:
    """Rows are shown together, as a table."""


def _table(rows: Sequence[CaseRow]) -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("case", "team", "workload", "verdict", "why, in Kueue's words", "nodes"):
        table.add_column(name, overflow="fold", ratio=1 if name.startswith("why") else None)
    last = ""
    for row in rows:
        right = row.verdict == row.expected
        verdict = f"[green]✓ {row.verdict}[/]" if right else f"[bold red]✗ {row.verdict}, not {row.expected}[/]"
        first = "" if row.case == last else row.case
        table.add_row(first, row.team, row.workload, verdict, escape(_UIDS.sub("", row.reason)), _nodes(row.nodes))
        last = row.case
    console(out=True).print(table)


def _nodes(names: Sequence[str]) -> str:
    """Names, the first and last of many."""
    return " ".join(names) if len(names) <= 2 else f"{names[0]} … {names[-1]} ({len(names)})"
