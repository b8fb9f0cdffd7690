"""`hpctl up` and `hpctl down`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import ConsoleProgress, count_words, print_findings, print_json, progress, say
from cli.context import JsonOption, StackOption, YesOption, planned, root_of
from config.findings import ConfigError, has_errors

if TYPE_CHECKING:
    from sandbox.deploy import Deployment
    from sandbox.engine import Engine, OnEvent, Progress


def up(
    context: typer.Context,
    stack: StackOption = "local",
    yes: YesOption = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Look first at what is there, and put right what was changed outside of Pulumi.")
    ] = False,
    as_json: JsonOption = False,
) -> int:
    """Declare a stack: check, say what changes, ask, and let Pulumi do it. A sandboxed stack boots its sandbox first."""
    from sandbox.deploy import prepare

    root = root_of(context)
    platform, plan = planned(root, stack)
    print_findings(plan.findings)
    with progress() as shown:
        deployment = prepare(root, stack, platform, plan, shown)
    teams = deployment.contracts()
    with deployment.engine() as engine:
        outputs = engine.outputs()
        last = outputs.get("teams", [])
        forbidden = list(deployment.guards(outputs))
        if has_errors(forbidden):
            raise ConfigError(forbidden)
        if not (_tell(last, teams, engine, yes=yes, refresh=refresh) or yes or typer.confirm("Go on?", err=True)):
            say("nothing was changed")
            return 0
        with progress() as shown:
            result = engine.up(on_event=_follow(shown, f"declaring {stack}"), refresh=refresh or deployment.counts_change_outside)
    if as_json:
        findings = [finding.as_dict() for finding in plan.findings]
        print_json({"stack": stack, "changes": asdict(result.changes), "teams": teams, "findings": findings})
        return 0
    say(f"{stack}: {_words(asdict(result.changes), done=True)} in {result.duration:.1f} s; {count_words(plan.findings)}")
    for name, path in deployment.kubeconfigs.items():
        say(f"cluster {name}: kubeconfig {path}")
    return 0


def _tell(last: list[dict[str, Any]], teams: list[dict[str, Any]], engine: Engine, *, yes: bool, refresh: bool) -> bool:
    """Say what changes, in words and (where somebody will be asked) in numbers. True if there is nothing to ask about."""
    from governance.changes import changes

    for sentence in changes(last, teams):
        say(f"  {sentence}")
    if yes:
        return True
    with progress() as shown:
        shown.step("previewing")
        counts = asdict(engine.preview(refresh=refresh))
    say(_words(counts, done=False))
    return not any(number for what, number in counts.items() if what != "same")


_DONE = {"create": "created", "update": "updated", "delete": "deleted", "replace": "replaced"}


def _words(counts: dict[str, int], *, done: bool) -> str:
    """`3 to create, 57 unchanged`, or `3 created, 57 unchanged`."""
    touched = [f"{number} {_DONE[what] if done else f'to {what}'}" for what, number in counts.items() if what in _DONE and number]
    same = counts["same"]
    if not touched:
        return f"nothing {'has changed' if done else 'changes'}, {same} unchanged" if same else "nothing changes"
    return ", ".join([*touched, *([f"{same} unchanged"] if same else [])])


def _follow(shown: ConsoleProgress, text: str) -> OnEvent:
    """Progress from the engine's events: how many resources are done, and what is waited for."""
    shown.step(text)
    done, known = 0, 0

    def on_event(event: Progress) -> None:
        nonlocal done, known
        if event.what == "started":
            known += 1
        elif event.what in ("done", "failed"):
            done += 1
        elif event.what == "interrupted":
            shown.step(event.message)
        shown.update(done, max(known, done))

    return on_event


def down(
    context: typer.Context,
    stack: StackOption = "local",
    yes: YesOption = False,
    unprotect: Annotated[
        bool, typer.Option("--unprotect", help="Take protected objects and running work as well (always so in a sandbox).")
    ] = False,
) -> int:
    """Remove all that a stack declares; says first what is lost. The sandbox itself goes with `hpctl local down`."""
    from sandbox import stacks
    from sandbox.deploy import prepare

    root = root_of(context)
    platform, plan = planned(root, stack)
    with progress() as shown:
        deployment = prepare(root, stack, platform, plan, shown)
    with deployment.engine() as engine:
        outputs, resources = engine.outputs(), engine.state().get("deployment", {}).get("resources", [])
        free = unprotect or bool(stacks.clusters(platform))
        say_losses(deployment, outputs, resources, free=free)
        if not yes and not typer.confirm(f"Remove everything that {stack} declares?", err=True, default=False):
            say("nothing was removed")
            return 0
        if free:
            engine.unprotect()
        with progress() as shown:
            counts = asdict(engine.destroy(on_event=_follow(shown, f"removing {stack}")))
    say(f"{stack}: {_words(counts, done=True)}")
    return 0


def say_losses(deployment: Deployment, outputs: dict[str, Any], resources: list[dict[str, Any]], *, free: bool) -> None:
    """Say what a removal takes along. Raises ConfigError where something runs, or is protected, and nobody said to lose it."""
    from live.losses import losses, protected_finding, running, running_findings, unseen_findings

    contracts = outputs.get("teams", [])
    sources = deployment.readers(outputs) if contracts else {}
    found = running(contracts, sources)
    for sentence in losses(contracts, found, resources):
        say(f"  {sentence}")
    unknown = list(unseen_findings(contracts, sources))
    if free:
        for finding in unknown:
            say(f"  {finding.message}")
        return
    if forbidden := [*running_findings(found), *unknown, *protected_finding(deployment.settings.stack, resources)]:
        raise ConfigError(forbidden)
