"""Submitting a job: created once, never written over; what the server says against it is a finding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from config.findings import Finding, Where, problem_at
from governance.jobs.kinds import BY_OBJECT, Kind
from live.connection import ApiError, Connection

_MANAGER = "hpctl"
_NOT_FOUND, _CONFLICT = 404, 409
_ANSWERED = frozenset((400, 403, 404, 409, 422))
"""Statuses by which a server, its webhooks and policies refuse an object; others are failures of the server."""


def submit(api: Connection, manifests: Sequence[Mapping[str, Any]], *, dry: bool = False) -> list[Finding]:
    """Create all objects, or none where the server refuses one. Returns why not; empty where it is done.

    Each is tried without effect first, `dry`: that alone. Raises UnreachableError, and ApiError where the server itself fails.
    """
    refused = [finding for manifest in manifests for finding in _try(api, manifest)]
    if refused or dry:
        return refused
    for done, manifest in enumerate(manifests):
        found = _create(api, manifest, {})
        if found:
            return [*found, *_left(manifests[:done])]
    return []


def _try(api: Connection, manifest: Mapping[str, Any]) -> list[Finding]:
    return _create(api, manifest, {"dryRun": "All"})


def _create(api: Connection, manifest: Mapping[str, Any], query: Mapping[str, str]) -> list[Finding]:
    """One request to create the object; unknown fields are refused."""
    kind, name = BY_OBJECT[manifest["apiVersion"], manifest["kind"]], manifest["metadata"]["name"]
    path = f"{kind.path}/namespaces/{manifest['metadata']['namespace']}/{kind.plural}"
    options = {"fieldManager": _MANAGER, "fieldValidation": "Strict", **query}
    try:
        api.request("POST", path, dict(manifest), options)
    except ApiError as error:
        # A request that was repeated may have been served the first time.
        if error.status == _CONFLICT and error.retried and not query:
            return []
        if error.status not in _ANSWERED:
            raise
        return [_refusal(error, kind, name, manifest["metadata"]["namespace"])]
    return []


def _refusal(error: ApiError, kind: Kind, name: str, namespace: str) -> Finding:
    where = Where(f"{kind.kind}/{name}")
    if error.status == _CONFLICT and error.reason == "AlreadyExists":
        message = f"there is a {kind.kind} `{name}` in {namespace} already; it stays as it is"
        return problem_at(
            "job-exists", where, message, f"use another name, or: kubectl delete {kind.plural} {name} -n {namespace}"
        )
    if error.status == _NOT_FOUND and not error.message.startswith("namespaces"):
        message = f"the cluster doesn't know {kind.kind} ({kind.api})"
        return problem_at("job-refused", where, message, "install its operator, or use another kind")
    if error.status == _NOT_FOUND:
        message = f"the cluster has no namespace {namespace}"
        return problem_at("job-refused", where, message, "deploy the team first: hpctl up")
    # Lists of rules are told line by line, findings are one line.
    message = " ".join(error.message.split())
    return problem_at("job-refused", where, f"the API server refuses it: {message}", "change what it names, and submit again")


def _left(created: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """What was created before the server changed its mind."""
    return [
        problem_at(
            "job-refused",
            Where(f"{manifest['kind']}/{manifest['metadata']['name']}"),
            "was created before the refusal",
            f"delete it: kubectl delete {manifest['kind'].lower()} {manifest['metadata']['name']} "
            f"-n {manifest['metadata']['namespace']}",
        )
        for manifest in created
    ]
