"""Many small requests to a sandbox's API server, some at once, and a watch: the standard library's client, connections kept."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from live.connection import is_passing
from sandbox.errors import SandboxError

Object = dict[str, Any]
JSON: Final = "application/json"
JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
_PARALLEL: Final = 8
_TIMEOUT: Final = 60.0
_PAUSES: Final = (0.1, 0.5, 2.0, 5.0)
"""Seconds before a server that is too busy is asked again."""
_CONFLICT: Final = 409
_GONE: Final = 410
_TIMED_OUT: Final = 504
_DONE_BEFORE: Final = {"POST": 409, "PATCH": 422}
"""What the server answers to a request that is repeated: the object exists; a condition of that type is there."""
_T = TypeVar("_T")
_R = TypeVar("_R")


class RefusedError(Exception):
    """The API server, or a webhook behind it, refused an object; the message is its own."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Server:
    """One API server, as an administrator's kubeconfig of a sandbox reaches it. Each thread keeps a connection of its own."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text(encoding="utf-8"))
        cluster = config["clusters"][0]["cluster"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._host = urlsplit(cluster["server"]).netloc
        self._token = config["users"][0]["user"]["token"]
        self._tls = ssl.create_default_context(cadata=ca)
        self._trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._trusting.check_hostname, self._trusting.verify_mode = False, ssl.CERT_NONE
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(_PARALLEL, thread_name_prefix="replay")

    def close(self) -> None:
        """End the threads; requests that run are not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def request(self, method: str, path: str, body: Any = None, content_type: str = JSON) -> bytes:
        """The answer's content. Raises RefusedError where the server says no, SandboxError where none answers.

        Where the server hangs up without an answer, it is asked once more, and where it, or a webhook, is too busy, after some
        pauses. It may have done what the first request wanted; then it says to another that the object, or the condition, is
        there already, and that is fine.
        """
        data = None if body is None else json.dumps(body, separators=(",", ":"))
        repeated = False
        for pause in (*_PAUSES, None):
            status, content, again = self._ask(self._host, self._tls, method, path, data, content_type)
            repeated |= again
            if status < 300 or (repeated and _DONE_BEFORE.get(method) == status):
                return content
            message = _message(content)
            if pause is None or not is_passing(status, message):
                raise RefusedError(status, message)
            repeated |= status == _TIMED_OUT
            time.sleep(pause)
        raise AssertionError("the last request returns or raises")

    def _ask(
        self, host: str, tls: ssl.SSLContext, method: str, path: str, data: str | None, content_type: str
    ) -> tuple[int, bytes, bool]:
        """Status and content of the answer, and whether it took a second request."""
        held: dict[str, HTTPSConnection] = self._own.__dict__
        for again in (False, True):
            connection = held.setdefault(host, HTTPSConnection(host, context=tls, timeout=_TIMEOUT))
            try:
                connection.request(method, path, data, self._headers(content_type))
                answer = connection.getresponse()
                return answer.status, answer.read(), again
            except (OSError, HTTPException) as error:
                held.pop(host).close()
                if again:
                    raise lost(error) from error
        raise AssertionError("the second request returns or raises")

    def patch_status(self, path: str, patch: Object) -> bool:
        """Merge it into an object's status; False where the object has changed since the version that the patch names."""
        try:
            self.request("PATCH", f"{path}/status", patch, MERGE_PATCH)
        except RefusedError as error:
            if error.status != _CONFLICT:
                raise
            return False
        return True

    def get(self, path: str) -> Object:
        """One object or list."""
        found: Object = json.loads(self.request("GET", path))
        return found

    def each(self, work: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
        """Do the work for every item, some at once; the first failure is raised."""
        return list(self._pool.map(work, items))

    def stream(self, path: str) -> tuple[HTTPResponse, Callable[[], None]]:
        """An answer that is read line by line, and what breaks it off from another thread."""
        connection = HTTPSConnection(self._host, context=self._tls, timeout=_TIMEOUT)
        connection.request("GET", path, headers=self._headers(JSON))
        connection.sock.settimeout(None)
        sock = connection.sock
        answer = connection.getresponse()
        if answer.status >= 300:
            raise RefusedError(answer.status, _message(answer.read()))

        def stop() -> None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

        return answer, stop

    def plain(self, url: str) -> bytes:
        """The content of another address of the sandbox, with the administrator's token; its certificate is its own."""
        parts = urlsplit(url)
        for pause in (*_PAUSES, None):
            status, content, _ = self._ask(parts.netloc, self._trusting, "GET", parts.path, None, JSON)
            if status == 200:
                return content
            if pause is not None:  # it asks the API server about the token, which may be too busy
                time.sleep(pause)
        raise SandboxError(f"{url} answered {status}")

    def _headers(self, content_type: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}", "Accept": JSON, "Content-Type": content_type}


class Watch:
    """A kind's objects in the order in which the server stored them: what was there, then each change."""

    def __init__(self, server: Server, path: str, changes: SimpleQueue[tuple[str, Object]] | None = None) -> None:
        """`changes` may be shared by several watches."""
        self.changes: SimpleQueue[tuple[str, Object]] = changes or SimpleQueue()
        """`ADDED`, `MODIFIED` or `DELETED`, and the object; `ERROR` with a message where the server is lost."""
        self._server = server
        self._path = path
        self._stop: Callable[[], None] = lambda: None
        self._stopped = False
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """List, then follow, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End it; returns at once."""
        self._stopped = True
        self._stop()

    def _run(self) -> None:
        try:
            listed = self._server.get(self._path)
            for item in listed["items"]:
                self.changes.put(("ADDED", {"kind": listed["kind"].removesuffix("List"), **item}))
            version = listed["metadata"]["resourceVersion"]
            while not self._stopped:
                version = self._follow(version)
        except (RefusedError, SandboxError, OSError, HTTPException, ValueError) as error:
            if not self._stopped:
                self.changes.put(("ERROR", {"message": f"the watch of {self._path} broke off: {error}"}))

    def _follow(self, version: str) -> str:
        answer, self._stop = self._server.stream(
            f"{self._path}?watch=1&resourceVersion={version}&timeoutSeconds=3600&allowWatchBookmarks=true"
        )
        for line in iter(answer.readline, b""):
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise RefusedError(event["object"].get("code", _GONE), event["object"].get("message", ""))
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self.changes.put((event["type"], event["object"]))
        return version


def lost(error: BaseException) -> SandboxError:
    """A server that doesn't answer, in words."""
    return SandboxError(f"the sandbox's API server does not answer: {error}")


def _message(content: bytes) -> str:
    try:
        return str(json.loads(content)["message"])
    except (ValueError, KeyError, TypeError):
        return content[:500].decode(errors="replace")
