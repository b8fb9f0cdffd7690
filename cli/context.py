"""What verbs share: the project's folder, its environments, and their plans."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli.console import say, sources_at
from config.findings import ConfigError, Finding, Where, by_place, has_errors, problem_at
from config.load import ENVIRONMENTS, Platform, Project
from config.stack import environment_of, project_root
from governance.model import Plan
from governance.plan import plan, review


def complete_stack(context: typer.Context, incomplete: str) -> list[str]:
    """Completion: the environments of the project."""
    try:
        names = Project(root_of(context)).environments()
    except ConfigError:
        return []
    return [name for name in names if name.startswith(incomplete)]


StackOption = Annotated[
    str, typer.Option("--stack", "-s", help="The stack, or the environment of that name.", autocompletion=complete_stack)
]
JsonOption = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")]


def root_of(context: typer.Context) -> Path:
    """The project's folder, as --project says or as found from here."""
    given = context.find_root().obj
    root = project_root((given or Path.cwd()).resolve())
    sources_at(root)
    return root


def planned(root: Path, stack: str) -> tuple[Platform, Plan]:
    """A stack's environment and its plan. Raises ConfigError where either has errors, with all findings."""
    project, environment = Project(root), environment_of(root, stack)
    try:
        platform = project.load(environment)
    except ConfigError:
        raise ConfigError(review(project, environment)) from None
    resolved = plan(platform)
    if has_errors(resolved.findings):
        raise ConfigError(resolved.findings)
    return platform, resolved


def all_findings(project: Project, environments: list[str]) -> list[Finding]:
    """Findings of several environments, each once, in reading order."""
    return by_place(dict.fromkeys(finding for name in environments for finding in review(project, name)))


def no_environments() -> Finding:
    """An error for a project without any environment."""
    where = Where(f"{ENVIRONMENTS}/")
    return problem_at("environments-none", where, "there is no environment", f"write {ENVIRONMENTS}/<name>.yaml")


def cannot_write(file: Path | str, error: OSError) -> int:
    """Say so; the exit code."""
    say(f"hpctl: cannot write {file}: {(error.strerror or 'unknown reason').lower()}")
    return 4
