"""HyperPod clusters and their governance, in CloudFormation's spelling."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import urlsplit

from fakecloud.calls import AwsError
from fakecloud.codec import flat
from fakecloud.kinds import CREATED, Findings, Hook, Inputs, Kind, Ref
from fakecloud.types_base import policies_of, trusted_services
from fakecloud.types_ec2 import self_referencing
from fakecloud.types_eks import TASK_GOVERNANCE
from fakecloud.world import Place, Thing

INVALID: Final = "ValidationException"
_GROUPS: Final = ("InstanceGroups", "RestrictedInstanceGroups")
_IN_USE: Final = "DependencyViolation"


def _group_refs() -> tuple[Ref, ...]:
    found = [
        Ref("VpcConfig.Subnets", "subnet", _IN_USE, INVALID),
        Ref("VpcConfig.SecurityGroupIds", "security group", _IN_USE, INVALID),
        Ref("Orchestrator.Eks.ClusterArn", "eks cluster", "", INVALID),
        Ref("ClusterRole", "role", "", INVALID),
    ]
    for groups in _GROUPS:
        found += [
            Ref(f"{groups}.ExecutionRole", "role", "", INVALID),
            Ref(f"{groups}.OverrideVpcConfig.Subnets", "subnet", _IN_USE, INVALID),
            Ref(f"{groups}.OverrideVpcConfig.SecurityGroupIds", "security group", _IN_USE, INVALID),
            Ref(f"{groups}.InstanceStorageConfigs.EbsVolumeConfig.VolumeKmsKeyId", "key", "", INVALID),
        ]
    return tuple(found)


def _cluster_check(inputs: Inputs) -> Findings:
    names: list[str] = []
    for groups in _GROUPS:
        for number, group in enumerate(inputs.get(groups) or []):
            path = f"{groups}[{number}]"
            names.append(group.get("InstanceGroupName"))
            if ("InstanceType" in group) == ("InstanceRequirements" in group):
                yield f"{path}.InstanceType", "exactly one of InstanceType and InstanceRequirements is needed"
            least, count = group.get("MinInstanceCount"), group.get("InstanceCount")
            if isinstance(least, int) and isinstance(count, int) and least > count:
                yield f"{path}.MinInstanceCount", f"{least} is above InstanceCount, {count}"
            script = group.get("LifeCycleConfig") or {}
            if isinstance(script, dict) and {"OnCreate", "OnInitComplete"} <= set(script):
                yield f"{path}.LifeCycleConfig.OnInitComplete", "may not be given beside OnCreate"
    if len(names) != len({str(name) for name in names}):
        yield "InstanceGroups", "two groups have the same InstanceGroupName"
    if not names:
        yield "InstanceGroups", "at least one instance group is needed"


def _cluster_ready(hook: Hook) -> None:
    """What CreateCluster looks at: facts on order are of AWS's documentation, see the sections on order and security groups."""
    for eks in hook.linked("eks cluster"):
        mode = (eks.properties.get("accessConfig") or {}).get("authenticationMode", "CONFIG_MAP")
        if mode not in ("API", "API_AND_CONFIG_MAP"):
            raise AwsError(INVALID, f"The EKS cluster {eks.id} has the authentication mode {mode}")
    _roles_usable(hook)
    for group in hook.linked("security group"):
        missing = {"ingress", "egress"} - self_referencing(hook.world, group)
        if missing:
            raise AwsError(
                "HealthCheckFailed",
                f"EFA health checks did not run successfully: {group.id} has no self-referencing {min(missing)} rule",
            )
    for uri in [uri for groups in _GROUPS for uri in flat(hook.inputs, f"{groups}.LifeCycleConfig.SourceS3Uri")]:
        bucket = hook.world.by("bucket", urlsplit(uri).netloc)
        if bucket is None:
            raise AwsError(INVALID, f"SourceS3Uri: the bucket of {uri} does not exist")
        if not bucket.foreign and not hook.world.referrers(bucket, "object"):
            raise AwsError(INVALID, f"SourceS3Uri: {uri} holds no lifecycle script")


def _chart_there(hook: Hook) -> None:
    """Nodes become schedulable, and are torn down, only with the dependency chart in the EKS cluster."""
    pattern = hook.world.dependency_chart
    releases = [str(one.properties.get(key, "")) for one in hook.world.of("helm release") for key in ("name", "chart")]
    if pattern and not any(fnmatchcase(text.rstrip("/").rpartition("/")[2].lower(), pattern) for text in releases):
        raise AwsError(INVALID, "The EKS cluster has no HyperPod dependencies: install the Helm chart before the cluster")


def _roles_usable(hook: Hook) -> None:
    for role in hook.linked("role"):
        if hook.world.get("role", role.id) is not role:
            raise AwsError(INVALID, f"Amazon SageMaker cannot assume the execution role {role.id}: it does not exist any more")
        if role.foreign:
            continue
        if not any(name.endswith(("sagemaker.amazonaws.com", "sagemaker.amazonaws.com.cn")) for name in _services(role)):
            raise AwsError(INVALID, f"Amazon SageMaker cannot assume the execution role {role.id}: it does not trust SageMaker")
        if not policies_of(hook.world, role):
            raise AwsError(INVALID, f"The execution role {role.id} has no permissions: no policy is attached")


def _services(role: Thing) -> set[str]:
    return {name.replace("hyperpod.sagemaker", "sagemaker") for name in trusted_services(role)}


def _cluster_created(hook: Hook) -> None:
    _chart_there(hook)
    _cluster_ready(hook)


def _cluster_deleted(hook: Hook) -> None:
    governed = hook.world.referrers(hook.thing, "compute quota") or hook.world.referrers(hook.thing, "scheduler config")
    if governed:
        raise AwsError("ConflictException", f"Cluster {hook.thing.id} has policies: delete {governed[0][0].id} first")
    _chart_there(hook)
    _roles_usable(hook)
    for noun in ("eks cluster", "subnet", "security group"):
        for one in hook.linked(noun):
            if hook.world.get(noun, one.id) is not one:
                raise AwsError(INVALID, f"the teardown of {hook.thing.id} is blocked: the {noun} {one.id} is gone")


def _cluster_outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
    found: dict[str, Any] = {"ClusterArn": id_, "ClusterStatus": "InService", "CreationTime": CREATED, "FailureMessage": ""}
    for groups in _GROUPS:
        if groups in inputs:
            found[groups] = [{**group, "CurrentCount": group.get("InstanceCount", 0)} for group in inputs[groups]]
    return found


def governed_eks(hyperpod: Thing) -> Thing | None:
    """The EKS cluster below a HyperPod cluster."""
    return next((one for one, _ in hyperpod.links if one.noun == "eks cluster"), None)


def _governance_ready(hook: Hook) -> None:
    (hyperpod,) = hook.linked("hyperpod cluster")
    eks = governed_eks(hyperpod)
    addons = [] if eks is None else [one for one, _ in hook.world.referrers(eks, "eks addon")]
    if not hyperpod.foreign and not any(one.inputs.get("addonName") == TASK_GOVERNANCE for one in addons):
        raise AwsError(INVALID, f"The task governance add-on is not installed on the EKS cluster of {hyperpod.id}")


def _quota_created(hook: Hook) -> None:
    _governance_ready(hook)
    (hyperpod,) = hook.linked("hyperpod cluster")
    team = hook.inputs["ComputeQuotaTarget"]["TeamName"]
    for one, _ in hook.world.referrers(hyperpod, "compute quota"):
        if one is not hook.thing and one.inputs["ComputeQuotaTarget"]["TeamName"] == team:
            raise AwsError("ConflictException", f"the team {team!r} has a compute allocation already: {one.id}")


def _quota_updated(hook: Hook) -> None:
    if hook.thing.status == "CreateFailed":
        raise AwsError(INVALID, f"Compute quota {hook.thing.id} is in the status CreateFailed and cannot be updated: delete it")


def _config_created(hook: Hook) -> None:
    _governance_ready(hook)
    (hyperpod,) = hook.linked("hyperpod cluster")
    if len(hook.world.referrers(hyperpod, "scheduler config")) > 1:
        raise AwsError("ConflictException", f"the cluster {hyperpod.id} has a cluster policy already")


def _quota_outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
    return {
        "ComputeQuotaArn": id_,
        "ComputeQuotaId": id_.rpartition("/")[2],
        "ComputeQuotaVersion": 1,
        "Status": "Created",
        "CreationTime": CREATED,
        "LastModifiedTime": CREATED,
    }


def _config_outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
    return {
        "ClusterSchedulerConfigArn": id_,
        "ClusterSchedulerConfigId": id_.rpartition("/")[2],
        "ClusterSchedulerConfigVersion": 1,
        "Status": "Created",
        "CreationTime": CREATED,
    }


_OF_CLUSTER: Final = Ref("ClusterArn", "hyperpod cluster", "", "ResourceNotFound")
NATIVE: Final[dict[str, Kind]] = {
    "AWS::SageMaker::Cluster": Kind(
        "hyperpod cluster",
        "cluster",
        unique=("ClusterName",),
        conflict="ResourceInUse",
        refs=_group_refs(),
        outputs=_cluster_outputs,
        handles=lambda id_, found: (found.get("ClusterName", ""), id_),
        check=_cluster_check,
        on_create=_cluster_created,
        on_update=_cluster_created,
        on_delete=_cluster_deleted,
    ),
    "AWS::SageMaker::ComputeQuota": Kind(
        "compute quota",
        "compute-quota",
        unique=("Name", "ClusterArn"),
        conflict="ConflictException",
        refs=(_OF_CLUSTER,),
        outputs=_quota_outputs,
        on_create=_quota_created,
        on_update=_quota_updated,
    ),
    "AWS::SageMaker::ClusterSchedulerConfig": Kind(
        "scheduler config",
        "cluster-scheduler-config",
        unique=("Name", "ClusterArn"),
        conflict="ConflictException",
        refs=(_OF_CLUSTER,),
        outputs=_config_outputs,
        on_create=_config_created,
    ),
}
