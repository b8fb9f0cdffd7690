"""`hpctl check`: is the declaration right?"""

from __future__ import annotations

from typing import Annotated

import typer

from cli.console import count_words, print_findings, print_json, say
from cli.context import JsonOption, all_findings, root_of
from config.findings import Finding, Severity, Where, has_errors
from config.load import ENVIRONMENTS, Project
from config.stack import environment_of


def check(
    context: typer.Context,
    stack: Annotated[
        str | None, typer.Option("--stack", "-s", help="One stack or environment; default all environments.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Check environments and teams: every finding with file, line and remedy. Touches nothing; exit code 1 on errors."""
    root = root_of(context)
    environments = [environment_of(root, stack)] if stack else Project(root).environments()
    findings = all_findings(root, environments) if environments else [_none()]
    if as_json:
        print_json({"environments": environments, "findings": [f.as_dict() for f in findings]})
    else:
        print_findings(findings)
        say(f"checked {', '.join(environments) or 'nothing'}: {count_words(findings)}")
    return int(has_errors(findings))


def _none() -> Finding:
    message = "there is no environment"
    return Finding("environments-none", Severity.ERROR, Where(f"{ENVIRONMENTS}/"), message, f"write {ENVIRONMENTS}/<name>.yaml")
