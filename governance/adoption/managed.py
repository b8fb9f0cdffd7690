"""A HyperPod cluster's task governance, declared: from what SageMaker's Describe calls answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from config.catalogue import instance_types
from config.team import DEFAULT_BORROW_PERCENT
from governance.adoption.amounts import entry
from governance.adoption.kueue import API_VERSION
from governance.adoption.model import Declaration, Note, Object
from governance.adoption.nodes import group_name
from governance.units import CPU, MEMORY, mig_resource

_GONE = frozenset({"Deleted", "Deleting"})
_STRATEGIES = {"Lend": "lend", "DontLend": "dont_lend"}


@dataclass(frozen=True, slots=True)
class ManagedCluster:
    """What AWS answers of one HyperPod cluster."""

    cluster: Object
    """DescribeCluster."""
    scheduler: Object | None
    quotas: tuple[Object, ...]
    subnets: tuple[Object, ...]
    """DescribeSubnets of the cluster's and its groups' subnets."""
    addon: str | None
    """Version of the task governance add-on."""
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Tags of quotas and scheduler configuration, by ARN."""


def alive(answers: Iterable[Object]) -> Iterator[Object]:
    """Quotas or scheduler configurations without those that are deleted: Describe calls go on answering them for a while."""
    return (one for one in answers if one.get("Status") not in _GONE)


def eks_name(cluster: Object) -> str:
    """The EKS cluster of DescribeCluster's answer; empty where there is none, as below Slurm."""
    orchestrator = cluster.get("Orchestrator") or {}
    return str((orchestrator.get("Eks") or {}).get("ClusterArn", "")).rpartition("/")[2]


def declaration(found: ManagedCluster, name: str, environment: str, owners: Sequence[str]) -> Declaration:
    """What would be declared: `name` is the cluster's in the environment."""
    notes: list[Note] = []
    teams: dict[str, dict[str, Any]] = {}
    declared: dict[str, str] = {}
    for quota in sorted(found.quotas, key=lambda quota: (_team_of(quota), str(quota["Name"]))):
        team = _team_of(quota)
        if team in teams:
            message = f"team `{team}` has `{declared[team]}` too, which is declared; a team declares one quota"
            notes.append(Note("import-left", f"ComputeQuota {quota['Name']}", message))
            continue
        settings, skipped = _team(quota)
        notes += skipped
        head = {"apiVersion": API_VERSION, "owners": list(owners), "only": [environment]}
        teams[team], declared[team] = head | settings, str(quota["Name"])
    cluster = _cluster(found, notes)
    governance = {"backend": "managed", **_policy(found.scheduler)}
    absent = {kind for team in teams.values() for kind in _types(team)} - _types_of_groups(cluster)
    if absent:
        # A check refuses such quotas, which SageMaker takes.
        governance["overcommit"] = "allow"
        message = (
            f"no instance group has {', '.join(sorted(absent))}, of which there are quotas; `overcommit: allow` lets them be"
        )
        notes.append(Note("import-left", f"Cluster {found.cluster['ClusterName']}", message))
    data = {"apiVersion": API_VERSION, "clusters": {name: cluster}, "governance": governance}
    return Declaration(data, teams, tuple(notes))


def _types(team: Mapping[str, Any]) -> set[str]:
    sharing = team.get("sharing")
    return {*team["quota"], *(sharing.get("borrow", {}) if isinstance(sharing, Mapping) else {})}


def _types_of_groups(cluster: Mapping[str, Any]) -> set[str]:
    return {group["instance_type"] for group in cluster["instance_groups"].values()}


def _policy(scheduler: Object | None) -> dict[str, Any]:
    config: Mapping[str, Any] = (scheduler or {}).get("SchedulerConfig") or {}
    classes = {one["Name"]: {"weight": one["Weight"]} for one in config.get("PriorityClasses") or ()}
    return {
        **({"priority_classes": classes} if classes else {}),
        "idle_compute": "fair_share" if config.get("FairShare", "Enabled") == "Enabled" else "first_come_first_served",
        "idle_sharing": config.get("IdleResourceSharing") == "Enabled",
    }


def _team_of(quota: Object) -> str:
    return str(quota["ComputeQuotaTarget"]["TeamName"])


def _team(quota: Object) -> tuple[dict[str, Any], list[Note]]:
    config, target, team = quota["ComputeQuotaConfig"], quota["ComputeQuotaTarget"], _team_of(quota)
    amounts, unknown = amounts_by_type(config.get("ComputeQuotaResources") or ())
    settings: dict[str, Any] = {"quota": amounts}
    if target.get("FairShareWeight"):
        settings["weight"] = target["FairShareWeight"]
    sharing = _sharing(config.get("ResourceSharingConfig") or {})
    settings |= {"sharing": sharing} if sharing else {}
    if config.get("PreemptTeamTasks") == "Never":
        settings["preemption"] = "never"
    if quota.get("ActivationState") == "Disabled":
        settings["state"] = "held"
    named = {
        key: value
        for key, value, derived in (
            ("name", quota["Name"], team),
            ("description", quota.get("Description", ""), f"Compute of team {team}"),
        )
        if value != derived
    }
    settings |= {"compute_quota": named} if named else {}
    notes = [
        Note("import-type-unknown", f"ComputeQuota {quota['Name']}", f"the catalogue doesn't know {kind}") for kind in unknown
    ]
    return settings, notes


def _sharing(config: Mapping[str, Any]) -> dict[str, Any] | str | None:
    strategy = _STRATEGIES.get(str(config.get("Strategy")))
    if strategy is not None:
        return strategy
    absolute, _ = amounts_by_type(config.get("AbsoluteBorrowLimits") or ())
    absolute = {kind: amounts for kind, amounts in absolute.items() if any(amounts.values())}
    if absolute:
        return {"borrow": absolute}
    percent = config.get("BorrowLimit", DEFAULT_BORROW_PERCENT)
    return None if percent == DEFAULT_BORROW_PERCENT else {"borrow_limit": percent}


def amounts_by_type(entries: Iterable[Mapping[str, Any]]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Quota entries by type, and types that the catalogue doesn't know. Entries of one type's partitions add up.

    An entry with a Count is of whole instances, whatever the service has filled in beside it. The service's 32-bit floats are
    rounded to base units.
    """
    counts: dict[str, int] = {}
    parts: dict[str, dict[str, int]] = {}
    unknown: list[str] = []
    for one in entries:
        name = str(one["InstanceType"])
        kind = instance_types().get(name)
        if kind is None:
            unknown.append(name)
        elif one.get("Count") is not None:
            counts[name] = counts.get(name, 0) + int(one["Count"])
        else:
            into = parts.setdefault(name, {})
            partition = one.get("AcceleratorPartition") or {}
            given = {
                kind.resource or "": one.get("Accelerators"),
                CPU: _base(one.get("VCpu"), 1000),
                MEMORY: _base(one.get("MemoryInGiB"), 1024),
                mig_resource(partition.get("Type", "")): partition.get("Count"),
            }
            for resource, amount in given.items():
                if amount is not None and resource:
                    into[resource] = into.get(resource, 0) + int(amount)
    found: dict[str, dict[str, Any]] = {name: {"instances": count} for name, count in counts.items()}
    for name, amounts in parts.items():
        found[name] = found.get(name, {}) | entry(amounts, instance_types()[name], whole=False)
    return dict(sorted(found.items())), unknown


def _base(value: float | None, units: int) -> int | None:
    return None if value is None else round(value * units)


def _cluster(found: ManagedCluster, notes: list[Note]) -> dict[str, Any]:
    cluster = found.cluster
    _, _, _, region, account, *_ = str(cluster["ClusterArn"]).split(":")
    hyperpod: dict[str, Any] = {"name": cluster["ClusterName"]}
    if cluster.get("NodeRecovery") == "None":
        hyperpod["node_recovery"] = "none"
    if cluster.get("NodeProvisioningMode") != "Continuous":
        hyperpod["continuous_provisioning"] = False
    roles = {group["ExecutionRole"] for group in cluster.get("InstanceGroups") or () if group.get("ExecutionRole")}
    if len(roles) == 1:
        hyperpod["execution_role"] = roles.pop()
    governance = {"version": found.addon} if found.addon else {}
    if found.scheduler is not None:
        governance |= {
            "scheduler_name": found.scheduler["Name"],
            "scheduler_description": found.scheduler.get("Description", ""),
        }
    return {
        "kind": "hyperpod",
        "account": account,
        "region": region,
        "network": _network(found),
        "eks": {"existing": eks_name(cluster)},
        "hyperpod": hyperpod,
        "instance_groups": _groups(found, notes),
        **({"task_governance": governance} if governance else {}),
    }


def _network(found: ManagedCluster) -> dict[str, Any]:
    vpc = next((str(subnet["VpcId"]) for subnet in found.subnets), "")
    subnets: dict[str, str] = {}
    for subnet in found.subnets:
        subnets.setdefault(str(subnet["AvailabilityZone"]), str(subnet["SubnetId"]))
    groups = (found.cluster.get("VpcConfig") or {}).get("SecurityGroupIds") or ()
    return {"vpc": vpc, "subnets": dict(sorted(subnets.items()))} | ({"security_group": groups[0]} if groups else {})


def _groups(found: ManagedCluster, notes: list[Note]) -> dict[str, Any]:
    zones = {subnet["SubnetId"]: subnet["AvailabilityZone"] for subnet in found.subnets}
    shared = (found.cluster.get("VpcConfig") or {}).get("Subnets") or ()
    groups: dict[str, Any] = {}
    for group in found.cluster.get("InstanceGroups") or ():
        if group["InstanceType"] not in instance_types():
            message = f"the catalogue doesn't know {group['InstanceType']}; it counts for no capacity"
            notes.append(Note("import-left", f"Instance group {group['InstanceGroupName']}", message))
            continue
        settings: dict[str, Any] = {"instance_type": group["InstanceType"], "count": group.get("TargetCount", 0)}
        own = (group.get("OverrideVpcConfig") or {}).get("Subnets") or shared
        places = {zones[subnet] for subnet in own if subnet in zones}
        if len(places) == 1 or (places and instance_types()[group["InstanceType"]].efa):
            settings["availability_zone"] = min(places)  # types with EFA need one
        if len(places) > 1 and "availability_zone" in settings:
            message = f"its nodes may stand in {', '.join(sorted(places))}; the declaration names the first"
            notes.append(Note("import-left", f"Instance group {group['InstanceGroupName']}", message))
        groups[group_name(str(group["InstanceGroupName"]))] = settings
    return groups
