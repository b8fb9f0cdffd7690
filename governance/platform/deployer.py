"""The policy of the principal that deploys a platform: what `pulumi up`, `refresh` and `destroy` call, and no more.

Where names are ours, resources are named. EC2's and KMS's ids are known only afterwards: there the tags decide, by which a
principal can't change what another platform has made. Sources: the handlers of the CloudFormation types, AWS's documentation of
HyperPod (permissions of administrators), and the calls of the Pulumi providers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from config.stack import LAYERS
from governance.platform.iam import Conditions, Document, Statement, allow, document, parts
from governance.platform.model import PlatformPlan
from governance.platform.plan import CLUSTER_TAG, ENVIRONMENT_TAG
from governance.platform.policies import EKS_POLICY, INSTANCE_POLICY, managed_policy

_NETWORK = (
    "elastic-ip",
    "internet-gateway",
    "natgateway",
    "route-table",
    "security-group",
    "subnet",
    "vpc",
    "vpc-endpoint",
    "vpc-flow-log",
)
_NETWORK_CHANGES = (
    "AssociateAddress AssociateRouteTable AssociateVpcCidrBlock AttachInternetGateway CreateRoute DeleteFlowLogs "
    "DeleteInternetGateway DeleteNatGateway DeleteRoute DeleteRouteTable DeleteSubnet DeleteVpc DeleteVpcEndpoints "
    "DetachInternetGateway DisassociateAddress DisassociateRouteTable DisassociateVpcCidrBlock ModifySubnetAttribute "
    "ModifyVpcAttribute ModifyVpcEndpoint ReleaseAddress ReplaceRoute ReplaceRouteTableAssociation"
)


_CLOUD_CONTROL = (
    "cloudformation:CancelResourceRequest",
    "cloudformation:CreateResource",
    "cloudformation:DeleteResource",
    "cloudformation:GetResource",
    "cloudformation:GetResourceRequestStatus",
    "cloudformation:UpdateResource",
)
"""Cloud Control's calls, by which pulumi-aws-native works. They know no resources; each type's own permissions count too."""
_KEYS_A_STATEMENT = 50
"""So that no statement is longer than a policy may be."""


def deployer_policies(plan: PlatformPlan, layers: Sequence[str] = LAYERS) -> list[Document]:
    """The policy as managed policies of the length that IAM takes; the principal needs them all."""
    return parts(deployer_policy(plan, layers))


def deployer_policy(plan: PlatformPlan, layers: Sequence[str] = LAYERS) -> Document:
    """The policy. It guards against mistakes; whoever makes roles is to be trusted, or bounded by `permissions_boundary`.

    `layers`: those that the principal deploys. The governance layer alone makes and changes nothing of the platform.
    """
    governance = [*_governance(plan)] if "governance" in layers else []
    if "platform" not in layers:
        return document(*governance)
    return document(
        *_lookups(plan),
        *_network(plan),
        *_keys(plan),
        *_logs(plan),
        *_roles(plan),
        *_eks(plan),
        *_bucket(plan),
        *_hyperpod(plan),
        *governance,
    )


def _lookups(plan: PlatformPlan) -> Iterator[Statement]:
    # Lists and descriptions know no resources.
    ec2 = _calls(
        "ec2",
        "DescribeAccountAttributes DescribeAddresses DescribeAddressesAttribute DescribeAvailabilityZones DescribeFlowLogs "
        "DescribeImages DescribeInternetGateways DescribeNatGateways DescribeNetworkAcls DescribeNetworkInterfaces "
        "DescribePrefixLists DescribeRouteTables DescribeSecurityGroupRules DescribeSecurityGroups DescribeSnapshots "
        "DescribeSubnets DescribeVpcEndpointServices DescribeVpcEndpoints DescribeVpcs",
    )
    sagemaker = _calls("sagemaker", "ListClusterSchedulerConfigs ListClusters ListComputeQuotas")
    others = ["eks:DescribeAddonVersions", "kms:ListAliases", "logs:DescribeLogGroups"]
    yield allow("Lookups", [*_CLOUD_CONTROL, *ec2, *sagemaker, *others], ["*"])
    yield allow("VpcAttributes", ["ec2:DescribeVpcAttribute"], [plan.arn("ec2", f"vpc/{plan.network.vpc or '*'}")])


def _network(plan: PlatformPlan) -> Iterator[Statement]:
    groups = plan.arn("ec2", "security-group/*")
    # Without tags: the rules of groups that others have made (EKS, a VPC's default, an existing one) are ours to set too.
    rules = [f"ec2:{verb}SecurityGroup{way}" for verb in ("Authorize", "Revoke") for way in ("Egress", "Ingress")]
    yield allow("GroupRules", [*rules, "ec2:ModifySecurityGroupRules"], [groups, plan.arn("ec2", "security-group-rule/*")])
    if plan.network.vpc is None:
        arns = [plan.arn("ec2", f"{kind}/*") for kind in _NETWORK]
        made = ("FlowLogs", "InternetGateway", "NatGateway", "RouteTable", "SecurityGroup", "Subnet", "Vpc", "VpcEndpoint")
        yield allow("Network", ["ec2:AllocateAddress", *(f"ec2:Create{kind}" for kind in made)], arns)
        yield allow("NetworkChanges", _calls("ec2", _NETWORK_CHANGES), arns, _tagged(plan))
        # Runtime monitoring puts an endpoint with a group into the VPC, which else could not go.
        guards = [plan.arn("ec2", "vpc-endpoint/*"), groups]
        verbs = _calls("ec2", "DeleteSecurityGroup DeleteVpcEndpoints ModifyVpcEndpoint")
        yield allow("GuardDuty", verbs, guards, {"StringEquals": {"aws:ResourceTag/GuardDutyManaged": "true"}})
    elif plan.network.security_group is None:
        arns = [groups]
        yield allow("Network", ["ec2:CreateSecurityGroup"], [groups, plan.arn("ec2", f"vpc/{plan.network.vpc}")])
    else:
        arns = []
    if arns:
        yield allow("Groups", ["ec2:DeleteSecurityGroup"], [groups], _tagged(plan))
    yield allow("NetworkTags", ["ec2:CreateTags", "ec2:DeleteTags"], [*arns, plan.arn("ec2", "security-group-rule/*")])


def _keys(plan: PlatformPlan) -> Iterator[Statement]:
    new = _tagged(plan, "aws:RequestTag")
    yield allow("NewKey", ["kms:CreateKey"], ["*"], new)
    yield allow("NewKeyTags", ["kms:TagResource"], [plan.arn("kms", "key/*")], new)
    actions = _calls(
        "kms",
        "CreateGrant Decrypt DescribeKey DisableKeyRotation EnableKeyRotation GenerateDataKey GetKeyPolicy GetKeyRotationStatus "
        "ListResourceTags PutKeyPolicy ScheduleKeyDeletion UntagResource UpdateKeyDescription",
    )
    yield allow("Key", actions, [plan.arn("kms", "key/*")], _tagged(plan))
    aliases = [plan.arn("kms", one) for one in (f"alias/{plan.names.prefix}*", "key/*")]
    yield allow("Alias", _calls("kms", "CreateAlias DeleteAlias UpdateAlias"), aliases)
    given = {plan.declared.eks.secrets_key, plan.declared.hyperpod.volume_key}
    given |= {volume.key for group in plan.declared.instance_groups.values() for volume in group.volumes}
    existing = sorted(key for key in given if key is not None)
    for start in range(0, len(existing), _KEYS_A_STATEMENT):
        some = existing[start : start + _KEYS_A_STATEMENT]
        yield allow(f"ExistingKeys{start or ''}", ["kms:CreateGrant", "kms:DescribeKey"], some)


def _logs(plan: PlatformPlan) -> Iterator[Statement]:
    actions = _calls(
        "logs",
        "AssociateKmsKey CreateLogGroup DeleteLogGroup DisassociateKmsKey ListTagsForResource PutRetentionPolicy TagResource "
        "UntagResource",
    )
    names = (f"/aws/eks/{plan.names.eks}/cluster", f"/aws/vpc/{plan.names.prefix}*")
    arns = [plan.arn("logs", f"log-group:{name}{tail}") for name in names for tail in ("", ":*")]
    yield allow("Logs", actions, arns)


def _roles(plan: PlatformPlan) -> Iterator[Statement]:
    def role(name: str) -> str:
        return plan.arn("iam", f"role/{name}", region="")

    own, existing = [role(name) for name in _own_roles(plan)], plan.declared.hyperpod.execution_role
    if own:
        yield from _role_changes(plan, own)
    services = ["eks.amazonaws.com", "hyperpod.sagemaker.amazonaws.com", "sagemaker.amazonaws.com", "vpc-flow-logs.amazonaws.com"]
    passed = {"StringEquals": {"iam:PassedToService": services}}
    yield allow("PassRoles", ["iam:PassRole"], [*own, *([existing] if existing else [])], passed)
    linked = {"StringEquals": {"iam:AWSServiceName": [*services[:2], "natgateway.amazonaws.com"]}}
    yield allow("ServiceRoles", ["iam:CreateServiceLinkedRole"], [role("aws-service-role/*")], linked)


def _own_roles(plan: PlatformPlan) -> Iterator[str]:
    """Names of the roles that the platform makes."""
    names, declared = plan.names, plan.declared
    if declared.eks.existing is None:
        yield names.eks_role
    if declared.hyperpod.execution_role is None:
        yield names.execution_role
    if declared.hyperpod.karpenter:
        yield names.karpenter_role
    if plan.network.vpc is None:
        yield names.flow_log_role


def _role_changes(plan: PlatformPlan, own: Sequence[str]) -> Iterator[Statement]:
    actions = _calls(
        "iam",
        "DeleteRole DeleteRolePolicy DetachRolePolicy GetRole GetRolePolicy ListAttachedRolePolicies ListInstanceProfilesForRole "
        "ListRolePolicies TagRole UntagRole UpdateAssumeRolePolicy UpdateRole UpdateRoleDescription",
    )
    yield allow("Roles", actions, own)
    boundary = plan.declared.permissions_boundary
    limits = {"iam:PermissionsBoundary": boundary} if boundary else {}
    writes = ["iam:CreateRole", "iam:PutRolePolicy", *(["iam:PutRolePermissionsBoundary"] if boundary else [])]
    yield allow("RoleContents", writes, own, {"ArnEquals": limits} if boundary else None)
    policies = [managed_policy(plan, name) for name in (EKS_POLICY, INSTANCE_POLICY)]
    yield allow("RoleAttachments", ["iam:AttachRolePolicy"], own, {"ArnEquals": {"iam:PolicyARN": policies, **limits}})


def _eks(plan: PlatformPlan) -> Iterator[Statement]:
    actions = _calls(
        "eks",
        "AssociateAccessPolicy CreateAccessEntry CreateAddon DeleteAccessEntry DeleteAddon DescribeAccessEntry DescribeAddon "
        "DescribeCluster DescribeUpdate DisassociateAccessPolicy ListAssociatedAccessPolicies ListTagsForResource TagResource "
        "UntagResource UpdateAccessEntry UpdateAddon",
    )
    if plan.declared.eks.existing is None:
        # A cluster that is to be made is no resource yet.
        yield allow("NewEks", ["eks:CreateCluster"], ["*"], _tagged(plan, "aws:RequestTag"))
        actions += _calls("eks", "AssociateEncryptionConfig DeleteCluster UpdateClusterConfig UpdateClusterVersion")
    name = plan.names.eks
    arns = [plan.arn("eks", one) for one in (f"cluster/{name}", f"addon/{name}/*", f"access-entry/{name}/*")]
    yield allow("Eks", actions, arns)


def _governance(plan: PlatformPlan) -> Iterator[Statement]:
    """What the queues' layer calls: the add-on, quotas and scheduler configuration, access entries, and the cluster's token."""
    name = plan.names.eks
    eks = _calls(
        "eks",
        "AssociateAccessPolicy CreateAccessEntry DeleteAccessEntry DescribeAccessEntry DescribeCluster DisassociateAccessPolicy "
        "ListAssociatedAccessPolicies ListTagsForResource TagResource UntagResource UpdateAccessEntry",
    )
    arns = [plan.arn("eks", f"cluster/{name}"), plan.arn("eks", f"access-entry/{name}/*")]
    if plan.managed:
        eks += _calls("eks", "CreateAddon DeleteAddon DescribeAddon DescribeUpdate UpdateAddon")
        arns.append(plan.arn("eks", f"addon/{name}/*"))
        sagemaker = _calls("sagemaker", "AddTags DeleteTags DescribeCluster ListTags")
        for kind in ("ClusterSchedulerConfig", "ComputeQuota"):
            sagemaker += _calls("sagemaker", f"Create{kind} Delete{kind} Describe{kind} Update{kind}")
        kinds = ("cluster/*", "cluster-scheduler-config/*", "compute-quota/*")
        yield allow("Quotas", sagemaker, [plan.arn("sagemaker", kind) for kind in kinds])
        lists = _calls("sagemaker", "ListClusterSchedulerConfigs ListComputeQuotas")
        yield allow("QuotaLookups", [*_CLOUD_CONTROL, *lists], ["*"])
    yield allow("Access", eks, arns)


def _bucket(plan: PlatformPlan) -> Iterator[Statement]:
    if plan.names.bucket is None:
        return
    actions = _calls(
        "s3",
        "CreateBucket DeleteBucket DeleteBucketPolicy DeleteObject DeleteObjectTagging DeleteObjectVersion "
        "GetAccelerateConfiguration GetBucketAcl GetBucketCORS GetBucketLogging GetBucketObjectLockConfiguration "
        "GetBucketOwnershipControls GetBucketPolicy GetBucketPublicAccessBlock GetBucketRequestPayment GetBucketTagging "
        "GetBucketVersioning GetBucketWebsite GetEncryptionConfiguration GetLifecycleConfiguration GetObject GetObjectTagging "
        "GetObjectVersion GetReplicationConfiguration ListBucket ListBucketVersions ListTagsForResource "
        "PutBucketOwnershipControls PutBucketPolicy PutBucketPublicAccessBlock PutBucketTagging PutBucketVersioning "
        "PutEncryptionConfiguration PutLifecycleConfiguration PutObject PutObjectTagging",
    )
    arn = plan.arn("s3", plan.names.bucket, region="", account="")
    yield allow("Bucket", actions, [arn, f"{arn}/*"])


def _hyperpod(plan: PlatformPlan) -> Iterator[Statement]:
    actions = _calls(
        "sagemaker",
        "AddTags BatchAddClusterNodes BatchDeleteClusterNodes CreateCluster DeleteCluster DeleteTags DescribeCluster "
        "DescribeClusterNode ListClusterNodes ListTags UpdateCluster UpdateClusterSoftware",
    )
    kinds = ["cluster/*"]
    declared = plan.declared
    plans = [group.training_plan for group in declared.instance_groups.values()]
    if any([*plans, *(group.training_plan for group in declared.restricted_instance_groups.values())]):
        kinds += ["reserved-capacity/*", "training-plan/*"]
    # Their ARNs carry ids that SageMaker gives.
    yield allow("HyperPod", actions, [plan.arn("sagemaker", kind) for kind in kinds])
    images = sorted(
        {str(group.image) for group in plan.declared.instance_groups.values() if (group.image or "").startswith("ami-")}
    )
    if images:
        named = [plan.arn("ec2", f"image/{image}", account="*") for image in images]
        own = [*named, plan.arn("ec2", "snapshot/*", account="*")]
        yield allow("Images", ["ec2:ModifyImageAttribute", "ec2:ModifySnapshotAttribute"], own)


def _tagged(plan: PlatformPlan, key: str = "aws:ResourceTag") -> Conditions:
    """Only what carries this platform's tags, or is given them."""
    tags: Sequence[tuple[str, str]] = ((CLUSTER_TAG, plan.cluster), (ENVIRONMENT_TAG, plan.environment))
    return {"StringEquals": {f"{key}/{tag}": value for tag, value in tags}}


def _calls(service: str, names: str) -> list[str]:
    """Actions of a service, from their names."""
    return [f"{service}:{name}" for name in names.split()]
