"""The programs that a sandbox runs: found in the cache, or built there from pinned Go modules."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sandbox.errors import SandboxError
from sandbox.gobuild import build, find_build, go_version, require_go
from sandbox.paths import tools_root
from sandbox.pins import CONTROL_PLANE, DEVELOPMENT, KWOK, MODULE_OF, MODULES, GoModule
from sandbox.progress import Progress, SilentProgress

__all__ = [
    "CLUSTER_TOOLS",
    "TOOLS",
    "Progress",
    "SilentProgress",
    "ensure",
    "ensure_all",
    "kueue_chart",
    "kueue_files",
    "pulumi_binary",
]

TOOLS: Final = tuple(tool.name for module in MODULES for tool in module.tools)
"""All tools of a sandbox by name."""
CLUSTER_TOOLS: Final = tuple(tool.name for module in (CONTROL_PLANE, KWOK) for tool in module.tools)
"""The tools that a running sandbox consists of."""
MINIMUM_PULUMI: Final = (3, 231)
_ANSWER_SECONDS: Final = 120
"""Longest time for an installed Pulumi to tell its version: on a busy machine, tens of seconds."""


def ensure(names: Iterable[str], progress: Progress) -> dict[str, Path]:
    """The programs' paths; builds the modules that aren't in the cache, and only those.

    Raises SandboxError for a missing or old Go, sources that can't be fetched, and a build that fails.
    """
    wanted = list(names)
    unknown = [name for name in wanted if name not in MODULE_OF]
    if unknown:
        raise SandboxError(f"there is no tool `{unknown[0]}`", remedy=f"the tools are {', '.join(TOOLS)}")
    needed = [module for module in (*MODULES, *DEVELOPMENT) if any(MODULE_OF[name] is module for name in wanted)]
    folders = _folders(needed, progress)
    return {name: folders[MODULE_OF[name].name] / "bin" / name for name in wanted}


def ensure_all(progress: Progress) -> dict[str, Path]:
    """All tools: what a sandbox runs, the engine (an installed one is preferred) and Helm. Raises SandboxError."""
    found = ensure([name for name in TOOLS if name != "pulumi"], progress)
    return found | {"pulumi": pulumi_binary(progress)}


def pulumi_binary(progress: Progress) -> Path:
    """The `pulumi` on PATH where its version is 3.231 or newer, else one that is built. Raises SandboxError."""
    installed = shutil.which("pulumi")
    if installed and _pulumi_version(installed) >= MINIMUM_PULUMI:
        return Path(installed)
    try:
        return ensure(["pulumi"], progress)["pulumi"]
    except SandboxError as error:
        how = "or install Pulumi 3.231 or newer (https://www.pulumi.com/docs/install)"
        raise SandboxError(error.message, log=error.log, remedy=f"{error.remedy}, {how}") from error


def kueue_files(progress: Progress) -> Path:
    """Folder with what the pinned Kueue's module carries: `crds/*.yaml`, `webhooks.yaml`, `chart/`. Raises SandboxError."""
    return _folders([CONTROL_PLANE], progress)[CONTROL_PLANE.name] / "share" / "kueue"


def kueue_chart(progress: Progress) -> Path:
    """Folder of the pinned Kueue's Helm chart. Raises SandboxError."""
    return kueue_files(progress) / "chart"


def _folders(modules: Sequence[GoModule], progress: Progress) -> dict[str, Path]:
    version = go_version()
    return {module.name: find_build(module, version) or _build(module, version, progress) for module in modules}


def _build(module: GoModule, version: str | None, progress: Progress) -> Path:
    version = require_go(version, module.title)
    with _only_builder(module, progress):
        return find_build(module, version) or build(module, version, progress)


@contextmanager
def _only_builder(module: GoModule, progress: Progress) -> Iterator[None]:
    """Hold the module's lock, so that two processes never build the same."""
    tools_root().mkdir(parents=True, exist_ok=True)
    with (tools_root() / f"{module.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.step(f"waiting for another process that builds {module.title}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _pulumi_version(program: str) -> tuple[int, ...]:
    try:
        done = subprocess.run([program, "version"], capture_output=True, text=True, timeout=_ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.match(r"v?(\d+)\.(\d+)\.", done.stdout.strip())
    return (int(found[1]), int(found[2])) if found else ()
