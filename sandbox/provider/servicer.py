# ruff: noqa: N802, ARG002 - method names and arguments are the protocol's
"""The gRPC face of the provider.

The engine opens one connection for each provider instance (for each cluster of a stack, and for each run), and nothing in later
requests names the instance. So instances are told apart by the connection's peer address, which is unique while the connection
lasts. An instance whose connection was replaced is recognised if only one instance is configured for the engine's run.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import grpc
from google.protobuf import any_pb2, empty_pb2  # type: ignore[import-untyped]
from google.rpc import status_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from live.connection import ApiError, UnreachableError
from sandbox.provider import settings
from sandbox.provider.host import Host
from sandbox.provider.names import UnsupportedTypeError, unsupported
from sandbox.provider.resources import Resources
from sandbox.provider.state import InitFailedError
from sandbox.provider.values import UnsupportedValueError, decode, encode, redact

_INSTANCES_KEPT: Final = 512
_Reply = TypeVar("_Reply")
Context = Any
"""``grpc.ServicerContext``; the package has no types."""


@dataclass
class Instance:
    """One provider instance: the engine's connection, and what it was configured with."""

    host: Host | None = None
    engine: str = ""
    resources: Resources | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)


class KubernetesProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves any number of provider instances, of one engine run after another.

    ``identity`` is the stack's (see :func:`sandbox.provider.names.field_manager`); with ``adopt``, creates that were cut short in
    the stack's last run are continued.
    """

    def __init__(self, identity: str = "", *, adopt: bool = False) -> None:
        self._identity = identity
        self._adopt = adopt
        self._lock = threading.Lock()
        self._instances: OrderedDict[str, Instance] = OrderedDict()

    # -- instances -------------------------------------------------------------------------------------------------------

    def _instance(self, context: Context) -> Instance:
        with self._lock:
            peer = context.peer()
            if peer not in self._instances:
                self._instances[peer] = Instance()
                while len(self._instances) > _INSTANCES_KEPT:
                    self._instances.popitem(last=False)
            return self._instances[peer]

    def _resources(self, context: Context) -> Resources:
        instance = self._instance(context)
        if instance.resources is not None:
            return instance.resources
        with self._lock:
            configured = [one for one in self._instances.values() if one.resources is not None]
        last = {one.engine for one in configured[-1:]}
        same_run = [one for one in configured if one.engine in last]
        if len(same_run) == 1 and same_run[0].resources is not None:
            return same_run[0].resources
        raise UnreachableError("the connection of this provider instance was not configured; run the command again")

    def Handshake(self, request: Any, context: Context) -> Any:
        with self._lock:
            self._instances.pop(context.peer(), None)  # a new connection from an address that an earlier one had
        self._attach(request.engine_address, context)
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True, accept_resources=False, accept_outputs=False, supports_autonaming_configuration=True
        )

    def Attach(self, request: Any, context: Context) -> Any:
        self._attach(request.address, context)
        return empty_pb2.Empty()

    def _attach(self, address: str, context: Context) -> None:
        instance = self._instance(context)
        if address and instance.engine != address:
            instance.engine, instance.host = address, Host(address)

    def GetPluginInfo(self, request: Any, context: Context) -> Any:
        return plugin_pb2.PluginInfo(version=settings.pulumi_version())

    def GetSchema(self, request: Any, context: Context) -> Any:
        return provider_pb2.GetSchemaResponse(schema=settings.schema())

    def GetMapping(self, request: Any, context: Context) -> Any:
        return provider_pb2.GetMappingResponse()

    def GetMappings(self, request: Any, context: Context) -> Any:
        return provider_pb2.GetMappingsResponse()

    def Cancel(self, request: Any, context: Context) -> Any:
        self._instance(context).cancelled.set()
        return empty_pb2.Empty()

    # -- configuration ---------------------------------------------------------------------------------------------------

    def CheckConfig(self, request: Any, context: Context) -> Any:
        name = request.urn.rpartition("::")[2]
        is_default = name == "default" or name.startswith("default_")
        failures = settings.check(decode(request.news), is_default=is_default)
        return _checked(request.news, [(one.property, one.reason) for one in failures])

    def DiffConfig(self, request: Any, context: Context) -> Any:
        old = request.old_inputs if request.old_inputs.fields else request.olds
        found = settings.change(decode(old), decode(request.news))
        changes = provider_pb2.DiffResponse.DIFF_SOME if found.changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changes, diffs=found.changed, replaces=found.replaces)

    def Configure(self, request: Any, context: Context) -> Any:
        instance = self._instance(context)
        instance.resources = Resources(
            settings.read(dict(request.variables)),
            self._identity,
            adopt=self._adopt,
            host=instance.host,
            cancelled=instance.cancelled,
        )
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True,
            supportsPreview=True,
            acceptResources=False,
            acceptOutputs=False,
            supports_autonaming_configuration=True,
        )

    # -- resources -------------------------------------------------------------------------------------------------------

    def Check(self, request: Any, context: Context) -> Any:
        try:
            inputs = self._resources(context).check(request)
        except (UnsupportedTypeError, UnsupportedValueError, ValueError) as error:
            return _checked(request.news, [("", str(error))])
        except (ApiError, UnreachableError) as error:
            context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
        return provider_pb2.CheckResponse(inputs=encode(inputs))

    def Diff(self, request: Any, context: Context) -> Any:
        return self._answer(context, request.news, lambda: self._resources(context).diff(request))

    def Create(self, request: Any, context: Context) -> Any:
        return self._answer(context, request.properties, lambda: self._resources(context).create(request))

    def Read(self, request: Any, context: Context) -> Any:
        return self._answer(context, request.inputs, lambda: self._resources(context).read(request))

    def Update(self, request: Any, context: Context) -> Any:
        return self._answer(context, request.news, lambda: self._resources(context).update(request))

    def Delete(self, request: Any, context: Context) -> Any:
        return self._answer(context, request.properties, lambda: self._resources(context).delete(request))

    def Construct(self, request: Any, context: Context) -> Any:
        module, _, name = request.type.removeprefix("kubernetes:").rpartition(":")
        context.abort(grpc.StatusCode.UNIMPLEMENTED, str(unsupported(module, name)))

    def Invoke(self, request: Any, context: Context) -> Any:
        module, _, name = request.tok.removeprefix("kubernetes:").rpartition(":")
        context.abort(grpc.StatusCode.UNIMPLEMENTED, str(unsupported(module, f"{module}:{name}")))

    def Call(self, request: Any, context: Context) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, str(unsupported(request.tok, request.tok)))

    def Parameterize(self, request: Any, context: Context) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, str(unsupported("parameterized", "parameterized package")))

    def _answer(self, context: Context, values: Any, call: Callable[[], _Reply]) -> _Reply:
        """The call's answer, or its failure as a status without a traceback and without a secret in it."""
        try:
            return call()
        except InitFailedError as failure:
            _abort_with_state(context, failure, redact(str(failure), decode(values)))
        except (UnsupportedTypeError, UnsupportedValueError, UnreachableError, ApiError, ValueError) as error:
            context.abort(grpc.StatusCode.UNKNOWN, redact(str(error), decode(values)))
        except Exception as error:
            if isinstance(error, Resources.FAILURES):
                context.abort(grpc.StatusCode.UNKNOWN, redact(str(error), decode(values)))
            raise
        raise AssertionError("abort raises")


def _checked(inputs: Any, failures: list[tuple[str, str]]) -> Any:
    return provider_pb2.CheckResponse(
        inputs=inputs, failures=[provider_pb2.CheckFailure(property=name, reason=reason) for name, reason in failures]
    )


def _abort_with_state(context: Context, failure: InitFailedError, message: str) -> None:
    """Fail, but have the engine keep the object in its state: it exists, only not ready yet."""
    detail = provider_pb2.ErrorResourceInitFailed(
        id=failure.id, properties=encode(failure.state), reasons=[message], inputs=encode(failure.inputs)
    )
    packed = any_pb2.Any()
    packed.Pack(detail)
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=message, details=[packed])
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, message)
