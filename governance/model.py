"""The plan: every number resolved, every name decided. Components declare exactly this."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from config.catalogue import InstanceType
from config.cluster import InstanceGroup, Kueue
from config.environment import Cluster, Governance
from config.findings import Finding
from config.team import Sharing, State
from governance.flavors import FlavorPlan, TopologyPlan
from governance.platform.model import PlatformPlan
from governance.sharing import Cell, Quota
from governance.units import Resources


@dataclass(frozen=True, slots=True)
class FlavorQuota:
    """What a queue has of one flavor; resources in the cluster's covered order."""

    flavor: str
    instance_type: str
    quotas: tuple[Quota, ...]

    def nominal(self) -> dict[str, int]:
        """Guaranteed amounts in base units."""
        return {quota.resource: quota.nominal for quota in self.quotas}


def cells(flavors: Iterable[FlavorQuota]) -> dict[Cell, Quota]:
    """Quotas as Kueue counts them, by flavor and resource."""
    return {(flavor.flavor, quota.resource): quota for flavor in flavors for quota in flavor.quotas}


@dataclass(frozen=True, slots=True)
class CohortPlan:
    """A Kueue Cohort; `pool` holds capacity that no team owns, where it may be borrowed."""

    name: str
    parent: str | None
    weight: int | None
    """Fair-share weight among its siblings; None for one without a parent."""
    pool: tuple[FlavorQuota, ...] = ()


@dataclass(frozen=True, slots=True)
class PriorityClassPlan:
    """A Kueue WorkloadPriorityClass; higher values run first."""

    name: str
    """The object's name, `<class>-priority` unless another is adopted."""
    value: int
    description: str
    declared: str
    """The class as the environment names it."""


@dataclass(frozen=True, slots=True)
class TeamPlan:
    """Everything that is made for one team on one cluster."""

    name: str
    namespace: str
    cluster_queue: str
    local_queue: str
    default_queue: bool
    cohort: str | None
    weight: int
    within_queue: str
    """Kueue's preemption.withinClusterQueue."""
    reclaim: str
    """Kueue's preemption.reclaimWithinCohort."""
    borrow_preemption: str
    """Kueue's preemption.borrowWithinCohort.policy."""
    flavors: tuple[FlavorQuota, ...]
    whole: frozenset[str]
    """Instance types whose guarantee was declared in whole instances alone."""
    sharing: Sharing
    """As declared."""
    covered: tuple[str, ...]
    state: State
    groups: tuple[str, ...]
    """Kubernetes groups whose members may work in the namespace."""
    iam_roles: tuple[str, ...]
    labels: Mapping[str, str]
    """All labels of the namespace."""
    max_run_time: int | None
    """Seconds."""
    default_priority: str | None
    """Name of the WorkloadPriorityClass that the job contract proposes."""
    marked: bool
    """Whether namespace and queues carry the platform's labels and annotations."""
    quota_name: str
    """Name of the ComputeQuota."""
    quota_description: str
    keep: tuple[str, ...]
    """Fields of the ClusterQueue that aren't declared, for they stay as they were found."""
    largest: Mapping[Cell, int]
    """The most that one job can ever use, by flavor and resource, with all other teams idle."""
    potential: Mapping[Cell, int]
    """The most that all its jobs can ever use together; the same, but on a manager, for a job runs on one worker."""
    admission_check: str | None = None
    """On a manager, the AdmissionCheck that hands the team's jobs to its workers."""

    @property
    def stop_policy(self) -> str:
        """Kueue's stopPolicy of the queue."""
        return {"active": "None", "held": "Hold", "draining": "HoldAndDrain"}[self.state]

    @property
    def protected(self) -> bool:
        """Whether namespace and queue are protected from deletion: until the team drains."""
        return self.state != "draining"


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """An AdmissionCheck that hands jobs to some of the workers, with a MultiKueueConfig of the same name."""

    name: str
    workers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DispatchPlan:
    """What makes a cluster a manager: it hands its teams' jobs to workers."""

    workers: tuple[str, ...]
    checks: tuple[CheckPlan, ...]
    """That of all workers first."""
    teams: Mapping[str, str]
    """Each team's check."""
    origin: str
    """Label value of what it makes on workers."""

    def workers_of(self, team: str) -> tuple[str, ...]:
        """The workers of one team."""
        return next(check.workers for check in self.checks if check.name == self.teams[team])


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """One cluster."""

    name: str
    declared: Cluster
    policy: Governance
    """As declared."""
    groups: Mapping[str, InstanceGroup]
    kinds: Mapping[str, InstanceType]
    """Instance types that groups or quotas name."""
    capacity: Mapping[str, Resources]
    """What the groups hold, by instance type, in base units; on a manager, the groups of its workers."""
    covered: tuple[str, ...]
    topologies: tuple[TopologyPlan, ...]
    flavors: Mapping[str, FlavorPlan]
    """By instance type."""
    cohorts: tuple[CohortPlan, ...]
    """Parents before children."""
    priority_classes: tuple[PriorityClassPlan, ...]
    teams: Mapping[str, TeamPlan]
    enforce_queue_label: bool
    kueue: Kueue
    manager: Mapping[str, Any]
    """Kueue's manager configuration."""
    platform: PlatformPlan | None = None
    """What the platform layer builds below it; None for a cluster that is there already."""
    dispatch: DispatchPlan | None = None
    """None for a cluster that runs its jobs itself."""
    manager_cluster: str | None = None
    """The cluster that hands jobs to this one; None without."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An environment, resolved."""

    environment: str
    backend: str
    clusters: Mapping[str, ClusterPlan]
    findings: tuple[Finding, ...] = field(default=())
