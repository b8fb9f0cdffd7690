"""`hpctl permissions`: what the principal that deploys has to be allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cli.console import print_json, say
from cli.context import StackOption, planned, root_of
from config.findings import ConfigError, Finding, Severity
from config.stack import layers_of


def permissions(
    context: typer.Context,
    stack: StackOption = "prod",
    to: Annotated[
        Path | None, typer.Option("--to", help="Write each policy into a file of this folder, as the AWS CLI takes it.")
    ] = None,
) -> None:
    """Print the IAM policies that whoever deploys a stack needs, each no longer than a managed policy may be; all are needed."""
    from governance.platform.deployer import deployer_policies

    root = root_of(context)
    platform, plan = planned(root, stack)
    layers = layers_of(root, stack)
    policies = {
        f"{stack}-{name}-{number}": policy
        for name, cluster in plan.clusters.items()
        if cluster.platform is not None
        for number, policy in enumerate(deployer_policies(cluster.platform, layers), start=1)
    }
    if not policies:
        where = platform.where("", ("clusters",), key=True)
        message = f"the environment `{plan.environment}` builds no cluster on AWS: all are of kind existing"
        raise ConfigError([Finding("permissions-none", Severity.ERROR, where, message, "name the stack of a HyperPod cluster")])
    if to is None:
        print_json(policies)
        return
    to.mkdir(parents=True, exist_ok=True)
    for name, policy in policies.items():
        (to / f"{name}.json").write_text(json.dumps(policy, indent=2) + "\n", encoding="utf-8")
        say(f"{to / f'{name}.json'}")
