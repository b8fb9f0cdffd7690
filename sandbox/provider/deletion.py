"""Deleting an object and waiting until it is really gone."""

from __future__ import annotations

import time
from typing import Any, Final

from live.connection import ApiError, Connection
from sandbox.provider import waiting
from sandbox.provider.conditions import conditions
from sandbox.provider.discovery import Mapping
from sandbox.provider.names import Kind, annotation, is_true, object_id
from sandbox.provider.operation import LONGEST_PAUSE, QUIET_SECONDS, Operation

PROPAGATION: Final = "pulumi.com/deletionPropagationPolicy"
_POLICIES: Final = {"orphan": "Orphan", "background": "Background", "foreground": "Foreground"}
# Kinds that no other object is owned by: there is nothing that foreground deletion could wait for.
_OWNING_NOTHING: Final = frozenset(
    {
        ("", "ConfigMap"),
        ("", "LimitRange"),
        ("", "Namespace"),
        ("", "ResourceQuota"),
        ("", "Secret"),
        ("", "ServiceAccount"),
        *(("rbac.authorization.k8s.io", name) for name in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")),
        ("networking.k8s.io", "NetworkPolicy"),
        ("scheduling.k8s.io", "PriorityClass"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
        *(
            ("kueue.x-k8s.io", name)
            for name in (
                "AdmissionCheck",
                "ClusterQueue",
                "Cohort",
                "LocalQueue",
                "ResourceFlavor",
                "Topology",
                "WorkloadPriorityClass",
            )
        ),
    }
)
# Kinds whose deletion is not waited for under skipAwait, as in the plugin.
_SKIPPABLE: Final = frozenset(
    {
        ("", "Namespace"),
        ("", "Pod"),
        ("", "ReplicationController"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("batch", "Job"),
    }
)


class NotDeletedError(Exception):
    """The object is still there; ``live`` is the object as last seen, the message says what holds it."""

    def __init__(self, message: str, live: dict[str, Any]) -> None:
        super().__init__(message)
        self.live = live


def propagation_policy(kind: Kind, inputs: dict[str, Any]) -> str:
    """How dependents are treated: the annotation, else Foreground (Background for kinds that nothing is owned by)."""
    asked = _POLICIES.get(annotation(inputs, PROPAGATION).lower())
    return asked or ("Background" if (kind.group, kind.name) in _OWNING_NOTHING else "Foreground")


class Deletion:
    """The deletion of one object."""

    def __init__(self, connection: Connection, mapping: Mapping, path: str) -> None:
        self._connection = connection
        self._kind = mapping.kind
        self._path = path

    def run(self, inputs: dict[str, Any], op: Operation) -> None:
        """Delete and wait. Raises ``NotDeletedError`` after the time-out or a cancellation."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation_policy(self._kind, inputs)}
        try:
            answer = self._connection.request("DELETE", self._path, body).body
        except ApiError as error:
            if error.status == 404:
                return
            raise
        skips = (self._kind.group, self._kind.name) in _SKIPPABLE and is_true(inputs, waiting.SKIP_AWAIT)
        if not skips and answer.get("kind") != "Status":  # a Status says that it is gone already
            self._until_gone(answer, waiting.timeout_seconds(op.timeout, inputs), op)

    def _until_gone(self, last: dict[str, Any], timeout: float, op: Operation) -> None:
        uid = last.get("metadata", {}).get("uid")
        started, pause, said = time.monotonic(), 0.02, ""
        while True:
            live = self._get()
            if live is None or live.get("metadata", {}).get("uid") != uid:
                if said:
                    op.say("")
                return
            waited = time.monotonic() - started
            holders = _holders(live)
            if waited >= timeout:
                raise NotDeletedError(
                    f"{self._kind.name} {object_id(live)!r} is marked for deletion but still there after {timeout:g} s{holders}.",
                    live,
                )
            if waited > QUIET_SECONDS and holders != said and op.say(f"waiting for the deletion{holders}"):
                said = holders
            if op.cancelled.wait(min(pause, timeout - waited)):
                raise NotDeletedError(
                    f"{self._kind.name} {object_id(live)!r} is marked for deletion; the wait was cancelled{holders}.", live
                )
            pause = min(pause * 1.6, LONGEST_PAUSE)

    def _get(self) -> dict[str, Any] | None:
        try:
            return self._connection.request("GET", self._path).body
        except ApiError as error:
            if error.status == 404:
                return None
            raise


def _holders(live: dict[str, Any]) -> str:
    """What keeps an object from going: its finalizers, and for a namespace what is left in it."""
    finalizers = [*live.get("metadata", {}).get("finalizers", []), *(live.get("spec") or {}).get("finalizers", [])]
    text = f": held by the finalizers {', '.join(map(str, finalizers))}" if finalizers else ""
    remaining = [
        str(one.get("message", ""))
        for one in conditions(live)
        if one.get("status") == "True" and str(one.get("type", "")).startswith("Namespace") and one.get("message")
    ]
    return f"{text}; {' '.join(remaining)}" if remaining else text
