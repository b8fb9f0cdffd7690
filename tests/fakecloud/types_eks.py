"""EKS clusters, their add-ons and who may enter them."""

from __future__ import annotations

import re
from typing import Any, Final

from fakecloud.calls import AwsError
from fakecloud.codec import flat
from fakecloud.kinds import CREATED, Findings, Hook, Inputs, Kind, Ref
from fakecloud.requests import enumeration
from fakecloud.types_base import trusted_services
from fakecloud.world import Place, Thing, World, handles_of

TASK_GOVERNANCE: Final = "amazon-sagemaker-hyperpod-taskgovernance"
_NEED_NODES: Final = frozenset({"coredns", "metrics-server", "cert-manager", "aws-ebs-csi-driver", "aws-fsx-csi-driver"})
"""Add-ons of Deployments, which are degraded until a node runs them."""
_CLUSTER: Final = Ref("clusterName", "eks cluster", "", "ResourceNotFoundException")


def nodes_of(world: World, cluster: Thing) -> int:
    """How many nodes a cluster has: HyperPod's and those of node groups; a pre-existing cluster says it itself (``nodes``)."""
    hyperpod = sum(instances(one) for one, _ in world.referrers(cluster, "hyperpod cluster"))
    groups = len(world.referrers(cluster, "eks node group"))
    return hyperpod + groups + int(cluster.properties.get("nodes", 0))


def instances(hyperpod: Thing) -> int:
    """The instances of a HyperPod cluster."""
    found = hyperpod.properties
    groups = [*(found.get("InstanceGroups") or []), *(found.get("RestrictedInstanceGroups") or [])]
    return sum(int(group.get("InstanceCount", 0)) for group in groups)


def _cluster_outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
    number = format(abs(hash_of(id_)), "032X")[:32]
    vpc = dict(inputs.get("vpcConfig") or {})
    access = {"authenticationMode": "CONFIG_MAP", **(inputs.get("accessConfig") or {})}
    network = {"ipFamily": "ipv4", "serviceIpv4Cidr": "172.20.0.0/16", **(inputs.get("kubernetesNetworkConfig") or {})}
    return {
        "arn": place.arn("eks", f"cluster/{id_}"),
        "name": id_,
        "endpoint": f"https://{number}.gr7.{place.region}.eks.{place.suffix}",
        "certificateAuthority": {"data": "RkFLRQ=="},
        "certificateAuthorities": [{"data": "RkFLRQ=="}],
        "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{place.region}.{place.suffix}/id/{number}"}]}],
        "platformVersion": "eks.5",
        "status": "ACTIVE",
        "createdAt": CREATED,
        "version": inputs.get("version", "1.33"),
        "clusterId": "",
        "vpcConfig": {"endpointPrivateAccess": False, "endpointPublicAccess": True, "publicAccessCidrs": ["0.0.0.0/0"], **vpc},
        "accessConfig": {"bootstrapClusterCreatorAdminPermissions": True, **access},
        "kubernetesNetworkConfig": network,
        "upgradePolicy": inputs.get("upgradePolicy", {"supportType": "EXTENDED"}),
    }


def hash_of(text: str) -> int:
    """A number for a text, the same in every process."""
    import hashlib

    return int(hashlib.sha256(text.encode()).hexdigest()[:32], 16)


_ENUMERATED: Final = {
    "enabledClusterLogTypes": "LogType",
    "accessConfig.authenticationMode": "AuthenticationMode",
    "upgradePolicy.supportType": "SupportType",
    "kubernetesNetworkConfig.ipFamily": "IpFamily",
}
"""Shapes of botocore's model by input."""


def _cluster_check(inputs: Inputs) -> Findings:
    for name in flat(inputs, "name"):
        if not re.fullmatch(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}", name):
            yield "name", f"InvalidParameterException: {name!r} is no name of a cluster"
    for path, shape in _ENUMERATED.items():
        for value in flat(inputs, path):
            if value not in enumeration("eks", shape):
                yield path, f"{value!r} is not one of {', '.join(sorted(enumeration('eks', shape)))}"
    for version in flat(inputs, "version"):
        if not re.fullmatch(r"1\.\d{2}", version):
            yield "version", f"InvalidParameterException: unsupported Kubernetes version {version!r}"
    vpc = inputs.get("vpcConfig")
    if isinstance(vpc, dict) and vpc.get("endpointPublicAccess") is False and not vpc.get("endpointPrivateAccess"):
        yield (
            "vpcConfig.endpointPrivateAccess",
            "InvalidParameterException: private and public endpoint access cannot both be false",
        )


def _cluster_created(hook: Hook) -> None:
    for role in hook.linked("role"):
        if not any(name.startswith("eks.") for name in trusted_services(role)):
            raise AwsError(
                "InvalidParameterException", f"The role {role.id} cannot be assumed: it does not trust eks.amazonaws.com"
            )
    subnets = hook.linked("subnet")
    if len({one.properties.get("availabilityZone", one.id) for one in subnets}) < 2:
        raise AwsError("InvalidParameterException", "Subnets specified must be in at least two different AZs")
    vpcs = {one.properties.get("vpcId") for one in subnets}
    if len(vpcs) > 1:
        raise AwsError("InvalidParameterException", "Subnets specified must be in the same VPC")
    id_ = f"sg-{hook.world.new_hex()}"
    hook.thing.properties["vpcConfig"]["clusterSecurityGroupId"] = id_
    hook.thing.properties["vpcConfig"]["vpcId"] = next(iter(vpcs), "")
    links = tuple((one, "DependencyViolation") for subnet in subnets for one, _ in subnet.links if one.noun == "vpc")[:1]
    properties = {"name": f"eks-cluster-sg-{hook.thing.id}", "vpcId": next(iter(vpcs), ""), "id": id_}
    hook.world.add(Thing("security group", "", id_, properties, handles_of(id_, {}), links=links, foreign=True))


def _cluster_updated(hook: Hook) -> None:
    old, new = str(hook.old.get("version", "")), str(hook.inputs.get("version", ""))
    if old and new and old != new and int(new.partition(".")[2]) != int(old.partition(".")[2]) + 1:
        raise AwsError("InvalidParameterException", f"Unsupported Kubernetes minor version update from {old} to {new}")


def _cluster_deleted(hook: Hook) -> None:
    if hook.thing.properties.get("deletionProtection"):
        raise AwsError("InvalidRequestException", f"The cluster {hook.thing.id} has deletion protection enabled")
    if hook.world.referrers(hook.thing, "eks node group"):
        raise AwsError("ResourceInUseException", "Cluster has nodegroups attached")
    for noun in ("eks addon", "access entry", "access policy association", "pod identity association"):
        for one, _ in hook.world.referrers(hook.thing, noun):
            hook.world.forget(one)
    group = hook.world.get("security group", hook.thing.properties["vpcConfig"].get("clusterSecurityGroupId", ""))
    if group is not None:
        hook.world.forget(group)


# -- add-ons -------------------------------------------------------------------------------------------------------------------


def _addon_check(inputs: Inputs) -> Findings:
    for version in flat(inputs, "addonVersion"):
        if not re.fullmatch(r"v\d+\.\d+\.\d+-eksbuild\.\d+", version):
            yield "addonVersion", f"InvalidParameterException: addon version {version!r} is not of the form v1.2.3-eksbuild.4"


def _addon_created(hook: Hook) -> None:
    (cluster,) = hook.linked("eks cluster")
    name = hook.inputs["addonName"]
    if name == TASK_GOVERNANCE and not any(instances(one) for one, _ in hook.world.referrers(cluster, "hyperpod cluster")):
        raise AwsError("AddonFailed", f"{name}: unexpected state 'CREATE_FAILED': the cluster has no HyperPod nodes")
    if name in _NEED_NODES and not nodes_of(hook.world, cluster):
        raise AwsError(
            "Timeout",
            f"waiting for EKS Add-On ({cluster.id}:{name}) create: timeout while waiting for state to become 'ACTIVE' "
            "(last state: 'DEGRADED', timeout: 20m0s): InsufficientNumberOfReplicas: the add-on is unhealthy because "
            "all deployments have all pods unscheduled, no nodes available to schedule pods",
        )


def _minor(version: Any) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", str(version))[:2])


def _addon_updated(hook: Hook) -> None:
    old, new = _minor(hook.old.get("addonVersion")), _minor(hook.inputs.get("addonVersion"))
    if hook.inputs["addonName"] == TASK_GOVERNANCE and old and new and old < (1, 5) <= new:
        raise AwsError(
            "AddonFailed", "unexpected state 'UPDATE_FAILED': cohorts.kueue.x-k8s.io: v1alpha1 is still a stored version"
        )


# -- access --------------------------------------------------------------------------------------------------------------------


def _entry_created(hook: Hook) -> None:
    (cluster,) = hook.linked("eks cluster")
    if (cluster.properties.get("accessConfig") or {}).get("authenticationMode") not in ("API", "API_AND_CONFIG_MAP"):
        raise AwsError(
            "InvalidRequestException", "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP]"
        )


def _entry_check(inputs: Inputs) -> Findings:
    for group in flat(inputs, "kubernetesGroups"):
        if group.startswith(("system:", "eks:", "aws:", "amazon:", "iam:")):
            yield "kubernetesGroups", f"InvalidParameterException: the group {group!r} begins with a reserved word"
    if inputs.get("type", "STANDARD") != "STANDARD" and inputs.get("kubernetesGroups"):
        yield "kubernetesGroups", "InvalidParameterException: only STANDARD access entries have groups"


def _association_check(inputs: Inputs) -> Findings:
    for arn in flat(inputs, "policyArn"):
        if not re.fullmatch(r"arn:aws[a-z-]*:eks::aws:cluster-access-policy/Amazon\w+Policy", arn):
            yield "policyArn", f"InvalidParameterException: the policyArn {arn!r} is not an EKS access policy"
    kinds = flat(inputs, "accessScope.type")
    for kind in kinds:
        if kind not in ("cluster", "namespace"):
            yield "accessScope.type", f"{kind!r} is neither cluster nor namespace"
    if kinds == ["namespace"] and not (inputs["accessScope"].get("namespaces")):
        yield "accessScope.namespaces", "are needed with type namespace"


def _association_created(hook: Hook) -> None:
    key = (hook.inputs["clusterName"], hook.inputs["principalArn"])
    entries = [(one.inputs.get("clusterName"), one.inputs.get("principalArn")) for one in hook.world.of("access entry")]
    if key not in entries:
        raise AwsError(
            "ResourceNotFoundException", f"The specified principalArn could not be found: {key[1]} has no access entry"
        )


def _identity_created(hook: Hook) -> None:
    for role in hook.linked("role"):
        if not role.foreign and "pods.eks.amazonaws.com" not in trusted_services(role):
            raise AwsError("InvalidParameterException", f"Trust policy of role {role.id} does not trust pods.eks.amazonaws.com")


_IMMUTABLE: Final = (
    "name",
    "roleArn",
    "encryptionConfig.provider",
    "kubernetesNetworkConfig",
    "accessConfig.bootstrapClusterCreatorAdminPermissions",
    "bootstrapSelfManagedAddons",
    "outpostConfig",
)
EKS: Final[dict[str, Kind]] = {
    "aws:eks/cluster:Cluster": Kind(
        "eks cluster",
        id=lambda place, inputs: str(inputs["name"]),
        unique=("name",),
        conflict="ResourceInUseException",
        autoname="name",
        name_limit=100,
        force_new=_IMMUTABLE,
        refs=(
            Ref("roleArn", "role", "", "InvalidParameterException"),
            Ref("vpcConfig.subnetIds", "subnet", "DependencyViolation", "InvalidParameterException"),
            Ref("vpcConfig.securityGroupIds", "security group", "DependencyViolation", "InvalidParameterException"),
            Ref("encryptionConfig.provider.keyArn", "key", "", "InvalidParameterException"),
        ),
        defaults={"bootstrapSelfManagedAddons": True, "deletionProtection": False},
        outputs=_cluster_outputs,
        check=_cluster_check,
        on_create=_cluster_created,
        on_update=_cluster_updated,
        on_delete=_cluster_deleted,
    ),
    "aws:eks/addon:Addon": Kind(
        "eks addon",
        id=lambda place, inputs: f"{inputs['clusterName']}:{inputs['addonName']}",
        unique=("clusterName", "addonName"),
        conflict="ResourceInUseException",
        force_new=("clusterName", "addonName"),
        refs=(
            _CLUSTER,
            Ref("serviceAccountRoleArn", "role", "", "InvalidParameterException"),
            Ref("podIdentityAssociations.roleArn", "role", "", "InvalidParameterException"),
        ),
        defaults={"addonVersion": "v1.0.0-eksbuild.1", "configurationValues": ""},
        outputs=lambda place, id_, inputs: {
            "arn": place.arn("eks", f"addon/{inputs['clusterName']}/{inputs['addonName']}/0fake"),
            "createdAt": CREATED,
            "modifiedAt": CREATED,
        },
        twin="AWS::EKS::Addon",
        renames={"resolveConflictsOnCreate": "ResolveConflicts", "resolveConflictsOnUpdate": "ResolveConflicts"},
        check=_addon_check,
        on_create=_addon_created,
        on_update=_addon_updated,
    ),
    "aws:eks/accessEntry:AccessEntry": Kind(
        "access entry",
        id=lambda place, inputs: f"{inputs['clusterName']}:{inputs['principalArn']}",
        unique=("clusterName", "principalArn"),
        conflict="ResourceInUseException",
        force_new=("clusterName", "principalArn", "type"),
        refs=(_CLUSTER, Ref("principalArn", "role", "", "InvalidParameterException")),
        defaults={"type": "STANDARD"},
        outputs=lambda place, id_, inputs: {
            "accessEntryArn": place.arn("eks", f"access-entry/{inputs['clusterName']}/role/{place.account}/x/0fake"),
            "createdAt": CREATED,
            "modifiedAt": CREATED,
            "userName": inputs.get("userName", inputs["principalArn"]),
            "kubernetesGroups": inputs.get("kubernetesGroups", []),
        },
        twin="AWS::EKS::AccessEntry",
        check=_entry_check,
        on_create=_entry_created,
    ),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": Kind(
        "access policy association",
        id=lambda place, inputs: f"{inputs['clusterName']}#{inputs['principalArn']}#{inputs['policyArn']}",
        unique=("clusterName", "principalArn", "policyArn"),
        force_new=("clusterName", "principalArn", "policyArn", "accessScope"),
        refs=(_CLUSTER,),
        outputs=lambda place, id_, inputs: {"associatedAt": CREATED, "modifiedAt": CREATED},
        check=_association_check,
        on_create=_association_created,
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": Kind(
        "pod identity association",
        "a",
        unique=("clusterName", "namespace", "serviceAccount"),
        conflict="ResourceInUseException",
        force_new=("clusterName", "namespace", "serviceAccount"),
        refs=(_CLUSTER, Ref("roleArn", "role", "", "InvalidParameterException")),
        outputs=lambda place, id_, inputs: {
            "associationArn": place.arn("eks", f"podidentityassociation/{inputs['clusterName']}/{id_}"),
            "associationId": id_,
            "externalId": "",
        },
        twin="AWS::EKS::PodIdentityAssociation",
        on_create=_identity_created,
    ),
    "aws:eks/nodeGroup:NodeGroup": Kind(
        "eks node group",
        id=lambda place, inputs: f"{inputs['clusterName']}:{inputs['nodeGroupName']}",
        unique=("clusterName", "nodeGroupName"),
        conflict="ResourceInUseException",
        autoname="nodeGroupName",
        force_new=("clusterName", "nodeGroupName", "instanceTypes", "nodeRoleArn", "subnetIds", "capacityType"),
        refs=(
            _CLUSTER,
            Ref("nodeRoleArn", "role", "", "InvalidParameterException"),
            Ref("subnetIds", "subnet", "DependencyViolation", "InvalidParameterException"),
        ),
        outputs=lambda place, id_, inputs: {
            "arn": place.arn("eks", f"nodegroup/{id_.replace(':', '/')}/0fake"),
            "status": "ACTIVE",
        },
    ),
}
