"""The HyperPod cluster. No public pack of policies knows it."""

from __future__ import annotations

from collections.abc import Iterator

from policies.model import Domain, Properties, Resource, Stack, Violation, has, items, part
from policies.rules.storage import BUCKETS, ENCRYPTION

SAGEMAKER = Domain("sagemaker", "HyperPod")
CLUSTER = "aws-native:sagemaker:Cluster"
ROLE, ATTACHMENT = "aws:iam/role:Role", "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
ASSOCIATION = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
WIDE = frozenset(
    {
        "AdministratorAccess",
        "PowerUserAccess",
        "IAMFullAccess",
        "AmazonS3FullAccess",
        "AmazonFSxFullAccess",
        "AmazonSageMakerFullAccess",
        "AmazonEC2FullAccess",
    }
)
"""AWS's policies that are met on execution roles and give every job of every team far too much."""
ACCELERATED = ("ml.p", "ml.g", "ml.trn", "ml.inf")
GROUPS = ("instanceGroups", "restrictedInstanceGroups")


def _groups(properties: Properties, *kinds: str) -> Iterator[Properties]:
    for kind in kinds or GROUPS:
        yield from items(properties, kind)


@SAGEMAKER.rule(
    "hyperpod-vpc",
    "Nodes stand in a VPC of ours",
    types=[CLUSTER],
    severity="high",
    anchors=["own"],
    remedy="Give `vpcConfig` with subnets and security groups.",
)
def vpc(properties: Properties) -> Iterator[str]:
    config = part(properties, "vpcConfig")
    missing = [key for key in ("subnets", "securityGroupIds") if not has(config, key) or not len(config[key])]
    if missing:
        yield f"vpcConfig has no {' and no '.join(missing)}"


@SAGEMAKER.stack_rule(
    "hyperpod-execution-role",
    "The role of nodes is no administrator",
    severity="critical",
    anchors=["own"],
    remedy="Use the execution role of the platform layer: every job of every team can take the role of its node.",
)
def execution_role(stack: Stack) -> Iterator[Violation]:
    for cluster in stack.of(CLUSTER):
        arns = {str(group["executionRole"]) for group in _groups(cluster.properties) if has(group, "executionRole")}
        for role in stack.of(ROLE):
            if has(role.properties, "arn") and role.properties["arn"] in arns:
                yield from _wide(stack, role)
        for association in stack.of(ASSOCIATION):
            if association.properties.get("principalArn") in arns:
                yield Violation(association, "the role of nodes administers the EKS cluster")


def _wide(stack: Stack, role: Resource) -> Iterator[Violation]:
    for attachment in stack.about(role, [ATTACHMENT], "role", "name"):
        policy = str(attachment.properties.get("policyArn")).rpartition("/")[2]
        if policy in WIDE:
            yield Violation(attachment, f"nodes and all that runs on them have {policy}")


def _lifecycle_buckets(stack: Stack) -> Iterator[Violation]:
    known = {str(bucket.properties.get("bucket", "")): bucket for bucket in stack.of(*BUCKETS)}
    for cluster in stack.of(CLUSTER):
        uris = {str(part(group, "lifeCycleConfig").get("sourceS3Uri", "")) for group in _groups(cluster.properties)}
        for name in sorted({uri.removeprefix("s3://").partition("/")[0] for uri in uris} - {""}):
            if name in stack.parameters.lifecycle_buckets:
                continue
            if name not in known:
                yield Violation(cluster, f"nodes run scripts from the bucket {name}, neither ours nor named in the settings")
            elif not stack.about(known[name], ENCRYPTION, "bucket"):
                yield Violation(known[name], "nodes run scripts from it, and it is not encrypted under a key of ours")


@SAGEMAKER.rule(
    "hyperpod-lifecycle-bucket",
    "Lifecycle scripts come from an own, encrypted bucket",
    types=[CLUSTER],
    severity="critical",
    anchors=["own"],
    remedy="Declare `hyperpod.lifecycle.folder`; or name another stack's bucket in `lifecycle_buckets` of the settings.",
    whole=_lifecycle_buckets,
)
def lifecycle_bucket(properties: Properties) -> Iterator[str]:
    for group in _groups(properties, "instanceGroups"):
        config = part(group, "lifeCycleConfig")
        if has(config, "sourceS3Uri") and not str(config["sourceS3Uri"]).startswith("s3://sagemaker-"):
            yield f"group {group.get('instanceGroupName')} reads scripts that the instance's policy doesn't open (sagemaker-…)"


@SAGEMAKER.rule(
    "hyperpod-node-recovery",
    "Faulty nodes are replaced without anybody's doing",
    types=[CLUSTER],
    severity="high",
    anchors=["own"],
    remedy="Set `hyperpod.node_recovery: automatic`.",
)
def node_recovery(properties: Properties) -> Iterator[str]:
    if properties.get("nodeRecovery", "Automatic") != "Automatic":
        yield "a node with a broken GPU stays, and jobs on it hang"


@SAGEMAKER.rule(
    "hyperpod-deep-health-checks",
    "Accelerators are tested before they take work",
    types=[CLUSTER],
    severity="medium",
    level="advisory",  # a test takes up to two hours a node: not for groups that come and go
    anchors=["own"],
    remedy="Set `deep_health_checks: [instance_stress, instance_connectivity]` on the group.",
)
def deep_health_checks(properties: Properties) -> Iterator[str]:
    untested = [
        str(group.get("instanceGroupName"))
        for group in _groups(properties)
        if str(group.get("instanceType", "")).startswith(ACCELERATED) and not items(group, "onStartDeepHealthChecks")
    ]
    if untested:
        yield f"nodes of {', '.join(untested)} take work untested"


@SAGEMAKER.rule(
    "hyperpod-volumes-encrypted",
    "Nodes' volumes are encrypted under a key of ours",
    types=[CLUSTER],
    severity="high",
    anchors=["own"],
    remedy="Give the volume a key (`volume_key`), or use continuous provisioning, which takes the cluster's.",
)
def volumes_encrypted(properties: Properties) -> Iterator[str]:
    for group in _groups(properties, "instanceGroups"):
        for storage in items(group, "instanceStorageConfigs"):
            volume = part(storage, "ebsVolumeConfig")
            if volume and not has(volume, "volumeKmsKeyId"):
                yield f"a volume of group {group.get('instanceGroupName')} has no key of ours"


@SAGEMAKER.rule(
    "hyperpod-root-volume",
    "Nodes' root volumes are encrypted under a key of ours",
    types=[CLUSTER],
    severity="low",
    level="advisory",  # AWS encrypts them under its own key
    anchors=["own"],
    remedy="Declare `volumes: [{root: true}]` on the group.",
)
def root_volume(properties: Properties) -> Iterator[str]:
    plain = [
        str(group.get("instanceGroupName"))
        for group in _groups(properties, "instanceGroups")
        if not any(part(one, "ebsVolumeConfig").get("rootVolume", False) for one in items(group, "instanceStorageConfigs"))
    ]
    if plain:
        yield f"root volumes of {', '.join(plain)} are under AWS's key"


@SAGEMAKER.rule(
    "hyperpod-image-pinned",
    "Nodes have a known image, or a time for its updates",
    types=[CLUSTER],
    severity="low",
    level="advisory",  # without either, SageMaker takes the newest image for each new node and leaves the old ones
    anchors=["own"],
    remedy="Set `image_release`, `scheduled_update` or `auto_patch` on the group.",
)
def image_pinned(properties: Properties) -> Iterator[str]:
    ways = ("imageId", "imageReleaseVersion", "scheduledUpdateConfig", "autoPatchConfig")
    loose = [
        str(g.get("instanceGroupName")) for g in _groups(properties, "instanceGroups") if not any(has(g, way) for way in ways)
    ]
    if loose:
        yield f"nodes of {', '.join(loose)} run whatever image was newest on their day"
