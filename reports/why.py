"""Why a workload waits or runs, as text and as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from config.findings import printable
from governance.units import is_device
from live.why.amounts import number, words
from live.why.model import Answer, Cause, Happened, Held

_NODES = 6


def as_dict(answer: Answer) -> dict[str, Any]:
    """All of it, JSON-ready."""
    return answer.as_dict()


def text(answer: Answer) -> Iterator[str]:
    """The answer in lines of printable characters."""
    yield from map(printable, _lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    yield _head(answer)
    if answer.worker:
        yield f"  was sent to worker {answer.worker}"
    for cause in answer.causes:
        yield from _cause(cause)
    ended = answer.state == "finished"
    for one in _devices_first(answer.held):
        yield f"  {'held' if ended else 'holds'} {words(one.resource, one.amount)} of {one.flavor}: {_whose(one)}"
    if answer.placement:
        named = [f"{domain} ({pods})" for domain, pods in list(answer.placement.items())[:_NODES]]
        more = f" and {len(answer.placement) - _NODES} more" if len(answer.placement) > _NODES else ""
        yield f"  pods {'were ' if ended else ''}on {', '.join(named)}{more}"
    for event in answer.happened:
        yield _event(event)
    if answer.kueue:
        yield f"  Kueue says: {answer.kueue}"
    yield from (f"  note: {note}" for note in answer.notes)
    for worker, found in answer.there.items():
        yield f"on {worker}:"
        yield from (f"  {line}" for line in _lines(found))


def _head(answer: Answer) -> str:
    whose = f"team {answer.team}" if answer.team else f"namespace {answer.namespace}"
    queue = f", queue {answer.cluster_queue}" if answer.cluster_queue else ""
    priority = f", priority {answer.priority}" if answer.workload else ""
    state = {
        "waiting": "waits",
        "admitted": "is admitted",
        "finished": "has ended",
        "unmanaged": "is not queued by Kueue",
    }[answer.state]
    since = f" since {answer.since}" if answer.since else ""
    return f"{answer.namespace}/{answer.job} ({whose}{queue}{priority}) {state}{since}"


def _cause(cause: Cause) -> Iterator[str]:
    hope = "waiting helps" if cause.when == "later" else "waiting doesn't help"
    yield f"  {cause.reason} ({hope}): {cause.message}"
    for remedy in cause.remedies:
        yield f"    - {remedy.text}"


def _devices_first(held: tuple[Held, ...]) -> list[Held]:
    return sorted(held, key=lambda one: (not is_device(one.resource), one.resource))


def _whose(one: Held) -> str:
    if one.borrowed is None:
        return "whether its queue's own or borrowed is no longer recorded"
    if not one.borrowed:
        return "its queue's own"
    lenders = ", ".join(f"{who} {number(one.resource, amount)}" for who, amount in one.lenders.items())
    share = "all" if one.borrowed == one.amount else number(one.resource, one.borrowed)
    return f"{share} borrowed" + (f" from what others leave unused: {lenders}" if lenders else "")


def _event(event: Happened) -> str:
    what = f"was {event.what}" if event.what in ("preempted", "evicted") else event.what
    back = ", and has been admitted since" if event.past and event.what in ("preempted", "evicted") else ""
    reason = f" [{event.reason}]" if event.reason else ""
    return f"  {event.when} {what}{back}: {event.message}{reason}"
