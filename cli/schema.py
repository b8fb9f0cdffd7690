"""`hpctl schema`."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.console import print_json, say
from cli.context import cannot_write


class Kind(StrEnum):
    """Kinds of data files."""

    ENVIRONMENT = "environment"
    TEAM = "team"
    WORKLOADS = "workloads"
    TRACE = "trace"


def schema(
    kind: Annotated[Kind | None, typer.Argument(help="The kind of file; default all, by kind.", show_default=False)] = None,
    to: Annotated[
        Path | None, typer.Option("--to", help="A folder for a file <kind>.json each, in place of printing.", file_okay=False)
    ] = None,
) -> int:
    """Print the JSON Schemas of the data files, by which an editor completes and underlines."""
    made = {name: make() for name, make in _makers().items() if kind in (None, name)}
    if to is None:
        print_json(made if kind is None else made[kind])
        return 0
    import json

    from config.writing import replace_file

    for name, content in made.items():
        path = to / f"{name}.json"
        try:
            replace_file(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        except OSError as error:
            return cannot_write(path, error)
        say(f"wrote {path}")
    return 0


def _makers() -> dict[Kind, Callable[[], dict[str, Any]]]:
    from reports.schema import environment_schema, file_schema, team_schema
    from simulation.cases import CaseFile
    from simulation.traces.file import TraceFile

    return {
        Kind.ENVIRONMENT: environment_schema,
        Kind.TEAM: team_schema,
        Kind.WORKLOADS: lambda: file_schema(CaseFile, "Cases of workloads"),
        Kind.TRACE: lambda: file_schema(TraceFile, "A trace of jobs"),
    }
