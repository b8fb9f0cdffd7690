"""When an object counts as ready: what its annotations say, else what its kind is waited for."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from sandbox.provider.conditions import READY, Check, State, all_of, condition
from sandbox.provider.names import annotation, is_true
from sandbox.provider.readiness import KNOWN

WAIT_FOR: Final = "pulumi.com/waitFor"
SKIP_AWAIT: Final = "pulumi.com/skipAwait"
TIMEOUT_SECONDS: Final = "pulumi.com/timeoutSeconds"
DEFAULT_TIMEOUT: Final = 600.0
"""Seconds, as in the plugin."""


class WaitExpressionError(ValueError):
    """A ``pulumi.com/waitFor`` annotation that says nothing that can be waited for."""


def readiness(inputs: dict[str, Any], group: str, kind: str) -> Check | None:
    """What to wait for after a create or an update of the object; None for nothing.

    ``pulumi.com/skipAwait: "true"`` wins, then ``pulumi.com/waitFor``: ``condition=Type``, ``condition=Type=Status``,
    ``jsonpath={.path}=value``, ``jsonpath={.path}``, or a JSON array of these, all of which must hold.
    Raises ``WaitExpressionError``.
    """
    if is_true(inputs, SKIP_AWAIT):
        return None
    text = annotation(inputs, WAIT_FOR)
    return all_of([parse(one) for one in _expressions(text)]) if text else KNOWN.get((group, kind))


def timeout_seconds(requested: float, inputs: dict[str, Any]) -> float:
    """How long to wait: the resource option ``custom_timeouts``, else the annotation, else ten minutes."""
    if requested > 0:
        return requested
    text = annotation(inputs, TIMEOUT_SECONDS)
    return float(text) if text.isdigit() and int(text) > 0 else DEFAULT_TIMEOUT


def _expressions(text: str) -> list[str]:
    try:
        found = json.loads(text)
    except ValueError:
        return [text]
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        raise WaitExpressionError(f"{WAIT_FOR}: {text!r} must be one expression or a JSON array of at least one")
    return found


def parse(text: str) -> Check:
    """The check that one wait expression stands for."""
    if text.startswith("condition="):
        name, separator, status = text.removeprefix("condition=").partition("=")
        return condition(name, status if separator else "True")
    if text.startswith("jsonpath="):
        return _jsonpath(text)
    raise WaitExpressionError(f'{WAIT_FOR}: expected a "jsonpath=" or "condition=" prefix, got {text!r}')


_PATH_STEP: Final = re.compile(r"\.((?:[^.\[\]\\]|\\.)+)|\[(-?\d+|\*)\]|\['([^']+)'\]|\[\?\(@\.([\w.]+)==[\"']([^\"']*)[\"']\)\]")


def _jsonpath(text: str) -> Check:
    """``jsonpath={.status.phase}=Ready`` or, for any value, ``jsonpath={.status.phase}``."""
    match = re.fullmatch(r"jsonpath=[\"']?\{(.+?)\}[\"']?(?:=(.*))?", text)
    if match is None:
        raise WaitExpressionError(f"{WAIT_FOR}: {text!r} must look like jsonpath={{.status.phase}}=Ready")
    path, wanted = match.groups()
    steps = _path_steps(path, text)
    wanted = wanted.strip("\"'") if wanted is not None else None

    def check(obj: dict[str, Any]) -> State:
        found = _lookup(obj, steps)
        if wanted is None and found:
            return READY
        if wanted is not None and any(_text(value) == wanted for value in found):
            return READY
        seen = f"is {', '.join(map(_text, found))}" if found else "not set yet"
        return State(False, f"{{{path}}}{f'={wanted}' if wanted is not None else ''} ({seen})")

    return check


def _path_steps(path: str, text: str) -> list[tuple[str | None, ...]]:
    steps: list[tuple[str | None, ...]] = []
    rest = path if path.startswith((".", "[")) else f".{path}"
    while rest:
        match = _PATH_STEP.match(rest)
        if match is None:
            raise WaitExpressionError(f"{WAIT_FOR}: {text!r}: cannot read the path from {rest!r} on")
        steps.append(match.groups())
        rest = rest[match.end() :]
    return steps


def _lookup(obj: Any, steps: list[tuple[str | None, ...]]) -> list[Any]:
    found = [obj]
    for key, index, quoted, filter_path, filter_value in steps:
        following: list[Any] = []
        for value in found:
            name = quoted if quoted is not None else key.replace("\\.", ".") if key is not None else None
            if name is not None:
                following += [value[name]] if isinstance(value, dict) and name in value else []
            elif isinstance(value, list):
                following += _elements(value, index, filter_path, filter_value)
        found = following
    return found


def _elements(values: list[Any], index: str | None, filter_path: str | None, filter_value: str | None) -> list[Any]:
    if filter_path is not None:
        steps = [(part, None, None, None, None) for part in filter_path.split(".")]
        return [value for value in values if filter_value in [_text(one) for one in _lookup(value, list(steps))]]
    if index == "*":
        return values
    position = int(index or 0)
    return [values[position]] if -len(values) <= position < len(values) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
