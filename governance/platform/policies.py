"""IAM documents of the roles that the platform makes, and of its bucket.

Sources: AWS's documentation of HyperPod (prerequisites for EKS, Karpenter, customer managed keys) and the roles of AWS's own
Terraform and CloudFormation modules, whose scoped form this is. Service principals are the same in every partition.
"""

from __future__ import annotations

from collections.abc import Sequence

from governance.platform.iam import Document, Statement, allow, deny, document, trust
from governance.platform.model import PlatformPlan

INSTANCE_POLICY, EKS_POLICY, EKS_ADMIN_POLICY = (
    "AmazonSageMakerClusterInstanceRolePolicy",
    "AmazonEKSClusterPolicy",
    "AmazonEKSClusterAdminPolicy",
)
"""AWS's own policies: of HyperPod's instances, of EKS's control plane, and the access policy of a cluster's admins."""
_INTERFACES = (
    "ec2:AssignPrivateIpAddresses",
    "ec2:AttachNetworkInterface",
    "ec2:CreateNetworkInterface",
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
    "ec2:DetachNetworkInterface",
    "ec2:ModifyNetworkInterfaceAttribute",
    "ec2:UnassignPrivateIpAddresses",
)
_LOOKUPS = (
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeInstances",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeTags",
    "ec2:DescribeVpcs",
)
_GRANTED = (
    "CreateGrant",
    "Decrypt",
    "DescribeKey",
    "GenerateDataKeyWithoutPlaintext",
    "ReEncryptFrom",
    "ReEncryptTo",
    "RetireGrant",
)
"""What HyperPod may be granted on a volume's key."""


def managed_policy(plan: PlatformPlan, name: str) -> str:
    """ARN of one of AWS's own IAM policies."""
    return plan.arn("iam", f"policy/{name}", region="", account="aws")


def access_policy(plan: PlatformPlan, name: str) -> str:
    """ARN of one of EKS's access policies, as access entries are given."""
    return plan.arn("eks", f"cluster-access-policy/{name}", region="", account="aws")


def execution_trust(plan: PlatformPlan) -> Document:
    """Who may use the execution role: SageMaker, for this account."""
    # AWS's own roles of instances have no such condition: should HyperPod not name the account, the role must work nevertheless.
    return trust("sagemaker.amazonaws.com", plan.declared.account, operator="StringEqualsIfExists")


def karpenter_trust(plan: PlatformPlan) -> Document:
    """Who may use Karpenter's role: HyperPod, for this account."""
    # AWS documents this role without the account: should HyperPod not name it, the role must work nevertheless.
    return trust("hyperpod.sagemaker.amazonaws.com", plan.declared.account, operator="StringEqualsIfExists")


def eks_trust(plan: PlatformPlan) -> Document:
    """Who may use the control plane's role: EKS, for this account."""
    return trust("eks.amazonaws.com", plan.declared.account)


def execution_policy(
    plan: PlatformPlan,
    *,
    vpc: str,
    subnets: Sequence[str],
    security_groups: Sequence[str],
    eks: str,
    bucket: str | None,
    key: str,
) -> Document:
    """What instances may do beside INSTANCE_POLICY. `eks`, `bucket` and `key` (the cluster's own) are ARNs, the others ids."""
    places = [f"vpc/{vpc}", *(f"subnet/{one}" for one in subnets), *(f"security-group/{one}" for one in security_groups)]
    return document(
        # Interfaces have no names before they are made; where they are made is named.
        allow("Interfaces", _INTERFACES, [plan.arn("ec2", one) for one in ("instance/*", "network-interface/*", *places)]),
        allow("InterfaceTags", ["ec2:CreateTags"], [plan.arn("ec2", "network-interface/*")]),
        # EC2 describes all or nothing: these actions know no resources.
        allow("Lookups", [*_LOOKUPS, *(["fsx:DescribeFileSystems"] if _mounts(plan) else [])], ["*"]),
        # A token is for all registries.
        allow("RegistryToken", ["ecr:GetAuthorizationToken"], ["*"]),
        # Images lie in AWS's registries, whose accounts differ by region and by component, and in those of the teams.
        allow(
            "Images",
            ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"],
            [plan.arn("ecr", "repository/*", region="*", account="*")],
        ),
        allow("PodIdentity", ["eks-auth:AssumeRoleForPodIdentity"], [eks]),
        *_alarms(plan),
        *_volumes(plan, key),
        *(_scripts(plan, bucket, key) if bucket else ()),
    )


def karpenter_policy(plan: PlatformPlan, *, key: str) -> Document:
    """What HyperPod's Karpenter may do: add and remove nodes, with encrypted volumes. `key` is the cluster's own, an ARN."""
    return document(
        # A cluster's ARN carries an id that is not known before it is made, and it is made with this role.
        allow(
            "Nodes",
            ["sagemaker:BatchAddClusterNodes", "sagemaker:BatchDeleteClusterNodes"],
            [plan.arn("sagemaker", "cluster/*")],
            {"StringEquals": {"aws:ResourceAccount": "${aws:PrincipalAccount}"}},
        ),
        *_volumes(plan, key),
    )


def bucket_policy(plan: PlatformPlan, bucket: str) -> Document:
    """Policy of the lifecycle bucket, given by its ARN: over TLS alone, and for this account alone."""
    both = [bucket, f"{bucket}/*"]
    return document(
        deny("TlsOnly", ["s3:*"], both, {"Bool": {"aws:SecureTransport": "false"}}),
        # AWS's services, as they write or read on our behalf, belong to no account.
        deny(
            "OwnAccountOnly",
            ["s3:*"],
            both,
            {
                "StringNotEquals": {"aws:PrincipalAccount": plan.declared.account},
                "Bool": {"aws:PrincipalIsAWSService": "false"},
            },
        ),
    )


def volume_keys(plan: PlatformPlan, own: str) -> list[str]:
    """ARNs of the keys that encrypt instances' volumes, sorted; `own` is the cluster's."""
    default = plan.declared.hyperpod.volume_key or own
    given = {volume.key for group in plan.declared.instance_groups.values() for volume in group.volumes if volume.key}
    return sorted({default} | given)


def _mounts(plan: PlatformPlan) -> bool:
    return any(group.fsx_lustre or group.fsx_openzfs for group in plan.declared.instance_groups.values())


def _alarms(plan: PlatformPlan) -> list[Statement]:
    names: set[str] = set()
    for group in plan.declared.instance_groups.values():
        for deployment in (
            group.scheduled_update and group.scheduled_update.deployment,
            group.auto_patch and group.auto_patch.deployment,
        ):
            names.update(deployment.rollback_alarms if deployment else ())
    arns = [plan.arn("cloudwatch", f"alarm:{name}") for name in sorted(names)]
    return [allow("RollbackAlarms", ["cloudwatch:DescribeAlarms"], arns)] if arns else []


def _volumes(plan: PlatformPlan, own: str) -> list[Statement]:
    """Grants on volumes' keys, as HyperPod asks for them when it adds nodes; not for use by hand."""
    keys, through = volume_keys(plan, own), _through(plan, "sagemaker")
    return [
        allow(
            "VolumeGrants",
            ["kms:CreateGrant"],
            keys,
            {
                **through,
                "Bool": {"kms:GrantIsForAWSResource": "true"},
                "ForAllValues:StringEquals": {"kms:GrantOperations": _GRANTED},
            },
        ),
        # Apart, for a description is no grant: with the conditions above it would never be allowed.
        allow("VolumeKeys", ["kms:DescribeKey"], keys, through),
    ]


def _scripts(plan: PlatformPlan, bucket: str, own: str) -> list[Statement]:
    """Reading the lifecycle script. Objects in our own bucket are under the cluster's key."""
    reading = allow("Scripts", ["s3:GetObject", "s3:ListBucket"], [bucket, f"{bucket}/*"])
    return [reading, *([allow("ScriptsKey", ["kms:Decrypt"], [own], _through(plan, "s3"))] if plan.names.bucket else [])]


def _through(plan: PlatformPlan, service: str) -> dict[str, dict[str, list[str]]]:
    """Only when the service asks on the role's behalf. Services keep their general name in some partitions, so both count."""
    names = {f"{service}.{plan.declared.region}.{suffix}" for suffix in (plan.dns_suffix, "amazonaws.com")}
    return {"StringEquals": {"kms:ViaService": sorted(names)}}
