"""`hpctl check`: is the declaration right?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.console import count_words, counts, print_findings, print_json, say
from cli.context import JsonOption, all_findings, no_environments, planned, root_of
from config.codeowners import ownership_findings
from config.findings import ConfigError, Finding, by_place, has_errors
from config.load import Project
from config.stack import environment_of, stack_findings


class Format(StrEnum):
    """How findings are told."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


def _rules(incomplete: str) -> list[str]:
    """Completion: the ids of rules."""
    from config.rules import rules

    return [id_ for id_ in rules() if id_.startswith(incomplete)]


def check(
    context: typer.Context,
    stack: Annotated[
        str | None, typer.Option("--stack", "-s", help="One stack or environment; default all environments.")
    ] = None,
    form: Annotated[
        Format,
        typer.Option(
            "--format", "-f", help="For people, as one JSON document, as SARIF 2.1.0, or as annotations of GitHub Actions."
        ),
    ] = Format.TEXT,
    as_json: JsonOption = False,
    show_waived: Annotated[bool, typer.Option("--show-waived", help="Also show findings that a waiver sets aside.")] = False,
    live: Annotated[
        bool,
        typer.Option("--live", help="With --stack: also ask its clusters what the change would take from running work."),
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="RULE", help="Print a rule's page in place of checking.", autocompletion=_rules),
    ] = None,
) -> int:
    """Check environments and teams: every finding with file, line and remedy. Touches nothing; exit code 1 on errors."""
    if explain is not None:
        return _explain(explain)
    if live and stack is None:
        raise typer.BadParameter("name the stack with --stack", param_hint="--live")
    root = root_of(context)
    environments, findings = _findings(root, stack)
    if live and stack is not None and not has_errors(findings):
        findings = by_place([*findings, *_live(root, stack)])
    _tell(root, environments, findings, Format.JSON if as_json else form, show_waived=show_waived)
    return int(has_errors(findings))


def _findings(root: Path, stack: str | None) -> tuple[list[str], list[Finding]]:
    """The environments that were checked, and every finding on them in reading order."""
    try:
        project = Project(root)
        environments = [environment_of(root, stack)] if stack else project.environments()
        found = all_findings(project, environments) if environments else [no_environments()]
        return environments, by_place([*found, *ownership_findings(project), *stack_findings(root, project, stack)])
    except ConfigError as error:
        return [], list(error.findings)


def _live(root: Path, stack: str) -> list[Finding]:
    """What the running clusters forbid; nothing where the stack was never deployed."""
    from cli.console import progress
    from sandbox.deploy import attach

    platform, plan = planned(root, stack)
    with progress() as shown:
        deployment = attach(root, stack, platform, plan, shown)
        if deployment is None:
            return []
        shown.step("asking the clusters")
        with deployment.engine() as engine:
            return list(deployment.guards(engine.outputs()))


def _tell(root: Path, environments: list[str], findings: list[Finding], form: Format, *, show_waived: bool) -> None:
    if form is Format.JSON:
        print_json({"environments": environments, "counts": counts(findings), "findings": [f.as_dict() for f in findings]})
        return
    if form is Format.SARIF:
        from importlib.metadata import version

        from config.repository import prefix_of
        from reports.sarif import log

        print_json(log(findings, version("hyperpod-platform"), prefix_of(root)))
        return
    if form is Format.GITHUB:
        from config.repository import prefix_of
        from reports.annotations import commands

        for command in commands(findings, prefix_of(root)):
            typer.echo(command)
    else:
        print_findings(findings, waived=show_waived)
    say(f"checked {', '.join(environments) or 'nothing'}: {count_words(findings)}")


def _explain(rule: str) -> int:
    from config.findings import did_you_mean
    from config.rules import rules

    if rule not in rules():
        remedy = did_you_mean(rule, list(rules())) or "findings name their rule in brackets"
        raise typer.BadParameter(f"there is no rule `{rule}`; {remedy}", param_hint="--explain")
    from reports.rulepages import explained

    typer.echo(explained(rule))
    return 0
