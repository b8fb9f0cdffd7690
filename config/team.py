"""A team's file: what it may use, how it shares, who belongs to it."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from config.catalogue import MIG_PARTITIONS, accelerator_kinds, families, instance_types, suggest
from config.findings import did_you_mean, quoted
from config.vocabulary import (
    Amount,
    ClassName,
    Count,
    GroupName,
    Labels,
    Model,
    Name,
    ObjectName,
    RoleArn,
    Seconds,
    TeamName,
    Words,
    problem,
)
from config.waivers import Day, Reason, Waiver

DEFAULT_BORROW_PERCENT = 50
"""Borrow limit of a team that names none, in percent of its quota (SageMaker API, ResourceSharingConfig.BorrowLimit)."""

State = Literal["active", "held", "draining"]
"""`active`: runs. `held`: admits nothing new, what runs goes on. `draining`: running work is evicted; may then be removed."""
Strategy = Literal["lend", "dont_lend", "lend_and_borrow"]
"""SageMaker's ResourceSharingConfig.Strategy; a team that doesn't lend can't borrow either."""
Kept = Literal["namespace_selector", "queueing_strategy", "flavor_fungibility", "fair_sharing"]
Preemption = Literal["lower_priority", "never"]
"""Whether a team's own waiting task may stop its own running task of a lower priority (SageMaker's PreemptTeamTasks)."""


def _instance_type(value: str) -> str:
    if value not in instance_types():
        remedy = _type_like(value) or "write one as `ml.p5.48xlarge`"
        raise problem("instance_type_unknown", f"{quoted(value)} is not an instance type of HyperPod", remedy)
    return value


def _quota_key(value: str) -> str:
    if value in instance_types() or value in families() or value in accelerator_kinds():
        return value
    remedy = _type_like(value) or did_you_mean(value, (*accelerator_kinds(), *families()))
    raise problem(
        "instance_type_unknown",
        f"{quoted(value)} is not an instance type, a family or an accelerator kind",
        remedy or "an instance type as `ml.p5.48xlarge`, a family as `p5`, or `nvidia`, `trainium`, `inferentia`",
    )


def _type_like(value: str) -> str:
    """A remedy that names the type that was likely meant, or those of its family; empty where there is none."""
    near = suggest(value) if len(value) <= 63 else None
    if near:
        return f"did you mean `{near}`?"
    family = [f"`{name}`" for name, kind in instance_types().items() if kind.family == value.removeprefix("ml.")]
    return f"name one of {', '.join(family)}" if family else ""


@cache
def _mig_profiles() -> frozenset[str]:
    return frozenset(MIG_PARTITIONS) | {p for t in instance_types().values() for p in t.mig_profiles}


def _mig_profile(value: str) -> str:
    if value not in _mig_profiles():
        remedy = did_you_mean(value, sorted(_mig_profiles())) or "write one as `mig-1g.10gb`"
        raise problem("mig_profile_unknown", f"{quoted(value)} is not a MIG profile", remedy)
    return value


InstanceTypeName = Annotated[str, AfterValidator(_instance_type)]
QuotaKey = Annotated[str, AfterValidator(_quota_key)]
MigProfile = Annotated[str, AfterValidator(_mig_profile)]
Partitions = dict[MigProfile, Annotated[int, Field(ge=1, le=10_000_000)]]


class Amounts(Model):
    """Amounts of one instance type, family or accelerator kind. Whole instances and single amounts add up."""

    instances: Count | None = None
    """Whole instances, 0–10,000,000; each counts with its full specification."""
    accelerators: Count | None = None
    """GPUs or Neuron devices. Alone, vCPU and memory follow in proportion to the instance's."""
    vcpu: Amount | None = None
    """vCPUs. Given, memory follows from it in proportion, unless given too."""
    memory_gib: Amount | None = None
    """Memory in GiB. Alone, vCPUs follow in proportion."""
    partitions: Partitions = Field(default_factory=dict)
    """MIG partitions by profile (`mig-1g.10gb: 4`); vCPU and memory follow in proportion to slices, 7 to a GPU."""

    @model_validator(mode="after")
    def _says_something(self) -> Amounts:
        if not self.partitions and (self.instances, self.accelerators, self.vcpu, self.memory_gib) == (None,) * 4:
            raise problem("amounts_empty", "no amount is given", "give instances, accelerators, vcpu, memory_gib or partitions")
        return self


class ExtraQuota(Model):
    """Guaranteed compute on top, for a while."""

    quota: Annotated[dict[QuotaKey, Amounts], Field(min_length=1)]
    until: Day
    """The last day on which it counts; later it is a finding, and the next deployment takes it away."""
    reason: Reason


class Sharing(Model):
    """How idle compute is lent and borrowed. May be written as the strategy's name alone."""

    strategy: Strategy = "lend_and_borrow"
    borrow_limit: Annotated[int, Field(ge=0, le=10_000)] | None = None
    """Percent of the own quota that may be borrowed on top, 0–10,000; default 50 (`lend_and_borrow` only)."""
    borrow: dict[InstanceTypeName, Amounts] = Field(default_factory=dict)
    """Absolute borrow limits by instance type, in place of a percentage; other types then borrow nothing."""
    borrow_unlimited: bool = False
    """No limit on borrowing but what others lend (kueue backend)."""
    lend_limit: Annotated[int, Field(ge=0, le=100)] | None = None
    """Percent of the own quota that may be lent, 0–100; default all of it (kueue backend)."""
    lend: dict[InstanceTypeName, Amounts] = Field(default_factory=dict)
    """Absolute lending limits by instance type; types not named lend all they have (kueue backend)."""

    @property
    def borrow_percent(self) -> int:
        """The borrow limit in percent where no absolute limits are given; 0 for a strategy that doesn't borrow."""
        if self.strategy != "lend_and_borrow" or self.borrow or self.borrow_unlimited:
            return 0
        return DEFAULT_BORROW_PERCENT if self.borrow_limit is None else self.borrow_limit


class Access(Model):
    """Who may work in the team's namespace."""

    iam_roles: Words(RoleArn) = ()  # type: ignore[valid-type]
    """IAM roles that become members of the team's Kubernetes group through an EKS access entry."""
    groups: Words(GroupName) = ()  # type: ignore[valid-type]
    """Further Kubernetes groups (of an identity provider) with a member's rights."""


class Names(Model):
    """Names of existing objects to adopt in place of the derived ones (kueue backend)."""

    namespace: Name | None = None
    cluster_queue: ObjectName | None = None
    local_queue: Name | None = None
    """At most 63 characters: jobs carry it as a label's value."""
    unmarked: bool = False
    """Leave namespace and queues without the platform's labels and annotations; rules of the API server that go by them then
    don't concern the team."""
    keep: Words(Kept) = ()  # type: ignore[valid-type]
    """Fields of the ClusterQueue that stay as they were found: neither declared nor changed."""


class ComputeQuotaNames(Model):
    """What an existing ComputeQuota is called (managed backend)."""

    name: Annotated[str, Field(max_length=63, pattern=r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*$")] | None = None
    """1–63 letters, digits and hyphens; default the team's name. Another name replaces the quota."""
    description: Annotated[str, Field(max_length=1024)] | None = None


def _strategy_alone(value: Any) -> Any:
    return {"strategy": value} if isinstance(value, str) else value


class Team(Model):
    """One team, as merged for one environment."""

    apiVersion: Literal["hyperpod-platform/v1"]  # noqa: N815 - the field's own spelling
    name: TeamName
    """The file's name without `.yaml`; 1–40 characters."""
    owners: Annotated[Words(Annotated[str, Field(min_length=1)]), Field(min_length=1)]  # type: ignore[valid-type]
    """Who answers for the team and approves changes to its file; at least one."""
    description: Annotated[str, Field(max_length=1024)] = ""
    quota: dict[QuotaKey, Amounts] = Field(default_factory=dict)
    """Guaranteed compute by instance type (`ml.p5.48xlarge`), family (`p5`) or accelerator kind (`nvidia`)."""
    cluster_quota: dict[Name, dict[QuotaKey, Amounts]] = Field(default_factory=dict)
    """Guaranteed compute on one cluster, in place of all of `quota` there, by cluster."""
    extra_quota: dict[Name, ExtraQuota] = Field(default_factory=dict)
    """Quota on top until a date, by a name of its own (a paper's deadline, a migration)."""
    largest_job: dict[InstanceTypeName, Amounts] = Field(default_factory=dict)
    """The largest single job that the team plans to run on a type; checked against all that it could ever use."""
    weight: Annotated[int, Field(ge=0, le=100)] = 0
    """Fair-share weight, 0–100; 0 always loses to any other (SageMaker API, FairShareWeight, default 0)."""
    sharing: Annotated[Sharing, BeforeValidator(_strategy_alone)] = Field(default_factory=Sharing)
    preemption: Preemption = "lower_priority"
    default_priority: ClassName | None = None
    """Priority class that the team's job contract proposes; a job without any ranks lowest."""
    access: Access = Field(default_factory=Access)
    state: State = "active"
    labels: Annotated[Labels, Field(max_length=32)] = Field(default_factory=dict)
    """Labels of the team's namespace, at most 32; `teams.select` of an environment matches them too."""
    clusters: Annotated[Words(Name), Field(min_length=1)] | None = None  # type: ignore[valid-type]
    """The environment's clusters that the team works on, at least one; default all."""
    only: Annotated[Words(Name), Field(min_length=1)] | None = None  # type: ignore[valid-type]
    """Environments that the team exists in, at least one; default all."""
    department: Name | None = None
    """Parent cohort, one of the environment's departments (kueue backend)."""
    names: Names = Field(default_factory=Names)
    compute_quota: ComputeQuotaNames = Field(default_factory=ComputeQuotaNames)
    default_queue: bool = False
    """Also make a LocalQueue named `default`, so that jobs need no queue label (kueue backend)."""
    max_pods: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    """Most pods running at once on each instance type of the quota, 1–1,000,000 (kueue backend)."""
    flavors: Words(InstanceTypeName) = ()  # type: ignore[valid-type]
    """Order in which instance types are tried; those not named follow, CPU types first (kueue backend)."""
    max_run_time: Seconds | None = None
    """Longest run time that a job may ask for; every job must then ask for one (kueue backend)."""
    waivers: dict[str, Waiver] = Field(default_factory=dict)
    """Warnings and advice on this file that are set aside, by rule."""
