"""A few requests to the sandbox's API server with the standard library: the resident supervisor stays small."""

from __future__ import annotations

import json
import ssl
import time
from http.client import HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any, Final

from sandbox.errors import SandboxError
from sandbox.layout import HOST

Object = dict[str, Any]
_TIMEOUT: Final = 30.0
_TRIES: Final = 4
_PAUSE: Final = 0.25
"""Seconds."""


class ApiServer:
    """The API server on a loopback port. Every call opens its own connection, so threads can share one instance."""

    def __init__(self, port: int, ca: Path, token: str) -> None:
        self._port = port
        self._token = token
        self._tls = ssl.create_default_context(cafile=str(ca))

    def request(self, method: str, path: str, body: Object | None = None, *, timeout: float = _TIMEOUT) -> tuple[int, bytes]:
        """Status and content. Raises OSError or HTTPException where nobody answers."""
        connection = HTTPSConnection(HOST, self._port, context=self._tls, timeout=timeout)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ready(self) -> bool:
        """Whether the server is up, with all that it does after its start."""
        return self.answers("/readyz")

    def answers(self, path: str) -> bool:
        """Whether a read of `path` succeeds now."""
        try:
            return self.request("GET", path, timeout=5)[0] == 200
        except (OSError, HTTPException):
            return False

    def get(self, path: str) -> Object:
        """One object. Raises SandboxError."""
        return self._object("GET", path)

    def put(self, collection: str, body: Object, *, replace: bool = True) -> None:
        """Create the object; where it exists, replace it or let it be. Raises SandboxError."""
        status, content = self._asked("POST", collection, body)
        if status == 409 and not replace:
            return
        if status != 409:
            self._check("POST", collection, status, content)
            return
        path = f"{collection}/{body['metadata']['name']}"
        for _ in range(5):  # controllers may write in between
            version = self.get(path)["metadata"]["resourceVersion"]
            wanted = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
            status, content = self._asked("PUT", path, wanted)
            if status != 409:
                break
        self._check("PUT", path, status, content)

    def _object(self, method: str, path: str) -> Object:
        status, content = self._asked(method, path)
        self._check(method, path, status, content)
        found: Object = json.loads(content)
        return found

    def _asked(self, method: str, path: str, body: Object | None = None) -> tuple[int, bytes]:
        """The same as `request`, once more where the server hangs up: on a busy machine it drops requests that took too long.

        What it may have done all the same is found out by the answer, 409. Raises SandboxError.
        """
        for _ in range(_TRIES - 1):
            try:
                return self.request(method, path, body)
            except (ConnectionError, HTTPException):
                time.sleep(_PAUSE)
        try:
            return self.request(method, path, body)
        except (ConnectionError, HTTPException) as error:
            raise SandboxError(f"the sandbox's API server does not answer {method} {path}: {error}") from error

    @staticmethod
    def _check(method: str, path: str, status: int, content: bytes) -> None:
        if status >= 300:
            try:
                message = json.loads(content)["message"]
            except (ValueError, KeyError, TypeError):
                message = content[:500].decode(errors="replace")
            raise SandboxError(f"the sandbox's API server refused {method} {path}: {message}")
