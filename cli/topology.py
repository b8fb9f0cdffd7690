"""`hpctl topology`: network blocks, what is free in them, and where jobs stand."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.console import print_json, progress, say
from cli.context import JsonOption, StackOption, cannot_write, planned, root_of
from config.findings import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import RenderableType

    from governance.model import Plan
    from live.topology import Cluster
    from reports.topology import View


class Format(StrEnum):
    """How a map is told."""

    TEXT = "text"
    MERMAID = "mermaid"
    SVG = "svg"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class _Where:
    """Which clusters to look at."""

    stack: str
    cluster: str | None
    kubeconfig: str | None
    kube_context: str | None

    @property
    def any_cluster(self) -> bool:
        return self.kubeconfig is not None or self.kube_context is not None


def _kinds(incomplete: str) -> list[str]:
    """Completion: instance types."""
    from config.catalogue import instance_types

    return [name for name in instance_types() if name.startswith(incomplete)]


def _teams(context: typer.Context, incomplete: str) -> list[str]:
    """Completion: the project's teams."""
    return sorted(file.stem for file in (root_of(context) / "teams").glob(f"{incomplete}*.yaml"))


def topology(  # noqa: PLR0913, PLR0917 - options
    context: typer.Context,
    stack: StackOption = "local",
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="One cluster of the stack; default all that have nodes of teams.")
    ] = None,
    kubeconfig: Annotated[str | None, typer.Option("--kubeconfig", help="Any cluster, in place of a stack's.")] = None,
    kube_context: Annotated[
        str | None, typer.Option("--context", help="A context of the kubeconfig, or of the one in use.")
    ] = None,
    from_plan: Annotated[
        bool, typer.Option("--plan", help="The declared nodes, not a running cluster; real network blocks are EC2's choice.")
    ] = False,
    instance_type: Annotated[
        str | None, typer.Option("--type", "-t", help="Nodes of one instance type; default all.", autocompletion=_kinds)
    ] = None,
    nodes: Annotated[bool, typer.Option("--nodes", help="Every node in text and Mermaid; default whole blocks.")] = False,
    per_pod: Annotated[
        int | None, typer.Option("--per-pod", min=1, help="Also the largest job of pods with so many accelerators each.")
    ] = None,
    vcpu: Annotated[float, typer.Option("--vcpu", min=0, max=10_000, help="With --per-pod: vCPUs of such a pod.")] = 0,
    memory_gib: Annotated[
        float, typer.Option("--memory-gib", min=0, max=1_000_000, help="With --per-pod: GiB of such a pod.")
    ] = 0,
    job: Annotated[str | None, typer.Option("--job", help="Verify where this job's pods stand; exit 1 if wrong.")] = None,
    team: Annotated[
        str | None, typer.Option("--team", help="With --job or --verify: look into this team's namespace.", autocompletion=_teams)
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Verify all running jobs that ask for a topology.")] = False,
    form: Annotated[Format, typer.Option("--format", "-f", help="A tree, a chart, a picture, or data.")] = Format.TEXT,
    as_json: JsonOption = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file; default standard output.", dir_okay=False)
    ] = None,
) -> int:
    """Show network blocks, their free accelerators, and the largest job that fits in one; or verify where jobs stand.

    Exit 1 where a required topology is broken, or the named job isn't there.
    """
    form = Format.JSON if as_json else form
    where = _Where(stack, cluster, kubeconfig, kube_context)
    verifying = verify or job is not None
    _check_usage(where, form, verifying=verifying, from_plan=from_plan, team=team)
    if per_pod is None and (vcpu or memory_gib):
        raise typer.BadParameter("say how many accelerators with --per-pod", param_hint="--vcpu, --memory-gib")
    if verifying:
        return _verify(context, where, job, team, form, output)
    from reports.topology import Asked, as_dict, view

    asked = Asked(per_pod, round(vcpu * 1000), round(memory_gib * 2**30)) if per_pod else None
    layouts = _declared(context, where) if from_plan else [found.layout for found in _live(context, where)]
    views = [view(layout, instance_type, asked) for layout in layouts]
    _check_type(instance_type, [view(layout) for layout in layouts] if instance_type else [])
    if form is Format.JSON:
        return _write({"clusters": [as_dict(one) for one in views]}, output)
    if form is Format.TEXT:
        from reports.topologytree import render

        return _show((item for one in views for item in render(one, nodes=nodes)), output)
    from reports.topologymermaid import mermaid
    from reports.topologysvg import svg

    return _write(svg(views) if form is Format.SVG else mermaid(views, nodes=nodes), output)


def _check_usage(where: _Where, form: Format, *, verifying: bool, from_plan: bool, team: str | None) -> None:
    if from_plan and (verifying or where.any_cluster):
        raise typer.BadParameter("a plan has no running cluster", param_hint="--plan")
    if where.any_cluster and where.cluster:
        raise typer.BadParameter("names a cluster of a stack; leave out --kubeconfig and --context", param_hint="--cluster")
    if team is not None and not verifying:
        raise typer.BadParameter("goes with --job or --verify", param_hint="--team")
    if verifying and form not in (Format.TEXT, Format.JSON):
        raise typer.BadParameter("verdicts are text or json", param_hint="--format")


def _check_type(wanted: str | None, views: list[View]) -> None:
    known = sorted({section.instance_type for one in views for section in one.sections})
    if wanted is not None and wanted not in known:
        hint = did_you_mean(wanted, known) or f"there are {', '.join(known) or 'no nodes'}"
        raise typer.BadParameter(f"no node is of the type {wanted}; {hint}", param_hint="--type")


def _declared(context: typer.Context, where: _Where) -> list[Any]:
    from live.topology import declared_layout

    _, plan = planned(root_of(context), where.stack)
    return [declared_layout(plan.clusters[name]) for name in _chosen(plan, where.cluster)]


def _chosen(plan: Plan, cluster: str | None) -> list[str]:
    """Clusters with nodes; of a manager it is said that it has none of teams."""
    from governance.choice import with_nodes

    names, told = with_nodes(plan, cluster)
    for sentence in told:
        say(sentence)
    return names


def _live(
    context: typer.Context, where: _Where, team: str | None = None, spaces: dict[str, list[str]] | None = None
) -> list[Cluster]:
    """The clusters as they are; `spaces` is told the team's namespaces in each."""
    from live.topology import read_cluster
    from live.topologyjobs import namespaces_of

    with progress() as shown:
        found = []
        for name, reader in _readers(context, where, shown):
            if team is not None and spaces is not None:
                spaces[name] = namespaces_of(reader, team)
            found.append(read_cluster(reader, name, shown))
        return found


def _readers(context: typer.Context, where: _Where, shown: Any) -> Iterable[Any]:
    if where.any_cluster:
        from live.connection import connect
        from live.kube import Reader

        name = where.kube_context or Path(where.kubeconfig or "").stem
        return [(name, Reader(connect(where.kubeconfig or "", where.kube_context or "", "")))]
    from live.clusters import readers

    root = root_of(context)
    platform, plan = planned(root, where.stack)
    names = _chosen(plan, where.cluster)
    return (found for name in names for found in readers(root, where.stack, platform, plan, name, shown))


def _verify(context: typer.Context, where: _Where, job: str | None, team: str | None, form: Format, output: Path | None) -> int:
    from governance.topologymap.placement import verify_all
    from live.topologyjobs import podsets
    from reports.topology import placement_dict
    from reports.topologytree import placements

    spaces: dict[str, list[str]] = {}
    verdicts = {}
    for found in _live(context, where, team, spaces):
        name = found.layout.cluster
        verdicts[name] = verify_all(podsets(found, job, spaces.get(name, []) if team else None), found.layout)
    if team is not None and not any(spaces.values()):
        say(f"hpctl: there is no namespace of a team `{team}`")
        return 1
    if job is not None and not any(verdicts.values()):
        say(f"hpctl: there is no job `{job}` that hasn't ended{f' in the namespace of {team}' if team else ''}")
        return 1
    every = [one for found in verdicts.values() for one in found]
    if form is Format.JSON:
        data = [{"cluster": name, "podsets": [placement_dict(one) for one in found]} for name, found in verdicts.items()]
        code = _write({"clusters": data, "broken": sum(one.state == "broken" for one in every)}, output)
    else:
        code = _show(placements(every), output)
    return code or int(any(one.state == "broken" for one in every))


def _show(items: Iterator[RenderableType], output: Path | None) -> int:
    from cli.console import console

    if output is None:
        shown = console(out=True)
        for item in items:
            shown.print(item)
        return 0
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    plain = Console(file=text, no_color=True, highlight=False, soft_wrap=True, width=160)
    for item in items:
        plain.print(item)
    return _write(text.getvalue(), output)


def _write(data: Any, output: Path | None) -> int:
    """A text, or data as JSON."""
    if output is None and not isinstance(data, str):
        print_json(data)
        return 0
    import json

    text = data if isinstance(data, str) else json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if output is None:
        sys.stdout.write(text)
        return 0
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        return cannot_write(output, error)
    say(f"wrote {output}")
    return 0
