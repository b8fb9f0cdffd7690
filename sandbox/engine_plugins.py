"""The Kubernetes provider that a run uses: the real plugin where it is installed or can be had, else the offline one."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from sandbox.engine_errors import EngineError

_REMEMBERED_SECONDS: Final = 24 * 3600.0
_START_SECONDS: Final = 30.0
_ANSWER_SECONDS: Final = 120.0
_QUIET: Final = {"PULUMI_SKIP_UPDATE_CHECK": "true"}


def kubernetes_plugin_version() -> str:
    """The plugin version that the installed ``pulumi_kubernetes`` package asks for; empty if it is not installed."""
    try:
        return version("pulumi-kubernetes")
    except PackageNotFoundError:
        return ""


def kubernetes_plugin_installed(pulumi: Path, env: Mapping[str, str] | None = None) -> bool:
    """Whether the real Kubernetes plugin is there, in the version that the installed ``pulumi_kubernetes`` package asks for.

    ``env`` adds to the environment (``PULUMI_HOME`` says where plugins are). Raises ``EngineError`` if pulumi cannot be run or
    does not answer.
    """
    try:
        found = _pulumi(pulumi, ["plugin", "ls", "--json"], env, _ANSWER_SECONDS)
    except subprocess.TimeoutExpired:
        message = f"{pulumi} did not list its plugins within {_ANSWER_SECONDS:.0f} seconds"
        raise EngineError(message, remedy="Repeat the command when the machine is less busy.") from None
    wanted = kubernetes_plugin_version()
    try:
        plugins = json.loads(found.stdout or "[]")
    except ValueError:
        return False
    return any(
        one.get("name") == "kubernetes" and one.get("kind") == "resource" and one.get("version") == wanted for one in plugins
    )


def try_install_kubernetes_plugin(pulumi: Path, cache: Path, timeout: float = 20, env: Mapping[str, str] | None = None) -> bool:
    """Try to download the plugin, for at most ``timeout`` seconds; true if it is there afterwards.

    A failure is remembered in the folder ``cache`` for a day (remove ``kubernetes-plugin.json`` there to try again at once).
    """
    if kubernetes_plugin_installed(pulumi, env):
        return True
    wanted, note = kubernetes_plugin_version(), cache / "kubernetes-plugin.json"
    if not wanted or _failed_lately(note, wanted):
        return False
    try:
        installed = _pulumi(pulumi, ["plugin", "install", "resource", "kubernetes", wanted], env, timeout).returncode == 0
    except subprocess.TimeoutExpired:
        installed = False
    if not installed:
        cache.mkdir(parents=True, exist_ok=True)
        note.write_text(json.dumps({"version": wanted, "failed": time.time()}), encoding="utf-8")
    return installed


def _failed_lately(note: Path, wanted: str) -> bool:
    try:
        found = json.loads(note.read_text(encoding="utf-8"))
        return found["version"] == wanted and 0 <= time.time() - float(found["failed"]) < _REMEMBERED_SECONDS
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _pulumi(pulumi: Path, args: list[str], env: Mapping[str, str] | None, timeout: float) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [str(pulumi), *args, "--non-interactive"],
            env={**os.environ, **_QUIET, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise EngineError(
            f"{pulumi} cannot be run: {error.strerror}", remedy="Install Pulumi, or give the path of its binary."
        ) from error


def _with_compiled_modules(env: dict[str, str]) -> dict[str, str]:
    """Where Python must not write compiled modules beside the sources (as in many images), keep them in the cache instead.

    Compiling the provider's imports anew at each start takes half a second.
    """
    if env.pop("PYTHONDONTWRITEBYTECODE", "") and "PYTHONPYCACHEPREFIX" not in env:
        from sandbox.paths import cache_root

        env["PYTHONPYCACHEPREFIX"] = str(cache_root() / "compiled")
    return env


class OfflineProvider:
    """The process of the offline provider. It ends with this process at the latest."""

    def __init__(self, identity: str, log: Path, *, adopt: bool, env: Mapping[str, str] | None = None) -> None:
        args = [sys.executable, "-m", "sandbox.provider", "--identity", identity, *(["--adopt"] if adopt else [])]
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                args,
                cwd=Path(__file__).resolve().parent.parent,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=_with_compiled_modules({**os.environ, **(env or {})}),
                start_new_session=True,
            )
        self._port = 0

    @property
    def port(self) -> int:
        """Where it serves. Waits until it does; raises ``EngineError`` if it does not within half a minute."""
        if not self._port:
            stdout = self._process.stdout
            ready = stdout is not None and select.select([stdout], [], [], _START_SECONDS)[0]
            line = stdout.readline() if ready and stdout is not None else b""
            if not line.strip().isdigit():
                self.close()
                raise EngineError("The offline Kubernetes provider does not start.", self._log)
            self._port = int(line)
        return self._port

    @property
    def alive(self) -> bool:
        """Whether it is running."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it."""
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
