"""What the managed backend asks of SageMaker: payloads of the scheduler configuration and of the teams' quotas.

The service fills in what a quota leaves out, in proportion to the instance, so every amount is written out. A quota of whole
instances alone is a Count, as task governance has it from its first version on; anything finer is accelerators, vCPU and memory,
all three. Partitions of a type's GPUs are entries of their own, for an entry holds one partition's type.

Amounts are exact: a milli-vCPU and a MiB survive the way to a float and back. The service itself holds vCPU and memory as 32-bit
floats; above 16,384 vCPUs or GiB these no longer tell single base units apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from config.catalogue import MIG_PARTITIONS, MIG_SLICES, InstanceType, mig_slices
from config.hyperpod import HyperPodCluster
from governance.amounts import request_of, specification
from governance.model import ClusterPlan, FlavorQuota, TeamPlan
from governance.platform.names import bounded
from governance.units import CPU, MEMORY, Resources, mig_resource

SCHEDULER_CONFIG = "AWS::SageMaker::ClusterSchedulerConfig"
"""CloudFormation type; neither pulumi-aws nor pulumi-aws-native has a typed resource of it."""
SCHEDULER_CREATE_ONLY = ("Name", "ClusterArn")
"""Properties of it that can't change in place (its schema's createOnlyProperties)."""
NAME_LIMIT = 63
"""Longest name of a quota or scheduler configuration (SageMaker API, EntityName)."""
_STRATEGIES = {"lend": "Lend", "dont_lend": "DontLend", "lend_and_borrow": "LendAndBorrow"}

Payload = dict[str, Any]


def scheduler_config(cluster: ClusterPlan) -> Payload:
    """Properties of the cluster's one AWS::SageMaker::ClusterSchedulerConfig, as CloudFormation spells them, but ClusterArn."""
    policy = cluster.policy
    classes = sorted(policy.priority_classes.items(), key=lambda item: (-item[1].weight, item[0]))
    return {
        "Name": scheduler_name(cluster),
        "Description": _description(cluster),
        "SchedulerConfig": {
            "PriorityClasses": [{"Name": name, "Weight": declared.weight} for name, declared in classes],
            "FairShare": _switch(policy.idle_compute == "fair_share"),
            "IdleResourceSharing": _switch(policy.idle_sharing),
        },
        "Tags": [{"Key": key, "Value": value} for key, value in _tags(cluster)],
    }


def scheduler_name(cluster: ClusterPlan) -> str:
    """`<HyperPod cluster>-scheduler-config`, within EntityName."""
    declared = cluster.declared
    if isinstance(declared, HyperPodCluster) and declared.task_governance.scheduler_name is not None:
        return declared.task_governance.scheduler_name
    base = cluster.platform.names.hyperpod if cluster.platform else cluster.name
    return bounded(f"{base}-scheduler-config", NAME_LIMIT)


def _description(cluster: ClusterPlan) -> str:
    declared = cluster.declared
    if isinstance(declared, HyperPodCluster) and declared.task_governance.scheduler_description is not None:
        return declared.task_governance.scheduler_description
    return f"Priorities and sharing of {cluster.name}"


def compute_quota(team: TeamPlan, cluster: ClusterPlan) -> Payload:
    """Arguments of aws_native.sagemaker.ComputeQuota, but cluster_arn."""
    return {
        "name": team.quota_name,
        "description": team.quota_description,
        "activation_state": _switch(team.state == "active"),
        "compute_quota_config": {
            "compute_quota_resources": guaranteed(team, cluster),
            "resource_sharing_config": _sharing(team, cluster),
            "preempt_team_tasks": team.within_queue,
        },
        "compute_quota_target": {"team_name": team.name, "fair_share_weight": team.weight},
        "tags": [{"key": key, "value": value} for key, value in _tags(cluster)],
    }


def fine_grained(cluster: ClusterPlan) -> bool:
    """Whether any quota is finer than whole instances, which the add-on knows from 1.3 on."""
    return any(
        "count" not in entry
        for team in cluster.teams.values()
        for entry in (*guaranteed(team, cluster), *borrowed(team, cluster))
    )


def partitioned(cluster: ClusterPlan) -> bool:
    """Whether any quota is of MIG partitions."""
    return any(
        "accelerator_partition" in entry
        for team in cluster.teams.values()
        for entry in (*guaranteed(team, cluster), *borrowed(team, cluster))
    )


def guaranteed(team: TeamPlan, cluster: ClusterPlan) -> list[Payload]:
    """ComputeQuotaResources: what the team is guaranteed, by type and partition."""
    return [
        entry
        for flavor in _by_type(team)
        for entry in _entries(
            cluster.kinds[flavor.instance_type], flavor.nominal(), whole=_whole(flavor.nominal(), flavor, team.whole)
        )
    ]


def borrowed(team: TeamPlan, cluster: ClusterPlan) -> list[Payload]:
    """AbsoluteBorrowLimits, none where the limit is a percentage. Types of the quota without a limit borrow nothing."""
    if not team.sharing.borrow:
        return []
    whole = frozenset(kind for kind, amounts in team.sharing.borrow.items() if request_of(amounts).whole)
    result: list[Payload] = []
    for flavor in _by_type(team):
        amounts = {quota.resource: quota.borrowing_limit or 0 for quota in flavor.quotas}
        result += _entries(cluster.kinds[flavor.instance_type], amounts, whole=_whole(amounts, flavor, whole))
    return result


def largest_amounts(entries: Iterable[Payload]) -> Iterator[float]:
    """The largest number in each entry; the API takes 10,000,000 of anything."""
    for entry in entries:
        yield max(value for value in entry.values() if isinstance(value, int | float))


def _sharing(team: TeamPlan, cluster: ClusterPlan) -> Payload:
    sharing = team.sharing
    result: Payload = {"strategy": _STRATEGIES[sharing.strategy]}
    if sharing.strategy != "lend_and_borrow":
        return result  # a team that doesn't borrow has no limit
    if limits := borrowed(team, cluster):
        return result | {"absolute_borrow_limits": limits}
    return result | {"borrow_limit": sharing.borrow_percent}


def _by_type(team: TeamPlan) -> list[FlavorQuota]:
    """By name: the order in which a queue tries types means nothing here, and must not be a diff."""
    return sorted(team.flavors, key=lambda flavor: flavor.instance_type)


def _whole(amounts: Resources, flavor: FlavorQuota, whole: frozenset[str]) -> bool:
    return flavor.instance_type in whole or not any(amounts.values())  # none is no instance


def _entries(kind: InstanceType, amounts: Resources, *, whole: bool) -> Iterator[Payload]:
    """The amounts of one type. With partitions, vCPU and memory go with each part by its slices, and add up to the whole."""
    if whole:
        yield {"instance_type": kind.name, "count": amounts.get(CPU, 0) // specification(kind)[CPU]}
        return
    devices = amounts.get(kind.resource, 0) if kind.resource else 0
    partitions = _partitions(amounts)
    parts: list[Payload] = [
        {"accelerator_partition": {"type": profile, "count": count}} for profile, count in sorted(partitions.items())
    ]
    slices = [count * mig_slices(profile) for profile, count in sorted(partitions.items())]
    if devices or not parts:
        parts.insert(0, {"accelerators": devices})
        slices.insert(0, devices * MIG_SLICES)
    cpus, memories = _shares(amounts.get(CPU, 0), slices), _shares(amounts.get(MEMORY, 0), slices)
    for part, cpu, memory in zip(parts, cpus, memories, strict=True):
        yield {"instance_type": kind.name, **part, "v_cpu": cpu / 1000, "memory_in_gi_b": memory / 1024}


def _shares(amount: int, slices: list[int]) -> list[int]:
    """The amount by slices, rounded down; the first takes the rest, which gives whole devices exactly their proportion."""
    rest = [amount * own // sum(slices) for own in slices[1:]]
    return [amount - sum(rest), *rest]


def _partitions(amounts: Resources) -> Mapping[str, int]:
    """Partitions by profile. Those that the API doesn't know have a finding, and never get here in a run."""
    found = {profile: amounts.get(mig_resource(profile), 0) for profile in MIG_PARTITIONS}
    return {profile: count for profile, count in found.items() if count}


def _tags(cluster: ClusterPlan) -> list[tuple[str, str]]:
    return sorted(cluster.platform.tags.items()) if cluster.platform else []


def _switch(on: bool) -> str:
    return "Enabled" if on else "Disabled"
