# ruff: noqa: N802 - method names are the protocol's
"""What all the fake providers share: the engine's protocol, provider instances, recording and faults."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import grpc
from google.protobuf import any_pb2, empty_pb2  # type: ignore[import-untyped]
from google.rpc import status_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from fakecloud.calls import AwsError
from fakecloud.codec import decode, encode, plain
from fakecloud.diffing import Change
from fakecloud.world import Place

if TYPE_CHECKING:
    from fakecloud.cloud import FakeCloud

_KEPT: Final = 512


class CreateFailedError(AwsError):
    """Create failed, but the thing exists under ``id``; the engine keeps it and is told that its initialisation failed."""

    def __init__(self, code: str, message: str, id_: str, state: dict[str, Any]) -> None:
        super().__init__(code, message)
        self.id = id_
        self.state = state


@dataclass
class Instance:
    """One provider instance: the engine's connection and its configuration."""

    place: Place
    tags: dict[str, str] = field(default_factory=dict)
    cancelled: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class Asked:
    """A request about one resource."""

    instance: Instance
    token: str
    urn: str
    name: str

    @property
    def place(self) -> Place:
        return self.instance.place


class Backend(Protocol):
    """What one package's resources do. Inputs and states are in the SDK's form, with secrets' wrappers."""

    def check(self, asked: Asked, news: dict[str, Any], olds: dict[str, Any], seed: bytes) -> tuple[dict[str, Any], Any]: ...
    def diff(self, asked: Asked, olds: dict[str, Any], news: dict[str, Any]) -> Change: ...
    def planned(self, asked: Asked, inputs: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]: ...
    def create(self, asked: Asked, inputs: dict[str, Any]) -> tuple[str, dict[str, Any]]: ...
    def update(self, asked: Asked, id_: str, olds: dict[str, Any], news: dict[str, Any]) -> dict[str, Any]: ...
    def read(self, asked: Asked, id_: str, inputs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None: ...
    def delete(self, asked: Asked, id_: str) -> None: ...
    def invoke(self, instance: Instance, token: str, args: dict[str, Any]) -> tuple[dict[str, Any], Any]: ...


class FakeProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Serves any number of provider instances of one package, in one engine run after another."""

    accepts_references = False

    def __init__(self, cloud: FakeCloud, package: str, backend: Backend) -> None:
        self._cloud = cloud
        self._package = package
        self._backend = backend
        self._lock = threading.Lock()
        self._instances: OrderedDict[str, Instance] = OrderedDict()

    # -- instances -------------------------------------------------------------------------------------------------------

    def _instance(self, context: Any) -> Instance:
        with self._lock:
            peer = context.peer()
            if peer not in self._instances:
                self._instances[peer] = Instance(self._cloud.place)
                while len(self._instances) > _KEPT:
                    self._instances.popitem(last=False)
            return self._instances[peer]

    def Handshake(self, request: Any, context: Any) -> Any:
        with self._lock:
            self._instances.pop(context.peer(), None)
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True, accept_resources=self.accepts_references, accept_outputs=False
        )

    def Attach(self, request: Any, context: Any) -> Any:
        return empty_pb2.Empty()

    def GetPluginInfo(self, request: Any, context: Any) -> Any:
        from importlib.metadata import version

        return plugin_pb2.PluginInfo(version=version(f"pulumi-{self._package}"))

    def GetSchema(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetSchemaResponse(schema=json.dumps({"name": self._package, "resources": {}}))

    def GetMapping(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingResponse()

    def GetMappings(self, request: Any, context: Any) -> Any:
        return provider_pb2.GetMappingsResponse()

    def Cancel(self, request: Any, context: Any) -> Any:
        self._instance(context).cancelled.set()
        return empty_pb2.Empty()

    # -- configuration ---------------------------------------------------------------------------------------------------

    def CheckConfig(self, request: Any, context: Any) -> Any:
        from fakecloud import sdk

        known = set(sdk.provider_inputs(self._package)) | {"version", "pluginDownloadURL"}
        news = decode(request.news)
        unknown = [(key, f"unknown property {key!r} of the provider") for key in news if key not in known]
        return _checked(request.news, unknown)

    def DiffConfig(self, request: Any, context: Any) -> Any:
        old, new = decode(request.old_inputs), decode(request.news)
        changed = sorted(key for key in {*old, *new} if plain(old.get(key)) != plain(new.get(key)))
        replaces = [key for key in changed if key == "region"]
        changes = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=changes, diffs=changed, replaces=replaces)

    def Configure(self, request: Any, context: Any) -> Any:
        found = {key.rpartition(":")[2]: _parsed(value) for key, value in request.variables.items()}
        instance = self._instance(context)
        instance.place = self._cloud.place_in(str(found.get("region") or self._cloud.place.region))
        instance.tags = dict((found.get("defaultTags") or {}).get("tags") or {})
        allowed = found.get("allowedAccountIds")
        if allowed and instance.place.account not in allowed:
            context.abort(grpc.StatusCode.UNKNOWN, f"AWS account ID not allowed: {instance.place.account}")
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, acceptResources=self.accepts_references, acceptOutputs=False
        )

    # -- resources -------------------------------------------------------------------------------------------------------

    def _asked(self, request: Any, context: Any) -> Asked:
        token = request.urn.split("::")[2].rpartition("$")[2]
        return Asked(self._instance(context), token, request.urn, request.urn.rpartition("::")[2])

    def Check(self, request: Any, context: Any) -> Any:
        asked = self._asked(request, context)
        inputs, failures = self._backend.check(asked, decode(request.news), decode(request.olds), request.randomSeed)
        return _checked(encode(inputs), list(failures))

    def Diff(self, request: Any, context: Any) -> Any:
        olds = decode(request.old_inputs) if request.old_inputs.fields else decode(request.olds)
        change = self._backend.diff(self._asked(request, context), olds, decode(request.news))
        return change.without(list(request.ignoreChanges)).answer()

    def Create(self, request: Any, context: Any) -> Any:
        asked, inputs = self._asked(request, context), decode(request.properties)
        with (
            self._answering("creating", asked, context),
            self._running("create", asked, inputs, request.preview, context) as call,
        ):
            if request.preview:
                return provider_pb2.CreateResponse(properties=encode(self._backend.planned(asked, inputs, {})))
            call.id, state = self._backend.create(asked, inputs)
        return provider_pb2.CreateResponse(id=call.id, properties=encode(state))

    def Update(self, request: Any, context: Any) -> Any:
        asked, news = self._asked(request, context), decode(request.news)
        olds = decode(request.old_inputs) if request.old_inputs.fields else decode(request.olds)
        with self._answering("updating", asked, context), self._running("update", asked, news, request.preview, context) as call:
            call.id = request.id
            if request.preview:
                state = self._backend.planned(asked, news, decode(request.olds))
                return provider_pb2.UpdateResponse(properties=encode(state))
            state = self._backend.update(asked, request.id, olds, news)
        return provider_pb2.UpdateResponse(properties=encode(state))

    def Delete(self, request: Any, context: Any) -> Any:
        asked = self._asked(request, context)
        old = decode(request.old_inputs) or decode(request.properties)
        with self._answering("deleting", asked, context), self._running("delete", asked, old, False, context) as call:
            call.id = request.id
            self._backend.delete(asked, request.id)
        return empty_pb2.Empty()

    def Read(self, request: Any, context: Any) -> Any:
        asked, inputs = self._asked(request, context), decode(request.inputs)
        with self._answering("reading", asked, context), self._running("read", asked, inputs, False, context) as call:
            call.id = request.id
            found = self._backend.read(asked, request.id, inputs)
        if found is None:
            return provider_pb2.ReadResponse()
        return provider_pb2.ReadResponse(id=request.id, properties=encode(found[1]), inputs=encode(found[0]))

    def Invoke(self, request: Any, context: Any) -> Any:
        instance, args = self._instance(context), decode(request.args)
        asked = Asked(instance, request.tok, "", "")
        with self._answering("invoking", asked, context), self._running("invoke", asked, args, request.preview, context):
            found, failures = self._backend.invoke(instance, request.tok, plain(args))
        listed = [provider_pb2.CheckFailure(property=name, reason=reason) for name, reason in failures]
        return provider_pb2.InvokeResponse(**{"return": encode(found)}, failures=listed)

    def Call(self, request: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, f"the fake cloud has no method {request.tok}")

    def Construct(self, request: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, f"the fake cloud has no component {request.type}")

    def _running(self, op: Any, asked: Asked, inputs: dict[str, Any], preview: bool, context: Any) -> Any:
        recorder, cancelled = self._cloud.recorder, asked.instance.cancelled
        return recorder.running(op, asked.token, asked.urn, plain(inputs), preview, context, cancelled)

    def _answering(self, doing: str, asked: Asked, context: Any) -> _Answering:
        return _Answering(f"{doing} {asked.token} ({asked.name}): ", context)


class _Answering:
    """Turns errors of the service into the protocol's."""

    def __init__(self, prefix: str, context: Any) -> None:
        self._prefix = prefix
        self._context = context

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, CreateFailedError):
            abort_with_state(self._context, f"{self._prefix}{error}", error.id, error.state)
        if isinstance(error, AwsError):
            self._context.abort(grpc.StatusCode.UNKNOWN, f"{self._prefix}{error}")


def abort_with_state(context: Any, message: str, id_: str, state: dict[str, Any]) -> None:
    """Fail, but have the engine keep the resource."""
    inputs = state.pop("__inputs", {})
    detail = provider_pb2.ErrorResourceInitFailed(id=id_, properties=encode(state), reasons=[message], inputs=encode(inputs))
    packed = any_pb2.Any()
    packed.Pack(detail)
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=message, details=[packed])
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.UNKNOWN, message)


def _checked(inputs: Any, failures: list[tuple[str, str]]) -> Any:
    return provider_pb2.CheckResponse(
        inputs=inputs,
        failures=[
            provider_pb2.CheckFailure(property=name, reason=f"{name}: {reason}" if name else reason) for name, reason in failures
        ],
    )


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
