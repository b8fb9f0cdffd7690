"""`hpctl import`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.console import count_words, print_findings, print_json, progress, say
from cli.context import JsonOption, YesOption, cannot_write, root_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from live.adoption.adopting import Adoption, Target

DIFFERENCE = 3
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"), "1 to 100 letters, digits, _, . and -, and no . in front"
"""Of stacks, as Pulumi takes them, and of environments: both name files."""
_CLUSTER_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"), "1 to 63 lower-case letters, digits and -, and no - at an end"


def import_(  # noqa: PLR0913, PLR0917 - options
    context: typer.Context,
    environment: Annotated[str, typer.Option("--environment", "-e", help="Name of the environment to write.")],
    owner: Annotated[
        list[str], typer.Option("--owner", help="Who answers for the teams until their files say better; may repeat.")
    ],
    from_cluster: Annotated[bool, typer.Option("--from-cluster", help="Adopt the queues of a cluster with Kueue.")] = False,
    from_sagemaker: Annotated[
        str | None, typer.Option("--from-sagemaker", metavar="CLUSTER", help="Adopt the task governance of a HyperPod cluster.")
    ] = None,
    region: Annotated[str | None, typer.Option("--region", help="AWS region of the HyperPod cluster.")] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="Kubeconfig; default the ambient one.", exists=True, dir_okay=False)
    ] = None,
    kube_context: Annotated[
        str | None, typer.Option("--context", help="Context of the kubeconfig; default its current one.")
    ] = None,
    cluster: Annotated[str, typer.Option("--cluster", help="Name of the cluster in the environment.")] = "main",
    type_: Annotated[
        list[str] | None, typer.Option("--type", metavar="FLAVOR=TYPE", help="Instance type of a ResourceFlavor; may repeat.")
    ] = None,
    stack: Annotated[str | None, typer.Option("--stack", "-s", help="Pulumi stack; default the environment's name.")] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Folder to write to; default the project's.", file_okay=False)] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Also take what is there into the stack's state.")] = False,
    yes: YesOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; say what would be written.")] = False,
    as_json: JsonOption = False,
) -> int:
    """Adopt what exists: write environment, teams and Pulumi's import file, so that the first `up` changes nothing.

    Exit code 0: it changes nothing; 3: it would change what is listed.
    """
    from live.adoption.adopting import Target, write

    if from_cluster == (from_sagemaker is not None):
        raise typer.BadParameter("give --from-cluster or --from-sagemaker CLUSTER, one of the two")
    if apply and (to is not None or dry_run):
        raise typer.BadParameter("--apply needs the project's own files: leave away --to and --dry-run")
    if from_sagemaker is not None and region is None:
        raise typer.BadParameter("--from-sagemaker needs --region")
    types = _types(type_ or [])
    _named("--environment", environment, *_FILE_NAME)
    _named("--stack", environment if stack is None else stack, *_FILE_NAME)
    _named("--cluster", cluster, *_CLUSTER_NAME)
    root = root_of(context)
    target = Target((to or root).resolve(), environment, stack or environment)
    with progress() as shown:
        shown.step("reading what is there")
        if from_sagemaker is not None and region is not None:
            adoption = _sagemaker(from_sagemaker, region, cluster, target, owner)
        else:
            adoption = _kueue(kubeconfig, kube_context, cluster, target, owner, types)
    print_findings(adoption.findings)
    try:
        made = () if dry_run else write(adoption.files, target.root)
    except OSError as error:
        return cannot_write(error.filename or target.root, error)
    _tell(adoption, None if dry_run else made)
    if apply and (yes or typer.confirm(f"Take {adoption.adopted} resources into the state of {target.stack}?", err=True)):
        _apply(root, adoption)
    if as_json:
        print_json(adoption.as_dict())
    return DIFFERENCE if adoption.differences else 0


def _named(option: str, name: str, pattern: re.Pattern[str], words: str) -> None:
    if not pattern.fullmatch(name):
        raise typer.BadParameter(f"{name!r} is no name: {words}", param_hint=option)


def _types(given: list[str]) -> dict[str, str]:
    from config.catalogue import instance_types

    found = {}
    for text in given:
        flavor, equals, kind = text.partition("=")
        if not equals or kind not in instance_types():
            raise typer.BadParameter(f"--type {text}: write <flavor>=<instance type>, as h100=ml.p5.48xlarge")
        found[flavor] = kind
    return found


def _kueue(
    kubeconfig: Path | None, kube_context: str | None, cluster: str, target: Target, owners: list[str], types: dict[str, str]
) -> Adoption:
    from governance.adoption.model import Connection
    from live.adoption.kueue import adopt_kueue
    from live.adoption.reading import read_cluster
    from live.connection import connect
    from live.kube import Reader

    reader = Reader(connect(str(kubeconfig or ""), kube_context or "", ""))
    connection = Connection(cluster, str(kubeconfig) if kubeconfig else None, kube_context)
    return adopt_kueue(reader, read_cluster(reader, types), connection, target, owners)


def _sagemaker(name: str, region: str, cluster: str, target: Target, owners: list[str]) -> Adoption:
    from live.adoption.managed import adopt_managed, clients, read_managed

    return adopt_managed(read_managed(clients(region), name), cluster, target, owners)


def _tell(adoption: Adoption, made: Collection[str] | None) -> None:
    """`made` are the files that were written; None where none is to be."""
    for name in adoption.files:
        if made is None:
            say(f"would write {name}")
        else:
            say(f"wrote {name}" if name in made else f"{name} is there already, and says the same")
    say(f"{adoption.adopted} resources that are there already; the first up adds {len(adoption.made)} beside them:")
    for one in adoption.made:
        say(f"  {one}")
    changed = f"changes {len(adoption.differences)} fields" if adoption.differences else "changes nothing that is there"
    say(f"the first up {changed}; {count_words(adoption.findings)}")


def _apply(root: Path, adoption: Adoption) -> None:
    from cli.context import planned
    from sandbox.deploy import prepare
    from sandbox.engine_import import import_existing

    stack = adoption.target.stack
    platform, plan = planned(root, stack)
    with progress() as shown:
        deployment = prepare(root, stack, platform, plan, shown)
        with deployment.engine() as engine:
            shown.step(f"importing into {stack}")
            changes = import_existing(engine, adoption.import_file)
    say(f"{stack}: {changes.create} taken into the state; `hpctl up --stack {stack}` does the rest")
