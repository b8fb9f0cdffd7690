"""The clusters of a stack, as its environment, its sandboxes or its last deployment say how they are reached."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from config.findings import ConfigError, Finding, Severity, Where, did_you_mean
from config.load import Platform
from governance.model import Plan
from live.connection import UnreachableError, connect
from live.kube import Reader
from sandbox import stacks
from sandbox.deploy import attach, known_kubeconfigs
from sandbox.errors import SandboxError
from sandbox.progress import Progress


def chosen(plan: Plan, cluster: str | None) -> list[str]:
    """All clusters of a plan, or the one of that name. Raises ConfigError where there is none."""
    if cluster is not None and cluster not in plan.clusters:
        known, message = did_you_mean(cluster, list(plan.clusters)), f"there is no cluster `{cluster}`"
        raise ConfigError([Finding("cluster-unknown", Severity.ERROR, Where("--cluster"), message, known)])
    return [name for name in sorted(plan.clusters) if cluster in (None, name)]


def readers(
    root: Path, stack: str, platform: Platform, plan: Plan, cluster: str | None, progress: Progress
) -> Iterator[tuple[str, Reader]]:
    """Each cluster with its reader. Raises ConfigError, SandboxError, UnreachableError, EngineError.

    Pulumi is asked only for a cluster that neither a sandbox nor the environment's file leads to.
    """
    files = known_kubeconfigs(root, stack, platform)
    for name in chosen(plan, cluster):
        if name in stacks.clusters(platform) and stacks.sandbox_of(root, stack, name).status().phase != "running":
            raise SandboxError(
                f"the sandbox of cluster `{name}` does not run",
                remedy=f"`hpctl up --stack {stack}` starts it; `--plan` shows the declaration",
            )
        way = str(files[name]) if name in files else _deployed_way(root, stack, platform, plan, name, progress)
        yield name, Reader(connect(way, plan.clusters[name].declared.context or "", ""))


def _deployed_way(root: Path, stack: str, platform: Platform, plan: Plan, name: str, progress: Progress) -> str:
    progress.step("asking Pulumi for the last deployment")
    deployment = attach(root, stack, platform, plan, progress)
    if deployment is None:
        raise UnreachableError(f"nothing says how cluster `{name}` is reached: the stack was never deployed")
    return deployment.way(name, deployment.engine().outputs())
