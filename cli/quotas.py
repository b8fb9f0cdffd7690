"""`hpctl quotas`: who may use what."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.context import JsonOption, StackOption


def quotas(
    context: typer.Context,
    stack: StackOption = "local",
    team: Annotated[str | None, typer.Option("--team", "-t", help="One team; default all.")] = None,
    every: Annotated[
        bool, typer.Option("--all", "-a", help="All resources, not only accelerators (CPU types always show vCPUs).")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show capacity, guarantees, what each team may borrow, and the largest job it can ever run."""
