"""Continuing after a run that was cut short.

A note lies in the workspace while a run is under way. Found by a later run, it tells that the run before ended without saying so:
it was killed, or the machine was. (Ctrl-C, failures and refusals end a run properly and leave no note.) What such a run leaves
behind, all measured by killing pulumi in the middle of an ``up``:

* the lock of a file backend: taken away, once both processes in the note are known to be dead;
* pending operations in the state. Updates and deletes are done again by the next ``up``, which finds them done or not, so their
  notes are dropped. A create that was pending may have made its object: a Kubernetes resource is put into the state under its
  would-be id, and a refresh of it finds the object, or takes the resource out again; of anything else only its provider knows the
  id, so the user is asked to settle it with `pulumi refresh`;
* with checkpoints skipped, a state that knows nothing of the run: the offline provider is told to take up what it made itself
  (``--adopt``, see :mod:`sandbox.provider.objects`). The real plugin cannot; there, do not skip checkpoints.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox.engine_errors import EngineError, resource_name

_END_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Owner:
    """A process: its id, and when it started (an id alone may be another process's by now)."""

    pid: int
    started: float

    @staticmethod
    def of(pid: int) -> Owner:
        """The process ``pid`` as it is now."""
        import psutil

        try:
            return Owner(pid, psutil.Process(pid).create_time())
        except psutil.Error:
            return Owner(pid, 0.0)

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        import psutil

        try:
            process = psutil.Process(self.pid)
            return abs(process.create_time() - self.started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE
        except psutil.Error:
            return False


class RunNote:
    """The note of the run under way, and of a run that was cut short until an ``up`` has succeeded after it."""

    def __init__(self, folder: Path) -> None:
        self._running = folder / "run.json"
        self._broken = folder / "cut-short"

    def begin(self, verb: str, child: int) -> None:
        """Note that ``child``, a process of ours, is running ``verb``."""
        owners = [Owner.of(os.getpid()), Owner.of(child)]
        text = json.dumps({"verb": verb, "owners": [[one.pid, one.started] for one in owners]})
        self._running.write_text(text, encoding="utf-8")

    def end(self) -> None:
        """The run has ended properly, well or badly."""
        self._running.unlink(missing_ok=True)

    def settled(self) -> None:
        """What was cut short is complete now."""
        self._broken.unlink(missing_ok=True)

    @property
    def cut_short(self) -> bool:
        """Whether a run was cut short and no ``up`` has succeeded since; see :meth:`look`."""
        return self._broken.exists()

    def look(self) -> bool:
        """Whether the run before this one ended without saying so; if so, it is remembered as cut short.

        Raises ``EngineError`` while it is still running. An engine whose driver died ends by itself: it is waited for.
        """
        try:
            found = json.loads(self._running.read_text(encoding="utf-8"))
            driver, child = (Owner(int(pid), float(started)) for pid, started in found["owners"])
        except FileNotFoundError:
            return False
        except (OSError, ValueError, KeyError, TypeError):
            self._broken.touch()
            return True
        if driver.alive and driver.pid != os.getpid():
            raise EngineError(
                f"Another `{found['verb']}` of this stack is running (process {driver.pid}).",
                remedy="Wait until it has ended, or stop it with Ctrl-C.",
            )
        deadline = time.monotonic() + _END_SECONDS
        while child.alive:
            if time.monotonic() > deadline:
                raise EngineError(
                    f"The engine of an earlier `{found['verb']}` of this stack is still running (process {child.pid}).",
                    remedy=f"Wait until it has ended, or end it: kill {child.pid}.",
                )
            time.sleep(0.2)
        self._broken.touch()
        return True


@dataclass(frozen=True, slots=True)
class Healed:
    """A deployment without pending operations: ``created`` are the URNs that a refresh must now look at.

    ``unsettled`` names the resources whose create cannot be settled here; with any of these, the deployment is not to be used.
    """

    deployment: dict[str, Any]
    created: list[str]
    unsettled: list[str]


def heal(deployment: dict[str, Any]) -> Healed | None:
    """Settle the pending operations of an exported deployment (see the module's text); None if there are none."""
    body = deployment.get("deployment") or {}
    pending = body.get("pending_operations") or []
    if not pending:
        return None
    resources = list(body.get("resources") or [])
    known = {one.get("urn") for one in resources}
    created, unsettled = [], []
    for operation in pending:
        resource = operation.get("resource") or {}
        would_be = _would_be_id(resource)
        if operation.get("type") != "creating" or resource.get("urn") in known:
            continue
        if would_be:
            resources.append({**resource, "id": would_be})
            created.append(resource["urn"])
        else:
            unsettled.append(resource_name(str(resource.get("urn", ""))))
    healed = {key: value for key, value in body.items() if key != "pending_operations"} | {"resources": resources}
    return Healed({**deployment, "deployment": healed}, created, unsettled)


def _would_be_id(resource: dict[str, Any]) -> str:
    """The id that a Kubernetes object gets; empty for anything else, whose id only its provider knows."""
    inputs = resource.get("inputs") or {}
    metadata = inputs.get("metadata")
    if not str(resource.get("type", "")).startswith("kubernetes:") or not isinstance(metadata, dict):
        return ""
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not isinstance(name, str):
        return ""
    return f"{namespace}/{name}" if isinstance(namespace, str) and namespace else name
