"""Reading lists and objects from a Kubernetes API server."""

from __future__ import annotations

from typing import Any

from live.connection import ApiError, Connection


class Reader:
    """Plain GET requests over a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, path: str) -> dict[str, Any] | None:
        """The object or list at an API path, None where there is none."""
        try:
            return self._connection.request("GET", path).body
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str) -> list[dict[str, Any]]:
        """The items of a list; empty where the kind does not exist."""
        found = self.get(path)
        return list(found["items"]) if found else []
