"""Adopting the task governance of a HyperPod cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from config.findings import ConfigError
from governance.adoption.managed import ManagedCluster, alive, declaration, eks_name
from governance.adoption.model import Note
from governance.managed import SCHEDULER_CONFIG
from governance.model import ClusterPlan
from governance.platform.versions import ADDON
from live.adoption.adopting import Adoption, Target, declared_files, finished, note_findings, planned, refuse
from live.adoption.comparing import Comparison, Difference
from live.adoption.importing import Known, import_file
from live.adoption.registering import Place, Registration, registrations
from live.connection import UnreachableError
from live.drift import managed as drift
from live.drift.compare import ABSENT
from live.drift.state import EXTENSION_TYPE, QUOTA_TYPE
from live.sagemaker import Client, read_governance

_ADDON_TYPE: Final = "aws:eks/addon:Addon"


class Clients(Protocol):
    """AWS's clients that an adoption reads with."""

    sagemaker: Client
    eks: Any
    ec2: Any


class _Clients:
    def __init__(self, region: str) -> None:
        import boto3

        from live.sagemaker import client

        self.sagemaker: Client = client(region)
        session = boto3.Session()
        self.eks: Any = session.client("eks", region_name=region)
        self.ec2: Any = session.client("ec2", region_name=region)


def clients(region: str) -> Clients:
    """Clients with the caller's own credentials. Raises UnreachableError where there are none."""
    return _Clients(region)


def read_managed(source: Clients, cluster: str) -> ManagedCluster:
    """All that an adoption needs to know. Raises UnreachableError with AWS's own words where a call fails."""
    from botocore.exceptions import BotoCoreError, ClientError

    found = read_governance(source.sagemaker, cluster)
    quotas = tuple(alive(found.quotas))
    scheduler = next(alive([] if found.scheduler is None else [found.scheduler]), None)
    try:
        described = source.sagemaker.describe_cluster(ClusterName=found.cluster_arn)
        eks = eks_name(described)
        subnets, addon = _subnets(source.ec2, described), _addon(source.eks, eks) if eks else None
        tags = {arn: _tags(source.sagemaker, arn) for arn in _arns(scheduler, quotas)}
        return ManagedCluster(described, scheduler, quotas, subnets, addon, tags)
    except (BotoCoreError, ClientError) as failure:
        raise UnreachableError(f"AWS, cluster {cluster}: {failure}") from failure


def _arns(scheduler: Mapping[str, Any] | None, quotas: Sequence[Mapping[str, Any]]) -> list[str]:
    found = [str(quota["ComputeQuotaArn"]) for quota in quotas]
    return found if scheduler is None else [str(scheduler["ClusterSchedulerConfigArn"]), *found]


def _tags(sagemaker: Any, arn: str) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in sagemaker.list_tags(ResourceArn=arn)["Tags"]}


def _subnets(ec2: Any, cluster: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    configs = [cluster.get("VpcConfig"), *(group.get("OverrideVpcConfig") for group in cluster.get("InstanceGroups") or ())]
    ids = sorted({subnet for config in configs if config for subnet in config["Subnets"]})
    return tuple(ec2.describe_subnets(SubnetIds=ids)["Subnets"]) if ids else ()


def _addon(eks: Any, cluster: str) -> str | None:
    from botocore.exceptions import ClientError

    try:
        return str(eks.describe_addon(clusterName=cluster, addonName=ADDON)["addon"]["addonVersion"])
    except ClientError as failure:
        if failure.response.get("Error", {}).get("Code") == "ResourceNotFoundException":
            return None
        raise


def adopt_managed(found: ManagedCluster, name: str, target: Target, owners: Sequence[str]) -> Adoption:
    """The adoption of what was read; nothing is written. Raises ConfigError."""
    eks, reason = eks_name(found.cluster), ""
    if not eks:
        reason = "no EKS cluster orchestrates it: task governance is of those on EKS alone, not of Slurm"
    elif not found.quotas and found.scheduler is None:
        reason = "there is no compute quota and no scheduler configuration"
    if reason:
        raise ConfigError(note_findings([Note("import-empty", str(found.cluster["ClusterName"]), reason)], target))
    declared = declaration(found, name, target.environment, owners)
    refuse([declared], target)
    plan = planned(declared_files(declared, target), target)
    cluster = plan.clusters[name]
    place = Place(eks, str(found.cluster["ClusterArn"]))
    registered = registrations(plan, target.stack, {name: place})
    differing = tuple(differences(cluster, found))
    known = _known(registered, found, {one.subject for one in differing}, place)
    made = tuple(f"{one.type.rpartition(':')[2]} {one.name}" for one in registered if _is_new(one, known))
    comparison = Comparison(differing, made, {})
    facts = {name: {"eks_name": place.eks_name, "hyperpod_arn": place.hyperpod_arn}}
    return finished(declared, plan, target, comparison, import_file(registered, {}, known), facts)


def differences(cluster: ClusterPlan, found: ManagedCluster) -> list[Difference]:
    """What the first `up` would change of quotas and scheduler configuration."""
    from live.sagemaker import Governance

    wanted = drift.declared(cluster)
    live = drift.there(Governance(str(found.cluster["ClusterArn"]), found.scheduler, found.quotas))
    changed = [
        Difference(f"{one.thing.kind} {one.thing.name}", change.path, _text(change.live), _text(change.declared))
        for one in drift.compare(cluster.name, wanted, wanted, live)
        for change in one.properties
    ]
    return [*changed, *_tag_differences(cluster, found)]


def _tag_differences(cluster: ClusterPlan, found: ManagedCluster) -> Iterator[Difference]:
    """Tags that the platform sets on everything, and that aren't there."""
    wanted = dict(cluster.platform.tags) if cluster.platform else {}
    names = {team.quota_name for team in cluster.teams.values()}
    for arn in _arns(found.scheduler, [quota for quota in found.quotas if quota["Name"] in names]):
        tags = found.tags.get(arn, {})
        if any(tags.get(key) != value for key, value in wanted.items()):
            yield Difference(_subject(arn, found), "Tags", _pairs(tags), _pairs(wanted))


def _subject(arn: str, found: ManagedCluster) -> str:
    for quota in found.quotas:
        if quota["ComputeQuotaArn"] == arn:
            return f"{drift.QUOTA} {quota['Name']}"
    return f"{drift.SCHEDULER} {(found.scheduler or {}).get('Name')}"


def _pairs(tags: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(tags.items())) or "nothing"


def _text(value: Any) -> str:
    return "nothing" if value is ABSENT else str(value)


def _known(registered: Sequence[Registration], found: ManagedCluster, differing: set[str], place: Place) -> dict[str, Known]:
    """Identifiers of what is there, by URN. Where nothing differs, the state is told too: 32-bit floats are no difference."""
    quotas = {str(quota["Name"]): quota for quota in found.quotas}
    result: dict[str, Known] = {}
    for one in registered:
        if one.type == QUOTA_TYPE and (quota := quotas.get(str(one.inputs.get("name")))) is not None:
            same = f"{drift.QUOTA} {quota['Name']}" not in differing
            outputs = {
                "computeQuotaArn": quota["ComputeQuotaArn"],
                "computeQuotaId": quota["ComputeQuotaId"],
                "computeQuotaVersion": quota["ComputeQuotaVersion"],
            }
            arn = str(quota["ComputeQuotaArn"])
            tags = [{"key": key, "value": value} for key, value in found.tags.get(arn, {}).items()]
            result[one.urn] = Known(arn, outputs if same else None, {**one.inputs, "tags": tags})
        elif one.type == EXTENSION_TYPE and one.inputs.get("type") == SCHEDULER_CONFIG and found.scheduler is not None:
            arn = str(found.scheduler["ClusterSchedulerConfigArn"])
            tags = [{"Key": key, "Value": value} for key, value in found.tags.get(arn, {}).items()]
            inputs = {**one.inputs, "properties": {**one.inputs["properties"], "Tags": tags}}
            result[one.urn] = Known(arn, {"outputs": _properties(found.scheduler)}, inputs)
        elif one.type == _ADDON_TYPE and found.addon is not None:
            result[one.urn] = Known(f"{place.eks_name}:{ADDON}", None, {**one.inputs, "tags": {}})
    return result


def _properties(scheduler: Mapping[str, Any]) -> dict[str, Any]:
    names = ("ClusterSchedulerConfigArn", "ClusterSchedulerConfigId", "ClusterSchedulerConfigVersion", "Status")
    return {name: scheduler[name] for name in names}


def _is_new(one: Registration, known: Mapping[str, Known]) -> bool:
    return one.custom and not one.is_provider and one.urn not in known
