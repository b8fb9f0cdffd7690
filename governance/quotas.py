"""Guarantees and capacity by instance type, in base units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from config.catalogue import MIG_SLICES, InstanceType, accelerator_kinds, instance_types, mig_slices
from config.cluster import InstanceGroup
from config.environment import Cluster
from config.findings import Finding, Severity
from config.load import Platform
from config.team import Amounts, Team
from config.yamlsource import Path_
from governance.amounts import AmountError, Request, expand, problems, request_of, specification, together
from governance.extra_quota import entries
from governance.units import GPU, mig_resource, times, total

ByType = dict[str, dict[str, int]]
"""Amounts in base units, by instance type and resource."""


def guarantees(
    team: Team, name: str, cluster: Cluster, platform: Platform, findings: list[Finding]
) -> tuple[ByType, frozenset[str]]:
    """A team's guaranteed amounts on the cluster of that name, and the types of which they are declared in whole instances alone.

    Entries that mean the same type add up. What can't be resolved becomes a finding and counts for nothing.
    """
    parts: dict[str, list[Request]] = {}
    whole: dict[str, bool] = {}
    for path, key, amounts in entries(team, platform.today, name):
        try:
            requests = _requests(key, amounts, cluster)
        except AmountError as error:
            findings.append(amount_finding(error, platform, team.name, path))
            continue
        for kind, request in requests.items():
            whole[kind] = whole.get(kind, True) and request.whole
            parts.setdefault(kind, []).extend(_sound(request, kind, platform, team.name, path, findings))
    resolved = {kind: together(requests, instance_types()[kind]) for kind, requests in parts.items()}
    return resolved, frozenset(kind for kind, alone in whole.items() if alone)


def _sound(
    request: Request, kind: str, platform: Platform, team: str, path: Path_, findings: list[Finding]
) -> tuple[Request, ...]:
    """The request; nothing, and findings, where the type can't satisfy it."""
    found = list(problems(request, instance_types()[kind]))
    findings.extend(amount_finding(error, platform, team, path) for error in found)
    return () if found else (request,)


def _requests(key: str, amounts: Amounts, cluster: Cluster) -> dict[str, Request]:
    """The entry by instance type: a family or accelerator kind is split over the types that the cluster has."""
    request = request_of(amounts)
    if key in instance_types():
        return {key: request}
    counts: dict[str, int] = {}
    for group in cluster.instance_groups.values():
        kind = instance_types()[group.instance_type]
        if key in (kind.family, kind.accelerator):
            counts[kind.name] = counts.get(kind.name, 0) + group.count
    if not counts:
        what = "accelerator kind" if key in accelerator_kinds() else "family"
        raise AmountError(
            "quota-no-group", "", f"no instance group has the {what} `{key}`", "name an instance type, or add a group"
        )
    return expand(request, [(instance_types()[name], count) for name, count in sorted(counts.items())])


def absolute(team: Team, field: Literal["borrow", "lend"], platform: Platform, findings: list[Finding]) -> ByType:
    """Absolute borrow or lending limits by instance type."""
    declared: Mapping[str, Amounts] = team.sharing.borrow if field == "borrow" else team.sharing.lend
    return {
        kind: together(
            _sound(request_of(amounts), kind, platform, team.name, ("sharing", field, kind), findings), instance_types()[kind]
        )
        for kind, amounts in declared.items()
    }


def amount_finding(error: AmountError, platform: Platform, team: str, path: Path_) -> Finding:
    """The error at its line."""
    place = (*path, *error.field.split(".", 1)) if error.field else path
    return Finding(error.kind, Severity.ERROR, platform.where(team, place, key=True), error.message, error.remedy)


def capacity(cluster: str, groups: Mapping[str, InstanceGroup], platform: Platform, findings: list[Finding]) -> ByType:
    """What all instance groups hold, by instance type."""
    result: ByType = {}
    for name, group in sorted(groups.items()):
        kind = instance_types()[group.instance_type]
        try:
            node = node_resources(kind, group.partitions)
        except AmountError as error:
            findings.append(amount_finding(error, platform, "", ("clusters", cluster, "instance_groups", name)))
            continue
        result[kind.name] = total((result.get(kind.name, {}), times(node, group.count)))
    return result


def node_resources(kind: InstanceType, partitions: Mapping[str, int]) -> dict[str, int]:
    """What one node holds; GPUs that hold MIG partitions are no whole devices any more.

    Raises AmountError for partitions that the type doesn't have, or that need more GPUs than it has.
    """
    resources = specification(kind)
    if not partitions:
        return resources
    for problem in problems(Request(partitions=partitions), kind):
        raise problem
    gpus = _gpus(partitions, kind.accelerators or 0)
    if gpus > (kind.accelerators or 0):
        message = f"the partitions need {gpus} GPUs, {kind.name} has {kind.accelerators}"
        raise AmountError("mig-capacity", "partitions", message, "lower them")
    resources[GPU] -= gpus
    return resources | {mig_resource(profile): count for profile, count in partitions.items()}


def _gpus(partitions: Mapping[str, int], most: int) -> int:
    """GPUs that the partitions take, the largest placed first; a lower bound where they take more than `most`."""
    needed = -(-sum(count * mig_slices(profile) for profile, count in partitions.items()) // MIG_SLICES)
    if needed > most:
        return needed
    free: list[int] = []
    for slices in sorted((mig_slices(profile) for profile, count in partitions.items() for _ in range(count)), reverse=True):
        place = next((index for index, left in enumerate(free) if left >= slices), None)
        if place is None:
            place = len(free)
            free.append(MIG_SLICES)
        free[place] -= slices
    return len(free)


def sum_by_type(amounts: Iterable[ByType]) -> ByType:
    """The sum over teams."""
    result: ByType = {}
    for by_type in amounts:
        for kind, resources in by_type.items():
            into = result.setdefault(kind, {})
            for resource, amount in resources.items():
                into[resource] = into.get(resource, 0) + amount
    return result
