"""`hpctl why`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.console import print_json, progress, say
from cli.context import JsonOption, complete_stack, planned, root_of

UNKNOWN = 1


def why(  # noqa: PLR0913, PLR0917 - options
    context: typer.Context,
    workload: Annotated[str, typer.Argument(help="Name of a job, of its Workload or of a pod; or kind/name, as pytorchjob/big.")],
    team: Annotated[str | None, typer.Option("--team", "-t", help="Look in this team's namespace alone.")] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", "-n", help="Look in this namespace alone.")] = None,
    stack: Annotated[
        str | None,
        typer.Option(
            "--stack",
            "-s",
            help="The stack whose cluster is asked, and whose declaration is known; default local without --kubeconfig.",
            autocompletion=complete_stack,
        ),
    ] = None,
    cluster: Annotated[str | None, typer.Option("--cluster", help="One cluster of the stack, where it has several.")] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option("--kubeconfig", help="Ask the cluster of this kubeconfig.", exists=True, dir_okay=False)
    ] = None,
    kube_context: Annotated[
        str | None, typer.Option("--context", help="Context of the kubeconfig, or of the ambient one; default its current one.")
    ] = None,
    as_json: JsonOption = False,
) -> int:
    """Say why a workload waits and what would let it in; or on whose quota it runs, and by whom it was preempted.

    Reads Kueue's objects, nodes and pods; writes nothing. Exit code 1 where there is no such workload.
    """
    from governance.choice import one_cluster
    from live.clusters import connection
    from live.kube import Reader
    from live.why.declared import Declared
    from live.why.find import UnknownError
    from live.why.reach import Way, ask, ask_workers, by_kubeconfig
    from reports import why as reports

    if team is not None and namespace is not None:
        raise typer.BadParameter("give --team or --namespace, one of the two")
    direct = kubeconfig is not None or kube_context is not None
    if cluster is not None and direct and stack is None:
        raise typer.BadParameter("--cluster is one of a stack: give --stack as well")
    with progress() as shown:
        if direct and stack is None:
            way = by_kubeconfig(kubeconfig, kube_context)
        else:
            root, stack_name = root_of(context), stack or "local"
            platform, plan = planned(root, stack_name)
            declared = Declared(platform, one_cluster(plan, cluster))
            if direct:
                way = by_kubeconfig(kubeconfig, kube_context, declared)
            else:
                way = Way(Reader(connection(root, stack_name, platform, plan, declared.cluster.name, shown)), declared)
        try:
            answer = ask(way, workload, team, namespace, shown)
            if not direct:

                def to_worker(name: str) -> Way | None:
                    if name not in plan.clusters:
                        return None
                    there = Declared(platform, plan.clusters[name])
                    return Way(Reader(connection(root, stack_name, platform, plan, name, shown)), there)

                answer = ask_workers(answer, to_worker, shown)
        except UnknownError as error:
            say(f"hpctl: {error}")
            return UNKNOWN
    if as_json:
        print_json(reports.as_dict(answer))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in reports.text(answer)))
    return 0
