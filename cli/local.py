"""`hpctl local`: the sandboxes of this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.console import print_json, progress, say
from cli.context import JsonOption, StackOption, planned, root_of

app = typer.Typer(no_args_is_help=True, help="Sandboxes: a real engine, API server and Kueue on this machine.")


@app.command()
def up(context: typer.Context, stack: StackOption = "local", as_json: JsonOption = False) -> None:
    """Boot a stack's sandboxes, or bring running ones up to date. Declares nothing yet: that is `hpctl up`."""
    from sandbox import stacks

    root = root_of(context)
    platform, plan = planned(root, stack)
    if not stacks.clusters(platform):
        say(f"the environment {platform.name} has no cluster with `sandbox: true`")
    with progress() as shown:
        booted = stacks.boot(root, stack, platform, plan, shown)
    if as_json:
        print_json([status.as_dict() for status in booted.values()])
        return
    for name, status in booted.items():
        say(f"cluster {name} runs; kubeconfig: {status.kubeconfig}")


@app.command()
def down(
    context: typer.Context,
    stack: StackOption = "local",
    every: Annotated[bool, typer.Option("--all", help="All sandboxes of this machine.")] = False,
) -> None:
    """Stop a stack's sandboxes and remove all that they left: processes, data, logs, the stack's state."""
    from sandbox import stacks

    for name in stacks.keys() if every else [stacks.key(root_of(context), stack)]:
        say(f"sandbox {name}: {'stopped and removed' if stacks.remove_key(name) else 'there was none'}")


@app.command()
def status(as_json: JsonOption = False) -> None:
    """Show the sandboxes of this machine: their processes, ports, logs and kubeconfigs."""
    from sandbox.local import sandboxes

    found = [sandbox.status() for sandbox in sandboxes()]
    if as_json:
        print_json([one.as_dict() for one in found])
        return
    if not found:
        say("no sandbox; `hpctl local up` boots one")
    for one in found:
        say(one.describe())


@app.command()
def tools() -> None:
    """Build what a sandbox needs, where it isn't built yet."""
    from sandbox.toolchain import ensure_all

    with progress() as shown:
        found = ensure_all(shown)
    for name, path in found.items():
        say(f"{name}: {path}")
