"""What is known of a sandbox: the supervisor's status file, and which processes are really there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import psutil

from sandbox.paths import write_private

Phase = Literal["starting", "running", "failed", "stopped"]
_SAME_START: Final = 1.5
"""Seconds by which two readings of one process's start may differ, since the system's clock is adjusted."""


@dataclass(frozen=True, slots=True)
class Status:
    """What runs. `pids` and `ports` are empty unless it runs."""

    name: str
    phase: Phase
    kubeconfig: Path
    logs: Path
    message: str = ""
    log: Path | None = None
    tail: tuple[str, ...] = ()
    """The last lines of the log of what failed."""
    pids: Mapping[str, int] = field(default_factory=dict)
    ports: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    since: datetime | None = None
    boot_seconds: float | None = None

    @property
    def server(self) -> str:
        """URL of the API server."""
        return f"https://127.0.0.1:{self.ports['apiserver']}" if "apiserver" in self.ports else ""

    def as_dict(self) -> dict[str, Any]:
        """The same for `--json`."""
        return {
            "name": self.name,
            "phase": self.phase,
            "message": self.message,
            "log": str(self.log) if self.log else None,
            "tail": list(self.tail),
            "server": self.server,
            "kubeconfig": str(self.kubeconfig),
            "logs": str(self.logs),
            "pids": dict(self.pids),
            "ports": dict(self.ports),
            "versions": dict(self.versions),
            "since": self.since.isoformat() if self.since else None,
            "bootSeconds": self.boot_seconds,
        }

    def describe(self) -> str:
        """The same for people."""
        if self.phase != "running":
            details = [self.message or "not running", f"log: {self.log}" if self.log else ""]
            return f"{self.name}: {self.phase}: " + "; ".join(part for part in details if part)
        since = f" since {self.since.astimezone():%Y-%m-%d %H:%M:%S}" if self.since else ""
        lines = [
            f"{self.name}: running{since} at {self.server}",
            f"  kubeconfig  {self.kubeconfig}",
            f"  logs        {self.logs}",
        ]
        lines += [f"  {name:<24} {self.versions.get(name, ''):<8} pid {pid}" for name, pid in self.pids.items()]
        return "\n".join(lines)


def fingerprint(data: Any) -> str:
    """A short name for plain data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def read_json(path: Path) -> dict[str, Any]:
    """A file's object, empty where there is none."""
    with suppress(OSError, ValueError):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict):
            return content
    return {}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object; readers never see a part of it."""
    write_private(path, json.dumps(content, indent=1) + "\n")


def identity(pid: int) -> dict[str, Any]:
    """A process, so that it can be told from a later one with the same id."""
    return {"pid": pid, "started": psutil.Process(pid).create_time()}


def is_alive(process: Mapping[str, Any] | None) -> bool:
    """Whether the very process that `identity` described still runs."""
    if not process:
        return False
    try:
        found = psutil.Process(process["pid"])
        same = abs(found.create_time() - process["started"]) < _SAME_START
        return same and found.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, KeyError, TypeError, ValueError):
        return False


def status_of(name: str, root: Path, content: Mapping[str, Any]) -> Status:
    """The truth behind a status file: what it says, as far as the processes are there."""
    kubeconfig, logs = root / "kubeconfig", root / "logs"
    versions = content.get("versions", {})
    if not content:
        return Status(name, "stopped", kubeconfig, logs, "not running")
    if content["phase"] == "failed":
        log = Path(content["log"]) if content.get("log") else None
        return Status(
            name, "failed", kubeconfig, logs, content["message"], log, tuple(content.get("tail", ())), versions=versions
        )
    if content["phase"] == "stopped":
        return Status(name, "stopped", kubeconfig, logs, "stopped; its data is kept", versions=versions)
    if not is_alive(content.get("supervisor")):
        gone = "its supervisor is gone (it was killed, or the machine was restarted); its data is kept"
        return Status(name, "stopped", kubeconfig, logs, gone, root / "logs" / "supervisor.log", versions=versions)
    return Status(
        name,
        content["phase"],
        kubeconfig,
        logs,
        content.get("message", ""),
        pids={"supervisor": content["supervisor"]["pid"]} | {n: p["pid"] for n, p in content.get("processes", {}).items()},
        ports=content.get("ports", {}),
        versions=versions,
        since=datetime.fromtimestamp(content["since"], UTC) if content.get("since") else None,
        boot_seconds=content.get("bootSeconds"),
    )


def leftovers(root: Path, tools: Path) -> list[psutil.Process]:
    """Processes of a sandbox, found by their command lines: tools of ours, or a supervisor, that work on its folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        argv = process.info["cmdline"] or []
        ours = bool(argv) and (argv[0].startswith(f"{tools}/") or "sandbox.supervisor" in argv)
        if ours and any(one == str(root) or f"{root}/" in one for one in argv[1:]):
            found.append(process)
    return found


def kill(processes: list[psutil.Process]) -> None:
    """End processes at once and wait until they are gone."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=10)
