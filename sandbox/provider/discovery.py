"""Where objects of a kind live on an API server: found by discovery for each group and version, and kept."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from live.connection import ApiError, Connection
from sandbox.provider.names import Kind

_STALE_AFTER: Final = 0.5
"""Seconds before a kind that was not found is asked for again (its CRD may just have been created)."""


class UnknownKindError(Exception):
    """The API server serves no such kind (its CRD is missing, or not established yet)."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(
            f"the API server has no kind {kind.name} in {kind.api_version}. "
            "Verify that the CRD it belongs to has been installed, and the version in apiVersion."
        )
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Mapping:
    """The place of a kind."""

    kind: Kind
    plural: str
    namespaced: bool

    def path(self, namespace: str, name: str = "") -> str:
        """The URL path of an object, or without a name of the collection that it is created in."""
        kind = self.kind
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        scope = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{root}{scope}/{self.plural}{f'/{name}' if name else ''}"


class Discovery:
    """The kinds that one API server serves. Safe to use from many threads."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], tuple[float, dict[str, Mapping]]] = {}

    def mapping(self, kind: Kind) -> Mapping:
        """Where objects of ``kind`` live. Raises ``UnknownKindError``."""
        key = (kind.group, kind.version)
        with self._lock:
            asked, kinds = self._found.get(key, (0.0, {}))
            if kind.name not in kinds and time.monotonic() - asked > _STALE_AFTER:
                kinds = self._ask(kind)
                self._found[key] = (time.monotonic(), kinds)
        if kind.name not in kinds:
            raise UnknownKindError(kind)
        return kinds[kind.name]

    def forget(self) -> None:
        """Ask again from now on: the kinds that the server serves have changed."""
        with self._lock:
            self._found.clear()

    def _ask(self, kind: Kind) -> dict[str, Mapping]:
        path = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        try:
            resources: list[dict[str, Any]] = self._connection.request("GET", path).body.get("resources") or []
        except ApiError as error:
            if error.status != 404:
                raise
            return {}
        return {
            entry["kind"]: Mapping(Kind(kind.group, kind.version, entry["kind"]), entry["name"], bool(entry["namespaced"]))
            for entry in resources
            if "/" not in entry["name"]  # subresources
        }
