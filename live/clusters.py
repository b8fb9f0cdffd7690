"""The way to a stack's clusters, as its environment, its sandboxes or its last deployment say it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from config.load import Platform
from governance.choice import chosen
from governance.model import Plan
from live.connection import Connection, UnreachableError, connect
from live.kube import Reader
from sandbox import stacks
from sandbox.deploy import attach, known_kubeconfigs
from sandbox.errors import SandboxError
from sandbox.progress import Progress


def connection(root: Path, stack: str, platform: Platform, plan: Plan, cluster: str, progress: Progress) -> Connection:
    """One cluster's API server. Pulumi is asked only where neither a sandbox nor a file of the environment leads to it.

    Raises SandboxError where the cluster is a sandbox that doesn't run, UnreachableError and EngineError.
    """
    if cluster in stacks.clusters(platform) and stacks.sandbox_of(root, stack, cluster).status().phase != "running":
        raise SandboxError(f"the sandbox of cluster `{cluster}` does not run", remedy=f"`hpctl up --stack {stack}` starts it")
    file = known_kubeconfigs(root, stack, platform).get(cluster)
    way = str(file) if file is not None else _deployed(root, stack, platform, plan, cluster, progress)
    return connect(way, plan.clusters[cluster].declared.context or "", "")


def readers(
    root: Path, stack: str, platform: Platform, plan: Plan, cluster: str | None, progress: Progress
) -> Iterator[tuple[str, Reader]]:
    """Each cluster, or one, with its reader. Raises ConfigError, SandboxError, UnreachableError, EngineError."""
    for name in chosen(plan.clusters, cluster):
        yield name, Reader(connection(root, stack, platform, plan, name, progress))


def _deployed(root: Path, stack: str, platform: Platform, plan: Plan, cluster: str, progress: Progress) -> str:
    """As the last deployment has left it."""
    progress.step("asking Pulumi for the last deployment")
    deployment = attach(root, stack, platform, plan, progress)
    if deployment is None:
        raise UnreachableError(f"nothing says how cluster `{cluster}` is reached: the stack `{stack}` was never deployed")
    engine = deployment.engine()
    return deployment.way(cluster, engine.outputs() if engine.state() else {})
