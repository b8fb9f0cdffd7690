"""What is told of a workload: why it waits, with numbers and remedies, or why it runs or ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from live.why.amounts import quantity_of


class Reason(StrEnum):
    """Why a workload waits; the list is closed."""

    ADMISSION_CHECK = "admission-check"
    """Quota is reserved, or was, and an AdmissionCheck isn't Ready."""
    BACKOFF = "backoff"
    """It was evicted and waits for its turn to queue again."""
    BORROW_LIMIT = "borrow-limit"
    """Its queue may borrow, but not that much."""
    COHORT_QUOTA = "cohort-quota"
    """The cohort has nothing left to lend, or nobody lends."""
    DEACTIVATED = "deactivated"
    """`spec.active` is false: Kueue doesn't queue it."""
    FAIR_SHARE_BEHIND = "fair-share-behind"
    """Others borrow what it needs, and by fair share it has no claim to it."""
    FLAVOR_MISMATCH = "flavor-mismatch"
    """No flavor of its queue suits the pods: node selector, taints, or topology."""
    GANG_TIMEOUT = "gang-timeout"
    """Its pods weren't all ready in time, or others' aren't yet and block admission."""
    INVALID = "invalid"
    """Kueue refuses the pods' resources, or a LimitRange does."""
    NAMESPACE = "namespace"
    """Its namespace isn't one that the queue, or Kueue, serves."""
    NEVER_FITS = "never-fits"
    """It asks for more than quotas ever allow, or its pods for more than any node has."""
    NODE_NOT_READY = "node-not-ready"
    """It would fit if nodes were ready, schedulable, or carried the topology's labels."""
    NO_WORKER = "no-worker"
    """On a manager: it has quota there, and no worker has taken it."""
    NO_QUEUE_NAME = "no-queue-name"
    """The job has no queue label, so Kueue lets it be."""
    NOT_SEEN_YET = "not-seen-yet"
    """It fits; Kueue hasn't come to it."""
    PODS_PENDING = "pods-pending"
    """It is admitted, and pods aren't scheduled."""
    PREEMPTING = "preempting"
    """Kueue has chosen workloads to preempt for it, and waits until they have gone."""
    PREEMPTION_LOST = "preemption-lost"
    """Kueue waits for a preemption that it has overwritten itself, and comes to nobody else in the queue."""
    PRIORITY_BEHIND = "priority-behind"
    """Others of its queue come first: a higher priority, or the same and older."""
    QUEUE_HELD = "queue-held"
    """Its queue is stopped."""
    QUEUE_INACTIVE = "queue-inactive"
    """Its queue lacks something that it names."""
    QUOTA = "quota"
    """Its queue's own quota is used, and it can't borrow."""
    QUOTA_LENT = "quota-lent"
    """Its queue's own quota is lent to others, and isn't taken back."""
    REFUSED = "refused"
    """Something refuses the job's pods: a policy, a quota of the namespace."""
    RESOURCE_NOT_COVERED = "resource-not-covered"
    """It asks for a resource of which its queue has no quota at all."""
    TOPOLOGY_BLOCK = "topology-block"
    """Quota is there; no block of nodes has room for all its pods."""
    UNEXPLAINED = "unexplained"
    """Kueue's words are all that is known."""
    WRONG_PRIORITY_CLASS = "wrong-priority-class"
    """It names a WorkloadPriorityClass that there isn't."""
    WRONG_QUEUE = "wrong-queue"
    """It names a queue that there isn't."""


class When(StrEnum):
    """Whether waiting helps."""

    LATER = "later"
    """It is admitted once something else ends."""
    NEVER = "never"
    """It waits for ever unless somebody changes something."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """What it lacks of one resource in one flavor, in Kueue's units: milli-vCPU, bytes, devices."""

    flavor: str
    resource: str
    needed: int
    free: int
    """What it could have now, borrowing included."""
    nominal: int
    used: int
    """By its queue, borrowing included."""
    most: int
    """All that its queue can have with all others idle."""
    borrowing_limit: int | None = None
    could_borrow: int = 0
    """How much of `free` is others'."""
    borrowers: Mapping[str, int] = field(default_factory=dict)
    """What others of the cohort use beyond their own, by team or queue."""

    @property
    def missing(self) -> int:
        return self.needed - self.free

    def as_dict(self) -> dict[str, Any]:
        def amount(value: int | None) -> str | None:
            return None if value is None else quantity_of(self.resource, value)

        return {
            "flavor": self.flavor,
            "resource": self.resource,
            **{
                name: amount(getattr(self, name))
                for name in ("needed", "free", "missing", "nominal", "used", "most", "borrowing_limit", "could_borrow")
            },
            "borrowers": {who: amount(value) for who, value in self.borrowers.items()},
        }


@dataclass(frozen=True, slots=True)
class Remedy:
    """What would unblock it."""

    action: str
    """`finish` (others' end), `lower` (ask for less), `wait`, `change` (quota, limit, field), `fix` (a mistake)."""
    text: str
    workloads: tuple[str, ...] = ()
    """Of `finish`: `namespace/name`, all of which must end."""
    file: str = ""
    """Of `change`: the declaration's file and place, where there is one."""
    field: str = ""
    value: str = ""
    """What to set it to at least, or to lower to at most."""
    checked: bool = False
    """Whether Kueue's arithmetic was done again with it, and the workload fits."""

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in ("", ())}


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that keeps it waiting."""

    reason: Reason
    when: When
    message: str
    shortages: tuple[Shortage, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """JSON-ready figures besides shortages."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "reason": str(self.reason),
            "when": str(self.when),
            "message": self.message,
            "shortages": [one.as_dict() for one in self.shortages],
            "numbers": dict(self.numbers),
            "remedies": [one.as_dict() for one in self.remedies],
        }


@dataclass(frozen=True, slots=True)
class Held:
    """Quota that it holds, or held when it ended, of one resource in one flavor."""

    flavor: str
    resource: str
    amount: int
    borrowed: int | None
    """The part beyond its queue's own; None of one that has ended, for then it is no longer recorded."""
    lenders: Mapping[str, int] = field(default_factory=dict)
    """Who leaves how much of its own idle to the cohort, by team, queue or cohort: Kueue doesn't say whose was taken."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "flavor": self.flavor,
            "resource": self.resource,
            "amount": quantity_of(self.resource, self.amount),
            "borrowed": None if self.borrowed is None else quantity_of(self.resource, self.borrowed),
            "lenders": {who: quantity_of(self.resource, value) for who, value in self.lenders.items()},
        }


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that Kueue did with it."""

    what: str
    """`admitted`, `preempted`, `evicted`, `finished`, `preempts` (it made others go)."""
    when: str
    """RFC 3339; empty where it isn't known."""
    message: str
    reason: str = ""
    """Kueue's own id, as InCohortReclamation."""
    by: str = ""
    """Who preempted it, or whom it preempted."""
    past: bool = False
    """Whether it has been admitted again since."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Answer:
    """All that is told of one workload."""

    state: str
    """`waiting`, `admitted`, `finished` or `unmanaged` (Kueue doesn't look after the job)."""
    namespace: str
    job: str
    """`Kind/name`."""
    workload: str
    """Name of the Workload; empty where there is none."""
    team: str
    local_queue: str
    cluster_queue: str
    priority: int
    since: str
    """RFC 3339: since when it has been in this state."""
    causes: tuple[Cause, ...] = ()
    """Of one that waits: what must be mended first comes first."""
    worker: str = ""
    """On a manager: the worker that has taken it."""
    offered: tuple[str, ...] = ()
    """On a manager: workers that were asked, and haven't taken it."""
    there: Mapping[str, Answer] = field(default_factory=dict)
    """What these workers say of it, those that could be asked."""
    held: tuple[Held, ...] = ()
    """Of one that is admitted, and of one that has ended with quota."""
    placement: Mapping[str, int] = field(default_factory=dict)
    """Pods by topology domain, now or when it ended."""
    happened: tuple[Happened, ...] = ()
    kueue: str = ""
    """Kueue's own words."""
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "reason": str(self.causes[0].reason) if self.causes else None,
            "when": str(self.causes[0].when) if self.causes else None,
            "namespace": self.namespace,
            "job": self.job,
            "workload": self.workload,
            "team": self.team,
            "local_queue": self.local_queue,
            "cluster_queue": self.cluster_queue,
            "priority": self.priority,
            "since": self.since,
            "causes": [one.as_dict() for one in self.causes],
            "worker": self.worker,
            "offered": list(self.offered),
            "there": {name: one.as_dict() for name, one in self.there.items()},
            "held": [one.as_dict() for one in self.held],
            "placement": dict(self.placement),
            "happened": [one.as_dict() for one in self.happened],
            "kueue": self.kueue,
            "notes": list(self.notes),
        }
