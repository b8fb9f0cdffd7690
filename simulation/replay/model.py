"""What a replay saw, in the trace's own time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from governance.sharing import Cell

Fidelity = Literal["workloads", "pods"]
"""`workloads`: Kueue decides on Workload objects alone; `pods`: on Jobs whose pods are placed and run by kwok."""
Kind = Literal["arrived", "admitted", "preempted", "finished", "refused"]
"""`preempted` covers every eviction by Kueue; `refused`: the API server or Kueue's webhooks didn't take the job."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a trace is replayed."""

    tick: int
    """Seconds of the trace's time, from 1: what arrives or ends within a tick is applied together, in no order."""
    until: int | None = None
    """Seconds of the trace's time that are replayed at most; None: until nothing more can happen."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a job, at the tick in which it was seen."""

    at: int
    """Seconds of the trace's time; a multiple of the tick."""
    kind: Kind
    job: str
    usage: Mapping[Cell, int] = field(default_factory=dict)
    """Of an admission: what the job holds, by flavor and resource, in base units."""
    by: str | None = None
    """Of a preemption: the job that it was preempted for, where Kueue says it."""
    reason: str = ""
    """Of a preemption: Kueue's reason (`InClusterQueue`, `InCohortReclamation`, …); of a refusal: the words."""
    domains: tuple[tuple[str, ...], ...] = ()
    """Of an admission with topology: the assigned domains' label values, farthest level first, one entry a domain."""
    levels: tuple[str, ...] = ()
    """The node labels that `domains` are values of."""


@dataclass(frozen=True, slots=True)
class Replay:
    """One replay of a trace on one plan."""

    cluster: str
    events: tuple[Event, ...]
    """In the order of time; those of one tick in the order in which they were seen."""
    until: int
    """The trace's time at which it ended, in seconds."""
    tick: int
    fidelity: Fidelity
    kueue: str
    """Version of the Kueue that decided."""
    waiting: Mapping[str, str] = field(default_factory=dict)
    """Kueue's last word on each job that waits at the end."""
    circles: Mapping[str, int] = field(default_factory=dict)
    """Jobs that Kueue preempted over and over within one tick, and would for ever; the first such tick, in seconds."""
    complete: bool = True
    """False: interrupted; then everything up to `until` holds."""
    seconds: float = 0.0
    """Of the wall clock."""

    @property
    def admissions(self) -> int:
        """How often a job was admitted."""
        return sum(event.kind == "admitted" for event in self.events)
