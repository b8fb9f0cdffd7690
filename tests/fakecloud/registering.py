"""Registering a component and its children with the engine, as a provider does it in Construct."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from types import TracebackType
from typing import Any, Final, Self

import grpc
from pulumi.runtime.proto import alias_pb2, resource_pb2, resource_pb2_grpc

from fakecloud.codec import UNKNOWN, Reference, decode, encode, plain

_LIMITS: Final = [("grpc.max_receive_message_length", 1 << 29), ("grpc.max_send_message_length", 1 << 29)]


def _version(package: str) -> str:
    """The version of a package's provider that goes with the installed SDK."""
    return version(f"pulumi-{package}") if package in ("aws", "kubernetes") else ""


@dataclass(frozen=True)
class Child:
    """A registered resource; in a preview its ``id`` and outputs may be unknown."""

    urn: str
    id: Any
    outputs: dict[str, Any]

    def get(self, name: str) -> Any:
        """An output, UNKNOWN where the engine says nothing of it."""
        return plain(self.outputs.get(name, UNKNOWN))

    @property
    def reference(self) -> Reference:
        return Reference(self.urn, self.id, _version(self.urn.split("::")[2].rpartition("$")[2].partition(":")[0]))


class Registrar:
    """The engine's monitor, on behalf of one component. Entering registers the component itself."""

    def __init__(self, request: Any) -> None:
        self._request = request
        self._channel = grpc.insecure_channel(request.monitorEndpoint, options=_LIMITS)
        self._monitor = resource_pb2_grpc.ResourceMonitorStub(self._channel)
        self._preview = request.dryRun
        self.component = ""

    def __enter__(self) -> Self:
        request = self._request
        found = resource_pb2.RegisterResourceRequest(
            type=request.type,
            name=request.name,
            parent=request.parent,
            dependencies=list(request.dependencies),
            providers=dict(request.providers),
            aliases=[alias_pb2.Alias(urn=urn) for urn in request.aliases],
            additionalSecretOutputs=list(request.additionalSecretOutputs),
            deletedWith=request.deletedWith,
            acceptSecrets=True,
            acceptResources=True,
            supportsPartialValues=True,
            aliasSpecs=True,
        )
        if request.HasField("protect"):
            found.protect = request.protect
        if request.HasField("retainOnDelete"):
            found.retainOnDelete = request.retainOnDelete
        self.component = self._monitor.RegisterResource(found).urn
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._channel.close()

    def component_child(self, name: str, type_: str) -> str:
        """Register a component without inputs below this one; returns its URN."""
        found = resource_pb2.RegisterResourceRequest(
            type=type_,
            name=name,
            parent=self.component,
            providers=dict(self._request.providers),
            acceptSecrets=True,
            acceptResources=True,
            aliasSpecs=True,
        )
        urn = self._monitor.RegisterResource(found).urn
        self._monitor.RegisterResourceOutputs(resource_pb2.RegisterResourceOutputsRequest(urn=urn))
        return str(urn)

    def child(
        self,
        name: str,
        type_: str,
        properties: dict[str, Any],
        *,
        parent: str = "",
        after: list[Child] | None = None,
        needs: list[str] | None = None,
        ignore: list[str] | None = None,
        provider: Child | None = None,
    ) -> Child:
        """Register a resource below the component, with the component's provider for its package and its protection."""
        request, package = self._request, type_.partition(":")[0]
        through = f"{provider.urn}::{provider.id if provider.id is not UNKNOWN else _UNKNOWN_ID}" if provider is not None else ""
        found = resource_pb2.RegisterResourceRequest(
            type=type_,
            name=name,
            parent=parent or self.component,
            custom=True,
            version=_version(type_.rpartition(":")[2] if type_.startswith("pulumi:providers:") else package),
            object=encode(properties),
            dependencies=sorted({*(needs or []), *(one.urn for one in after or [])}),
            provider=through or request.providers.get(package, ""),
            ignoreChanges=ignore or [],
            acceptSecrets=True,
            acceptResources=True,
            supportsPartialValues=True,
            aliasSpecs=True,
        )
        if request.HasField("protect"):
            found.protect = request.protect
        if request.HasField("retainOnDelete"):
            found.retainOnDelete = request.retainOnDelete
        answer = self._monitor.RegisterResource(found)
        return Child(answer.urn, answer.id or UNKNOWN, decode(answer.object))

    def outputs(self, outputs: dict[str, Any]) -> None:
        """Complete the component."""
        request = resource_pb2.RegisterResourceOutputsRequest(urn=self.component, outputs=encode(outputs))
        self._monitor.RegisterResourceOutputs(request)


_UNKNOWN_ID: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
