"""Sandboxes by name: boot, bring up to date, look at, remove."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, TextIO

from governance.nodes import NodeSpec
from sandbox.children import tail
from sandbox.controlplane import CONTROLLERS
from sandbox.errors import SandboxError
from sandbox.layout import Layout
from sandbox.nodes import sync_nodes
from sandbox.paths import private_dir, sandbox_dir, sandboxes_root, tools_root
from sandbox.pins import versions
from sandbox.pki import Pki
from sandbox.progress import Progress
from sandbox.state import Status, fingerprint, identity, kill, leftovers, read_json, status_of, write_json
from sandbox.toolchain import CLUSTER_TOOLS, ensure

__all__ = ["Sandbox", "Status", "sandboxes"]

_UP_WITHIN: Final = 150.0
"""Seconds for the supervisor's own limits to strike first: two tries, each with a limit for each process."""
_DOWN_WITHIN: Final = 40.0
_REMEDY: Final = "read the log; the next `up` boots anew"


class Sandbox:
    """One sandbox of this machine."""

    def __init__(self, name: str = "local", *, lean: bool = False, owned: bool = False) -> None:
        """`lean`: etcd, API server and Kueue alone, for decisions about Workloads without pods.

        `owned`: the sandbox ends with this process, however that ends. Raises SandboxError for a name that can't be a folder's.
        """
        self.name = name
        self._lean = lean
        self._owned = owned
        self.dir = sandbox_dir(name)
        self._layout = Layout(self.dir)
        self._supervisor: subprocess.Popen[bytes] | None = None
        self.kubeconfig = self._layout.kubeconfig
        self.logs = self._layout.logs

    def up(self, manager_config: Mapping[str, Any], nodes: Sequence[NodeSpec], progress: Progress) -> Status:
        """Make the sandbox run with this Kueue configuration and these nodes; whatever is so already stays as it is.

        Builds missing tools first. What an interrupted or failed boot started is stopped again; its logs and data stay.
        Raises SandboxError.
        """
        tools = ensure(CLUSTER_TOOLS, progress)
        with self._lock():
            request = self._request(tools, manager_config)
            booting = not self._serves(request)
            if booting:
                self._start(request, progress)
            elif read_json(self._layout.status).get("manager") != fingerprint(request["manager"]):
                self._reload(request, progress)
            wanted = fingerprint(request["manager"])
            try:
                self._wait(lambda status: "kube-apiserver" in status.get("ready", ()), progress)
                self._sync_nodes(nodes, wanted, progress)
                self._wait_running(wanted, progress)
            except BaseException:
                if booting:
                    self._stop()
                raise
        return self.status()

    def down(self) -> bool:
        """Stop everything and remove the sandbox's folder; True if something ran. Raises SandboxError."""
        if not self.dir.is_dir():
            return bool(self._kill_leftovers())
        with self._lock():
            ran = self._stop()
            shutil.rmtree(self.dir, ignore_errors=True)
        if self.dir.exists():
            raise SandboxError(f"the folder {self.dir} could not be removed", remedy="remove it by hand")
        return ran

    def status(self) -> Status:
        """What runs now."""
        return status_of(self.name, self.dir, read_json(self._layout.status))

    def _request(self, tools: Mapping[str, Path], manager_config: Mapping[str, Any]) -> dict[str, Any]:
        wanted = {tool: str(path) for tool, path in tools.items() if not (self._lean and tool in CONTROLLERS)}
        pinned = versions()
        return {
            "name": self.name,
            "tools": wanted,
            "files": {
                "kueue": str(tools["kueue"].parent.parent / "share" / "kueue"),
                "kwok": str(tools["kwok"].parent.parent / "share" / "kwok"),
            },
            "versions": {tool: pinned[tool] for tool in wanted},
            "manager": dict(manager_config),
            "lean": self._lean,
            "owner": identity(os.getpid()) if self._owned else None,
        }

    def _serves(self, request: Mapping[str, Any]) -> bool:
        """Whether it runs, from these very tools."""
        running = self.status().phase in ("running", "starting")
        return running and read_json(self._layout.request).get("tools") == request["tools"]

    def _start(self, request: Mapping[str, Any], progress: Progress) -> None:
        progress.step("booting the sandbox")
        self._stop()
        Pki(self._layout.pki).ensure()
        self._keep_previous_logs()
        self._layout.status.unlink(missing_ok=True)
        write_json(self._layout.request, request)
        package = str(Path(__file__).parent.parent)
        with self._layout.log("supervisor").open("wb") as log:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-P", "-m", "sandbox.supervisor", str(self.dir)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.dir,
                env={**os.environ, "PYTHONPATH": package},
                start_new_session=True,
            )
        # The client takes a second to import; the servers take longer to start.
        threading.Thread(target=_import_client, daemon=True).start()

    def _reload(self, request: Mapping[str, Any], progress: Progress) -> None:
        progress.step("restarting Kueue with its new configuration")
        write_json(self._layout.request, request)
        with suppress(ProcessLookupError):
            os.kill(read_json(self._layout.status)["supervisor"]["pid"], signal.SIGHUP)

    def _sync_nodes(self, nodes: Sequence[NodeSpec], wanted: str, progress: Progress) -> None:
        """Bring the nodes up to date. Raises SandboxError."""
        try:
            sync_nodes(self.kubeconfig, nodes)
        except SandboxError:
            # The supervisor may have stopped the API server: because another process failed, which is the reason to raise, or
            # because a port was taken, and then it boots once more.
            self._wait_running(wanted, progress)
            sync_nodes(self.kubeconfig, nodes)

    def _wait_running(self, wanted: str, progress: Progress) -> None:
        """Wait until all runs, Kueue with the configuration of this fingerprint. Raises SandboxError."""
        self._wait(lambda status: status.get("phase") == "running" and status.get("manager") == wanted, progress)

    def _wait(self, reached: Callable[[Mapping[str, Any]], bool], progress: Progress) -> None:
        """Wait until the supervisor's status is as wanted. Raises SandboxError where it never will be."""
        deadline = time.monotonic() + _UP_WITHIN
        said = None
        while True:
            content = read_json(self._layout.status)
            if reached(content):
                return
            if content.get("message") and content["message"] != said:
                said = content["message"]
                progress.step(said)
            self._raise_if_over(content, deadline)
            time.sleep(0.05)

    def _raise_if_over(self, content: Mapping[str, Any], deadline: float) -> None:
        status = status_of(self.name, self.dir, content)
        if status.phase == "failed":
            raise SandboxError(f"the sandbox failed: {status.message}", log=status.log, remedy=_REMEDY)
        log = self._layout.log("supervisor")
        if content and status.phase == "stopped":
            raise SandboxError("the sandbox was stopped while it booted", log=log, remedy=_REMEDY)
        # The content is read anew: its first word may have come since, even its last.
        if not content and not self._supervised() and not read_json(self._layout.status):
            last = (tail(log) or ("it logged nothing",))[-1]
            raise SandboxError(f"the sandbox's supervisor did not start: {last}", log=log, remedy=_REMEDY)
        if time.monotonic() > deadline:
            raise SandboxError(f"the sandbox was not up within {_UP_WITHIN:.0f} s", log=log, remedy=_REMEDY)

    def _supervised(self) -> bool:
        """Whether a supervisor runs that may not have said a word yet.

        Ours is asked by its handle: a process that has just been started has no command line for a moment.
        """
        if self._supervisor is not None:
            return self._supervisor.poll() is None
        return bool(leftovers(self.dir, tools_root()))

    def _stop(self) -> bool:
        """Stop what runs, politely first; True if something ran."""
        content = read_json(self._layout.status)
        status = status_of(self.name, self.dir, content)
        if status.phase in ("running", "starting"):
            supervisor = status.pids["supervisor"]
            with suppress(ProcessLookupError):
                os.kill(supervisor, signal.SIGTERM)
            deadline = time.monotonic() + _DOWN_WITHIN
            while time.monotonic() < deadline and status_of(self.name, self.dir, content).phase != "stopped":
                time.sleep(0.05)
        found = self._kill_leftovers()
        if self._supervisor is not None:
            self._supervisor.wait()  # or it stays in the process list as long as this process runs
        return found or status.phase in ("running", "starting")

    def _kill_leftovers(self) -> bool:
        """End processes of this sandbox that no supervisor looks after."""
        found = leftovers(self.dir, tools_root())
        kill(found)
        return bool(found)

    def _keep_previous_logs(self) -> None:
        """Keep the logs of the boot before: they may tell why this one is needed."""
        private_dir(self.logs)
        for log in self.logs.glob("*.log"):
            if not log.name.endswith(".previous.log"):
                log.replace(log.with_name(f"{log.stem}.previous.log"))

    def _lock(self) -> TextIO:
        """One process at a time boots or removes a sandbox: the one that has this open."""
        while True:
            # Who held it before may have removed the folder: then this is the lock of a folder that is gone.
            with suppress(FileNotFoundError), ExitStack() as stack:
                private_dir(self.dir)
                lock = stack.enter_context((self.dir / ".lock").open("w"))
                fcntl.flock(lock, fcntl.LOCK_EX)
                if os.path.samestat(os.fstat(lock.fileno()), (self.dir / ".lock").stat()):
                    stack.pop_all()
                    return lock


def sandboxes() -> list[Sandbox]:
    """All sandboxes that have a folder, running or not."""
    root = sandboxes_root()
    return [Sandbox(path.name) for path in sorted(root.iterdir()) if path.is_dir()] if root.is_dir() else []


def _import_client() -> None:
    import kubernetes.client
    import kubernetes.config  # noqa: F401
