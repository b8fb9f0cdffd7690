# ruff: noqa: N802 - method names are the protocol's
"""The package ``kubernetes``: the offline provider, recorded; Helm releases are only written down, so no registry is needed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import provider_pb2

from fakecloud import sdk
from fakecloud.calls import AwsError
from fakecloud.codec import UNKNOWN, decode, encode, plain
from fakecloud.diffing import Change, changes, covers
from fakecloud.world import Thing
from sandbox.provider.servicer import KubernetesProvider

if TYPE_CHECKING:
    from fakecloud.cloud import FakeCloud

RELEASE: Final = "kubernetes:helm.sh/v3:Release"


def _token(request: Any) -> str:
    return str(request.urn.split("::")[2].rpartition("$")[2])


class KubeProvider(KubernetesProvider):
    """Passes on what is no Helm release."""

    def __init__(self, cloud: FakeCloud) -> None:
        super().__init__("fakecloud")
        self._cloud = cloud

    @contextmanager
    def _recorded(self, op: Any, request: Any, inputs: dict[str, Any], preview: bool, context: Any) -> Any:
        cancelled = self._instance(context).cancelled
        try:
            with self._cloud.recorder.running(
                op, _token(request), request.urn, plain(inputs), preview, context, cancelled
            ) as call:
                yield call
        except AwsError as error:
            context.abort(grpc.StatusCode.UNKNOWN, str(error))

    def Check(self, request: Any, context: Any) -> Any:
        return _check(request) if _token(request) == RELEASE else super().Check(request, context)

    def Diff(self, request: Any, context: Any) -> Any:
        if _token(request) != RELEASE:
            return super().Diff(request, context)
        found = changes(decode(request.old_inputs), decode(request.news))
        replaces = frozenset(path for path in found if any(covers(one, path) for one in ("name", "namespace")))
        return Change(found, replaces, delete_first=True).without(list(request.ignoreChanges)).answer()

    def Create(self, request: Any, context: Any) -> Any:
        inputs = decode(request.properties)
        with self._recorded("create", request, inputs, request.preview, context) as call:
            if _token(request) != RELEASE:
                return super().Create(request, context)
            if request.preview:
                return provider_pb2.CreateResponse(properties=encode({**inputs, "status": UNKNOWN, "resourceNames": UNKNOWN}))
            call.id = f"{plain(inputs)['namespace']}/{plain(inputs)['name']}"
            return self._write_down(call.id, inputs, 1, provider_pb2.CreateResponse)

    def Update(self, request: Any, context: Any) -> Any:
        inputs = decode(request.news)
        with self._recorded("update", request, inputs, request.preview, context) as call:
            if _token(request) != RELEASE:
                return super().Update(request, context)
            call.id = request.id
            if request.preview:
                return provider_pb2.UpdateResponse(properties=encode({**decode(request.olds), **inputs, "status": UNKNOWN}))
            revision = plain(decode(request.olds)).get("status", {}).get("revision", 1)
            return self._write_down(request.id, inputs, revision + 1, provider_pb2.UpdateResponse)

    def _write_down(self, id_: str, inputs: dict[str, Any], revision: int, response: Callable[..., Any]) -> Any:
        world, values = self._cloud.world, plain(inputs)
        if revision == 1 and world.get("helm release", id_) is not None:
            raise AwsError("AlreadyExists", "cannot re-use a name that is still in use")
        status = {
            "name": values["name"],
            "namespace": values["namespace"],
            "chart": str(values["chart"]).rpartition("/")[2],
            "version": values.get("version", "0.1.0"),
            "appVersion": "1.0.0",
            "revision": revision,
            "status": "deployed",
        }
        state = {**inputs, "status": status, "resourceNames": {}}
        handles = frozenset({id_, values["name"]})
        world.add(Thing("helm release", RELEASE, id_, {**values, "status": status}, handles, values))
        found = {"properties": encode(state)}
        return response(**found, **({"id": id_} if revision == 1 else {}))

    def Read(self, request: Any, context: Any) -> Any:
        with self._recorded("read", request, decode(request.inputs), False, context):
            if _token(request) != RELEASE:
                return super().Read(request, context)
            thing = self._cloud.world.get("helm release", request.id)
            if thing is None:
                return provider_pb2.ReadResponse()
            inputs = request.inputs if request.inputs.fields else encode(thing.inputs)
            state = {**decode(inputs), "status": thing.properties["status"], "resourceNames": {}}
            return provider_pb2.ReadResponse(id=request.id, properties=encode(state), inputs=inputs)

    def Delete(self, request: Any, context: Any) -> Any:
        with self._recorded("delete", request, decode(request.old_inputs), False, context) as call:
            if _token(request) != RELEASE:
                return super().Delete(request, context)
            call.id = request.id
            thing = self._cloud.world.get("helm release", request.id)
            if thing is not None:
                self._cloud.world.forget(thing)
        return empty_pb2.Empty()


def _check(request: Any) -> Any:
    inputs = decode(request.news)
    failures = list(sdk.check(inputs, sdk.release_inputs()))
    before = plain(decode(request.olds))
    if "name" not in inputs:
        name = request.urn.rpartition("::")[2].rpartition("/")[2]
        digits = hashlib.sha256(request.randomSeed + request.urn.encode()).hexdigest()[:8]
        inputs["name"] = before.get("name") or f"{name[:44]}-{digits}"
    inputs.setdefault("namespace", before.get("namespace", "default"))
    chart = plain(inputs.get("chart"))
    if isinstance(chart, str) and chart.startswith((".", "/", "~")) and not Path(chart).expanduser().exists():
        failures.append(("chart", f"chart {chart!r} not found"))
    listed = [provider_pb2.CheckFailure(property=name, reason=f"{name}: {reason}") for name, reason in failures]
    return provider_pb2.CheckResponse(inputs=encode(inputs), failures=listed)
