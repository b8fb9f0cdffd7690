"""The engine's events: progress for a display, diagnostics, and the counts at the end."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from sandbox.engine_errors import Diagnostic

_WAIT_FOR_LAST: Final = 60.0
"""Seconds to wait for events that are still on their way when the engine has ended; a stream that broke off is over at once."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Resources by what happened (or, in a preview, would happen) to them, counted as pulumi itself counts them.

    So the stack itself, provider instances and component resources are counted, each once; a replacement counts once, as
    ``replace``, not as a create and a delete.
    """

    create: int = 0
    update: int = 0
    delete: int = 0
    replace: int = 0
    same: int = 0

    @property
    def total(self) -> int:
        """How many resources change."""
        return self.create + self.update + self.delete + self.replace


@dataclass(frozen=True, slots=True)
class Progress:
    """Something that a display may show.

    ``what`` is ``started``, ``done`` or ``failed`` (of ``op`` on the resource ``urn``), ``status`` (what a resource waits for;
    empty when over), ``diagnostic``, or ``interrupted`` (the engine is finishing what is under way). ``paths`` are the properties
    that differ, where the engine tells them.
    """

    what: str
    urn: str = ""
    op: str = ""
    message: str = ""
    severity: str = ""
    paths: tuple[str, ...] = ()


OnEvent = Callable[[Progress], None]


@dataclass
class Report:
    """What a run has reported."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    changes: Changes = field(default_factory=Changes)


def count(found: Mapping[str, int]) -> Changes:
    """The counts of an engine's summary, whose keys are its step operations."""
    return Changes(
        create=found.get("create", 0) + found.get("import", 0),
        update=found.get("update", 0),
        delete=found.get("delete", 0) + found.get("discard", 0),
        replace=max(found.get("replace", 0), found.get("create-replacement", 0) + found.get("import-replacement", 0)),
        same=found.get("same", 0) + found.get("read", 0),
    )


class EventServer:
    """Receives one run's events on a loopback port (``--event-log``)."""

    def __init__(self, on_event: OnEvent | None) -> None:
        import grpc
        from pulumi.runtime.proto import events_pb2_grpc

        self.report = Report()
        self.begun = False
        """Whether the run has told anything; one that fails before its start, for example at a lock, does not."""
        self._on_event = on_event
        self._complete = False
        self._over = threading.Event()
        self._server = grpc.server(ThreadPoolExecutor(2), options=[("grpc.max_receive_message_length", 1 << 29)])
        events_pb2_grpc.add_EventsServicer_to_server(_servicer(self._take), self._server)
        self.address = f"tcp://127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.stop(grace=None).wait()

    def wait_for_last(self) -> bool:
        """Wait until every event of a run that has ended is here; False if some never come, as far as gRPC can tell.

        It may take a stream that breaks off for one that ends.
        """
        return self._over.wait(_WAIT_FOR_LAST) and self._complete

    def tell(self, progress: Progress) -> None:
        """Pass something on to the display."""
        if self._on_event is not None:
            self._on_event(progress)

    def _take(self, events: Iterable[str]) -> None:
        """Receive the run's stream to its end; ``events`` raises where it breaks off."""
        self.begun = True
        try:
            for text in events:
                self._receive(text)
            self._complete = True
        finally:
            self._over.set()

    def _receive(self, text: str) -> None:
        event = json.loads(text)
        if "diagnosticEvent" in event:
            self._diagnostic(event["diagnosticEvent"])
        elif "policyEvent" in event:
            self._policy(event["policyEvent"])
        elif "summaryEvent" in event:
            self.report.changes = count(event["summaryEvent"].get("resourceChanges") or {})
        elif self._on_event is not None:
            for key, what in (("resourcePreEvent", "started"), ("resOutputsEvent", "done"), ("resOpFailedEvent", "failed")):
                if key in event:
                    metadata: dict[str, Any] = event[key].get("metadata") or {}
                    paths = tuple(metadata.get("detailedDiff") or ())
                    self._on_event(Progress(what, metadata.get("urn", ""), metadata.get("op", ""), paths=paths))

    def _diagnostic(self, found: dict[str, Any]) -> None:
        severity = str(found.get("severity", "info")).partition("#")[0]
        message, urn = plain_text(str(found.get("message", ""))).strip(), str(found.get("urn", ""))
        if found.get("ephemeral"):
            self.tell(Progress("status", urn, message=message))
        elif message:
            self.report.diagnostics.append(Diagnostic(severity, urn, message))
            self.tell(Progress("diagnostic", urn, message=message, severity=severity))

    def _policy(self, found: dict[str, Any]) -> None:
        level = found.get("enforcementLevel", "")
        severity = "error" if level == "mandatory" else "warning"
        message = f"policy {found.get('policyName', '')} ({level}): {plain_text(str(found.get('message', ''))).strip()}"
        urn = str(found.get("resourceUrn", ""))
        self.report.diagnostics.append(Diagnostic(severity, urn, message))
        self.tell(Progress("diagnostic", urn, message=message, severity=severity))


_MARKUP: Final = re.compile(r"<\{%[^%]*%\}>|\x1b\[[0-9;]*m")


def plain_text(text: str) -> str:
    """``text`` without the engine's colour tags (``<{%fg 1%}>``) and terminal codes."""
    return _MARKUP.sub("", text)


def _servicer(take: Callable[[Iterable[str]], None]) -> Any:
    from google.protobuf import empty_pb2  # type: ignore[import-untyped]
    from pulumi.runtime.proto import events_pb2_grpc

    class Servicer(events_pb2_grpc.EventsServicer):
        def StreamEvents(self, request_iterator: Any, context: Any) -> Any:  # noqa: N802, ARG002 - the protocol's name
            take(request.event for request in request_iterator)
            return empty_pb2.Empty()

    return Servicer()
