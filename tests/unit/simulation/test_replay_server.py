"""Requests of a replay to a server that is too busy for a while."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from sandbox.errors import SandboxError
from simulation.replay import server
from simulation.replay.server import RefusedError, Server

WEBHOOK = 'Internal error occurred: failed calling webhook "mjob.kb.io": context deadline exceeded'
BUSY = (429, "too many requests", False)


def answering(monkeypatch: pytest.MonkeyPatch, answers: Iterable[tuple[int, str, bool]]) -> tuple[Server, list[str]]:
    """A server that gives these answers (status, message, whether a request broke off before it), and what it was asked."""
    given, asked = iter(answers), []

    def ask(_host: str, _tls: object, method: str, *_rest: Any) -> tuple[int, bytes, bool]:
        asked.append(method)
        status, message, again = next(given)
        return status, json.dumps({"message": message}).encode(), again

    one = object.__new__(Server)
    for name, value in {"_host": "", "_tls": None, "_trusting": None, "_ask": ask}.items():
        setattr(one, name, value)
    monkeypatch.setattr(server, "_PAUSES", (0.0, 0.0, 0.0))
    return one, asked


@pytest.mark.parametrize(
    ("method", "answers"),
    [
        ("POST", [BUSY, BUSY, (201, "", False)]),
        ("POST", [(500, WEBHOOK, False), (201, "", False)]),
        ("POST", [(504, "timeout", False), (409, "already exists", False)]),  # the first had been served
        ("POST", [(503, "", True), (409, "already exists", False)]),
        ("PATCH", [(504, "timeout", False), (422, "the test of the patch fails", False)]),
        ("POST", [(409, "already exists", True)]),
    ],
)
def test_who_is_too_busy_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, method: str, answers: list[tuple[int, str, bool]]
) -> None:
    one, asked = answering(monkeypatch, answers)
    one.request(method, "/path", {})
    assert asked == [method] * len(answers)


@pytest.mark.parametrize(
    "answers",
    [
        [(422, "spec is invalid", False)],
        [(409, "already exists", False)],
        [BUSY, (409, "already exists", False)],  # one that was turned away has made nothing
        [(500, "no such luck", False)],
        [BUSY, BUSY, BUSY, (500, WEBHOOK, False)],
    ],
)
def test_what_it_refuses_is_told(monkeypatch: pytest.MonkeyPatch, answers: list[tuple[int, str, bool]]) -> None:
    one, asked = answering(monkeypatch, answers)
    with pytest.raises(RefusedError) as caught:
        one.request("POST", "/path", {})
    assert (caught.value.status, str(caught.value)) == answers[-1][:2]
    assert len(asked) == len(answers)


def test_metrics_are_asked_for_until_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    one, _ = answering(monkeypatch, [(500, "the token's review failed", False), (200, "here", False)])
    assert b"here" in one.plain("https://127.0.0.1:1/metrics")
    never, asked = answering(monkeypatch, [(500, "", False)] * 4)
    with pytest.raises(SandboxError, match="answered 500"):
        never.plain("https://127.0.0.1:1/metrics")
    assert len(asked) == 4
