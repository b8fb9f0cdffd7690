"""The sandboxes of a stack: one for each cluster that the environment marks as this machine's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from config.load import Platform
from governance.model import Plan
from governance.names import fingerprint
from governance.nodes import nodes
from sandbox.errors import SandboxError
from sandbox.local import Sandbox, Status, sandboxes
from sandbox.paths import cache_root

if TYPE_CHECKING:
    from sandbox.toolchain import Progress


def clusters(platform: Platform) -> list[str]:
    """The environment's clusters that are sandboxes."""
    return [name for name, cluster in sorted(platform.environment.clusters.items()) if cluster.sandbox]


def folder(root: Path, stack: str) -> Path:
    """Where a sandboxed stack keeps Pulumi's state: never in the project's tree."""
    return cache_root() / "stacks" / key(root, stack)


def key(root: Path, stack: str) -> str:
    """The stack's name among all projects of this machine: two checkouts never share a sandbox."""
    return f"{stack}-{fingerprint(str(root.resolve()))}"


def sandbox_of(root: Path, stack: str, cluster: str) -> Sandbox:
    """The sandbox of one cluster."""
    return Sandbox(f"{key(root, stack)}.{cluster}")


def boot(root: Path, stack: str, platform: Platform, plan: Plan, progress: Progress) -> dict[str, Status]:
    """Boot the stack's sandboxes, or bring them up to date with the plan. Raises SandboxError."""
    return {
        name: sandbox_of(root, stack, name).up(dict(plan.clusters[name].manager), nodes(plan.clusters[name]), progress)
        for name in clusters(platform)
    }


def running(root: Path, stack: str, platform: Platform) -> dict[str, Status]:
    """The stack's sandboxes, all of them running. Raises SandboxError where there is none, or one doesn't run."""
    found = {name: sandbox_of(root, stack, name).status() for name in clusters(platform)}
    if not found:
        raise SandboxError(
            f"the environment `{platform.name}` has no sandbox", remedy="set `sandbox: true` on a cluster of kind existing"
        )
    for status in found.values():
        if status.phase != "running":
            why = f": {status.message}" if status.message else ""
            raise SandboxError(f"the sandbox of stack `{stack}` does not run{why}", remedy=f"run `hpctl up --stack {stack}`")
    return found


def remove(root: Path, stack: str) -> bool:
    """Stop a stack's sandboxes and remove their folders and the stack's state; True if there was anything."""
    return remove_key(key(root, stack))


def remove_key(name: str) -> bool:
    """The same by the stack's name among all projects."""
    found = [sandbox for sandbox in sandboxes() if sandbox.name.rpartition(".")[0] == name]
    for sandbox in found:
        sandbox.down()
    state = cache_root() / "stacks" / name
    existed = bool(found) or state.exists()
    shutil.rmtree(state, ignore_errors=True)
    return existed


def keys() -> list[str]:
    """All sandboxed stacks of this machine."""
    states = cache_root() / "stacks"
    named = {sandbox.name.rpartition(".")[0] for sandbox in sandboxes()}
    return sorted(named | ({path.name for path in states.iterdir()} if states.is_dir() else set()))
