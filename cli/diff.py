"""`hpctl diff`: what differs between two environments, or what a change does to each."""

from __future__ import annotations

import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import console, count_words, print_findings, print_json, say
from cli.context import JsonOption, complete_stack, root_of
from config.findings import has_errors
from config.load import Project
from config.stack import environment_of

if TYPE_CHECKING:
    from governance.promotion.projects import EnvironmentDiff

_HERE = "working tree"
_DIFFERENT = 3


def diff(  # noqa: PLR0913, PLR0917 - options
    context: typer.Context,
    before: Annotated[
        str | None,
        typer.Argument(metavar="[A]", help="A stack or environment.", autocompletion=complete_stack, show_default=False),
    ] = None,
    after: Annotated[
        str | None,
        typer.Argument(metavar="[B]", help="The one to compare it with.", autocompletion=complete_stack, show_default=False),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REF", help="Compare a git revision (a branch, tag or commit) with the working tree."),
    ] = None,
    stack: Annotated[
        str | None,
        typer.Option("--stack", "-s", help="With --base: one stack or environment; default all.", autocompletion=complete_stack),
    ] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="All resources; default accelerators, vCPUs of CPU types.")] = False,
    as_json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Markdown on standard output, for a comment.")] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 3 if anything differs.")] = False,
) -> int:
    """Show what differs, in words and numbers: `diff A B` between two environments, `diff --base REF` by the change at hand.

    Teams, guarantees, largest jobs, who gains and who loses, instance groups, versions, settings, findings, and what is
    destroyed because it can't change in place. Reads files alone; uncommitted ones count. Exit 1 where a side has errors.
    """
    if (before is None) != (after is None) or (base is None) == (before is None):
        raise typer.BadParameter("give two environments, or --base with a git revision")
    if stack is not None and base is None:
        raise typer.BadParameter("--stack goes with --base")
    if as_json and as_markdown:
        raise typer.BadParameter("--json or --markdown, not both")
    root = root_of(context)
    as_of: date | None = None
    if base is not None:
        names, (as_of, found) = (base, _HERE), _change(root, base, stack)
    else:
        names, found = (str(before), str(after)), [_environments(root, str(before), str(after))]
    _tell(names, found, as_of, as_json=as_json, as_markdown=as_markdown, every=every)
    findings = [finding for one in found for finding in one.findings]
    if has_errors(findings):
        if not as_json and not as_markdown:
            print_findings(dict.fromkeys(findings))
        say(count_words(dict.fromkeys(findings)))
        return 1
    return _DIFFERENT if exit_code and any(one.differs for one in found) else 0


def _environments(root: Path, before: str, after: str) -> EnvironmentDiff:
    from governance.promotion.projects import compared_environments

    return compared_environments(Project(root), environment_of(root, before), environment_of(root, after))


def _change(root: Path, base: str, stack: str | None) -> tuple[date, list[EnvironmentDiff]]:
    """The day of the base, and the environments. What ended after that day is a change too, for nobody has deployed it."""
    from governance.promotion.projects import compared_change
    from live.revision import RevisionError, revision

    try:
        with revision(root, base) as found:
            sides = [(base, Project(found.folder, found.day)), (_HERE, Project(root))]
            if stack is None:
                names = sorted({name for _, project in sides for name in project.environments()})
                return found.day, [compared_change(name, (*sides[0], name), (*sides[1], name)) for name in names]
            own = [environment_of(project.root, stack) for _, project in sides]
            return found.day, [compared_change(stack, (*sides[0], own[0]), (*sides[1], own[1]))]
    except RevisionError as error:
        raise typer.BadParameter(str(error), param_hint="--base") from None


def _tell(
    names: tuple[str, str], found: list[EnvironmentDiff], as_of: date | None, *, as_json: bool, as_markdown: bool, every: bool
) -> None:
    from reports import diff as reports

    if as_json:
        print_json(reports.as_dict(*names, found, as_of=as_of))
    elif as_markdown:
        sys.stdout.write(reports.markdown(*names, found, every=every, as_of=as_of))
    else:
        if as_of is not None:
            sys.stdout.write(f"{reports.base_day(names[0], as_of)}\n")
        shown = console(out=True)
        for one in found:
            for renderable in reports.renderables(one, every=every):
                shown.print(renderable)
