"""Words to the user, through the engine's log."""

from __future__ import annotations

import threading
from typing import Final

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

_STATUS_WITHIN: Final = 2.0
"""Seconds for a word that is said again at the next look."""
_WARNING_WITHIN: Final = 30.0
"""Seconds for a word that may have no second chance, on a busy machine too."""


class Host:
    """The engine that a provider instance is attached to. Logging never fails, and an engine that is gone is not waited for."""

    def __init__(self, address: str) -> None:
        # Connections to one address share what they know of it, unless told: an engine may have the port of one that is gone.
        self._channel = grpc.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
        self._stub = engine_pb2_grpc.EngineStub(self._channel)
        self._lock = threading.Lock()
        self._said: set[tuple[str, str]] = set()

    def status(self, urn: str, message: str) -> bool:
        """What a resource is waiting for: shown beside it while it lasts. An empty message clears it. Whether it was heard."""
        return self._log(engine_pb2.INFO, urn, message, _STATUS_WITHIN, ephemeral=True)

    def warn(self, urn: str, message: str) -> None:
        """A warning that stays in the output; each is given once a resource."""
        with self._lock:
            if (urn, message) in self._said:
                return
        if self._log(engine_pb2.WARNING, urn, message, _WARNING_WITHIN, ephemeral=False):
            with self._lock:
                self._said.add((urn, message))

    def _log(
        self, severity: engine_pb2.LogSeverity.ValueType, urn: str, message: str, seconds: float, *, ephemeral: bool
    ) -> bool:
        request = engine_pb2.LogRequest(severity=severity, urn=urn, message=message, streamId=0, ephemeral=ephemeral)
        try:
            self._stub.Log(request, timeout=seconds)
        except grpc.RpcError:
            return False  # the engine is busy, or going away
        return True
