"""Reading lists and objects from a Kubernetes API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

from live.connection import ApiError, Connection

_PAGE: Final = 500
"""Objects that one answer holds at most: of thousands of Workloads, only so many lie in memory at once."""


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

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """The items of a long list, asked for page by page, all as of one moment; none where the kind does not exist.

        The path may have a query of its own.
        """
        token, first = "", f"{path}{'&' if '?' in path else '?'}"
        while True:
            found = self.get(f"{first}{urlencode({'limit': _PAGE, **({'continue': token} if token else {})})}")
            if found is None:
                return
            yield from found["items"]
            token = (found.get("metadata") or {}).get("continue") or ""
            if not token:
                return
