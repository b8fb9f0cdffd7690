"""`hpctl drift`: what differs between declaration, Pulumi's state and what is there."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cli.console import print_json, progress, say
from cli.context import JsonOption, StackOption, planned, root_of


def drift(  # noqa: PLR0913, PLR0917 - options
    context: typer.Context,
    stack: StackOption = "local",
    cluster: Annotated[str | None, typer.Option("--cluster", help="One cluster; default all.")] = None,
    pending: Annotated[
        bool, typer.Option("--pending", help="Exit with 3 for changes of the declaration that aren't deployed as well.")
    ] = False,
    no_state: Annotated[
        bool, typer.Option("--no-state", help="Don't ask Pulumi: compare the declaration with what is there.")
    ] = False,
    platform: Annotated[
        bool, typer.Option("--platform", help="Let Pulumi look at all other resources too: network, EKS, HyperPod, charts.")
    ] = False,
    as_json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Markdown on standard output, for a comment.")] = False,
) -> int:
    """Show what was changed outside Pulumi, and who did it where that is recorded. Exit 0 none, 3 drift, 4 not all could be read.

    Compares three sides: the declaration of this working tree, Pulumi's state of the last deployment, and the API server and
    SageMaker. Writes nothing anywhere.
    """
    from live.drift.stack import Wanted, look_at_stack
    from reports import drift as reports

    if no_state and platform:
        raise typer.BadParameter("--platform needs Pulumi's state")
    root = root_of(context)
    declared, plan = planned(root, stack)
    with progress() as shown:
        wanted = Wanted(cluster, with_state=not no_state, platform=platform)
        report = look_at_stack(root, stack, declared, plan, wanted, shown)
    if as_json:
        print_json(reports.as_dict(report))
    elif as_markdown:
        sys.stdout.write(reports.markdown(report))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in reports.text(report)))
    if plan.backend == "managed" and not platform:
        say("network, EKS, HyperPod, add-ons and access entries: `--platform`, or `pulumi refresh --preview-only`")
    return report.exit_code(pending=pending)
