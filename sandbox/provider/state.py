"""What the engine keeps of an object."""

from __future__ import annotations

from typing import Any

from sandbox.provider.live import without_managed_fields
from sandbox.provider.spelling import to_program
from sandbox.provider.values import mark_secrets


class InitFailedError(Exception):
    """The object exists but is not ready; the engine keeps ``state`` and ``inputs`` under ``id`` and tries again next time."""

    def __init__(self, message: str, object_id: str, state: dict[str, Any], inputs: dict[str, Any]) -> None:
        super().__init__(message)
        self.id = object_id
        self.state = state
        self.inputs = inputs


def object_state(inputs: dict[str, Any], live: dict[str, Any], manager: str) -> dict[str, Any]:
    """What the engine keeps of an object, in the plugin's form; secret where the inputs were."""
    kept = mark_secrets(to_program(without_managed_fields(live)), inputs)
    return {
        **kept,
        "__inputs": mark_secrets(inputs, inputs),
        "__initialApiVersion": live.get("apiVersion", ""),
        "__fieldManager": manager,
    }


def without_status(live: dict[str, Any]) -> dict[str, Any]:
    """A dry run's object; its empty status would hide that the status is not known yet."""
    return {key: value for key, value in live.items() if key != "status"}
