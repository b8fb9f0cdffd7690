"""A live copy of one kind's objects: a list, then a watch, and a new list wherever the watch breaks off."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

Object = dict[str, Any]
_GONE: Final = 410
_PAUSE: Final = 0.5
_WATCH: Final = 60
"""Seconds after which a watch ends and a new list begins, so that no thread outlives its run for long."""
_PATIENCE: Final = 4
"""Failures in a row after which the API server counts as lost."""


def failures() -> tuple[type[Exception], ...]:
    """What the official client raises where a server doesn't answer."""
    import urllib3.exceptions

    return (urllib3.exceptions.HTTPError, OSError)


class Mirror:
    """Keeps itself up to date in a thread of its own."""

    def __init__(
        self,
        changed: threading.Condition,
        listed: Callable[..., Any],
        arguments: Mapping[str, Any],
        on_item: Callable[[Object], Any] | None = None,
    ) -> None:
        """`listed` is a list call of the official client, `arguments` what it is called with.

        `on_item` is called for every object as it comes or changes, `changed` held.
        """
        from kubernetes.watch import Watch

        self.synced = False
        self.error = ""
        """Why the server counts as lost."""
        self._changed = changed
        self._listed = listed
        self._arguments = dict(arguments)
        self._on_item = on_item or _nothing
        self._objects: dict[tuple[str, str], Object] = {}
        self._watch = Watch(return_type="object")
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the watch; returns at once."""
        self._stopped.set()
        self._watch.stop()

    def items(self) -> list[Object]:
        with self._changed:
            return list(self._objects.values())

    def get(self, namespace: str, name: str) -> Object | None:
        with self._changed:
            return self._objects.get((namespace, name))

    def _run(self) -> None:
        from kubernetes.client.exceptions import ApiException

        failed = 0
        while not self._stopped.is_set():
            try:
                version = self._relist()
                failed = 0
                self._follow(version)
            except ApiException as error:
                failed += error.status != _GONE
                self._trouble(failed, f"the sandbox's API server answered {error.status} {error.reason}")
            except failures() as error:
                failed += 1
                self._trouble(failed, f"the sandbox's API server does not answer: {error}")

    def _trouble(self, failed: int, message: str) -> None:
        if failed >= (_PATIENCE if self.synced else 1):
            with self._changed:
                self.error = message
                self._changed.notify_all()
        self._stopped.wait(_PAUSE)

    def _relist(self) -> str:
        answer = json.loads(self._listed(**self._arguments, _preload_content=False).data)
        with self._changed:
            self._objects = {_key(item): item for item in answer["items"]}
            for item in answer["items"]:
                self._on_item(item)
            self.synced, self.error = True, ""
            self._changed.notify_all()
        return str(answer["metadata"]["resourceVersion"])

    def _follow(self, version: str) -> None:
        for event in self._watch.stream(self._listed, **self._arguments, resource_version=version, timeout_seconds=_WATCH):
            if self._stopped.is_set():
                return
            item = event["raw_object"]
            with self._changed:
                if event["type"] == "DELETED":
                    self._objects.pop(_key(item), None)
                elif event["type"] in ("ADDED", "MODIFIED"):
                    self._objects[_key(item)] = item
                    self._on_item(item)
                self._changed.notify_all()


def _key(item: Object) -> tuple[str, str]:
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _nothing(_: Object) -> None:
    """Most mirrors have nobody to tell."""
