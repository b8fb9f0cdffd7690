"""What the engine asks of resources, in terms of objects: checked inputs, diffs, and the state that is kept of an object."""

from __future__ import annotations

import copy
import threading
from typing import Any, ClassVar, Final

from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import provider_pb2

from live.connection import ApiError, UnreachableError, connect
from sandbox.provider import names, waiting
from sandbox.provider.conditions import FailedError
from sandbox.provider.deletion import NotDeletedError
from sandbox.provider.diffing import Change, changes, format_path
from sandbox.provider.discovery import UnknownKindError
from sandbox.provider.host import Host
from sandbox.provider.live import imported_inputs, live_inputs
from sandbox.provider.managed import is_managed_by
from sandbox.provider.names import Kind
from sandbox.provider.objects import Objects
from sandbox.provider.operation import NotReadyError, ObjectError, Operation
from sandbox.provider.settings import Settings
from sandbox.provider.spelling import to_program
from sandbox.provider.state import InitFailedError, object_state, without_status
from sandbox.provider.values import decode, encode, has_unknown, mark_secrets, plain

_MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_CHANGE_KINDS: Final = {
    (Change.ADD, False): provider_pb2.PropertyDiff.ADD,
    (Change.ADD, True): provider_pb2.PropertyDiff.ADD_REPLACE,
    (Change.DELETE, False): provider_pb2.PropertyDiff.DELETE,
    (Change.DELETE, True): provider_pb2.PropertyDiff.DELETE_REPLACE,
    (Change.UPDATE, False): provider_pb2.PropertyDiff.UPDATE,
    (Change.UPDATE, True): provider_pb2.PropertyDiff.UPDATE_REPLACE,
}
_DOWN_SECONDS: Final = 15.0
_UNREACHABLE_REMEDY: Final = (
    "If the cluster was deleted, run the command again with the environment variable PULUMI_K8S_DELETE_UNREACHABLE=true: "
    "its objects are then taken out of the state."
)


class Resources:
    """The resources of one provider instance."""

    FAILURES: ClassVar = (ObjectError, NotDeletedError, UnknownKindError, waiting.WaitExpressionError)

    def __init__(self, settings: Settings, identity: str, *, adopt: bool, host: Host | None, cancelled: threading.Event) -> None:
        self._settings = settings
        self._identity = identity
        self._adopt = adopt
        self._host = host
        self._cancelled = cancelled
        self._lock = threading.Lock()
        self._opened: Objects | None = None

    @property
    def _objects(self) -> Objects:
        with self._lock:
            if self._opened is None:
                settings = self._settings
                self._opened = Objects(
                    connect(settings.kubeconfig, settings.context, settings.cluster, remember_down=_DOWN_SECONDS),
                    settings.namespace,
                    server_side_apply=settings.server_side_apply,
                    force=settings.patch_force,
                    upsert=settings.upsert_existing,
                )
            return self._opened

    # -- check and diff --------------------------------------------------------------------------------------------------

    def check(self, request: Any) -> dict[str, Any]:
        """The new inputs with kind, name and namespace filled in."""
        token = names.kind_of_token(_type_of(request))
        old, news = plain(decode(request.olds)), decode(request.news)
        inputs: dict[str, Any] = copy.deepcopy(plain(news))
        kind = names.kind_of_object(inputs, token)
        inputs = {"apiVersion": kind.api_version, "kind": kind.name, **inputs}
        inputs.setdefault("metadata", {})
        if old:
            names.adopt_name(inputs, old)
        else:
            mode = provider_pb2.CheckRequest.AutonamingOptions.Mode.Name(request.autonaming.mode).lower()
            proposed = request.autonaming.proposed_name
            rules = names.NameRules(bytes(request.randomSeed), mode if request.HasField("autonaming") else "default", proposed)
            names.assign_name(inputs, _name_of(request), rules)
        self._label(inputs, old)
        meta = inputs["metadata"]
        if isinstance(meta, dict) and not meta.get("namespace") and self._is_namespaced(kind):
            meta["namespace"] = self._settings.namespace
        waiting.readiness(inputs, kind.group, kind.name)  # a bad wait expression is a finding, not a surprise after the create
        return mark_secrets(inputs, news)

    def _label(self, inputs: dict[str, Any], old: dict[str, Any]) -> None:
        """Without server-side apply there is no field manager to tell whose an object is; there, and only there, a label does."""
        labelled = _MANAGED_BY in (names.metadata(old).get("labels") or {})
        if (self._settings.server_side_apply and not labelled) or (old and not labelled):
            return
        labels = names.metadata(inputs).setdefault("labels", {})
        if isinstance(labels, dict):
            labels.setdefault(_MANAGED_BY, "pulumi")

    def _is_namespaced(self, kind: Kind) -> bool:
        """A kind that cannot be looked up yet is taken to be namespaced; the create puts it right."""
        try:
            return self._objects.discovery.mapping(kind).namespaced
        except (UnknownKindError, UnreachableError):
            return True

    def diff(self, request: Any) -> Any:
        """The changes from the old inputs to the new ones."""
        state = decode(request.olds)
        old = plain(decode(request.old_inputs) if request.old_inputs.fields else state.get("__inputs") or {})
        new = plain(decode(request.news))
        kind = names.kind_of_object(new, names.kind_of_token(_type_of(request)))
        self._settle_namespaces(kind, old, new)
        found = changes(kind, old, new, self._settings.mutability, list(request.ignoreChanges))
        replaces = [format_path(one.path) for one in found if one.replace]
        in_place = names.object_name(new) == names.object_name(old) and names.namespace(new) == names.namespace(old)
        return provider_pb2.DiffResponse(
            changes=provider_pb2.DiffResponse.DIFF_SOME if found else provider_pb2.DiffResponse.DIFF_NONE,
            replaces=replaces,
            deleteBeforeReplace=bool(replaces) and in_place and not names.is_true(new, names.AUTONAMED),
            hasDetailedDiff=True,
            detailedDiff={
                format_path(one.path): provider_pb2.PropertyDiff(kind=_CHANGE_KINDS[one.change, one.replace], inputDiff=True)
                for one in found
            },
        )

    def _settle_namespaces(self, kind: Kind, old: dict[str, Any], new: dict[str, Any]) -> None:
        """A missing namespace and the default one are the same; a cluster-wide object's is nothing at all."""
        namespaced = self._is_namespaced(kind)
        for obj in (old, new):
            meta = obj.get("metadata")
            if isinstance(meta, dict):
                if namespaced:
                    meta["namespace"] = meta.get("namespace") or self._settings.namespace
                else:
                    meta.pop("namespace", None)

    # -- create, read, update, delete ------------------------------------------------------------------------------------

    def create(self, request: Any) -> Any:
        """Create the object, or in a preview find out what the create would give."""
        wrapped = decode(request.properties)
        inputs = plain(wrapped)
        kind = names.kind_of_object(inputs, names.kind_of_token(_type_of(request)))
        op = self._operation(request, inputs, {})
        if request.preview:
            live = None if has_unknown(inputs) else self._tried(lambda: self._objects.preview_create(kind, inputs, op), op)
            return provider_pb2.CreateResponse(
                properties=request.properties if live is None else encode(object_state(wrapped, without_status(live), op.manager))
            )
        try:
            live = self._objects.create(kind, inputs, op)
        except NotReadyError as error:
            raise self._init_failed(error, wrapped, op) from error
        return provider_pb2.CreateResponse(id=names.object_id(live), properties=encode(object_state(wrapped, live, op.manager)))

    def update(self, request: Any) -> Any:
        """Bring the object to the new inputs, or in a preview find out whether the server would let us."""
        wrapped, state = decode(request.news), decode(request.olds)
        inputs, old = plain(wrapped), plain(state.get("__inputs") or {})
        kind = names.kind_of_object(inputs, names.kind_of_token(_type_of(request)))
        if not names.object_name(inputs) and isinstance(inputs.get("metadata"), dict):  # the server chose the name
            inputs["metadata"]["name"] = names.parse_id(request.id)[1]
        op = self._operation(request, inputs, plain(state))
        ignored = list(request.ignoreChanges)
        if request.preview:
            live = (
                None
                if has_unknown(inputs)
                else self._tried(lambda: self._objects.update(kind, inputs, old, ignored, op, dry_run=True), op)
            )
            return provider_pb2.UpdateResponse(
                properties=request.news if live is None else encode(object_state(wrapped, without_status(live), op.manager))
            )
        try:
            live = self._objects.update(kind, inputs, old, ignored, op)
        except NotReadyError as error:
            raise self._init_failed(error, wrapped, op) from error
        return provider_pb2.UpdateResponse(properties=encode(object_state(wrapped, live, op.manager)))

    def read(self, request: Any) -> Any:
        """The object as it is now: for a refresh with what the program set of it, for an import with all of it."""
        token = names.kind_of_token(_type_of(request))
        wrapped, state = decode(request.inputs), plain(decode(request.properties))
        inputs = plain(wrapped)
        kind = names.kind_of_object(inputs or state, token)
        op = self._operation(request, inputs, state)
        scope, name = names.parse_id(request.id)
        try:
            live = self._objects.read(kind, scope, name)
        except UnreachableError as error:
            return self._unread(request, error)
        if live is None or (inputs and not state and not is_managed_by(live, op.manager)):
            # The second: a create that was cut short before it made anything; what is there is somebody else's.
            return provider_pb2.ReadResponse()
        spelled = to_program(live)
        found = live_inputs(inputs, spelled) if inputs else imported_inputs(spelled, kind)
        reply = provider_pb2.ReadResponse(
            id=request.id,
            properties=encode(object_state(mark_secrets(found, wrapped), live, op.manager)),
            inputs=encode(mark_secrets(found, wrapped)),
        )
        self._look_whether_ready(request, kind, inputs, live, reply)
        return reply

    def _look_whether_ready(self, request: Any, kind: Kind, inputs: dict[str, Any], live: dict[str, Any], reply: Any) -> None:
        """A refresh does not wait, but says of an object that should be ready that it is not."""
        check = waiting.readiness(inputs, kind.group, kind.name) if inputs else None
        if check is None:
            return
        try:
            state = check(live)
            problem = "" if state.ready else f"is not ready: waiting for {state.waiting_for}"
        except FailedError as error:
            problem = str(error)
        if problem:
            message = f"{kind.name} {request.id!r} {problem}"
            raise InitFailedError(message, request.id, decode(reply.properties), decode(reply.inputs))

    def _unread(self, request: Any, error: UnreachableError) -> Any:
        if self._settings.delete_unreachable:
            return provider_pb2.ReadResponse()
        if self._settings.skip_update_unreachable:
            return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)
        raise UnreachableError(f"{error}. {_UNREACHABLE_REMEDY}") from error

    def delete(self, request: Any) -> Any:
        """Delete the object and wait until it is gone."""
        state = plain(decode(request.properties))
        inputs = plain(decode(request.old_inputs)) or state.get("__inputs") or {}
        kind = names.kind_of_object(inputs or state, names.kind_of_token(_type_of(request)))
        scope, name = names.parse_id(request.id)
        try:
            self._objects.delete(kind, scope, name, inputs, self._operation(request, inputs, state))
        except UnreachableError as error:
            if not self._settings.delete_unreachable:
                raise UnreachableError(f"{error}. {_UNREACHABLE_REMEDY}") from error
        return empty_pb2.Empty()

    # -- common ----------------------------------------------------------------------------------------------------------

    def _operation(self, request: Any, inputs: dict[str, Any], state: dict[str, Any]) -> Operation:
        op = Operation(
            names.field_manager(request.urn, self._identity, inputs, state),
            request.urn,
            request.timeout,
            self._adopt,
            self._cancelled,
        )
        host = self._host
        if host is not None:
            op.say = lambda message: host.status(request.urn, message)
            op.warn = lambda message: host.warn(request.urn, message)
        return op

    def _tried(self, call: Any, op: Operation) -> dict[str, Any] | None:
        """A dry run's result; None, with a warning, while there is no server to ask."""
        try:
            found: dict[str, Any] | None = call()
        except UnreachableError as error:
            op.warn(f"previewed without the cluster: {error}")
            return None
        except ApiError as error:
            if error.status != 403:
                raise
            return None
        return found

    def _init_failed(self, error: NotReadyError, wrapped: dict[str, Any], op: Operation) -> InitFailedError:
        return InitFailedError(str(error), names.object_id(error.live), object_state(wrapped, error.live, op.manager), wrapped)


def _type_of(request: Any) -> str:
    """The resource's type; from its URN where the engine is too old to say it."""
    return str(request.type or request.urn.split("::")[2].rpartition("$")[2])


def _name_of(request: Any) -> str:
    return str(request.name or request.urn.rpartition("::")[2])
