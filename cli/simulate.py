"""`hpctl simulate`: who waits, who runs and who is preempted, before anybody merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import Ended, console, print_json, progress, say
from cli.context import JsonOption, StackOption, cannot_write, planned, root_of
from cli.job import complete_team
from config.findings import ConfigError
from config.stack import environment_of
from governance.choice import running_cluster

if TYPE_CHECKING:
    from cli.console import ConsoleProgress
    from governance.model import ClusterPlan
    from simulation.simulating import Side, Simulated
    from simulation.traces.model import Trace

INTERRUPTED = 130
_HERE = "the working tree"
_DRAWN = "--generate, or a file that says `generate:`"


class Fidelity(StrEnum):
    """What a replay is made of."""

    WORKLOADS = "workloads"
    PODS = "pods"


def _duration(text: str) -> int:
    """Seconds of `30s`, `15m`, `8h` or `2d`."""
    from pydantic import TypeAdapter, ValidationError

    from config.vocabulary import Seconds

    try:
        return int(TypeAdapter(Seconds).validate_python(text))
    except ValidationError as error:
        raise typer.BadParameter(error.errors()[0]["msg"]) from None


def simulate(  # noqa: PLR0913, PLR0917 - options
    context: typer.Context,
    trace: Annotated[
        Path | None,
        typer.Argument(help="What is submitted when: a YAML or CSV file.", exists=True, dir_okay=False, show_default=False),
    ] = None,
    stack: StackOption = "local",
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="One cluster, where the environment has several; a manager runs no jobs.")
    ] = None,
    base: Annotated[
        str | None, typer.Option("--base", metavar="REF", help="Simulate a git revision as well, and compare with it.")
    ] = None,
    generate: Annotated[
        bool, typer.Option("--generate", help="In place of a file: a plausible load for each team, drawn from its quota.")
    ] = False,
    from_cluster: Annotated[
        bool, typer.Option("--from-cluster", help="In place of a file: the Workloads that the stack's running cluster has.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Of what is drawn, in place of the file's; 1 with --generate.", min=0)
    ] = None,
    over: Annotated[
        int | None,
        typer.Option("--for", parser=_duration, metavar="TIME", help="With --generate: how long jobs arrive; default 24h."),
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(
            "--load", help="With --generate: what teams want, as a part of their guarantees; default 1.", min=0.01, max=100
        ),
    ] = None,
    team: Annotated[
        list[str] | None,
        typer.Option(
            "--team", "-t", help="With --generate: only this team submits; may be repeated.", autocompletion=complete_team
        ),
    ] = None,
    daily: Annotated[bool, typer.Option("--daily", help="With --generate: arrivals follow the day, busiest at noon.")] = False,
    runs: Annotated[
        int, typer.Option("--runs", "-n", help="How often it is replayed; several show the spread.", min=1, max=100)
    ] = 3,
    tick: Annotated[
        int | None,
        typer.Option(
            "--tick",
            parser=_duration,
            metavar="TIME",
            help="What arrives or ends within it is applied together; default as the trace allows.",
        ),
    ] = None,
    until: Annotated[
        int | None, typer.Option("--until", parser=_duration, metavar="TIME", help="Stop at this time of the trace's.")
    ] = None,
    fidelity: Annotated[
        Fidelity, typer.Option("--fidelity", help="Decisions on Workload objects alone, or Jobs with pods on fake nodes: slower.")
    ] = Fidelity.WORKLOADS,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page with charts as well.", dir_okay=False)] = None,
    as_json: JsonOption = False,
) -> int:
    """Replay workloads on a real Kueue with the declared teams: who waits, who is preempted, who borrows.

    It runs on a sandbox of its own, which ends with the command; no cluster is changed. The clock jumps from event to event.
    Exit code 1 where the trace or the declaration has errors; nothing is started then.
    """
    from simulation.simulating import Options
    from simulation.simulating import simulate as replayed

    sources = [trace is not None, generate, from_cluster]
    if sum(sources) != 1:
        raise typer.BadParameter("give a trace's file, --generate or --from-cluster, one of the three")
    if not generate:
        _only_with({"--for": over is not None, "--load": load is not None, "--team": bool(team), "--daily": daily}, "--generate")
    if from_cluster:
        _only_with({"--seed": seed is not None}, _DRAWN)
    root = root_of(context)
    sides = _sides(root, stack, cluster, base)
    plans = [side.plan for side in sides]
    with progress() as shown:
        if generate:
            given = {"seed": seed, "over": over, "utilisation": load}
            found = _generated(given, team or (), plans, daily=daily)
        elif from_cluster:
            found = _live(root, stack, cluster, shown)
        else:
            assert trace is not None  # noqa: S101 - one of the three is given
            found = _read(trace, root, plans, seed)
            _only_with({"--seed": seed is not None and found.seed is None}, _DRAWN)
        if html is not None and (code := _place(html)):  # not after an hour's replay
            return code
        options = Options(runs, tick, until, fidelity.value)
        result = replayed(sides, found, options, shown)
    return _told(sides, result, environment_of(root, stack), html, as_json=as_json)


def _only_with(given: Mapping[str, bool], source: str) -> None:
    """Options that go with another source: nobody should believe that they had an effect."""
    for option, is_given in given.items():
        if is_given:
            raise typer.BadParameter(f"goes with {source}", param_hint=option)


def _sides(root: Path, stack: str, cluster: str | None, base: str | None) -> list[Side]:
    """The revision to compare with, if any, then the working tree."""
    from live.revision import RevisionError, revision
    from simulation.simulating import Side

    sides = []
    if base is not None:
        try:
            with revision(root, base) as found:
                sides.append(Side(base, _plan(found.folder, stack, cluster)))
        except RevisionError as error:
            raise typer.BadParameter(str(error), param_hint="--base") from None
        except ConfigError:
            say(f"hpctl: as {base} has it:")
            raise
    return [*sides, Side(_HERE, _plan(root, stack, cluster))]


def _plan(root: Path, stack: str, cluster: str | None) -> ClusterPlan:
    _, plan = planned(root, stack)
    return running_cluster(plan, cluster)


def _generated(given: Mapping[str, Any], teams: Sequence[str], plans: Sequence[ClusterPlan], *, daily: bool) -> Trace:
    """`given`: what of a quick load was said, None where it wasn't."""
    from simulation.traces.quick import Quick, quick_trace

    said = {name: value for name, value in given.items() if value is not None}
    return quick_trace(Quick(teams=tuple(teams), daily=daily, **said), plans)


def _read(path: Path, root: Path, plans: Sequence[ClusterPlan], seed: int | None) -> Trace:
    from simulation.traces.reading import read_trace

    return read_trace(path, root, plans, seed)


def _live(root: Path, stack: str, cluster: str | None, shown: ConsoleProgress) -> Trace:
    from live.clusters import connection
    from live.connection import UnreachableError
    from live.kube import Reader
    from live.usage import NoKueueError
    from simulation.traces.live import from_cluster

    platform, plan = planned(root, stack)
    found = running_cluster(plan, cluster)
    try:
        return from_cluster(Reader(connection(root, stack, platform, plan, found.name, shown)), found)
    except NoKueueError as error:
        raise UnreachableError(f"{found.name}: {error}") from None


def _told(sides: Sequence[Side], result: Simulated, environment: str, html: Path | None, *, as_json: bool) -> int:
    from reports import simulation as reports
    from simulation.results.compare import compare

    backend, trace, names = sides[-1].plan.policy.backend, result.trace, [side.name for side in sides]
    if len(result.sides) == 2:
        comparison = compare(*result.sides)
        data = reports.comparison_as_dict(comparison, trace, backend, environment, sides=names, interrupted=not result.complete)
        lines = reports.comparison_renderables(comparison, data["about"])
    else:
        data = reports.as_dict(result.sides[0], trace, backend, environment, side=names[0], interrupted=not result.complete)
        lines = reports.renderables(result.sides[0], data["about"])
    if as_json:
        print_json(data)
    else:
        shown = console(out=True)
        for line in lines:
            shown.print(line)
    if html is not None and (code := _page(html, data)):
        return code
    if not result.complete:
        say("interrupted: the result is partial" if len(result.sides) == len(sides) else "interrupted: one side alone, in part")
        raise Ended(INTERRUPTED)
    return 0


def _place(path: Path) -> int:
    from config.writing import check_place

    try:
        check_place(path)
    except OSError as error:
        return cannot_write(path, error)
    return 0


def _page(path: Path, data: dict[str, Any]) -> int:
    from datetime import UTC, datetime

    from config.writing import replace_file
    from reports.html.page import simulation_page

    try:
        replace_file(path, simulation_page(data, datetime.now(UTC)))
    except OSError as error:
        return cannot_write(path, error)
    say(f"wrote {path}")
    return 0
