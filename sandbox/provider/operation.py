"""One call of the engine, and waiting on its behalf until an object is ready."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from live.connection import ApiError, UnreachableError
from sandbox.provider.conditions import Check, FailedError, State, describe_conditions

LONGEST_PAUSE: Final = 1.0
"""Seconds between two looks at an object that is waited for, at most."""
QUIET_SECONDS: Final = 1.0
"""A wait that takes no longer than this is not worth a word to the user."""


class ObjectError(Exception):
    """An operation that failed without leaving anything behind; the message says what to do."""


class NotReadyError(Exception):
    """The object was written but did not become ready; ``live`` is the object as last seen."""

    def __init__(self, message: str, live: dict[str, Any]) -> None:
        super().__init__(message)
        self.live = live


def _silent(_message: str) -> bool:
    """Say nothing."""
    return True


@dataclass
class Operation:
    """What one call of the engine brings along."""

    manager: str
    urn: str = ""
    timeout: float = 0.0
    """Seconds from the resource option ``custom_timeouts``; 0 where it is not set."""
    adopt: bool = False
    """The stack's last run was cut short: continue its half-made creates."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    say: Callable[[str], bool] = _silent
    """Tells the user what is being waited for; an empty message clears it. False where nobody heard it: say it again."""
    warn: Callable[[str], object] = _silent


@dataclass(frozen=True)
class ReadyWait:
    """The wait for one object, which ``get`` reads and ``what`` names in messages."""

    get: Callable[[], dict[str, Any] | None]
    what: str

    def run(self, live: dict[str, Any], check: Check, timeout: float, op: Operation) -> dict[str, Any]:
        """The object once it is ready. Raises ``NotReadyError`` after ``timeout`` seconds, a failure, or a cancellation."""
        started, pause, said = time.monotonic(), 0.05, ""
        while True:
            state = self._state(live, check)
            if state.ready:
                if said:
                    op.say("")
                return live
            waited = time.monotonic() - started
            if waited >= timeout:
                raise NotReadyError(
                    f"{self.what} was written, but is not ready after {timeout:g} s: waiting for {state.waiting_for}. "
                    f"Its conditions: {describe_conditions(live)}.",
                    live,
                )
            if waited > QUIET_SECONDS and state.waiting_for != said and op.say(f"waiting for {state.waiting_for}"):
                said = state.waiting_for
            if op.cancelled.wait(min(pause, timeout - waited)):
                raise NotReadyError(f"{self.what} was written, but the wait for {state.waiting_for} was cancelled.", live)
            pause = min(pause * 1.6, LONGEST_PAUSE)
            live = self._again(live)

    def _state(self, live: dict[str, Any], check: Check) -> State:
        try:
            return check(live)
        except FailedError as error:
            raise NotReadyError(f"{self.what}: {error}", live) from error

    def _again(self, live: dict[str, Any]) -> dict[str, Any]:
        try:
            found = self.get()
        except (UnreachableError, ApiError) as error:
            raise NotReadyError(f"{self.what} was written, but cannot be read while waiting for it: {error}", live) from error
        if found is None:
            raise ObjectError(f"{self.what} was deleted by somebody else while it was waited for.")
        return found
