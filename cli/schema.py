"""`hpctl schema`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.console import print_json, say


class Kind(StrEnum):
    """Kinds of data files."""

    ENVIRONMENT = "environment"
    TEAM = "team"
    WORKLOADS = "workloads"


def schema(
    kind: Annotated[Kind | None, typer.Argument(help="The kind of file; default all, by kind.", show_default=False)] = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="A folder for a file <kind>.json each, in place of printing.", file_okay=False)
    ] = None,
) -> None:
    """Print the JSON Schemas of the data files, by which an editor completes and underlines."""
    made = {name: make() for name, make in _makers().items() if kind in (None, name)}
    if to is None:
        print_json(made if kind is None else made[kind])
        return
    import json

    from config.writing import replace_file

    for name, content in made.items():
        replace_file(to / f"{name}.json", json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        say(f"wrote {to / name}.json")


def _makers() -> dict[Kind, Callable[[], dict[str, Any]]]:
    from reports.schema import environment_schema, file_schema, team_schema
    from simulation.cases import CaseFile

    return {
        Kind.ENVIRONMENT: environment_schema,
        Kind.TEAM: team_schema,
        Kind.WORKLOADS: lambda: file_schema(CaseFile, "Cases of workloads"),
    }
