"""Words to the user, through the engine's log."""

from __future__ import annotations

import threading

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc


class Host:
    """The engine that a provider instance is attached to. Logging never fails and never delays an operation for long."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)
        self._stub = engine_pb2_grpc.EngineStub(self._channel)
        self._lock = threading.Lock()
        self._said: set[tuple[str, str]] = set()

    def status(self, urn: str, message: str) -> None:
        """What a resource is waiting for: shown beside it while it lasts. An empty message clears it."""
        self._log(engine_pb2.INFO, urn, message, ephemeral=True)

    def warn(self, urn: str, message: str) -> None:
        """A warning that stays in the output; each is given once a resource."""
        with self._lock:
            if (urn, message) in self._said:
                return
            self._said.add((urn, message))
        self._log(engine_pb2.WARNING, urn, message, ephemeral=False)

    def _log(self, severity: engine_pb2.LogSeverity.ValueType, urn: str, message: str, *, ephemeral: bool) -> None:
        request = engine_pb2.LogRequest(severity=severity, urn=urn, message=message, streamId=0, ephemeral=ephemeral)
        try:
            self._stub.Log(request, timeout=2)
        except grpc.RpcError:
            return  # the engine is going away; there is nobody to tell
