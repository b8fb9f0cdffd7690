"""What a stack is run with, and the environment that the engine's process gets from it."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """One configuration value; a secret one is encrypted in the workspace and hidden on screen."""

    value: str
    secret: bool = False

    def __repr__(self) -> str:
        return f"ConfigValue({'<secret>' if self.secret else repr(self.value)})"


@dataclass(frozen=True)
class EngineSettings:
    """What a stack is run with.

    ``backend_url`` None means the project's own backend and login; otherwise the state is private to the caller, and the stack is
    created when it is not there. ``env`` is added to the environment of engine and program, ``config`` to the stack's settings.
    ``skip_checkpoints`` saves the state once, at the end, instead of after each of n resources (which costs n²); with the offline
    provider a killed run is continued all the same, with the real plugin it is not: do not skip them there. ``work_dir`` holds
    logs and settings; by default it is beside a ``file://`` backend's folder, or in the cache.
    """

    project_dir: Path
    stack: str
    backend_url: str | None
    pulumi: Path
    passphrase: str | None
    env: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, ConfigValue] = field(default_factory=dict)
    kubernetes_provider: Literal["plugin", "offline"] = "plugin"
    skip_checkpoints: bool = False
    pulumi_home: Path | None = None
    work_dir: Path | None = None

    @property
    def state_folder(self) -> Path | None:
        """The folder of a private ``file://`` backend."""
        url = self.backend_url or ""
        return Path(url.removeprefix("file://")).expanduser() if url.startswith("file://") else None

    @property
    def workspace_folder(self) -> Path:
        """Where the run's settings and logs lie."""
        if self.work_dir is not None:
            return self.work_dir
        if self.state_folder is not None:
            return self.state_folder.parent / "engine" / self.stack
        from sandbox.paths import cache_root

        key = hashlib.sha256(str(self.project_dir.resolve()).encode()).hexdigest()[:12]
        return cache_root() / "engine" / f"{self.stack}-{key}"

    @property
    def identity(self) -> str:
        """What tells this stack from one of the same project and name elsewhere."""
        return hashlib.sha256((self.backend_url or str(self.project_dir.resolve())).encode()).hexdigest()

    def environment(self, provider_port: int | None) -> dict[str, str]:
        """The environment of a ``pulumi`` process; ``provider_port`` is the offline provider's."""
        env = {
            **os.environ,
            "PATH": f"{self.pulumi.parent}{os.pathsep}{os.environ.get('PATH', '')}",
            "PULUMI_AUTOMATION_API": "true",
            "PULUMI_DEBUG_COMMANDS": "true",  # without it there is no --event-log
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            **self.env,
        }
        backend = self.backend_url or ("" if "PULUMI_BACKEND_URL" in env else relative_backend(self.project_dir.resolve()))
        if backend:
            env["PULUMI_BACKEND_URL"] = backend
        if self.backend_url:
            env["PULUMI_PARALLEL_DIFF"] = "true"  # still experimental, so not for a state that others rely on; a quarter faster
        if self.passphrase is not None:
            env["PULUMI_CONFIG_PASSPHRASE"] = self.passphrase
        if self.pulumi_home is not None:
            env["PULUMI_HOME"] = str(self.pulumi_home)
        if self.skip_checkpoints:
            env["PULUMI_SKIP_CHECKPOINTS"] = "true"
        if provider_port is not None:
            others = env.get("PULUMI_DEBUG_PROVIDERS")
            env["PULUMI_DEBUG_PROVIDERS"] = ",".join([*([others] if others else []), f"kubernetes:{provider_port}"])
            env["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] = "true"
        return env


def relative_backend(project: Path) -> str:
    """The project's own backend as an absolute URL where it is a relative folder; empty where the login decides."""
    try:
        text = (project / "Pulumi.yaml").read_text(encoding="utf-8")
    except OSError:
        return ""
    match = re.search(r"^backend:\s*\n(?:[ \t]+.*\n)*?[ \t]+url:\s*[\"']?(file://[^\s\"']+)", text, re.MULTILINE)
    if match is None:
        return ""
    path = match.group(1).removeprefix("file://")
    return f"file://{path if path.startswith(('/', '~')) else (project / path).resolve()}"
