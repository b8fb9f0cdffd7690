"""`python -m sandbox.supervisor <folder>`: the resident parent of one sandbox's processes.

It boots what `<folder>/request.json` asks for, tells in `<folder>/status.json` how that goes, and watches. When a child dies, it
says so there, stops the others and ends; kwok is started again where it crashes, a few times. SIGHUP: read the request again and
restart Kueue where its configuration changed. SIGTERM, SIGINT: stop everything in order and end. A sandbox with an owner ends
with that process, and its folder goes too.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import ssl
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Final, NoReturn
from urllib.parse import urlsplit

from sandbox.apiserver import ApiServer
from sandbox.children import Children, Death, tail
from sandbox.controlplane import CONTROLLERS, STOP_ORDER, ControlPlane
from sandbox.errors import SandboxError
from sandbox.kueue import Installation, manager_configuration
from sandbox.kwok import configuration as kwok_configuration
from sandbox.layout import Layout, Ports
from sandbox.paths import private_dir, write_private
from sandbox.pki import Pki
from sandbox.state import fingerprint, identity, is_alive, read_json, write_json

_READY_WITHIN: Final = 60.0
_GRACE: Final = 5.0
_RESTARTED: Final = "kwok"
"""What may crash without harm: it reads again all that it knows. Seen on a busy machine, when kwok met its first nodes."""
_CRASHES: Final = 3
_CRASHES_WITHIN: Final = 600.0
"""So many crashes within so many seconds are borne."""
_LOOK: Final = 2.0
"""Seconds between two looks at whether the folder is still there."""


class StopRequest(Exception):  # noqa: N818
    """Somebody asked the supervisor to end."""


class ChildEndedError(SandboxError):
    """A child ended by itself."""

    def __init__(self, death: Death) -> None:
        super().__init__(death.sentence(), log=death.log)
        self.death = death


class Supervisor:
    """One sandbox."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.request = read_json(self.layout.request)
        self.children = Children(self.layout.logs)
        self.status: dict[str, Any] = {"supervisor": identity(os.getpid()), "versions": self.request["versions"]}
        self._asked_to_stop = False
        self._asked_to_reload = False
        self._crashes: list[float] = []
        self._wakeup, self._waker = os.pipe()
        self._plane: ControlPlane
        self._installation: Installation

    def run(self) -> int:
        """Boot and watch until the end; the exit status."""
        self._listen_to_signals()
        try:
            self._boot_with_retry()
            self._watch()
        except StopRequest:
            self._end("stopped", "")
            if self._orphaned():
                shutil.rmtree(self.layout.root, ignore_errors=True)
            return 0
        except SandboxError as error:
            self._end("failed", error.message, error.log)
            return 1
        except BaseException as error:  # whatever it is, the children go and the reason stays
            self._end("failed", f"the supervisor failed: {error!r}", self.layout.log("supervisor"))
            raise

    def check(self) -> None:
        """Raise StopRequest or ChildEndedError if there is a reason to."""
        if self._asked_to_stop or not self.layout.root.is_dir() or self._orphaned():
            raise StopRequest
        death = self.children.dead()
        if death is None:
            return
        if not self._may_restart(death):
            raise ChildEndedError(death)
        self._start(death.name)

    def _may_restart(self, death: Death) -> bool:
        if death.name != _RESTARTED or not death.crash:
            return False
        now = time.monotonic()
        self._crashes = [*(at for at in self._crashes if now - at < _CRASHES_WITHIN), now]
        return len(self._crashes) <= _CRASHES

    def _orphaned(self) -> bool:
        """Whether the process that this sandbox was booted for is gone."""
        owner = self.request.get("owner")
        return owner is not None and not is_alive(owner)

    def _boot_with_retry(self) -> None:
        try:
            self._boot()
        except ChildEndedError as error:
            if not error.death.port_taken():
                raise
            # Between the choice of a port and its use, another process took it. Once is chance, twice has a cause.
            self.children.stop(STOP_ORDER, _GRACE)
            self._boot()

    def _boot(self) -> None:
        started = time.monotonic()
        ports = Ports.free()
        tools = {name: Path(path) for name, path in self.request["tools"].items()}
        lean = bool(self.request.get("lean"))
        plane = self._plane = ControlPlane(self.layout, ports, tools, lean=lean)
        private_dir(self.layout.etc)
        plane.write_files(self.request["name"])
        self.status |= {
            "ports": {field: getattr(ports, field) for field in Ports.__dataclass_fields__},
            "processes": {},
            "ready": [],
        }
        self._say("starting", "starting etcd and the API server")
        self._start("etcd", "kube-apiserver")
        # Read while the API server starts.
        api = ApiServer(ports.apiserver, plane.pki.ca, plane.pki.token("admin"))
        self._installation = Installation(api, Path(self.request["files"]["kueue"]), plane.pki, ports, lean=lean)
        controllers = [name for name in CONTROLLERS if name in tools]
        if "kwok" in tools:
            write_private(self.layout.etc / "kwok.yaml", kwok_configuration(Path(self.request["files"]["kwok"])))
        self._wait_for("kube-apiserver", api.ready)
        self._say("starting", "starting the controllers and Kueue")
        self._start(*controllers)
        self._start_kueue(self._installation.install)
        self._wait_ready(*controllers, "kueue")
        self.status |= {"since": time.time(), "bootSeconds": round(time.monotonic() - started, 2)}
        self._say("running", "")

    def _watch(self) -> NoReturn:
        while True:
            self.check()
            if self._asked_to_reload:
                self._asked_to_reload = False
                self._reload()
            self._sleep(_LOOK)

    def _reload(self) -> None:
        self.request = read_json(self.layout.request)
        if self._manager_fingerprint() == self.status["manager"]:
            return
        self._say("starting", "restarting Kueue with its new configuration")
        self.children.stop([["kueue"]], _GRACE)
        self.status["ready"].remove("kueue")
        self._start_kueue(lambda configuration, _: self._installation.install_webhooks(configuration))
        self._wait_ready("kueue")
        self._say("running", "")

    def _start_kueue(self, install: Callable[[dict[str, Any], Callable[[], None]], None]) -> None:
        pki = Pki(self.layout.pki)
        wanted = manager_configuration(self.request["manager"], self._plane.ports, pki.kueue)
        write_json(self.layout.etc / "kueue.yaml", wanted)
        install(wanted, self.check)
        self.status["manager"] = self._manager_fingerprint()
        self._start("kueue")

    def _manager_fingerprint(self) -> str:
        return fingerprint(self.request["manager"])

    def _start(self, *names: str) -> None:
        for name in names:
            pid = self.children.start(name, self._plane.process(name).argv)
            self.status["processes"][name] = identity(pid)
        self._say(self.status["phase"], self.status["message"])

    def _wait_ready(self, *names: str) -> None:
        for name in names:
            health = self._plane.process(name).health
            if health is not None:
                self._wait_for(name, partial(answers, health, self._plane.pki.ca))

    def _wait_for(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _READY_WITHIN
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                log = self.layout.log(name)
                last = (tail(log) or ("it logged nothing",))[-1][:400]
                raise SandboxError(f"{name} was not ready within {_READY_WITHIN:.0f} s: {last}", log=log)
            self._sleep(0.05)
        self.status["ready"].append(name)
        self._say(self.status["phase"], self.status["message"])

    def _say(self, phase: str, message: str) -> None:
        self.status |= {"phase": phase, "message": message}
        with suppress(FileNotFoundError):  # the folder was removed: `check` sees to it
            write_json(self.layout.status, self.status)

    def _end(self, phase: str, message: str, log: Path | None = None) -> None:
        self.status |= {"log": str(log) if log else None, "tail": list(tail(log)) if log else []}
        if phase == "failed":  # who waits for the boot hears it before the others have stopped
            self._say(phase, message)
        self.children.stop(STOP_ORDER, _GRACE)
        self.status["processes"] = {}
        self._say(phase, message)

    def _sleep(self, seconds: float) -> None:
        """Sleep until a signal arrives (a child's death is one), at most `seconds`."""
        if select.select([self._wakeup], [], [], seconds)[0]:
            os.read(self._wakeup, 512)

    def _listen_to_signals(self) -> None:
        os.set_blocking(self._waker, False)
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGHUP, self._on_reload)

    def _on_stop(self, *_: object) -> None:
        self._asked_to_stop = True

    def _on_reload(self, *_: object) -> None:
        self._asked_to_reload = True


def answers(url: str, ca: Path) -> bool:
    """Whether a health URL on the loopback interface says that all is well."""
    parts = urlsplit(url)
    connection: HTTPConnection
    if parts.scheme == "https":
        connection = HTTPSConnection(parts.netloc, timeout=5, context=ssl.create_default_context(cafile=str(ca)))
    else:
        connection = HTTPConnection(parts.netloc, timeout=5)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def main(arguments: Iterable[str] | None = None) -> int:
    """Supervise the sandbox in the given folder."""
    (folder,) = sys.argv[1:] if arguments is None else list(arguments)
    return Supervisor(Path(folder)).run()


if __name__ == "__main__":
    sys.exit(main())
