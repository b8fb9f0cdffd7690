"""For every rule: what keeps it, and what violates it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from policies.model import Resource

Props = Mapping[str, Any]
EKS = "aws:eks/cluster:Cluster"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
HYPERPOD = "aws-native:sagemaker:Cluster"
QUOTA = "aws-native:sagemaker:ComputeQuota"
POD = "kubernetes:core/v1:Pod"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
CRON = "kubernetes:batch/v1:CronJob"
NAMESPACE = "kubernetes:core/v1:Namespace"
KUEUE = "kubernetes:kueue.x-k8s.io/v1beta2:"
RBAC = "kubernetes:rbac.authorization.k8s.io/v1:"
MANAGED = "sagemaker.amazonaws.com/sagemaker-managed-queue"


@dataclass(frozen=True)
class Case:
    """Resources of one type, each kept or violating by itself; the violating ones with words of the message."""

    type: str
    kept: tuple[Props, ...]
    violating: tuple[tuple[Props, str], ...]


@dataclass(frozen=True)
class StackCase:
    """A stack that keeps the rule, and changes to single resources of it (None: not there) that violate it."""

    kept: Mapping[str, tuple[str, Props]]
    """Type and properties by logical name."""
    violating: tuple[tuple[Mapping[str, Props | None], str], ...]
    protected: tuple[str, ...] = ()
    refers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By name, then property: the name of the resource that it was made of."""

    def stack(self, changes: Mapping[str, Props | None] | None = None) -> list[Resource]:
        changes = changes or {}
        found = []
        for name, (type_, properties) in self.kept.items():
            now = changes.get(name, {})
            if now is not None:
                refers = {key: [urn(self.kept[other][0], other)] for key, other in self.refers.get(name, {}).items()}
                found.append(Resource(type_, urn(type_, name), name, {**properties, **now}, name in self.protected, refers))
        return found


def urn(type_: str, name: str) -> str:
    return f"urn:pulumi:dev::hyperpod-platform::{type_}::{name}"


def document(*statements: Props) -> dict[str, str]:
    return {"policy": json.dumps({"Version": "2012-10-17", "Statement": list(statements)})}


def allow(actions: Any, resources: Any, **more: Any) -> Props:
    return {"Sid": "One", "Effect": "Allow", "Action": actions, "Resource": resources, **more}


def trust(principal: Any, **more: Any) -> dict[str, str]:
    statement = {"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole", **more}
    return {"assumeRolePolicy": json.dumps({"Statement": [statement]})}


def pod(container: Props | None = None, **spec: Any) -> Props:
    one = {"name": "main", "image": "example.com/train:1.4", **(container or {})}
    return {"spec": {"containers": [one], **spec}}


def within(properties: Props) -> Props:
    return {"spec": {"template": properties}}


def vpc(**config: Any) -> Props:
    return {"vpcConfig": config}


def group(**more: Any) -> Props:
    return {"instanceGroups": [{"instanceGroupName": "h100", "instanceType": "ml.p5.48xlarge", "instanceCount": 2, **more}]}


def rules(**rule: Any) -> Props:
    return {"rules": [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"], **rule}]}


def queue(**resource: Any) -> Props:
    one = {"name": "nvidia.com/gpu", "nominalQuota": "8", **resource}
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "ml.p5.48xlarge", "resources": [one]}]}]
    return {"metadata": {"name": "nlp"}, "spec": {"cohortName": "all", "resourceGroups": groups}}


def levels(*labels: str) -> Props:
    return {"spec": {"levels": [{"nodeLabel": label} for label in labels]}}


TLS = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "s3:*",
    "Resource": "*",
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}
OWN = {
    "Effect": "Deny",
    "Principal": "*",
    "Action": "s3:*",
    "Resource": "*",
    "Condition": {"StringNotEquals": {"aws:PrincipalAccount": "111122223333"}},
}
LAYERS = [f"topology.k8s.aws/network-node-layer-{number}" for number in (1, 2, 3)]
ACCOUNT = {"Condition": {"StringEquals": {"aws:SourceAccount": "111122223333"}}}
WORLD = {"cidrBlocks": ["0.0.0.0/0"], "protocol": "tcp", "fromPort": 22, "toPort": 22, "description": "x"}

CASES: dict[str, list[Case]] = {
    "eks-public-endpoint": [
        Case(EKS, (vpc(endpointPublicAccess=False),), ((vpc(endpointPublicAccess=True), "public"), ({}, "public")))
    ],
    "eks-public-endpoint-open": [
        Case(
            EKS,
            (vpc(endpointPublicAccess=False), vpc(endpointPublicAccess=True, publicAccessCidrs=["203.0.113.0/24"])),
            (
                (vpc(endpointPublicAccess=True, publicAccessCidrs=["203.0.113.0/24", "0.0.0.0/0"]), "0.0.0.0/0"),
                (vpc(endpointPublicAccess=True, publicAccessCidrs=["::/0"]), "::/0"),
                (vpc(endpointPublicAccess=True, publicAccessCidrs=["0.0.0.0/1", "128.0.0.0/1"]), "a large part of the internet"),
                (vpc(endpointPublicAccess=True), "no addresses are named"),
            ),
        )
    ],
    "eks-private-endpoint": [Case(EKS, (vpc(endpointPrivateAccess=True),), ((vpc(), "no private endpoint"),))],
    "eks-secrets-encrypted": [
        Case(
            EKS,
            ({"encryptionConfig": {"provider": {"keyArn": "arn:k"}, "resources": ["secrets"]}},),
            (({}, "not encrypted"), ({"encryptionConfig": {"provider": {}, "resources": ["secrets"]}}, "not encrypted")),
        )
    ],
    "eks-control-plane-logs": [
        Case(
            EKS,
            ({"enabledClusterLogTypes": ["api", "audit", "authenticator", "controllerManager", "scheduler"]},),
            (({"enabledClusterLogTypes": ["api", "scheduler"]}, "audit, authenticator, controllerManager"), ({}, "api")),
        )
    ],
    "eks-version-supported": [
        Case(
            EKS,
            ({"version": "1.99"},),
            (({"version": "1.30"}, "on 2026-07-23"), ({"version": "1.9"}, "1.9 no more"), ({}, "named")),
        )
    ],
    "eks-access-entries": [
        Case(
            EKS,
            ({"accessConfig": {"authenticationMode": "API"}},),
            (({"accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"}}, "aws-auth"), ({}, "CONFIG_MAP")),
        )
    ],
    "eks-access-scoped": [
        Case(
            "aws:eks/accessEntry:AccessEntry",
            ({"principalArn": "arn:aws:iam::1:role/nlp", "kubernetesGroups": ["nlp"]},),
            (
                ({"principalArn": "arn:aws:iam::1:role/nlp", "kubernetesGroups": ["system:masters"]}, "system:masters"),
                ({"principalArn": "arn:aws:iam::1:user/jo"}, "no role"),
            ),
        ),
        Case(
            "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
            ({"principalArn": "arn:aws:iam::1:role/admin"},),
            (({"principalArn": "arn:aws:iam::1:root"}, "no role"),),
        ),
    ],
    "eks-no-creator-admin": [
        Case(
            EKS,
            ({"accessConfig": {"bootstrapClusterCreatorAdminPermissions": False}},),
            (({}, "creator"), ({"accessConfig": {"bootstrapClusterCreatorAdminPermissions": True}}, "creator")),
        )
    ],
    "eks-deletion-protection": [Case(EKS, ({"deletionProtection": True},), (({}, "one call"),))],
    "eks-addon-version": [
        Case("aws:eks/addon:Addon", ({"addonName": "coredns", "addonVersion": "v1"},), (({"addonName": "coredns"}, "coredns"),))
    ],
    "node-group-ssh": [
        Case(
            "aws:eks/nodeGroup:NodeGroup",
            ({}, {"remoteAccess": {"ec2SshKey": "k", "sourceSecurityGroupIds": ["sg-1"]}}),
            (({"remoteAccess": {"ec2SshKey": "k"}}, "SSH"),),
        )
    ],
    "subnet-no-public-ips": [
        Case("aws:ec2/subnet:Subnet", ({"mapPublicIpOnLaunch": False}, {}), (({"mapPublicIpOnLaunch": True}, "public"),)),
        Case("aws:ec2/instance:Instance", ({},), (({"associatePublicIpAddress": True}, "public"),)),
        Case(
            "aws:ec2/launchTemplate:LaunchTemplate",
            ({"networkInterfaces": [{"associatePublicIpAddress": "false"}]},),
            (({"networkInterfaces": [{"associatePublicIpAddress": "true"}]}, "public"),),
        ),
    ],
    "vpc-default-group-closed": [
        Case(
            "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup",
            ({}, {"ingress": [], "egress": []}),
            (({"ingress": [{"self": True}]}, "ingress"), ({"egress": [{"self": True}]}, "egress")),
        )
    ],
    "sg-open-ingress": [
        Case(
            "aws:ec2/securityGroup:SecurityGroup",
            ({}, {"ingress": [{**WORLD, "cidrBlocks": ["10.0.0.0/8", "203.0.113.0/24"]}], "egress": [WORLD]}),
            (
                ({"ingress": [WORLD]}, "port 22"),
                ({"ingress": [{**WORLD, "cidrBlocks": ["0.0.0.0/1", "128.0.0.0/1"]}]}, "(128.0.0.0/1)"),
                ({"ingress": [{**WORLD, "protocol": "-1", "cidrBlocks": [], "ipv6CidrBlocks": ["::/0"]}]}, "every port"),
            ),
        ),
        Case(
            "aws:ec2/securityGroupRule:SecurityGroupRule",
            ({**WORLD, "type": "egress"}, {**WORLD, "type": "ingress", "cidrBlocks": ["10.0.0.0/8"]}),
            (({**WORLD, "type": "ingress", "toPort": 23}, "ports 22-23"),),
        ),
        Case(
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            (
                {"ipProtocol": "tcp", "fromPort": 443, "toPort": 443, "cidrIpv4": "10.0.0.0/16"},
                {"ipProtocol": "-1", "referencedSecurityGroupId": "sg"},
                {"ipProtocol": "-1", "cidrIpv4": "10.0.0.0/8"},
                {"ipProtocol": "-1", "cidrIpv6": "fc00::/7"},
                {"ipProtocol": "-1", "cidrIpv6": "2001:db8::/32"},
            ),
            (
                ({"ipProtocol": "tcp", "fromPort": 443, "toPort": 443, "cidrIpv4": "0.0.0.0/0"}, "port 443"),
                ({"ipProtocol": "-1", "cidrIpv4": "52.0.0.0/8"}, "(52.0.0.0/8)"),
                ({"ipProtocol": "-1", "cidrIpv4": "10.0.0.0/7"}, "(10.0.0.0/7)"),
                ({"ipProtocol": "-1", "cidrIpv6": "2000::/3"}, "(2000::/3)"),
                ({"ipProtocol": "-1", "cidrIpv6": "::/0"}, "every port"),
            ),
        ),
    ],
    "sg-open-egress": [
        Case(
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
            ({"ipProtocol": "-1", "referencedSecurityGroupId": "sg"},),
            (({"ipProtocol": "-1", "cidrIpv4": "0.0.0.0/0"}, "everything goes out"),),
        ),
        Case("aws:ec2/securityGroup:SecurityGroup", ({"ingress": [WORLD]},), (({"egress": [WORLD]}, "everything goes out"),)),
        Case(
            "aws:ec2/securityGroupRule:SecurityGroupRule",
            ({**WORLD, "type": "ingress"},),
            (({**WORLD, "type": "egress"}, "goes out"),),
        ),
    ],
    "sg-described": [
        Case(
            "aws:ec2/securityGroup:SecurityGroup",
            ({"description": "Nodes"},),
            (
                ({}, "no description"),
                ({"description": "Nodes", "ingress": [{"protocol": "tcp"}]}, "ingress"),
                ({"description": "Managed by Pulumi"}, "no description"),
            ),
        )
    ],
    "imds-v2": [
        Case(
            "aws:ec2/instance:Instance",
            ({"metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 1}},),
            (({}, "IMDSv1"), ({"metadataOptions": {"httpTokens": "required", "httpPutResponseHopLimit": 2}}, "hop limit")),
        )
    ],
    "ebs-encrypted": [
        Case(
            "aws:ebs/volume:Volume",
            ({"size": 1, "encrypted": True, "kmsKeyId": "k"},),
            (({"size": 1}, "not encrypted"), ({"size": 1, "encrypted": True}, "AWS's key")),
        ),
        Case("aws:ebs/encryptionByDefault:EncryptionByDefault", ({"enabled": True},), (({"enabled": False}, "by default"),)),
        Case(
            "aws:ec2/launchTemplate:LaunchTemplate",
            ({"blockDeviceMappings": [{"ebs": {"encrypted": "true", "kmsKeyId": "k"}}]},),
            (({"blockDeviceMappings": [{"ebs": {"volumeSize": 5}}]}, "not encrypted"),),
        ),
        Case("aws:ec2/instance:Instance", ({},), (({"rootBlockDevice": {"volumeSize": 5}}, "not encrypted"),)),
    ],
    "iam-no-full-access": [
        Case(
            ROLE_POLICY,
            (document(allow(["s3:GetObject"], "*")), document({**allow("*", "*"), "Effect": "Deny"})),
            (
                (document(allow("*", "*")), "everything on everything"),
                (document({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}), "but what"),
                (document({"Effect": "Allow", "Action": "*", "NotResource": "arn:aws:s3:::b"}), "everything on everything but"),
            ),
        ),
        Case(
            ROLE,
            ({}, {"inlinePolicies": [document(allow("s3:*", ["arn:b"]))]}),
            (({"inlinePolicies": [document(allow("*:*", ["*"]))]}, "One"),),
        ),
    ],
    "iam-no-wildcard-resource": [
        Case(
            ROLE_POLICY,
            (
                document(allow(["ec2:DescribeVpcs", "ecr:GetAuthorizationToken"], "*")),
                document(allow("s3:GetObject", ["arn:aws:s3:::b/*"])),
                document(allow("kms:Decrypt", "*", Condition={"StringEquals": {"kms:ViaService": "s3"}})),
            ),
            (
                (document(allow(["ec2:DescribeVpcs", "s3:GetObject"], "*")), "s3:GetObject"),
                (document({"Effect": "Allow", "Action": "s3:GetObject", "NotResource": ["arn:aws:s3:::b"]}), "s3:GetObject"),
                (document({"Effect": "Allow", "NotAction": ["iam:*"], "Resource": "*"}), "all but iam:*"),
            ),
        )
    ],
    "iam-no-escalation": [
        Case(
            ROLE_POLICY,
            (
                document(allow("iam:PassRole", ["arn:aws:iam::1:role/one"])),
                document(allow("iam:PassRole", "*", Condition={"StringEquals": {"iam:PassedToService": "eks"}})),
                document({"Effect": "Allow", "NotAction": ["iam:*", "sts:*"], "Resource": "*"}),
                document({"Effect": "Deny", "Action": "*", "NotResource": "arn:aws:s3:::b"}),
            ),
            (
                (document({"Effect": "Allow", "Action": "*", "NotResource": "arn:aws:s3:::b"}), "iam:AddUserToGroup"),
                (document({"Effect": "Allow", "NotAction": "iam:*", "Resource": "*"}), "sts:AssumeRole"),
                (document(allow("iam:PassRole", "*")), "iam:PassRole"),
                (document(allow("iam:Put*", "*")), "iam:PutGroupPolicy"),
                (document(allow("iam:passrole", "*")), "PassRole"),
            ),
        )
    ],
    "iam-no-administrator": [
        Case(
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            ({"policyArn": "arn:aws:iam::aws:policy/AmazonEKSClusterPolicy"},),
            (({"policyArn": "arn:aws-cn:iam::aws:policy/AdministratorAccess"}, "AdministratorAccess"),),
        ),
        Case(ROLE, ({},), (({"managedPolicyArns": ["arn:aws:iam::aws:policy/IAMFullAccess"]}, "IAMFullAccess"),)),
    ],
    "iam-trust": [
        Case(
            ROLE,
            (
                trust({"Service": "sagemaker.amazonaws.com"}, **ACCOUNT),
                trust({"Service": "pods.eks.amazonaws.com"}),
                trust({"AWS": "arn:aws:iam::1:role/deployer"}),
                trust({"AWS": "444455556666"}, Condition={"StringEquals": {"sts:ExternalId": "x"}}),
            ),
            (
                (trust("*"), "everybody"),
                (trust({"AWS": ["*"]}), "everybody"),
                (trust({"Service": "sagemaker.amazonaws.com"}), "whatever account"),
                (trust({"AWS": "arn:aws:iam::444455556666:root"}), "whole account"),
            ),
        )
    ],
    "s3-public-access": [
        Case(
            "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
            (dict.fromkeys(["blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"], True),),
            (({"blockPublicAcls": True, "blockPublicPolicy": True, "ignorePublicAcls": True}, "restrictPublicBuckets"),),
        )
    ],
    "s3-encrypted": [
        Case(
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
            ({"rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": "k"}}]},),
            (
                ({"rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}]}, "not one of ours"),
                ({"rules": [{"applyServerSideEncryptionByDefault": {"sseAlgorithm": "aws:kms"}}]}, "not one of ours"),
            ),
        )
    ],
    "s3-versioned": [
        Case(
            "aws:s3/bucketVersioning:BucketVersioning",
            ({"versioningConfiguration": {"status": "Enabled"}},),
            (({"versioningConfiguration": {"status": "Suspended"}}, "lost"),),
        )
    ],
    "s3-tls-only": [
        Case(
            "aws:s3/bucketPolicy:BucketPolicy",
            (document(TLS),),
            ((document(OWN), "TLS"), (document({**TLS, "Action": "s3:PutObject"}), "TLS")),
        )
    ],
    "s3-own-account": [
        Case(
            "aws:s3/bucketPolicy:BucketPolicy",
            (document(OWN),),
            ((document(TLS), "other accounts"), (document(OWN, allow("s3:GetObject", "*", Principal="*")), "everybody")),
        )
    ],
    "s3-acls-off": [
        Case(
            "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
            ({"rule": {"objectOwnership": "BucketOwnerEnforced"}},),
            (({"rule": {"objectOwnership": "ObjectWriter"}}, "ACLs"),),
        )
    ],
    "s3-lifecycle": [
        Case(
            "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration",
            ({"rules": [{"status": "Enabled", "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7}}]},),
            (
                ({"rules": [{"status": "Disabled", "abortIncompleteMultipartUpload": {}}]}, "unfinished"),
                ({"rules": []}, "unfinished"),
            ),
        )
    ],
    "kms-rotation": [
        Case(
            "aws:kms/key:Key",
            ({"enableKeyRotation": True}, {"keyUsage": "SIGN_VERIFY"}),
            (({"enableKeyRotation": False}, "rotated"),),
        )
    ],
    "kms-policy": [
        Case(
            "aws:kms/key:Key",
            (
                document(allow("kms:*", "*", Principal={"AWS": "arn:aws:iam::1:root"})),
                document(allow("kms:Decrypt", "*", Principal="*", Condition={"StringEquals": {"kms:CallerAccount": "1"}})),
            ),
            (({}, "no policy"), (document(allow("kms:*", "*", Principal={"AWS": "*"})), "everybody")),
        )
    ],
    "logs-encrypted": [Case("aws:cloudwatch/logGroup:LogGroup", ({"kmsKeyId": "k"},), (({}, "no key"),))],
    "logs-retention": [
        Case("aws:cloudwatch/logGroup:LogGroup", ({"retentionInDays": 365}, {}), (({"retentionInDays": 30}, "30 days"),))
    ],
    "ecr-scan": [
        Case("aws:ecr/repository:Repository", ({"imageScanningConfiguration": {"scanOnPush": True}},), (({}, "vulnerabilities"),))
    ],
    "ecr-immutable": [Case("aws:ecr/repository:Repository", ({"imageTagMutability": "IMMUTABLE"},), (({}, "tomorrow"),))],
    "guardduty-eks": [
        Case(
            "aws:guardduty/detector:Detector",
            ({"enable": True, "datasources": {"kubernetes": {"auditLogs": {"enable": True}}}},),
            (({"enable": False}, "off"), ({"datasources": {"kubernetes": {"auditLogs": {"enable": False}}}}, "audit logs")),
        ),
        Case(
            "aws:guardduty/detectorFeature:DetectorFeature",
            ({"name": "EKS_AUDIT_LOGS", "status": "ENABLED"}, {"name": "S3_DATA_EVENTS", "status": "DISABLED"}),
            (({"name": "RUNTIME_MONITORING", "status": "DISABLED"}, "RUNTIME_MONITORING"),),
        ),
    ],
    "rbac-no-wildcards": [
        Case(
            f"{RBAC}ClusterRole",
            (rules(),),
            ((rules(verbs=["*"]), "verbs"), (rules(resources=["*"]), "resources"), (rules(apiGroups=["*"]), "apiGroups")),
        )
    ],
    "rbac-no-cluster-admin": [
        Case(
            f"{RBAC}ClusterRoleBinding",
            ({"roleRef": {"name": "view"}, "subjects": [{"name": "nlp"}]},),
            (
                ({"roleRef": {"name": "cluster-admin"}}, "cluster-admin"),
                ({"roleRef": {"name": "view"}, "subjects": [{"name": "system:authenticated"}]}, "everybody"),
            ),
        )
    ],
    "rbac-no-escalation": [
        Case(f"{RBAC}Role", (rules(),), ((rules(verbs=["get", "bind"]), "bind"), (rules(verbs=["impersonate"]), "impersonate")))
    ],
    "rbac-no-webhooks": [
        Case(
            f"{RBAC}ClusterRole",
            (rules(resources=["validatingwebhookconfigurations"]),),
            ((rules(resources=["mutatingwebhookconfigurations"], verbs=["patch"]), "webhooks"),),
        )
    ],
    "rbac-no-secrets": [
        Case(f"{RBAC}Role", (rules(resources=["secrets"], verbs=["create"]),), ((rules(resources=["secrets"]), "secrets"),))
    ],
    "namespace-not-default": [
        Case(POD, ({"metadata": {"namespace": "nlp"}}, {}), (({"metadata": {"namespace": "default"}}, "default"),)),
        Case("kubernetes:helm.sh/v3:Release", ({"namespace": "kueue-system"},), (({"namespace": "default"}, "default"),)),
    ],
    "pod-not-privileged": [
        Case(
            POD,
            (pod(),),
            (
                (pod({"securityContext": {"privileged": True}}), "main"),
                (pod(initContainers=[{"name": "first", "securityContext": {"privileged": True}}]), "first"),
            ),
        ),
        Case(DEPLOYMENT, (within(pod()),), ((within(pod({"securityContext": {"privileged": True}})), "main"),)),
        Case(
            CRON,
            ({"spec": {"jobTemplate": within(pod())}},),
            (({"spec": {"jobTemplate": within(pod({"securityContext": {"privileged": True}}))}}, "main"),),
        ),
    ],
    "pod-no-escalation": [Case(POD, (pod({"securityContext": {"allowPrivilegeEscalation": False}}),), ((pod(), "setuid"),))],
    "pod-no-host-namespaces": [
        Case(
            POD,
            (pod(),),
            ((pod(hostNetwork=True), "hostNetwork"), (pod(hostPID=True), "hostPID"), (pod(hostIPC=True), "hostIPC")),
        )
    ],
    "pod-non-root": [
        Case(
            POD,
            (pod(securityContext={"runAsNonRoot": True}), pod({"securityContext": {"runAsNonRoot": True}})),
            (
                (pod(), "root"),
                (pod({"securityContext": {"runAsNonRoot": False}}, securityContext={"runAsNonRoot": True}), "root"),
            ),
        )
    ],
    "pod-service-account-token": [Case(POD, (pod(automountServiceAccountToken=False),), ((pod(), "token"),))],
    "pod-read-only-root": [Case(POD, (pod({"securityContext": {"readOnlyRootFilesystem": True}}),), ((pod(), "writes"),))],
    "image-pinned": [
        Case(
            POD,
            (pod(), pod({"image": "example.com:5000/train@sha256:0"})),
            ((pod({"image": "example.com:5000/train"}), "newest"), (pod({"image": "train:latest"}), "train:latest")),
        )
    ],
    "chart-pinned": [
        Case(
            "kubernetes:helm.sh/v3:Release",
            ({"chart": "kueue", "version": "0.16.1"}, {"chart": "/srv/chart"}, {"chart": "oci://example.com/chart@sha256:0"}),
            (({"chart": "kueue"}, "kueue"), ({"chart": "kueue", "version": "^0.16"}, "newest")),
        )
    ],
    "hyperpod-vpc": [
        Case(
            HYPERPOD,
            (vpc(subnets=["s"], securityGroupIds=["g"]),),
            (({}, "subnets"), (vpc(subnets=["s"], securityGroupIds=[]), "securityGroupIds")),
        )
    ],
    "hyperpod-lifecycle-bucket": [
        Case(
            HYPERPOD,
            (group(lifeCycleConfig={"sourceS3Uri": "s3://sagemaker-x/lifecycle"}), group()),
            ((group(lifeCycleConfig={"sourceS3Uri": "s3://scripts/lifecycle"}), "h100"),),
        )
    ],
    "hyperpod-node-recovery": [Case(HYPERPOD, ({"nodeRecovery": "Automatic"},), (({"nodeRecovery": "None"}, "broken GPU"),))],
    "hyperpod-deep-health-checks": [
        Case(
            HYPERPOD,
            (group(onStartDeepHealthChecks=["InstanceStress"]), group(instanceType="ml.m5.4xlarge")),
            ((group(), "h100"),),
        )
    ],
    "hyperpod-volumes-encrypted": [
        Case(
            HYPERPOD,
            (
                group(
                    instanceStorageConfigs=[
                        {"ebsVolumeConfig": {"rootVolume": True, "volumeKmsKeyId": "k"}},
                        {"fsxLustreConfig": {"dnsName": "d"}},
                    ]
                ),
            ),
            ((group(instanceStorageConfigs=[{"ebsVolumeConfig": {"volumeSizeInGb": 500}}]), "h100"),),
        )
    ],
    "hyperpod-root-volume": [
        Case(
            HYPERPOD,
            (group(instanceStorageConfigs=[{"ebsVolumeConfig": {"rootVolume": True, "volumeKmsKeyId": "k"}}]),),
            ((group(instanceStorageConfigs=[{"ebsVolumeConfig": {"volumeSizeInGb": 500, "volumeKmsKeyId": "k"}}]), "h100"),),
        )
    ],
    "hyperpod-image-pinned": [
        Case(
            HYPERPOD,
            (group(imageReleaseVersion="r1"), group(scheduledUpdateConfig={}), group(imageId="ami-1")),
            ((group(), "h100"),),
        )
    ],
    "quota-cohort-limits": [
        Case(
            f"{KUEUE}ClusterQueue",
            (
                queue(borrowingLimit="0"),
                {"spec": {"resourceGroups": [{"flavors": [{"name": "f", "resources": [{"name": "cpu"}]}]}]}},
            ),
            ((queue(), "nvidia.com/gpu of ml.p5.48xlarge"),),
        ),
        Case(
            QUOTA,
            (
                {"computeQuotaConfig": {"resourceSharingConfig": {"strategy": "LendAndBorrow", "borrowLimit": 50}}},
                {"computeQuotaConfig": {"resourceSharingConfig": {"strategy": "DontLend"}}},
            ),
            (({"computeQuotaConfig": {"resourceSharingConfig": {"strategy": "LendAndBorrow"}}}, "without a limit"),),
        ),
    ],
    "topology-levels": [
        Case(
            f"{KUEUE}Topology",
            (
                levels(*LAYERS, "kubernetes.io/hostname"),
                levels("example.com/rack", "kubernetes.io/hostname"),
                levels("topology.kubernetes.io/zone", *LAYERS),
            ),
            (
                (levels(LAYERS[1], LAYERS[0]), "not ordered"),
                (levels("kubernetes.io/hostname", "example.com/rack"), "last"),
                (levels(LAYERS[0], LAYERS[0]), "twice"),
                (levels(*LAYERS, "topology.kubernetes.io/zone"), "not ordered"),
            ),
        )
    ],
}
