"""`hpctl report`: who has what, as one page for people without a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.console import print_json, progress, say
from cli.context import JsonOption, StackOption, cannot_write, planned, root_of

UNREAD = 4


def report(
    context: typer.Context,
    stack: StackOption = "local",
    cluster: Annotated[str | None, typer.Option("--cluster", help="One cluster; default all.")] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page's file; what is there is replaced.", dir_okay=False)
    ] = Path("report.html"),
    plan_only: Annotated[
        bool, typer.Option("--plan-only", help="Ask no cluster: capacity, guarantees, limits, findings.")
    ] = False,
    simulation: Annotated[
        Path | None,
        typer.Option(
            "--simulation", help="What `hpctl simulate --json` has printed, to be shown too.", exists=True, dir_okay=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Write one HTML page: capacity, guarantees, borrowing, usage, tasks, topology, findings. `--json` prints its data instead.

    The page stands alone: it fetches nothing and runs no script. Exit 4 where a cluster didn't answer; the page then says so, and
    shows the plan's figures.
    """
    from datetime import UTC, datetime

    from governance.choice import chosen
    from reports.html.data import as_dict
    from reports.html.page import report_page
    from reports.html.stack import stack_report

    figures = _figures(simulation)
    root = root_of(context)
    platform, plan = planned(root, stack)
    names = chosen(plan.clusters, cluster)
    with progress() as shown:
        looks: dict[str, Any] = dict.fromkeys(names)
        if not plan_only:
            from live.looking import look_at

            looks = look_at(root, stack, platform, plan, names, shown)
        found = stack_report(platform, plan, stack, looks, datetime.now(UTC), figures)
        if as_json:
            print_json(as_dict(found))
        else:
            from config.writing import replace_file

            shown.step("drawing the page")
            try:
                replace_file(output, report_page(found))
            except OSError as error:
                return cannot_write(output, error)
    if not as_json:
        say(f"wrote {output}{'' if found.live else ', from the plan alone'}")
    if figures is not None:
        from reports.html.simulation import foreign

        for sentence in foreign(figures, platform.name, names):
            say(f"{simulation}: {sentence}")
    problems = {name: look.problem for name, look in looks.items() if look and look.problem}
    for name, problem in problems.items():
        say(f"{name}: {problem}")
    return UNREAD if problems else 0


def _figures(file: Path | None) -> dict[str, Any] | None:
    """A simulation's figures. Raises BadParameter where the file holds something else."""
    from reports.html.simulation import misfit

    if file is None:
        return None
    hint = f"'--simulation' {file}"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise typer.BadParameter(f"can't be read as JSON: {error}", param_hint=hint) from None
    wrong = misfit(found)
    if wrong:
        raise typer.BadParameter(f"is not what `hpctl simulate --json` prints: {wrong}", param_hint=hint)
    return dict(found)
