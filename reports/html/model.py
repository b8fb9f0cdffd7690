"""What the report's page shows, as plain data. Amounts are in base units, see `governance.units`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from config.findings import Finding
from live.tasks import ClassUse


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """A cluster, and whether it was asked."""

    name: str
    kind: str
    """`sandbox`, `existing` or `hyperpod`."""
    queues_by: str
    """Who keeps the queues, with the version where it is known."""
    read_at: datetime | None = None
    """When its usage was read, in UTC; None: the plan alone speaks."""
    note: str = ""
    """Why usage is missing or not whole; in a sentence."""
    workers: tuple[str, ...] = ()
    """Of a manager: the clusters that it hands jobs to, of whose figures its own are the sums."""


@dataclass(frozen=True, slots=True)
class CapacityRow:
    """One resource of one instance type."""

    cluster: str
    instance_type: str
    nodes: int
    resource: str
    capacity: int
    guaranteed: int
    used: int | None = None
    """By all queues; None where no live cluster answers."""

    @property
    def unowned(self) -> int:
        """Capacity that no team owns."""
        return max(0, self.capacity - self.guaranteed)

    @property
    def over(self) -> int:
        """Guarantees above capacity."""
        return max(0, self.guaranteed - self.capacity)


@dataclass(frozen=True, slots=True)
class ShareRow:
    """What a team has of one resource of one instance type."""

    cluster: str
    team: str
    instance_type: str
    resource: str
    capacity: int
    """Of the whole cluster."""
    guaranteed: int
    borrowable: int
    """Beyond the guarantee, when all others are idle."""
    borrow_limit: int | None
    """As the queue says it; None: no limit."""
    lends: int
    """The most of the guarantee that others may use."""
    largest: int
    """The most that quotas ever allow one job."""
    placeable: int
    """The same, but no more than the nodes hold."""
    own: int | None = None
    """Used now within the guarantee; None where no live queue says."""
    borrowed: int | None = None
    idle: int | None = None
    """Guaranteed and not used by the team itself."""


@dataclass(frozen=True, slots=True)
class TeamRow:
    """A team on one cluster."""

    cluster: str
    team: str
    department: str
    state: str
    weight: int
    strategy: str
    """How it shares, in words."""
    running: int | None = None
    pending: int | None = None
    note: str = ""
    """What is the matter with its live queue."""


@dataclass(frozen=True, slots=True)
class Loan:
    """One resource of one flavor that teams borrow now, within one tree of cohorts."""

    cluster: str
    instance_type: str
    resource: str
    borrowers: Mapping[str, int]
    """What teams have beyond their guarantees."""
    lenders: Mapping[str, int]
    """What others leave idle and lend, and what belongs to nobody; what is borrowed is part of it."""

    @property
    def borrowed(self) -> int:
        return sum(self.borrowers.values())

    @property
    def lendable(self) -> int:
        return sum(self.lenders.values())


@dataclass(frozen=True, slots=True)
class ClassRow:
    """Tasks of one priority class on one cluster."""

    cluster: str
    name: str
    """As declared, or as the cluster names it; empty for tasks without any."""
    value: int | None
    use: ClassUse


@dataclass(frozen=True, slots=True)
class WaitRow:
    """A task that waits."""

    cluster: str
    team: str
    task: str
    kind: str
    priority_class: str
    waited: int
    """Seconds."""
    preempted: bool
    message: str


@dataclass(frozen=True, slots=True)
class TaskCount:
    """Tasks of all clusters, each counted once."""

    running: int = 0
    pending: int = 0
    preempted: int = 0
    """Of the pending ones, those that wait since they were preempted."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG that another part draws."""

    cluster: str
    title: str
    svg: str
    text: str
    """What it shows, in a sentence, for those who can't see it."""


@dataclass(frozen=True, slots=True)
class Report:
    """The whole page."""

    environment: str
    description: str
    stack: str
    backend: str
    made_at: datetime
    """In UTC."""
    clusters: tuple[ClusterFacts, ...]
    capacity: tuple[CapacityRow, ...]
    shares: tuple[ShareRow, ...]
    teams: tuple[TeamRow, ...]
    findings: tuple[Finding, ...]
    loans: tuple[Loan, ...] = ()
    classes: tuple[ClassRow, ...] = ()
    waiting: tuple[WaitRow, ...] = ()
    tasks: TaskCount = field(default=TaskCount())
    drawings: tuple[Drawing, ...] = ()
    simulation: Mapping[str, Any] | None = field(default=None)
    """What `hpctl simulate --json` has printed."""

    @property
    def managers(self) -> frozenset[str]:
        """Clusters whose figures are sums of others."""
        return frozenset(cluster.name for cluster in self.clusters if cluster.workers)

    @property
    def sums(self) -> frozenset[str]:
        """Clusters that aren't counted, for others of the page hold the same; a manager that stands alone is."""
        shown = {cluster.name for cluster in self.clusters}
        return frozenset(cluster.name for cluster in self.clusters if shown.intersection(cluster.workers))

    @property
    def live(self) -> bool:
        """Whether any cluster has answered."""
        return any(cluster.read_at for cluster in self.clusters)
