"""What each governance backend can do: one table, and the findings where a declaration asks for more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from config.catalogue import MIG_PARTITIONS
from config.environment import Backend, Governance
from config.findings import Finding, Severity, problem_at
from config.load import Platform
from config.team import Amounts, Team
from config.vocabulary import MAX_AMOUNT
from config.yamlsource import Path_
from governance.extra_quota import entries
from governance.managed import borrowed, guaranteed, largest_amounts
from governance.model import ClusterPlan

MANAGED_PRIORITY_CLASSES = 10
"""Most priority classes of a ClusterSchedulerConfig (SageMaker API)."""
MANAGED_QUOTA_TYPES = 15
"""Most entries of a ComputeQuota (SageMaker API, ComputeQuotaResources and AbsoluteBorrowLimits)."""
MANAGED_BORROW_LIMIT = 500
"""Largest borrow limit in percent that every part of AWS's documentation allows."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that a declaration may ask for; `path` is where it asks."""

    label: str
    path: Path_
    backends: frozenset[Backend]
    asked: Callable[[Team], bool]


_KUEUE: frozenset[Backend] = frozenset(("kueue",))
TEAM_FEATURES = (
    Feature("departments", ("department",), _KUEUE, lambda t: t.department is not None),
    Feature("own names of namespace and queues", ("names",), _KUEUE, lambda t: any(t.names.model_dump().values())),
    Feature("a default queue", ("default_queue",), _KUEUE, lambda t: t.default_queue),
    Feature("a cap on running pods", ("max_pods",), _KUEUE, lambda t: t.max_pods is not None),
    Feature("an order of flavors", ("flavors",), _KUEUE, lambda t: bool(t.flavors)),
    Feature("a maximum run time", ("max_run_time",), _KUEUE, lambda t: t.max_run_time is not None),
    Feature("a lending limit in percent", ("sharing", "lend_limit"), _KUEUE, lambda t: t.sharing.lend_limit is not None),
    Feature("borrowing without a limit", ("sharing", "borrow_unlimited"), _KUEUE, lambda t: t.sharing.borrow_unlimited),
    Feature("absolute lending limits", ("sharing", "lend"), _KUEUE, lambda t: bool(t.sharing.lend)),
)


@dataclass(frozen=True, slots=True)
class PolicyFeature:
    """The same for the cluster policy."""

    label: str
    path: Path_
    backends: frozenset[Backend]
    asked: Callable[[Governance], bool]


POLICY_FEATURES = (
    PolicyFeature("departments", ("departments",), _KUEUE, lambda g: bool(g.departments)),
    PolicyFeature("names of existing objects", ("names",), _KUEUE, lambda g: any(g.names.model_dump().values())),
    PolicyFeature("own choice of the resources that queues count", ("resources",), _KUEUE, lambda g: g.resources is not None),
    PolicyFeature("dispatching to other clusters", ("multi_kueue",), _KUEUE, lambda g: g.multi_kueue is not None),
    PolicyFeature("gang scheduling from the declaration", ("gang",), _KUEUE, lambda g: g.gang is not None),
    PolicyFeature("own topology levels", ("topology",), _KUEUE, lambda g: "levels" in g.topology.model_fields_set),
    PolicyFeature("topology switched off", ("topology", "enabled"), _KUEUE, lambda g: not g.topology.enabled),
    PolicyFeature("workloads without a queue label", ("enforce_queue_label",), _KUEUE, lambda g: not g.enforce_queue_label),
    PolicyFeature(
        f"more than {MANAGED_PRIORITY_CLASSES} priority classes",
        ("priority_classes",),
        _KUEUE,
        lambda g: len(g.priority_classes) > MANAGED_PRIORITY_CLASSES,
    ),
    PolicyFeature(
        "priority weights outside 0–100",
        ("priority_classes",),
        _KUEUE,
        lambda g: any(not 0 <= c.weight <= 100 for c in g.priority_classes.values()),
    ),
)


def feature_findings(platform: Platform) -> Iterator[Finding]:
    """An error for everything asked of a backend that lacks it; the remedy names the one that has it."""
    governance = platform.environment.governance
    backend = governance.backend
    for policy in POLICY_FEATURES:
        if backend not in policy.backends and policy.asked(governance):
            yield _lacks(platform, "", ("governance", *policy.path), policy.label, backend, policy.backends)
    for team in platform.teams.values():
        for feature in TEAM_FEATURES:
            if backend not in feature.backends and feature.asked(team):
                yield _lacks(platform, team.name, feature.path, feature.label, backend, feature.backends)


def limit_findings(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """What the resolved quotas ask beyond the managed backend's numbers; Kueue's own are checked with the cluster."""
    if platform.environment.governance.backend != "managed":
        return
    for queue in cluster.teams.values():
        team = platform.teams[queue.name]
        for place, payload in ((("quota",), guaranteed(queue, cluster)), (("sharing", "borrow"), borrowed(queue, cluster))):
            where = platform.where(team.name, place, key=True)
            if len(payload) > MANAGED_QUOTA_TYPES:
                message = f"{len(payload)} instance types and partitions; the managed backend holds {MANAGED_QUOTA_TYPES}"
                yield problem_at("managed-quota-types", where, message, "name fewer, or use the kueue backend")
            if any(most > MAX_AMOUNT for most in largest_amounts(payload)):
                message = f"more than {MAX_AMOUNT:,} vCPUs, GiB or accelerators of one type, which the managed backend can't hold"
                yield problem_at("managed-quota-amount", where, message, "lower it, or give whole instances")
        yield from _partitions(platform, team)
        if team.sharing.borrow_percent > MANAGED_BORROW_LIMIT:
            where = platform.where(team.name, ("sharing", "borrow_limit"))
            message = f"AWS documents borrow limits up to {MANAGED_BORROW_LIMIT} %"
            yield Finding("managed-borrow-limit", Severity.WARNING, where, message, "lower it, or give absolute limits")


def _partitions(platform: Platform, team: Team) -> Iterator[Finding]:
    """MIG partitions that the API can't name, in quotas and in absolute borrow limits."""
    limits = ((("sharing", "borrow", kind), kind, amounts) for kind, amounts in team.sharing.borrow.items())
    declared: Iterable[tuple[Path_, str, Amounts]] = chain(entries(team, platform.today), limits)
    for path, _, amounts in declared:
        for profile in sorted(amounts.partitions.keys() - set(MIG_PARTITIONS)):
            where = platform.where(team.name, (*path, "partitions", profile), key=True)
            message = f"the managed backend has no partition `{profile}`"
            yield problem_at("managed-mig-profile", where, message, "choose another, or use the kueue backend")


def _lacks(platform: Platform, team: str, path: Path_, label: str, backend: str, others: frozenset[Backend]) -> Finding:
    where = platform.where(team, path, key=True)
    remedy = f"remove it, or use the {' or '.join(sorted(others))} backend"
    return problem_at("backend-feature", where, f"the {backend} backend doesn't have: {label}", remedy)
