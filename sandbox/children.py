"""The child processes of a supervisor: started into its process group, watched, and stopped in order."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_KEPT: Final = ("PATH", "HOME", "TMPDIR", "LANG", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""What children see of the environment: programs here read many variables as settings (etcd every `ETCD_…`)."""
_GO: Final = {"GOGC": "200"}
"""Collecting garbage less often costs 150 MiB and saves a tenth of what a boot computes, most of it the API server's."""
_TAIL_BYTES: Final = 8192
_TRACE_BYTES: Final = 1 << 20
_CRASHED: Final = 2
"""Exit status of a Go program that ended with a panic, or a fatal error of its runtime."""
_CRASHES: Final = ("panic: ", "fatal error: ", "SIGQUIT: ")
IN_USE: Final = ("address already in use", "failed to listen on")


@dataclass(frozen=True, slots=True)
class Death:
    """A child that ended although nobody asked it to."""

    name: str
    code: int
    log: Path
    tail: tuple[str, ...]
    crash: str = ""
    """Why it crashed; empty where it ended in another way."""

    def sentence(self) -> str:
        """What happened, with the last thing that the child said."""
        how = f"was killed by signal {-self.code}" if self.code < 0 else f"ended with exit status {self.code}"
        if self.crash:
            return f"{self.name} {how}: {self.crash[:400]}"
        return f"{self.name} {how}: {self.tail[-1][:400]}" if self.tail else f"{self.name} {how} and logged nothing"

    def port_taken(self) -> bool:
        """Whether it died because another process listens on its port."""
        return any(sign in line for line in self.tail for sign in IN_USE)


class Children:
    """Processes by name. Use it from the main thread only: on Linux a child dies with the *thread* that started it."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._began: dict[str, int] = {}
        """Size of each log when its process started."""

    def start(self, name: str, argv: tuple[str, ...]) -> int:
        """Start a process that writes to `<logs>/<name>.log`; return its id."""
        with self.log(name).open("ab") as log:
            self._began[name] = log.seek(0, os.SEEK_END)
            self._running[name] = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=_GO | {key: os.environ[key] for key in _KEPT if key in os.environ},
                cwd=self._logs,
                preexec_fn=_dies_with(os.getpid()),  # noqa: PLW1509
            )
        return self._running[name].pid

    def log(self, name: str) -> Path:
        """The log of one process."""
        return self._logs / f"{name}.log"

    def dead(self) -> Death | None:
        """A child that ended by itself."""
        for name, child in self._running.items():
            code = child.poll()
            if code is not None:
                log = self.log(name)
                return Death(name, code, log, tail(log), crash(log, self._began[name]) if code == _CRASHED else "")
        return None

    def stop(self, groups: Iterable[Iterable[str]], grace: float = 10.0) -> None:
        """End the groups one after the other; who doesn't end within `grace` seconds is killed."""
        for group in groups:
            ending = [self._running.pop(name) for name in group if name in self._running]
            for child in ending:
                child.send_signal(signal.SIGTERM)
            deadline = time.monotonic() + grace
            for child in ending:
                try:
                    child.wait(max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()


def tail(log: Path, lines: int = 12) -> tuple[str, ...]:
    """The last lines of a log."""
    return tuple(_last(log, _TAIL_BYTES))[-lines:]


def crash(log: Path, since: int) -> str:
    """The line before the traces with which a Go program says why it crashed; empty where there is none.

    `since`: bytes of the log that older runs have written.
    """
    return next((line for line in reversed(_last(log, _TRACE_BYTES, since)) if line.startswith(_CRASHES)), "")


def _last(log: Path, size: int, since: int = 0) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(since, file.seek(0, os.SEEK_END) - size))
            text = file.read().decode(errors="replace")
    except OSError:
        return []
    return [line for line in text.splitlines() if line.strip()]


def _dies_with(parent: int) -> Callable[[], None] | None:
    """What makes a child end with its parent whatever ends that; elsewhere than on Linux only the process group does."""
    if not sys.platform.startswith("linux"):
        return None

    def set_death_signal() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the line above
            os._exit(1)

    return set_death_signal


# Loaded before any fork: a child of a process with threads must not load libraries.
_LIBC = ctypes.CDLL(None)
