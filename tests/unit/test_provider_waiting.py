"""The offline provider's pure parts: when an object is ready."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from sandbox.provider.conditions import FailedError
from sandbox.provider.operation import NotReadyError, Operation, ReadyWait
from sandbox.provider.readiness import KNOWN
from sandbox.provider.waiting import WaitExpressionError, parse, readiness, timeout_seconds

OBJECT = {
    "metadata": {"name": "q", "labels": {"a.b": "c"}},
    "status": {
        "phase": "Ready",
        "count": 3,
        "list": [{"type": "x", "value": "1"}, {"type": "y", "value": "2"}],
        "conditions": [
            {"type": "Active", "status": "True"},
            {"type": "Failing", "status": "False", "reason": "Why", "message": "not yet"},
        ],
    },
}


@pytest.mark.parametrize(
    ("expression", "ready"),
    [
        ("condition=Active", True),
        ("condition=active", True),
        ("condition=Active=true", True),
        ("condition=Active=False", False),
        ("condition=Failing", False),
        ("condition=Failing=False", True),
        ("condition=Missing", False),
        ("jsonpath={.status.phase}=Ready", True),
        ("jsonpath='{.status.phase}'=Ready", True),
        ("jsonpath={status.phase}=Ready", True),
        ("jsonpath={.status.phase}=Other", False),
        ("jsonpath={.status.phase}", True),
        ("jsonpath={.status.missing}", False),
        ("jsonpath={.status.count}=3", True),
        ("jsonpath={.status.list[0].value}=1", True),
        ("jsonpath={.status.list[-1].value}=2", True),
        ("jsonpath={.status.list[7].value}", False),
        ("jsonpath={.status.list[*].value}=2", True),
        ('jsonpath={.status.list[?(@.type=="y")].value}=2', True),
        ('jsonpath={.status.list[?(@.type=="z")].value}', False),
        (r"jsonpath={.metadata.labels.a\.b}=c", True),
        ("jsonpath={.metadata.labels['a.b']}=c", True),
    ],
)
def test_wait_expressions(expression: str, ready: bool) -> None:
    state = parse(expression)(OBJECT)
    assert state.ready is ready
    assert bool(state.waiting_for) is not ready
    assert not parse(expression)({}).ready


def test_what_is_waited_for_is_said_in_words() -> None:
    assert parse("condition=Failing")(OBJECT).waiting_for == "condition Failing=True (is False, Why: not yet)"
    assert parse("condition=Missing")(OBJECT).waiting_for == "condition Missing=True (not reported yet)"
    assert parse("jsonpath={.status.phase}=Done")(OBJECT).waiting_for == "{.status.phase}=Done (is Ready)"
    assert parse("jsonpath={.status.missing}")(OBJECT).waiting_for == "{.status.missing} (not set yet)"


@pytest.mark.parametrize("text", ["Active", "jsonpath=.status", "jsonpath={.status[x}", "[]", "[1]", '["condition=A", "B"]'])
def test_bad_expressions_are_refused(text: str) -> None:
    with pytest.raises(WaitExpressionError, match="waitFor"):
        readiness(annotated(waitFor=text), "x", "Y")


def annotated(**values: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {f"pulumi.com/{key}": value for key, value in values.items()}}}


def test_which_check_is_used() -> None:
    assert readiness({}, "kueue.x-k8s.io", "ClusterQueue") is None
    assert readiness({}, "apps", "Deployment") is KNOWN["apps", "Deployment"]
    assert readiness(annotated(skipAwait="true"), "apps", "Deployment") is None
    assert readiness(annotated(skipAwait="true", waitFor="condition=A"), "apps", "Deployment") is None
    both = readiness(annotated(waitFor=json.dumps(["condition=Active", "condition=Failing"])), "apps", "Deployment")
    assert both is not None
    assert both(OBJECT).waiting_for.startswith("condition Failing")


def test_time_outs() -> None:
    assert timeout_seconds(0, {}) == 600
    assert timeout_seconds(0, annotated(timeoutSeconds="30")) == 30
    assert timeout_seconds(5, annotated(timeoutSeconds="30")) == 5
    assert timeout_seconds(0, annotated(timeoutSeconds="soon")) == 600


def deployment(generation: int, **status: Any) -> dict[str, Any]:
    return {"metadata": {"generation": generation}, "spec": {"replicas": 2}, "status": status}


@pytest.mark.parametrize(
    ("obj", "ready"),
    [
        (deployment(2, observedGeneration=1, replicas=2, updatedReplicas=2, availableReplicas=2), False),
        (deployment(2, observedGeneration=2, replicas=2, updatedReplicas=2, availableReplicas=2), True),
        (deployment(2, observedGeneration=2, replicas=3, updatedReplicas=2, availableReplicas=2), False),
        (deployment(2, observedGeneration=2, replicas=2, updatedReplicas=2, availableReplicas=1), False),
    ],
)
def test_roll_out(obj: dict[str, Any], ready: bool) -> None:
    assert KNOWN["apps", "Deployment"](obj).ready is ready


def test_kinds_with_an_end() -> None:
    def job(kind: str, **spec: Any) -> dict[str, Any]:
        return {"spec": spec, "status": {"conditions": [{"type": kind, "status": "True", "reason": "R", "message": "m"}]}}

    assert KNOWN["batch", "Job"](job("Complete")).ready
    assert not KNOWN["batch", "Job"](job("Other")).ready
    assert KNOWN["batch", "Job"](job("Other", suspend=True)).ready
    with pytest.raises(FailedError, match="R: m"):
        KNOWN["batch", "Job"](job("Failed"))
    with pytest.raises(FailedError):
        KNOWN["", "Pod"]({"status": {"phase": "Failed"}})
    assert KNOWN["", "Service"]({"spec": {"type": "ClusterIP"}}).ready
    assert not KNOWN["", "Service"]({"spec": {"type": "LoadBalancer"}}).ready
    crd = {"status": {"conditions": [{"type": "NamesAccepted", "status": "False", "message": "taken"}]}}
    with pytest.raises(FailedError, match="taken"):
        KNOWN["apiextensions.k8s.io", "CustomResourceDefinition"](crd)


def test_a_wait_ends_with_the_object_the_failure_the_time_out_or_the_cancellation() -> None:
    check = parse("condition=Active")
    pending: dict[str, Any] = {"metadata": {"name": "q"}}
    seen = iter([pending, pending, OBJECT])
    assert ReadyWait(lambda: next(seen), "Queue q").run(pending, check, 300, Operation("m")) is OBJECT
    with pytest.raises(NotReadyError, match=r"not ready after 0.1 s: waiting for condition Active=True") as late:
        ReadyWait(lambda: pending, "Queue q").run(pending, check, 0.1, Operation("m"))
    assert late.value.live is pending
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(NotReadyError, match="was cancelled"):
        ReadyWait(lambda: pending, "Queue q").run(pending, check, 60, Operation("m", cancelled=cancelled))
    with pytest.raises(NotReadyError, match="failed"):
        ReadyWait(lambda: None, "Pod p").run({"status": {"phase": "Failed"}}, KNOWN["", "Pod"], 60, Operation("m"))
