"""What `AWS::SageMaker::Cluster` is given: a plan and what other resources answered, as plain data.

Keys are those of pulumi_aws_native's dictionaries (`ClusterArgs`), which know every property of the CloudFormation schema. What
is not declared is left out, never sent empty: the service keeps its own default, and reads back no difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from config.groups import BatchSize, HyperPodGroup, RestrictedGroup, RollingUpdate, SharedFileSystem, Volume
from governance.platform.model import HOME_ZONES, GroupPlan, PlatformPlan

_CHECKS = {"instance_stress": "InstanceStress", "instance_connectivity": "InstanceConnectivity"}
_STRATEGIES = {"when_idle": "WhenIdle", "when_all_idle": "WhenAllIdle"}


@dataclass(frozen=True, slots=True)
class PayloadInputs:
    """What other resources answer; each may be an unresolved output."""

    node_subnets: Mapping[str, Any]
    """Id of the nodes' subnet by availability zone."""
    security_groups: Sequence[Any]
    """1-5 ids."""
    execution_role_arn: Any
    eks_arn: Any
    key_arn: Any
    """KMS key of volumes that name none."""
    karpenter_role_arn: Any = None
    lifecycle_uri: Any = None
    """Folder of the lifecycle scripts, as `s3://sagemaker-…`."""


def cluster_args(plan: PlatformPlan, inputs: PayloadInputs) -> dict[str, Any]:
    """Arguments of pulumi_aws_native.sagemaker.Cluster.

    Lists whose order means nothing are sorted, so that a reordered declaration is no difference; subnets above all, since
    another VpcConfig is another cluster. Raises ValueError for what SageMaker would refuse and the declaration alone can't show:
    a group in a zone without a subnet, a script without a place, Karpenter without a role.
    """
    hyperpod = plan.declared.hyperpod
    if hyperpod.karpenter and inputs.karpenter_role_arn is None:
        raise ValueError(f"cluster `{plan.cluster}` is scaled by Karpenter, but has no role for it")
    args: dict[str, Any] = {
        "cluster_name": plan.names.hyperpod,
        "orchestrator": {"eks": {"cluster_arn": inputs.eks_arn}},
        "vpc_config": _vpc(inputs, sorted(inputs.node_subnets)[:HOME_ZONES]),
        "node_recovery": "Automatic" if hyperpod.node_recovery == "automatic" else "None",
        "instance_groups": [_group(plan, group, inputs) for group in plan.groups],
        "tags": [{"key": key, "value": value} for key, value in sorted(plan.tags.items())],
    }
    if hyperpod.continuous_provisioning:
        args["node_provisioning_mode"] = "Continuous"
    if hyperpod.karpenter:
        args["cluster_role"] = inputs.karpenter_role_arn
        args["auto_scaling"] = {"mode": "Enable", "auto_scaler_type": "Karpenter"}
    if hyperpod.tiered_storage is not None:
        percent = hyperpod.tiered_storage.memory_percent
        args["tiered_storage_config"] = _given(mode="Enable", instance_memory_allocation_percentage=percent)
    return {**args, **_restricted_groups(plan, inputs)}


def ignored_counts(plan: PlatformPlan) -> list[str]:
    """Paths of the counts that an autoscaler owns, in Pulumi's notation."""
    return [f"instanceGroups[{index}].instanceCount" for index, group in enumerate(plan.groups) if group.declared.autoscaled]


@dataclass(frozen=True, slots=True)
class Shift:
    """A count that an autoscaled group would get from another group."""

    group: str
    sent: int
    """What the update would set."""
    wanted: int
    """What the group has, or, where it is new, begins with."""


def shifted_counts(old: Mapping[str, int], sent: Mapping[str, int], autoscaled: Mapping[str, int]) -> list[Shift]:
    """Counts of autoscaled groups that an update would change.

    Pulumi ignores changes by their place in the list: a group that moves to another's place is sent that one's count. `old` and
    `sent` are counts by group before and in the update, `autoscaled` the declared counts of autoscaled groups.
    """
    wanted = {group: old.get(group, declared) for group, declared in autoscaled.items()}
    return [Shift(group, sent[group], count) for group, count in wanted.items() if sent[group] != count]


def _restricted_groups(plan: PlatformPlan, inputs: PayloadInputs) -> dict[str, Any]:
    declared, shared = plan.declared.restricted_instance_groups, plan.declared.restricted_file_system
    args: dict[str, Any] = {}
    if declared:
        args["restricted_instance_groups"] = [_restricted(plan, name, declared[name], inputs) for name in sorted(declared)]
    if shared is not None:
        policy = "Keep" if shared.keep else "DeleteIfNotUsed"
        environment = {"f_sx_lustre_config": _file_system(shared), "f_sx_lustre_deletion_policy": policy}
        args["restricted_instance_groups_config"] = {"shared_environment_config": environment}
    return args


def _group(plan: PlatformPlan, group: GroupPlan, inputs: PayloadInputs) -> dict[str, Any]:
    declared = group.declared
    types = [declared.instance_type, *declared.flexible_types]
    return _given(
        **_common(plan, group.name, declared, inputs),
        instance_type=None if declared.flexible_types else declared.instance_type,
        instance_requirements={"instance_types": types} if declared.flexible_types else None,
        min_instance_count=declared.min_count,
        life_cycle_config=_lifecycle(plan, declared, inputs),
        instance_storage_configs=_storage(plan, declared, inputs) or None,
        image_id=declared.image,
        image_release_version=declared.image_release,
        kubernetes_config=_kubernetes(declared) or None,
        capacity_requirements=_capacity(declared),
        network_interface={"interface_type": declared.network_interface} if declared.network_interface else None,
        scheduled_update_config=_schedule(declared),
        auto_patch_config=_patching(declared),
    )


def _restricted(plan: PlatformPlan, name: str, declared: RestrictedGroup, inputs: PayloadInputs) -> dict[str, Any]:
    own = declared.file_system
    return _given(
        **_common(plan, name, declared, inputs),
        instance_type=declared.instance_type,
        # SageMaker encrypts these with keys of its own; it takes no other ("Customer managed keys for HyperPod").
        instance_storage_configs=[_ebs(volume, None) for volume in declared.volumes] or None,
        environment_config={"f_sx_lustre_config": _file_system(own)} if own else None,
    )


def _common(plan: PlatformPlan, name: str, declared: HyperPodGroup | RestrictedGroup, inputs: PayloadInputs) -> dict[str, Any]:
    """What both kinds of groups have."""
    zone = declared.availability_zone
    if zone is not None and zone not in inputs.node_subnets:
        raise ValueError(f"instance group `{name}` of cluster `{plan.cluster}` stands in {zone}, which has no subnet")
    return {
        "instance_group_name": name,
        "instance_count": declared.count,
        "execution_role": inputs.execution_role_arn,
        "threads_per_core": declared.threads_per_core,
        "on_start_deep_health_checks": sorted(_CHECKS[check] for check in declared.deep_health_checks) or None,
        "override_vpc_config": _vpc(inputs, [zone]) if zone else None,
        "training_plan_arn": declared.training_plan,
    }


def _vpc(inputs: PayloadInputs, zones: Sequence[str]) -> dict[str, Any]:
    return {"security_group_ids": list(inputs.security_groups), "subnets": [inputs.node_subnets[zone] for zone in zones]}


def _lifecycle(plan: PlatformPlan, group: HyperPodGroup, inputs: PayloadInputs) -> dict[str, Any] | None:
    """None is SageMaker's bootstrap mode."""
    script = plan.declared.hyperpod.lifecycle
    if script is None or group.bootstrap:
        return None
    uri = script.source_uri if inputs.lifecycle_uri is None else inputs.lifecycle_uri
    if uri is None:
        raise ValueError(f"cluster `{plan.cluster}` has lifecycle scripts, but no bucket for them")
    return {"source_s3_uri": uri, script.when: script.script}


def _storage(plan: PlatformPlan, group: HyperPodGroup, inputs: PayloadInputs) -> list[dict[str, Any]]:
    lustre = [
        {"dns_name": system.dns_name, "mount_name": system.mount_name, "mount_path": system.mount_path}
        for system in group.fsx_lustre
    ]
    openzfs = [{"dns_name": system.dns_name, "mount_path": system.mount_path} for system in group.fsx_openzfs]
    # Keys of customers need continuous provisioning ("Customer managed keys for HyperPod").
    own = inputs.key_arn if plan.declared.hyperpod.continuous_provisioning else None
    key = plan.declared.hyperpod.volume_key or own
    return [
        *(_ebs(volume, volume.key or key) for volume in group.volumes),
        *({"fsx_lustre_config": system} for system in lustre),
        *({"fsx_open_zfs_config": system} for system in openzfs),
    ]


def _ebs(volume: Volume, key: Any) -> dict[str, Any]:
    root = True if volume.root else None
    return {"ebs_volume_config": _given(root_volume=root, volume_size_in_gb=volume.size_gib, volume_kms_key_id=key)}


def _kubernetes(group: HyperPodGroup) -> dict[str, Any]:
    ordered = sorted(group.taints, key=lambda taint: (taint.key, taint.effect, taint.value))
    # An empty value is the same as none to Kubernetes, but SageMaker refuses it.
    taints = [_given(key=taint.key, value=taint.value or None, effect=taint.effect) for taint in ordered]
    return _given(labels=dict(group.labels) or None, taints=taints or None)


def _capacity(group: HyperPodGroup) -> dict[str, Any] | None:
    """Spot and on-demand capacity have no settings: the key alone is the choice."""
    return None if group.capacity is None else {group.capacity: {}}


def _schedule(group: HyperPodGroup) -> dict[str, Any] | None:
    update = group.scheduled_update
    if update is None:
        return None
    return _given(schedule_expression=update.schedule, deployment_config=_deployment(update.deployment))


def _patching(group: HyperPodGroup) -> dict[str, Any] | None:
    patch = group.auto_patch
    if patch is None:
        return None
    return _given(patching_strategy=_STRATEGIES[patch.strategy], deployment_config=_deployment(patch.deployment))


def _deployment(update: RollingUpdate | None) -> dict[str, Any] | None:
    if update is None:
        return None
    rollback = _batch(update.rollback_batch) if update.rollback_batch else None
    return _given(
        rolling_update_policy=_given(maximum_batch_size=_batch(update.batch), rollback_maximum_batch_size=rollback),
        wait_interval_in_seconds=update.wait_seconds,
        auto_rollback_configuration=[{"alarm_name": alarm} for alarm in sorted(update.rollback_alarms)] or None,
    )


def _batch(size: BatchSize) -> dict[str, Any]:
    if size.instances is not None:
        return {"type": "INSTANCE_COUNT", "value": size.instances}
    return {"type": "CAPACITY_PERCENTAGE", "value": size.percent}


def _file_system(system: SharedFileSystem) -> dict[str, Any]:
    return {"size_in_gi_b": system.size_gib, "per_unit_storage_throughput": system.throughput}


def _given(**settings: Any) -> dict[str, Any]:
    """Only what is there. `is None` alone: an unresolved output has no truth value."""
    return {name: value for name, value in settings.items() if value is not None}
