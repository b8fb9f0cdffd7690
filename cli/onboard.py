"""`hpctl onboard`: a new team's file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import count_words, print_findings, say
from cli.context import cannot_write, no_environments, root_of
from config.findings import ConfigError, Where, has_errors, problem_at
from config.load import Project

if TYPE_CHECKING:
    from governance.onboarding import NewTeam
    from governance.trial import Trial

_BY_ENVIRONMENT = re.compile(r"([a-z0-9-]+)=(arn:.*)\Z")
_SINGLE = ("description", "weight", "sharing", "borrow_limit", "priority", "department")
NO_QUOTA = "none"
"""In place of a quota: the team only borrows."""


def _strategies(incomplete: str) -> list[str]:
    from typing import get_args

    from config.team import Strategy

    return [word for word in get_args(Strategy) if word.startswith(incomplete)]


def _kinds(incomplete: str) -> list[str]:
    from config.catalogue import instance_types

    return [f"{name}=" for name in instance_types() if name.startswith(incomplete)]


def onboard(  # noqa: PLR0913, PLR0917 - a verb's options
    context: typer.Context,
    team: Annotated[str | None, typer.Argument(help="The team's name, and its file's.", show_default=False)] = None,
    owner: Annotated[
        list[str] | None,
        typer.Option("--owner", "-o", help="Who approves changes: @organization/team, or an address. Repeatable."),
    ] = None,
    quota: Annotated[
        list[str] | None,
        typer.Option(
            "--quota",
            "-q",
            metavar="TYPE=AMOUNT",
            autocompletion=_kinds,
            help="Guarantee: ml.p5.48xlarge=2 (instances), ml.g6.12xlarge=accelerators:2,vcpu:48, or none. Repeatable.",
        ),
    ] = None,
    description: Annotated[str | None, typer.Option("--description", help="What the team does.")] = None,
    weight: Annotated[int | None, typer.Option("--weight", help="Share of idle compute, 0-100.")] = None,
    sharing: Annotated[
        str | None, typer.Option("--sharing", help="lend_and_borrow, lend or dont_lend.", autocompletion=_strategies)
    ] = None,
    borrow_limit: Annotated[int | None, typer.Option("--borrow-limit", help="Percent of the quota to borrow on top.")] = None,
    priority: Annotated[str | None, typer.Option("--priority", help="Priority class that jobs are advised to name.")] = None,
    department: Annotated[str | None, typer.Option("--department", help="Department to share within first.")] = None,
    group: Annotated[list[str] | None, typer.Option("--group", help="Kubernetes group of members. Repeatable.")] = None,
    iam_role: Annotated[
        list[str] | None,
        typer.Option("--iam-role", metavar="[ENV=]ARN", help="IAM role of members, of one environment with ENV=. Repeatable."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="ENV", help="Environment to exist in; default all. Repeatable.")
    ] = None,
    codeowners: Annotated[
        bool, typer.Option("--codeowners", help="Write the block of teams in .github/CODEOWNERS anew; no team is made.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the file in place of writing it.")] = False,
) -> int:
    """Write a new team's file from options, or from questions on a terminal; refused where the checks find errors."""
    root = root_of(context)
    if codeowners:
        if team is not None:
            raise typer.BadParameter("takes no team", param_hint="--codeowners")
        return _codeowners(Project(root), dry_run=dry_run)
    given: dict[str, Any] = {
        "owners": owner,
        "quota": quota,
        "description": description,
        "weight": weight,
        "sharing": sharing,
        "borrow_limit": borrow_limit,
        "priority": priority,
        "department": department,
        "groups": group,
        "iam_roles": iam_role,
        "only": only,
    }
    project = Project(root)
    return _onboard(project, _asked(project, team, given), dry_run=dry_run)


def _onboard(project: Project, team: NewTeam, *, dry_run: bool) -> int:
    from governance.onboarding import file_of, team_text
    from governance.trial import trial

    file = file_of(team.name)
    if not project.environments():
        raise ConfigError([no_environments()])
    if team.name in project.team_files():
        raise ConfigError([_exists(file)])
    schema = "../schemas/team.json" if (project.root / "schemas" / "team.json").is_file() else ""
    text = team_text(team, schema)
    tried = trial(project, team.name, text)
    if dry_run:
        typer.echo(text, nl=False)
    print_findings((*tried.earlier, *tried.findings), unwritten={file: text})
    if tried.earlier or has_errors(tried.findings):
        others = f", and {count_words(tried.earlier)} without the team" if tried.earlier else ""
        say(f"{file}: {count_words(tried.findings)}{others}; nothing was written")
        return 1
    _tell(tried)
    return 0 if dry_run else _write(project, file, text)


def _tell(tried: Trial) -> None:
    say(f"in {', '.join(tried.environments) or 'no environment'}: {count_words(tried.findings)}")
    for line in tried.left:
        say(f"  {line}")


def _write(project: Project, file: str, text: str) -> int:
    from config.codeowners import has_block, shown_codeowners, written
    from config.writing import new_file

    try:
        new_file(project.root / file, text)
    except FileExistsError:  # since the checks
        raise ConfigError([_exists(file)]) from None
    except OSError as error:
        return cannot_write(file, error)
    say(f"wrote {file}")
    if has_block(written(project.root)):
        if code := _codeowners(project, dry_run=False):
            return code
        file += f" {shown_codeowners(project.root)}"
    say(f"next: read it over, `git add {file}`, commit, and open a pull request")
    return 0


def _exists(file: str) -> Any:
    return problem_at("team-exists", Where(file, 1, 1), "the team has a file already", "change it, or choose another name")


def _codeowners(project: Project, *, dry_run: bool) -> int:
    from config.codeowners import CODEOWNERS, codeowners_file, made_for, rewritten, written
    from config.writing import replace_file

    before = written(project.root)
    after = rewritten(before, made_for(project))
    if dry_run:
        typer.echo(after, nl=False)
    elif after == before:
        say(f"{CODEOWNERS} is up to date")
    else:
        try:
            replace_file(codeowners_file(project.root), after)
        except OSError as error:
            return cannot_write(CODEOWNERS, error)
        say(f"wrote {CODEOWNERS}")
    return 0


def _asked(project: Project, name: str | None, given: dict[str, Any]) -> NewTeam:
    """The team that is asked for. Where something needed is missing, a terminal is asked for all that isn't given."""
    from governance.onboarding import NewTeam

    needed = {"TEAM": name, "--owner": given["owners"], "--quota": given["quota"]}
    missing = [option for option, value in needed.items() if not value]
    if missing and not sys.stdin.isatty():
        raise typer.BadParameter(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    if missing:
        with redirect_stdout(sys.stderr):  # where prompts would leave spaces among the data
            name = _questions(project, name, given)
    texts = [name, *(part for value in given.values() for part in (value if isinstance(value, list) else [value]))]
    if not all(text.isprintable() for text in texts if isinstance(text, str)):
        raise typer.BadParameter("control characters can't stand in the file")
    roles: dict[str, tuple[str, ...]] = {}
    for role in given["iam_roles"] or ():
        found = _BY_ENVIRONMENT.match(role)
        environment, arn = found.groups() if found else ("", role)
        roles[environment] = (*roles.get(environment, ()), arn)
    return NewTeam(
        name=name or "",
        owners=tuple(given["owners"]),
        quota=_quota(given["quota"]),
        groups=tuple(given["groups"] or ()),
        only=tuple(given["only"] or ()),
        iam_roles=roles,
        **{key: given[key] for key in _SINGLE},
    )


def _quota(stated: list[str]) -> dict[str, dict[str, Any]]:
    from governance.onboarding import amounts_of

    try:
        quota = [amounts_of(text) for text in stated if text != NO_QUOTA]
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--quota") from None
    if len(dict(quota)) < len(quota):
        raise typer.BadParameter("names a type twice", param_hint="--quota")
    return dict(quota)


def _questions(project: Project, name: str | None, given: dict[str, Any]) -> str:
    """Ask for what is not given; an empty answer leaves a setting to its default."""
    from governance.onboarding import priority_classes, usual_weight

    name = name or typer.prompt("Team", err=True)
    if not given["owners"]:
        given["owners"] = typer.prompt("Owners, with spaces between them", err=True).split()
    if not given["quota"]:
        words = f"Quota, as ml.p5.48xlarge=2 (instances) or ml.g6.12xlarge=accelerators:2; `{NO_QUOTA}` to borrow alone"
        given["quota"] = typer.prompt(words, err=True, default=NO_QUOTA).split()
    classes = priority_classes(project)
    questions: list[tuple[str, str, Any, Callable[[str], Any]]] = [
        ("description", "What the team does", "", str),
        ("weight", "Share of idle compute, 0-100", str(usual_weight(project)), int),
        ("sharing", "Sharing: lend_and_borrow, lend or dont_lend", "lend_and_borrow", str),
        ("priority", f"Priority class of jobs ({', '.join(classes) or 'there are none'})", "", str),
    ]
    for key, words, default, read in questions:
        if given[key] is None:
            answer = typer.prompt(words, err=True, default=default, value_proc=read)
            given[key] = answer if answer != "" else None
    return str(name)
