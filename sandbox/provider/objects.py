"""Objects on one API server: create, read, update, delete, and wait until what was asked for has happened.

A create that was cut short. When the engine dies between a create's request and its answer, the object exists and the state does
not know it. The next create finds ``AlreadyExists``. The object is taken for this resource's own half-made create, and the create
continued as an update, only if both hold:

* an interruption is known: the driver has told the provider (``adopt``) that the stack's last run was cut short, or this very
  request had been sent before and its answer was lost;
* the object carries the field manager that is derived from the resource's URN and the stack's identity. Nobody else uses that
  name, so the object was made by this resource of this stack.

Anything else that exists already is somebody else's and is refused, as the plugin does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from live.connection import APPLY, JSON, JSON_PATCH, MERGE_PATCH, ApiError, Connection
from sandbox.provider import managed, waiting
from sandbox.provider.deletion import Deletion
from sandbox.provider.discovery import Discovery, Mapping, UnknownKindError
from sandbox.provider.names import Kind, is_true, namespace, object_id, object_name
from sandbox.provider.operation import ObjectError, Operation, ReadyWait
from sandbox.provider.patches import merge_patch, with_ignored
from sandbox.provider.spelling import to_server

PATCH_FORCE: Final = "pulumi.com/patchForce"
_MISSING_SECONDS: Final = 10.0
"""How long a create waits for a namespace or a CRD that somebody else is about to make."""
_CRD: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")


class Objects:
    """The objects of one cluster, with the provider settings that bear on them."""

    def __init__(
        self,
        connection: Connection,
        default_namespace: str = "default",
        *,
        server_side_apply: bool = True,
        force: bool = False,
        upsert: bool = False,
    ) -> None:
        self.connection = connection
        self.discovery = Discovery(connection)
        self.default_namespace = default_namespace
        self._server_side_apply = server_side_apply
        self._force = force
        self._upsert = upsert

    # -- create ----------------------------------------------------------------------------------------------------------

    def create(self, kind: Kind, inputs: dict[str, Any], op: Operation) -> dict[str, Any]:
        """Create the object and wait until it is ready; returns it as it is then."""
        deadline = time.monotonic() + _MISSING_SECONDS
        mapping = self._patiently(lambda: self.discovery.mapping(kind), deadline, op)
        obj = self._placed(mapping, inputs)
        try:
            if self._upsert and self._server_side_apply:
                live = self._apply(mapping, obj, op)
            else:
                live = self._patiently(lambda: self._post(mapping, obj, op), deadline, op)
        except ApiError as error:
            if error.status != 409 or error.reason != "AlreadyExists":
                raise
            live = self._continued(mapping, obj, op, error)
        return self._until_ready(mapping, obj, live, op)

    def preview_create(self, kind: Kind, inputs: dict[str, Any], op: Operation) -> dict[str, Any] | None:
        """The object that a create would give, by a dry run; None where the server cannot tell before the update.

        It cannot where the kind or the namespace does not exist yet, where the object exists (it may be about to be replaced),
        where the caller may not write, and where a webhook does not take part in dry runs.
        """
        try:
            mapping = self.discovery.mapping(kind)
            return self._post(mapping, self._placed(mapping, inputs), op, dry_run=True)
        except UnknownKindError:
            return None
        except ApiError as error:
            if error.status in (403, 404) or error.reason == "AlreadyExists" or _no_dry_run(error):
                return None
            raise

    def _post(self, mapping: Mapping, obj: dict[str, Any], op: Operation, *, dry_run: bool = False) -> dict[str, Any]:
        query = _query(op.manager, dry_run)
        return self._send("POST", mapping.path(namespace(obj)), op, obj, query)

    def _continued(self, mapping: Mapping, obj: dict[str, Any], op: Operation, error: ApiError) -> dict[str, Any]:
        """Take over our own half-made create, or refuse (see the module's text)."""
        live = self.get(mapping, namespace(obj), object_name(obj)) if op.adopt or error.retried else None
        if live is not None and managed.is_managed_by(live, op.manager):
            return self._write(mapping, obj, live, op)
        name, what = object_id(obj), f"{mapping.kind.name} {object_id(obj)!r}"
        token = f"kubernetes:{mapping.kind.group or 'core'}/{mapping.kind.version}:{mapping.kind.name}"
        raise ObjectError(
            f"{what} already exists (AlreadyExists) and was not created by this stack. Import it: `pulumi import {token} "
            f"<resource name> {name}` (or the resource option import_), or delete it from the cluster if nobody needs it."
        ) from error

    # -- update ----------------------------------------------------------------------------------------------------------

    def update(
        self,
        kind: Kind,
        inputs: dict[str, Any],
        old_inputs: dict[str, Any],
        ignored: list[str],
        op: Operation,
        *,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Bring the object to ``inputs`` and wait until it is ready; a dry run does neither and tells the result."""
        mapping = self.discovery.mapping(kind)
        obj = self._placed(mapping, inputs)
        live = self.get(mapping, namespace(obj), object_name(obj))
        if live is None:
            raise ObjectError(
                f"{kind.name} {object_id(obj)!r} is gone: it was deleted outside of Pulumi. "
                "Refresh the state (`pulumi refresh`), then it is created again."
            )
        obj = with_ignored(obj, live, ignored, op.manager)
        written = self._write(mapping, obj, live, op, old_inputs=old_inputs, dry_run=dry_run)
        return written if dry_run else self._until_ready(mapping, obj, written, op)

    def _write(
        self,
        mapping: Mapping,
        obj: dict[str, Any],
        live: dict[str, Any],
        op: Operation,
        *,
        old_inputs: dict[str, Any] | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        if (mapping.kind.group, mapping.kind.name) == _CRD:  # replaced as a whole, as `kubectl replace` does
            meta = {**obj["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}
            return self._send("PUT", self._path(mapping, obj), op, {**obj, "metadata": meta}, _query(op.manager, dry_run))
        if not self._server_side_apply:
            patch = merge_patch(old_inputs if old_inputs is not None else obj, obj)
            return self._send("PATCH", self._path(mapping, obj), op, patch, _query(op.manager, dry_run), MERGE_PATCH)
        if not dry_run:
            self._take_over(mapping, obj, live, op)
        return self._apply(mapping, obj, op, dry_run=dry_run)

    def _apply(self, mapping: Mapping, obj: dict[str, Any], op: Operation, *, dry_run: bool = False) -> dict[str, Any]:
        force = self._force or is_true(obj, PATCH_FORCE)
        query = {**_query(op.manager, dry_run), "force": str(force).lower()}
        try:
            return self._send("PATCH", self._path(mapping, obj), op, obj, query, APPLY)
        except ApiError as error:
            if error.status != 409 or not error.causes:
                raise
            holders = managed.conflicting_managers(error.causes)
            if dry_run and all(managed.yields_to(name, "Update", op.manager) for name, _field in holders):
                return self._send("PATCH", self._path(mapping, obj), op, obj, {**query, "force": "true"}, APPLY)
            raise ObjectError(_conflict(mapping.kind, obj, holders)) from error

    def _take_over(self, mapping: Mapping, obj: dict[str, Any], live: dict[str, Any], op: Operation) -> None:
        """Make the fields of managers that yield to us ours; without this, a field taken out of the program would stay."""
        for _attempt in range(3):
            entries = managed.takeover(live, op.manager)
            if entries is None:
                return
            patch = [
                {"op": "test", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
                {"op": "replace", "path": "/metadata/managedFields", "value": entries},
            ]
            try:
                self._send("PATCH", self._path(mapping, obj), op, patch, None, JSON_PATCH)
                return
            except ApiError as error:
                if error.status not in (409, 422):
                    raise
                live = self.get(mapping, namespace(obj), object_name(obj)) or {}

    # -- read and delete -------------------------------------------------------------------------------------------------

    def get(self, mapping: Mapping, scope: str, name: str) -> dict[str, Any] | None:
        """The object, or None if there is none."""
        try:
            return self.connection.request("GET", mapping.path(scope or self.default_namespace, name)).body
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def read(self, kind: Kind, scope: str, name: str) -> dict[str, Any] | None:
        """The object, or None if there is none, or no such kind any more."""
        try:
            return self.get(self.discovery.mapping(kind), scope, name)
        except UnknownKindError:
            return None

    def delete(self, kind: Kind, scope: str, name: str, inputs: dict[str, Any], op: Operation) -> None:
        """Delete the object and wait until it is gone; fine if it is not there."""
        try:
            mapping = self.discovery.mapping(kind)
        except UnknownKindError:
            return
        Deletion(self.connection, mapping, mapping.path(scope or self.default_namespace, name)).run(inputs, op)
        if (kind.group, kind.name) == _CRD:
            self.discovery.forget()

    # -- common ----------------------------------------------------------------------------------------------------------

    def _send(
        self, method: str, path: str, op: Operation, body: Any, query: dict[str, str] | None, content_type: str = JSON
    ) -> dict[str, Any]:
        answer = self.connection.request(method, path, body, query, content_type)
        for text in answer.warnings:
            op.warn(text)
        return answer.body

    def _path(self, mapping: Mapping, obj: dict[str, Any]) -> str:
        return mapping.path(namespace(obj), object_name(obj))

    def _placed(self, mapping: Mapping, inputs: dict[str, Any]) -> dict[str, Any]:
        """The object to send: with its kind, and in the namespace that its scope asks for."""
        meta = {key: value for key, value in inputs.get("metadata", {}).items() if key != "namespace" or mapping.namespaced}
        if mapping.namespaced and not meta.get("namespace"):
            meta["namespace"] = self.default_namespace
        return to_server({**inputs, "apiVersion": mapping.kind.api_version, "kind": mapping.kind.name, "metadata": meta})

    def _patiently(self, call: Callable[[], Any], deadline: float, op: Operation) -> Any:
        """Repeat ``call`` while the kind or the namespace is missing, until ``deadline``."""
        pause = 0.2
        while True:
            try:
                return call()
            except (UnknownKindError, ApiError) as error:
                missing = not isinstance(error, ApiError) or error.status == 404
                if not missing or time.monotonic() + pause > deadline:
                    raise
                op.say(f"waiting: {error}")
            if op.cancelled.wait(pause):
                raise ObjectError("cancelled")
            pause = min(pause * 2, 2.0)

    def _until_ready(self, mapping: Mapping, obj: dict[str, Any], live: dict[str, Any], op: Operation) -> dict[str, Any]:
        check = waiting.readiness(obj, mapping.kind.group, mapping.kind.name)
        if check is not None:
            wait = ReadyWait(
                lambda: self.get(mapping, namespace(live), object_name(live)), f"{mapping.kind.name} {object_id(live)!r}"
            )
            live = wait.run(live, check, waiting.timeout_seconds(op.timeout, obj), op)
        if (mapping.kind.group, mapping.kind.name) == _CRD:
            self.discovery.forget()
        return live


def _query(manager: str, dry_run: bool) -> dict[str, str]:
    query = {"fieldManager": manager, "fieldValidation": "Warn"}
    return {**query, "dryRun": "All"} if dry_run else query


def _no_dry_run(error: ApiError) -> bool:
    return error.status == 400 and "dry run" in error.message.lower()


def _conflict(kind: Kind, obj: dict[str, Any], holders: list[tuple[str, str]]) -> str:
    fields = "; ".join(f"{name} manages {field}" for name, field in holders)
    return (
        f"{kind.name} {object_id(obj)!r} has a field conflict: {fields}. Take these fields out of the program, or out of the "
        f'hands of the other manager, or overrule it with the annotation {PATCH_FORCE}: "true".'
    )
