"""`hpctl render`: the Kubernetes objects of a stack, as YAML or JSON."""

from __future__ import annotations

from typing import Annotated

import typer

from cli.console import print_json, say
from cli.context import JsonOption, StackOption, planned, root_of
from governance.choice import chosen


def render(
    context: typer.Context,
    stack: StackOption = "local",
    cluster: Annotated[str | None, typer.Option(help="One cluster of the environment; default all.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the objects that an `up` declares on the clusters, exactly. Charts, and what AWS makes there, are not among them."""
    import sys

    from components.render import render as manifests

    _, plan = planned(root_of(context), stack)
    objects = [item for name in chosen(plan.clusters, cluster) for item in manifests(plan.clusters[name])]
    if plan.backend == "managed":
        say("AWS makes namespaces, queues, flavors and priority classes of the quotas, and owns them; ours is the access:")
    if as_json:
        print_json(objects)
        return
    import yaml

    yaml.dump_all(
        objects, sys.stdout, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False, width=120, explicit_start=True
    )
