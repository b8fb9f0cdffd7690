"""Checks of an object's state, and its conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final


class FailedError(Exception):
    """The object has reached a state that it cannot become ready from."""


@dataclass(frozen=True, slots=True)
class State:
    """Whether an object is ready, and if not, what is waited for (in words, for the user)."""

    ready: bool
    waiting_for: str = ""


Check = Callable[[dict[str, Any]], State]
READY: Final = State(True)


def all_of(checks: list[Check]) -> Check:
    """Ready when all checks are; what is waited for is the first that is not."""

    def check(obj: dict[str, Any]) -> State:
        return next((state for state in (one(obj) for one in checks) if not state.ready), READY)

    return check


def conditions(obj: dict[str, Any]) -> list[dict[str, Any]]:
    """The conditions in the object's status."""
    status = obj.get("status")
    found = status.get("conditions") if isinstance(status, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def describe_conditions(obj: dict[str, Any]) -> str:
    """The object's conditions in one line, for messages."""
    texts = [
        f"{one.get('type')}={one.get('status')}" + (f" ({one['reason']}: {one.get('message', '')})" if one.get("reason") else "")
        for one in conditions(obj)
    ]
    return "; ".join(texts) or "no conditions"


def condition(name: str, status: str) -> Check:
    """Ready when condition ``name`` has ``status`` (compared without case, as kubectl does)."""

    def check(obj: dict[str, Any]) -> State:
        wanted = f"condition {name}={status}"
        for one in conditions(obj):
            if str(one.get("type", "")).lower() != name.lower():
                continue
            if str(one.get("status", "")).lower() == status.lower():
                return READY
            reason = ": ".join(text for text in (one.get("reason"), one.get("message")) if text)
            return State(False, f"{wanted} (is {one.get('status')}{f', {reason}' if reason else ''})")
        return State(False, f"{wanted} (not reported yet)")

    return check
