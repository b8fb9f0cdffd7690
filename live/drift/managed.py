"""Compute quotas and scheduler configurations on all three sides.

SageMaker fills in what a request leaves out: vCPU and memory in proportion to the instance, defaults of switches. It holds vCPU
and memory as 32-bit floats. It tells who changed a thing last, not who changed which property.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from governance.managed import compute_quota, scheduler_config
from governance.model import ClusterPlan
from live.drift.compare import ABSENT, Change, Item, Path, Rules, differences, is_empty, value_at, written
from live.drift.model import TO_BE_MADE, Author, Finding, Kind, Property, Thing
from live.drift.state import Object, Side, spelt
from live.sagemaker import Governance

QUOTA, SCHEDULER = "ComputeQuota", "ClusterSchedulerConfig"
_FLOAT32: Final = 2.0**-22
"""Twice the rounding of a 32-bit float, relative."""
_AMOUNTS: Final = frozenset({"Accelerators", "Count", "MemoryInGiB", "VCpu"})
_ENTRY: Final = ("InstanceType", "AcceleratorPartition.Type")
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "AbsoluteBorrowLimits": _ENTRY,
    "ComputeQuotaResources": _ENTRY,
    "PriorityClasses": ("Name",),
}
_BORROW_LIMIT: Final = 50
"""Percent that SageMaker takes where a request names no limit."""
_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    QUOTA: {
        "ActivationState": "Enabled",
        "ComputeQuotaConfig": {"PreemptTeamTasks": "LowerPriority"},
        "ComputeQuotaTarget": {"FairShareWeight": 0},
    },
    SCHEDULER: {"SchedulerConfig": {"FairShare": "Enabled", "IdleResourceSharing": "Disabled"}},
}
_COMPARED: Final[Mapping[str, tuple[str, ...]]] = {
    QUOTA: ("Name", "Description", "ActivationState", "ComputeQuotaConfig", "ComputeQuotaTarget"),
    SCHEDULER: ("Name", "Description", "SchedulerConfig"),
}
"""Properties that Describe calls answer. Tags aren't among them, and a cluster's ARN is how a thing was found."""
_GONE: Final = frozenset({"Deleted", "Deleting"})
_NOBODY: Final = "CloudTrail records who deletes"


def declared(cluster: ClusterPlan) -> Side:
    """What the declaration asks of SageMaker."""
    config = scheduler_config(cluster)
    quotas = (spelt(compute_quota(team, cluster)) for team in cluster.teams.values())
    return Side(quotas={quota["Name"]: quota for quota in quotas}, schedulers={config["Name"]: config})


def there(found: Governance) -> Side:
    """What Describe calls have answered, without what is being deleted."""
    schedulers = [one for one in (found.scheduler, *found.others) if one is not None]
    return Side(quotas=_by_name(found.quotas), schedulers=_by_name(schedulers))


def _by_name(found: Iterable[Object]) -> dict[str, Object]:
    return {str(one["Name"]): one for one in found if one.get("Status") not in _GONE}


def compare(cluster: str, wanted: Side, state: Side, live: Side) -> Iterator[Finding]:
    """Everything that is not the same on all three sides."""
    for kind, *sides in (
        (SCHEDULER, wanted.schedulers, state.schedulers, live.schedulers),
        (QUOTA, wanted.quotas, state.quotas, live.quotas),
    ):
        for name in sorted({*sides[0], *sides[1], *sides[2]}):
            found = _compare_one(cluster, str(kind), name, *(side.get(name) for side in sides))
            if found is not None:
                yield found


def _compare_one(
    cluster: str, kind: str, name: str, wanted: Object | None, state: Object | None, live: Object | None
) -> Finding | None:
    target = (state or wanted or live or {}).get("ComputeQuotaTarget") or {}
    thing = Thing(cluster, kind, name, team=str(target.get("TeamName", "")))
    left, middle, right = (_prepared(kind, one) for one in (wanted, state, live))
    who = last_change(live) if live is not None else None
    waiting = tuple(_waiting(change, kind) for change in _undeployed(left, middle))
    kinds: tuple[Kind, ...] = (Kind.PENDING,) if waiting else ()
    if middle is None:
        if right is None:
            return Finding(thing, kinds, (), waiting, remark=TO_BE_MADE) if waiting else None
        remark = "on the cluster of this stack" if left is None else "declared too: import it, or the next `up` fails"
        return Finding(thing, (Kind.UNMANAGED,), author=who, remark=_joined(remark, failure(live)))
    going = "declared no more" if left is None else ""
    if right is None:
        return Finding(thing, (Kind.MISSING, *kinds), (), waiting, remark=_joined(going, _NOBODY))
    drift = tuple(_three(change, left) for change in outside(middle, right)) + _status(live)
    kinds = (Kind.CHANGED, *kinds) if drift else kinds
    return Finding(thing, kinds, drift, waiting, who if drift else None, _joined(going, failure(live))) if kinds else None


def failure(live: Object | None) -> str:
    """What SageMaker says of a thing that it calls failed, whose properties may be as they should; empty for others."""
    if live is None or not _failed(live):
        return ""
    return f"{live['Status']}: {live.get('FailureReason') or 'no reason given'}"


def _failed(live: Object) -> bool:
    return str(live.get("Status", "")).endswith("Failed")


def _status(live: Object | None) -> tuple[Property, ...]:
    """A failed status as a difference. What it should be is whatever hasn't failed."""
    return (Property("Status", ABSENT, ABSENT, live["Status"]),) if live is not None and _failed(live) else ()


def _joined(*sentences: str) -> str:
    return "; ".join(filter(None, sentences))


def _prepared(kind: str, properties: Object | None) -> Object | None:
    """The properties that are compared, with the service's defaults where they are left out."""
    if properties is None:
        return None
    return _filled({name: properties[name] for name in _COMPARED[kind] if name in properties}, _DEFAULTS[kind])


def _filled(properties: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in properties.items() if value is not None}
    for name, default in defaults.items():
        if isinstance(default, Mapping):
            found[name] = _filled(found.get(name) or {}, default)
        else:
            found.setdefault(name, default)
    return found


def outside(state: Object, live: Object) -> Iterator[Change]:
    """What was changed behind Pulumi."""
    sharing = (live.get("ComputeQuotaConfig") or {}).get("ResourceSharingConfig") or {}
    borrows = sharing.get("Strategy") == "LendAndBorrow"
    yield from differences(state, live, Rules(_same, lambda path, value: _counts(path, value, borrows=borrows), _KEYS))


def _undeployed(wanted: Object | None, state: Object | None) -> Iterator[Change]:
    if wanted is None or state is None:
        if wanted is not state:
            yield Change((), ABSENT if wanted is None else wanted, ABSENT if state is None else state)
        return
    yield from differences(wanted, state, Rules(_same, lambda _, value: not is_empty(value), _KEYS))


def _counts(path: Path, value: Any, *, borrows: bool) -> bool:
    """Whether a property counts that only the live thing has: not what the service fills in."""
    last = path[-1]
    if isinstance(last, Item):
        return "InstanceType" not in value or _gives_something(value)
    if last == "BorrowLimit":
        return borrows and value != _BORROW_LIMIT
    if last == "Count":
        return bool(value)  # nothing that the service fills in
    return last not in _AMOUNTS and not is_empty(value)


def _gives_something(entry: Mapping[str, Any]) -> bool:
    return any(entry.get(name) for name in _AMOUNTS) or bool((entry.get("AcceleratorPartition") or {}).get("Count"))


def _same(_: Path, one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or not all(isinstance(side, int | float) for side in (one, other)):
        return bool(one == other)
    return math.isclose(one, other, rel_tol=_FLOAT32, abs_tol=0.0)


def _three(change: Change, wanted: Object | None) -> Property:
    now = value_at(wanted, change.path, _KEYS)
    return Property(written(change.path), now, change.want, change.have, _unit(change.path))


def _waiting(change: Change, kind: str) -> Property:
    if not change.path:
        now, before = (side if side is ABSENT else kind for side in (change.want, change.have))
        return Property("", now, before, ABSENT)
    return Property(written(change.path), change.want, change.have, ABSENT, _unit(change.path))


def _unit(path: Path) -> str:
    return {"VCpu": "vCPU", "MemoryInGiB": "GiB", "BorrowLimit": "%"}.get(str(path[-1]), "")


def last_change(live: Object) -> Author | None:
    """Who changed a thing last, or made it; None where the service doesn't say."""
    for who, when, action in (("LastModifiedBy", "LastModifiedTime", "changed"), ("CreatedBy", "CreationTime", "created")):
        name = identity(live.get(who) or {})
        if name:
            return Author(name, action, _time(live.get(when)))
    return None


def identity(context: Mapping[str, Any]) -> str:
    """A UserContext in words: the identity of IAM with whom it acts for, else the user profile of a Studio domain."""
    iam = context.get("IamIdentity") or {}
    if iam.get("Arn"):
        return f"{iam['Arn']} for {iam['SourceIdentity']}" if iam.get("SourceIdentity") else str(iam["Arn"])
    return str(context.get("UserProfileName") or context.get("UserProfileArn") or iam.get("PrincipalId") or "")


def _time(value: Any) -> str:
    from datetime import UTC, datetime

    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else str(value or "")
