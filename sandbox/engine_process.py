"""The engine's process: its output into a log, and what Ctrl-C does to it.

The process gets a session of its own, so that a Ctrl-C in the terminal reaches only us, and we decide what it gets: the first
SIGINT (or SIGTERM) is passed on as SIGINT, at which pulumi starts nothing new, finishes what is under way and saves its state;
the second as well, at which it ends at once and leaves operations pending; the third kills it. Without a session of its own it
would get each Ctrl-C twice, from the terminal and from us, and so end at once at the first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Final

from sandbox.engine_errors import EngineError

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class Finished:
    """An ended process: its exit code, its output, and whether it was asked to stop."""

    code: int
    stdout: str
    stderr: str
    interrupted: bool = False


def run(
    command: Sequence[str],
    folder: Path,
    env: Mapping[str, str],
    log: IO[str] | None = None,
    *,
    stdin: str | None = None,
    on_interrupt: Callable[[], None] | None = None,
    on_start: Callable[[int], None] | None = None,
) -> Finished:
    """Run ``command`` in ``folder`` to its end.

    Its output goes to ``log`` as well. ``on_start`` is told its process id, ``on_interrupt`` that the first signal has arrived.
    """
    process = _start(command, folder, env, has_input=stdin is not None)
    with process, _signals_passed_to(process, on_interrupt) as received:
        if on_start is not None:
            on_start(process.pid)
        out, err = _Reader(process.stdout, log), _Reader(process.stderr, log)
        if stdin is not None and process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.write(stdin)
            process.stdin.close()
        code = process.wait()
        stdout, stderr = out.text(), err.text()
    return Finished(code, stdout, stderr, interrupted=bool(received))


def _start(command: Sequence[str], folder: Path, env: Mapping[str, str], *, has_input: bool) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=dict(env),
            stdin=pipe if has_input else subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise EngineError(
            f"{command[0]} cannot be run: {error.strerror}.", remedy="Install Pulumi, or give the path of its binary."
        ) from error


@contextmanager
def _signals_passed_to(process: subprocess.Popen[str], on_interrupt: Callable[[], None] | None) -> Iterator[list[int]]:
    """Pass SIGINT and SIGTERM on to the process; yields the list of those that have arrived.

    Only the main thread may set handlers; a caller in another thread keeps its own.
    """
    received: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        with suppress(ProcessLookupError):
            if len(received) < 3:
                process.send_signal(signal.SIGINT)
            else:
                os.killpg(process.pid, signal.SIGKILL)
        if len(received) == 1 and on_interrupt is not None:
            on_interrupt()

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    previous = {number: signal.signal(number, handle) for number in _SIGNALS}
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class _Reader:
    """Reads a stream to its end, line by line, into memory and the log."""

    def __init__(self, stream: IO[str] | None, log: IO[str] | None) -> None:
        self._lines: list[str] = []
        self._stream = stream
        self._log = log
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._stream or ():
            self._lines.append(line)
            if self._log is not None:
                self._log.write(line)
                self._log.flush()

    def text(self) -> str:
        """Everything, once the stream has ended."""
        self._thread.join()
        return "".join(self._lines)
