"""What the providers were asked, in which order, and faults on demand."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

MUTATING: Final = frozenset({"create", "update", "delete"})
Op = Literal["create", "update", "delete", "read", "invoke", "construct"]


class AwsError(Exception):
    """An answer of the service other than success, worded as the AWS SDK words it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"api error {code}: {message}")
        self.code = code


@dataclass(eq=False)
class Call:
    """One request. ``started`` and ``ended`` are numbers of one sequence over all calls; ``ended`` is 0 while it is under way."""

    number: int
    op: Op
    type: str
    urn: str
    name: str
    inputs: dict[str, Any]
    preview: bool
    started: int
    ended: int = 0
    id: str = ""
    error: str = ""

    @property
    def ok(self) -> bool:
        """Whether it is over and was answered with success."""
        return bool(self.ended) and not self.error

    def before(self, other: Call) -> bool:
        """Whether this call was complete, with success, before the other began."""
        return self.ok and self.ended < other.started


@dataclass(eq=False)
class Fault:
    """A fault that strikes the ``nth`` to ``nth + times - 1``-th matching call that has no preview flag.

    ``op``, ``type`` and ``name`` are shell patterns; without ``op``, mutating calls match. ``after`` lets the call take effect
    at the service first, so that only its answer is lost. A hanging call ends when the engine cancels it or is gone, or by
    `release`.
    """

    kind: Literal["fail", "throttle", "hang"]
    nth: int = 1
    times: int = 1
    op: str = ""
    type: str = "*"
    name: str = "*"
    after: bool = False
    message: str = "InternalFailure: the service failed on demand"
    seen: int = 0
    struck: list[Call] = field(default_factory=list)
    _released: threading.Event = field(default_factory=threading.Event)
    reached: threading.Event = field(default_factory=threading.Event)
    """Set as soon as it has struck."""

    def matches(self, call: Call) -> bool:
        if call.preview or not (fnmatchcase(call.op, self.op) if self.op else call.op in MUTATING):
            return False
        return fnmatchcase(call.type, self.type) and fnmatchcase(call.name, self.name)

    def release(self) -> None:
        """Let hanging calls go on."""
        self._released.set()

    def wait(self, context: Any, cancelled: threading.Event) -> None:
        while not self._released.wait(0.05):
            if cancelled.is_set() or not context.is_active():
                raise AwsError("RequestCanceled", "the request was cancelled while the service did not answer")


class Recorder:
    """The calls so far and the faults that wait. Safe to use from many threads."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.faults: list[Fault] = []
        self._lock = threading.Lock()
        self._sequence = 0

    def _tick(self) -> int:
        self._sequence += 1
        return self._sequence

    def begin(self, op: Op, type_: str, urn: str, inputs: dict[str, Any], preview: bool) -> tuple[Call, Fault | None]:
        """Record a call; the fault is the one that strikes it."""
        with self._lock:
            name = urn.rpartition("::")[2]
            call = Call(len(self.calls) + 1, op, type_, urn, name, inputs, preview, self._tick())
            self.calls.append(call)
            striking = None
            for fault in self.faults:
                if not fault.matches(call):
                    continue
                fault.seen += 1
                if striking is None and fault.nth <= fault.seen < fault.nth + fault.times:
                    striking = fault
                    fault.struck.append(call)
            return call, striking

    def end(self, call: Call, error: str = "") -> None:
        with self._lock:
            call.error = error
            call.ended = self._tick()

    @contextmanager
    def running(
        self, op: Op, type_: str, urn: str, inputs: dict[str, Any], preview: bool, context: Any, cancelled: threading.Event
    ) -> Iterator[Call]:
        """The call around its effect, with the fault that strikes it before or after."""
        call, fault = self.begin(op, type_, urn, inputs, preview)
        try:
            if fault is not None and not fault.after:
                _strike(fault, context, cancelled)
            yield call
            if fault is not None and fault.after:
                _strike(fault, context, cancelled)
        except BaseException as error:
            self.end(call, str(error) or type(error).__name__)
            raise
        self.end(call)


def _strike(fault: Fault, context: Any, cancelled: threading.Event) -> None:
    fault.reached.set()
    if fault.kind == "hang":
        fault.wait(context, cancelled)
    elif fault.kind == "throttle":
        raise AwsError("ThrottlingException", "Rate exceeded (reached max retries)")
    else:
        code, _, message = fault.message.partition(": ")
        raise AwsError(code, message or code)
