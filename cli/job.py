"""`hpctl job`: a team's job as a manifest, checked against the plan; printed, or submitted."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cli.console import count_words, print_findings, print_json, progress, say
from cli.context import StackOption, planned, root_of
from config.findings import ConfigError, Finding, has_errors

if TYPE_CHECKING:
    from config.load import Platform
    from governance.jobs.model import Resolved
    from governance.model import Plan

_KINDS = ("job", "pytorchjob", "hyperpodpytorchjob", "rayjob", "jobset", "trainjob", "deployment", "space", "pod")
_POD, _ELASTIC, _PLACE, _OUTPUT = "Each pod", "Elastic training", "Placement", "Output"


def complete_team(context: typer.Context, incomplete: str) -> list[str]:
    """Completion: the teams of the project."""
    from config.load import Project

    try:
        return [name for name in Project(root_of(context)).team_files() if name.startswith(incomplete)]
    except ConfigError:
        return []


def complete_kind(incomplete: str) -> list[str]:
    """Completion: the kinds of jobs."""
    return [name for name in _KINDS if name.startswith(incomplete)]


def job(  # noqa: PLR0913, PLR0917 - options
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The job's name.")],
    team: Annotated[str, typer.Option("--team", "-t", help="The team whose queue it goes to.", autocompletion=complete_team)],
    instance_type: Annotated[str, typer.Option("--instance-type", "-i", help="Type of the nodes, as ml.p5.48xlarge.")],
    kind: Annotated[
        str, typer.Option("--kind", "-k", help=f"What it is: {', '.join(_KINDS)}.", autocompletion=complete_kind)
    ] = "job",
    stack: StackOption = "local",
    cluster: Annotated[str | None, typer.Option("--cluster", help="The cluster; default the team's only one.")] = None,
    pods: Annotated[int | None, typer.Option("--pods", "-p", help="Number of pods; default 1.")] = None,
    nodes: Annotated[int | None, typer.Option("--nodes", "-n", help="As many pods, each of a whole node.")] = None,
    image: Annotated[str | None, typer.Option("--image", help="Container image.")] = None,
    command: Annotated[
        str | None, typer.Option("--command", help='What to run, in one line: "python train.py --lr 0.1".')
    ] = None,
    env: Annotated[list[str] | None, typer.Option("--env", "-e", help="NAME=value in the container; may be repeated.")] = None,
    port: Annotated[int | None, typer.Option("--port", help="Port that the container listens on.")] = None,
    accelerators: Annotated[
        int | None,
        typer.Option("--accelerators", "-a", help="GPUs or Neuron devices; vCPU and memory follow.", rich_help_panel=_POD),
    ] = None,
    vcpu: Annotated[float | None, typer.Option("--vcpu", help="vCPUs.", rich_help_panel=_POD)] = None,
    memory_gib: Annotated[float | None, typer.Option("--memory-gib", help="Memory in GiB.", rich_help_panel=_POD)] = None,
    efa: Annotated[
        int | None,
        typer.Option(
            "--efa", help="EFA interfaces; default by the accelerators where there are several pods.", rich_help_panel=_POD
        ),
    ] = None,
    whole_node: Annotated[
        bool, typer.Option("--whole-node", help="All that pods can have of a node.", rich_help_panel=_POD)
    ] = False,
    partition: Annotated[
        str | None, typer.Option("--partition", help="MIG partition in place of whole GPUs: mig-1g.10gb.", rich_help_panel=_POD)
    ] = None,
    partition_count: Annotated[
        int | None, typer.Option("--partition-count", help="How many of them; default 1.", rich_help_panel=_POD)
    ] = None,
    priority: Annotated[
        str | None, typer.Option("--priority", help="Priority class; default the team's.", rich_help_panel=_PLACE)
    ] = None,
    required_topology: Annotated[
        str | None,
        typer.Option(
            "--required-topology",
            help="All pods in one block of this level: layer-3, host, a node label.",
            rich_help_panel=_PLACE,
        ),
    ] = None,
    preferred_topology: Annotated[
        str | None, typer.Option("--preferred-topology", help="The same where it is possible.", rich_help_panel=_PLACE)
    ] = None,
    max_run_time: Annotated[
        str | None,
        typer.Option("--max-run-time", help="Kueue ends it then: 90m, 1d12h; default the team's.", rich_help_panel=_PLACE),
    ] = None,
    least: Annotated[int | None, typer.Option("--min-replicas", help="Pods that it needs.", rich_help_panel=_ELASTIC)] = None,
    most: Annotated[int | None, typer.Option("--max-replicas", help="Pods that it can use.", rich_help_panel=_ELASTIC)] = None,
    increment: Annotated[
        int | None, typer.Option("--increment", help="Pods by which it grows.", rich_help_panel=_ELASTIC)
    ] = None,
    discrete: Annotated[
        str | None, typer.Option("--discrete", help="In its place, the sizes: 2,4,8.", rich_help_panel=_ELASTIC)
    ] = None,
    elastic_priority: Annotated[
        str | None,
        typer.Option(
            "--elastic-priority", help="Class of the part that comes and goes; default the lowest.", rich_help_panel=_ELASTIC
        ),
    ] = None,
    scaling_timeout: Annotated[
        int | None, typer.Option("--scaling-timeout", help="Seconds to wait before it grows.", rich_help_panel=_ELASTIC)
    ] = None,
    graceful_shutdown_timeout: Annotated[
        int | None,
        typer.Option("--graceful-shutdown-timeout", help="Seconds for a checkpoint before it changes.", rich_help_panel=_ELASTIC),
    ] = None,
    faulty_timeout: Annotated[
        int | None, typer.Option("--faulty-timeout", help="Seconds to wait for a faulty pod.", rich_help_panel=_ELASTIC)
    ] = None,
    output: Annotated[
        Literal["yaml", "json"], typer.Option("--format", "-o", help="How it is printed.", rich_help_panel=_OUTPUT)
    ] = "yaml",
    hyperpod_cli: Annotated[
        bool, typer.Option("--hyperpod-cli", help="Print the HyperPod CLI's command in its place.", rich_help_panel=_OUTPUT)
    ] = False,
    submit: Annotated[bool, typer.Option("--submit", help="Create it on the cluster.", rich_help_panel=_OUTPUT)] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Ask the cluster what it would say, and create nothing.", rich_help_panel=_OUTPUT)
    ] = False,
    kubeconfig: Annotated[
        Path | None,
        typer.Option("--kubeconfig", help="Your own way to the cluster; default the stack's.", rich_help_panel=_OUTPUT),
    ] = None,
    kube_context: Annotated[str, typer.Option("--context", help="Context of the kubeconfig.", rich_help_panel=_OUTPUT)] = "",
) -> int:
    """Print or submit a job that fits its team: queue, priority, instance type, topology, and requests that nodes have room for.

    Everything is held against the plan first: quota, the largest job the team can ever have, nodes and network blocks. All that
    is wrong is told at once; nothing is submitted then.
    """
    from governance.jobs.manifests import manifests
    from governance.jobs.model import Elasticity, Order
    from governance.jobs.resolve import resolve

    if sum((hyperpod_cli, submit, dry_run)) > 1:
        raise typer.BadParameter("--hyperpod-cli, --submit and --dry-run exclude each other")
    root = root_of(context)
    platform, plan = planned(root, stack)
    elastic = Elasticity(least, most, increment, discrete, scaling_timeout, graceful_shutdown_timeout, faulty_timeout)
    order = Order(
        name, team, kind, instance_type, cluster, pods, nodes, accelerators, vcpu, memory_gib, efa, whole_node, partition,
        partition_count, priority, elastic_priority, required_topology, preferred_topology, image, command, tuple(env or ()),
        port, max_run_time, elastic,
    )  # fmt: skip
    resolved, findings = resolve(order, plan)
    if resolved is None:
        raise ConfigError(findings)
    print_findings(findings)
    for note in resolved.notes:
        say(note)
    if hyperpod_cli:
        _print_command(resolved)
    elif submit or dry_run:
        way = (str(kubeconfig or ""), kube_context)
        return _submit(root, stack, platform, plan, resolved, way, dry=dry_run)
    else:
        _print(manifests(resolved), output)
    return 0


def _print(objects: list[dict[str, Any]], output: str) -> None:
    if output == "json":
        print_json(objects[0] if len(objects) == 1 else {"apiVersion": "v1", "kind": "List", "items": objects})
        return
    import yaml

    class Plain(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Without anchors, which some readers of manifests don't know."""

        def ignore_aliases(self, _data: Any) -> bool:
            return True

    yaml.dump_all(objects, sys.stdout, Dumper=Plain, sort_keys=False, width=120, explicit_start=len(objects) > 1)


def _print_command(resolved: Resolved) -> None:
    from governance.jobs.hypcli import equivalent

    found = equivalent(resolved)
    if isinstance(found, Finding):
        raise ConfigError([found])
    lines = [f"hyp create {found.verb}", *(f"  {option} {shlex.quote(value)}" for option, value in found.options)]
    sys.stdout.write(" \\\n".join(lines) + "\n")
    for left in found.left_out:
        say(f"without an option there: {left}")


def _submit(
    root: Path, stack: str, platform: Platform, plan: Plan, resolved: Resolved, way: tuple[str, str], *, dry: bool
) -> int:
    from governance.jobs.manifests import manifests
    from live import clusters
    from live.connection import connect
    from live.submit import submit

    objects = manifests(resolved)
    with progress() as shown:
        own = any(way)
        api = connect(*way, "") if own else clusters.connection(root, stack, platform, plan, resolved.cluster.name, shown)
        shown.step(f"{'trying' if dry else 'submitting'} {len(objects)} object{'s' * (len(objects) > 1)}")
        refused = submit(api, objects, dry=dry)
    if has_errors(refused):
        print_findings(refused)
        say(count_words(refused))
        return 1
    for one in objects:
        said = "would be created" if dry else "created"
        say(f"{one['kind']}/{one['metadata']['name']} {said} in {one['metadata']['namespace']}")
    return 0
