"""A trace as every reader gives it and every replay takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from config.findings import Where
from simulation.cases import Placement


@dataclass(frozen=True, slots=True)
class Job:
    """One job of a trace: pods that are admitted together, run side by side, and end together."""

    name: str
    """Unique in its trace; a DNS label of at most 63 characters."""
    team: str
    arrives: int
    """Seconds since the trace's beginning, from 0."""
    runs_for: int | None
    """Seconds of running that it needs, from 1; None: until the trace's end."""
    pods: int
    per_pod: Mapping[str, int]
    """What one pod requests, in base units (see `governance.units`)."""
    instance_type: str | None = None
    """Becomes the node selector `node.kubernetes.io/instance-type`; None: any flavor of the queue."""
    priority: str | None = None
    """A priority class as the environment declares it; None ranks lowest (value 0)."""
    topology: Placement | None = None
    checkpoint: int | None = None
    """Seconds between checkpoints, from 1: what was run since the last one is lost to a preemption. None: all of it."""
    where: Where | None = None
    """Where the trace's file says it."""

    def requests(self) -> dict[str, int]:
        """What all pods together request, in base units."""
        return {resource: amount * self.pods for resource, amount in self.per_pod.items()}


@dataclass(frozen=True, slots=True)
class Trace:
    """Jobs in the order of their arrival, then of the source."""

    source: str
    """For the reader: a file's path, `cluster <name>`, or `generated`."""
    jobs: tuple[Job, ...] = ()
    until: int | None = None
    """Seconds that are replayed; None: until the last job has ended or can't go on."""
    seed: int | None = None
    """Of the generator, where one drew the jobs."""
    notes: tuple[str, ...] = field(default=())
    """What a reader had to assume or leave out, in sentences."""

    def ending(self, until: int | None) -> Trace:
        """The trace up to a time in seconds. Jobs that arrive then or later are left out, and the notes say so."""
        if until is None:
            return self
        kept = tuple(job for job in self.jobs if job.arrives < until)
        late = len(self.jobs) - len(kept)
        told = (f"{late:,} jobs arrive when the trace has ended, and are left out",) if late else ()
        return replace(self, jobs=kept, until=until, notes=(*self.notes, *told))
