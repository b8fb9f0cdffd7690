"""The EKS control plane."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

from policies.model import Domain, Properties, Stack, Violation, has, items, part
from policies.rules.network import world_in

EKS = Domain("eks", "EKS control plane")
CLUSTER = "aws:eks/cluster:Cluster"
LOGS = ("api", "audit", "authenticator", "controllerManager", "scheduler")
SUPPORT_ENDS = {
    (1, 28): date(2025, 11, 26),
    (1, 29): date(2026, 3, 23),
    (1, 30): date(2026, 7, 23),
    (1, 31): date(2026, 11, 26),
    (1, 32): date(2027, 3, 23),
    (1, 33): date(2027, 7, 29),
    (1, 34): date(2027, 12, 2),
    (1, 35): date(2028, 3, 27),
}
"""Days on which extended support ends (EKS User Guide, "Amazon EKS Kubernetes release calendar"). Older versions have none; newer
ones are not listed yet, and nothing is said of them."""


@EKS.rule(
    "eks-public-endpoint",
    "The API server has no public endpoint",
    types=[CLUSTER],
    severity="critical",
    level="advisory",
    anchors=["CKV_AWS_39", "EKS.1", "CIS 5.4.2", "aws-eks-cluster-disallow-api-endpoint-public-access"],
    remedy="Leave `eks.public_access_from` away and reach the API server from inside the network (`private_access_from`).",
)
def public_endpoint(properties: Properties) -> Iterator[str]:
    if part(properties, "vpcConfig").get("endpointPublicAccess", True):  # EKS's own default
        yield "the API server answers on a public endpoint"


@EKS.rule(
    "eks-public-endpoint-open",
    "A public endpoint is never open to everybody",
    types=[CLUSTER],
    severity="critical",
    anchors=["CKV_AWS_38", "CIS 5.4.1"],
    remedy="Name the addresses of your office or VPN in `eks.public_access_from`.",
)
def public_endpoint_open(properties: Properties) -> Iterator[str]:
    config = part(properties, "vpcConfig")
    if not config.get("endpointPublicAccess", True):
        return
    blocks = items(config, "publicAccessCidrs")
    if not blocks:
        yield "the public endpoint is open to the whole internet: no addresses are named"
    for world in world_in(map(str, blocks)):
        yield f"the public endpoint is open to {world}"


@EKS.rule(
    "eks-private-endpoint",
    "Nodes reach the API server inside the VPC",
    types=[CLUSTER],
    severity="high",
    anchors=["CIS 5.4.2", "CIS 5.4.3"],
    remedy="Set `endpointPrivateAccess: true`.",
)
def private_endpoint(properties: Properties) -> Iterator[str]:
    if not part(properties, "vpcConfig").get("endpointPrivateAccess", False):
        yield "there is no private endpoint, so nodes reach the API server over the internet"


@EKS.rule(
    "eks-secrets-encrypted",
    "Kubernetes secrets are encrypted under a key of ours",
    types=[CLUSTER],
    severity="high",
    anchors=["CKV_AWS_58", "EKS.3", "CIS 5.3.1"],
    remedy="Give `encryptionConfig` with a KMS key and the resource `secrets`.",
)
def secrets_encrypted(properties: Properties) -> Iterator[str]:
    config = part(properties, "encryptionConfig")
    if "secrets" not in items(config, "resources") or not has(part(config, "provider"), "keyArn"):
        yield "secrets are not encrypted under a KMS key"


@EKS.rule(
    "eks-control-plane-logs",
    "All five logs of the control plane are kept",
    types=[CLUSTER],
    severity="medium",
    anchors=["CKV_AWS_37", "EKS.8", "CIS 2.1.1", "CIS 2.1.2"],
    remedy=f"Set `enabledClusterLogTypes` to {', '.join(LOGS)}.",
)
def control_plane_logs(properties: Properties) -> Iterator[str]:
    missing = [log for log in LOGS if log not in items(properties, "enabledClusterLogTypes")]
    if missing:
        yield f"no log of {', '.join(missing)}"


@EKS.rule(
    "eks-version-supported",
    "The Kubernetes version is named, and EKS supports it",
    types=[CLUSTER],
    severity="high",
    anchors=["CKV_AWS_339", "EKS.2"],
    remedy="Name a version in `eks.version` that EKS supports, best one in standard support.",
)
def version_supported(properties: Properties, today: date | None = None) -> Iterator[str]:
    """Support ends at the beginning of the day (UTC)."""
    version = properties.get("version")
    if not version:
        yield "no Kubernetes version is named, so EKS's newest is taken on whatever day this runs"
        return
    major, minor, *_ = (int(number) for number in str(version).split("."))
    if (major, minor) < min(SUPPORT_ENDS):
        yield f"EKS supports Kubernetes {version} no more"
    elif (today or datetime.now(UTC).date()) >= (ends := SUPPORT_ENDS.get((major, minor), date.max)):
        yield f"EKS ended its support of Kubernetes {version} on {ends}"


@EKS.rule(
    "eks-access-entries",
    "Access is given by access entries alone",
    types=[CLUSTER],
    severity="medium",
    anchors=["CIS 4.1.7"],
    remedy="Set `accessConfig.authenticationMode: API`; HyperPod takes no CONFIG_MAP.",
)
def access_entries(properties: Properties) -> Iterator[str]:
    mode = part(properties, "accessConfig").get("authenticationMode", "CONFIG_MAP")
    if mode != "API":
        yield f"authentication mode {mode} reads the ConfigMap aws-auth, which nothing audits"


@EKS.rule(
    "eks-access-scoped",
    "Access goes to roles, and to groups that are no system groups",
    types=["aws:eks/accessEntry:AccessEntry", "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"],
    severity="high",
    anchors=["CIS 4.1.1", "CIS 4.1.7"],
    remedy="Name an IAM role, and a group of your own that a RoleBinding gives rights to.",
)
def access_scoped(properties: Properties) -> Iterator[str]:
    for group in items(properties, "kubernetesGroups"):
        if str(group).startswith("system:"):
            yield f"the entry joins the system group {group}"
    principal = str(properties.get("principalArn", ""))
    if principal.endswith(":root") or ":user/" in principal:
        yield f"{principal} is no role: its keys never expire"


@EKS.rule(
    "eks-no-creator-admin",
    "Whoever creates the cluster is no hidden administrator",
    types=[CLUSTER],
    severity="high",
    anchors=["terraform-aws-eks enable_cluster_creator_admin_permissions", "CIS 4.1.1"],
    remedy="Set `accessConfig.bootstrapClusterCreatorAdminPermissions: false` and name administrators in `eks.admins`.",
)
def no_creator_admin(properties: Properties) -> Iterator[str]:
    if part(properties, "accessConfig").get("bootstrapClusterCreatorAdminPermissions", True):
        yield "its creator stays administrator by an entry that nobody sees"


@EKS.rule(
    "eks-deletion-protection",
    "EKS refuses to delete the cluster",
    types=[CLUSTER],
    severity="medium",
    level="advisory",  # a platform may say `protection: false`, as one for development does
    anchors=["own"],
    remedy="Set `protection: true` on the cluster.",
)
def deletion_protection(properties: Properties) -> Iterator[str]:
    if not properties.get("deletionProtection", False):
        yield "one call deletes it, whatever Pulumi protects"


@EKS.stack_rule(
    "eks-pulumi-protect",
    "A cluster with deletion protection is protected by Pulumi too",
    severity="medium",
    anchors=["own"],
    remedy="Set the resource option `protect`: without it a destroy takes the rest before AWS refuses.",
)
def pulumi_protect(stack: Stack) -> Iterator[Violation]:
    for cluster in stack.of(CLUSTER):
        if cluster.properties.get("deletionProtection", False) and not cluster.protect:
            yield Violation(cluster, "AWS protects it, Pulumi doesn't")


@EKS.rule(
    "eks-addon-version",
    "Add-ons have a pinned version",
    types=["aws:eks/addon:Addon"],
    severity="medium",
    anchors=["own"],
    remedy="Give `addonVersion`; without one an add-on stays behind when EKS is upgraded.",
)
def addon_version(properties: Properties) -> Iterator[str]:
    if not has(properties, "addonVersion"):
        yield f"the add-on {properties.get('addonName')} has no version"


@EKS.rule(
    "node-group-ssh",
    "Node groups take no SSH from anywhere",
    types=["aws:eks/nodeGroup:NodeGroup"],
    severity="high",
    anchors=["CKV_AWS_100"],
    remedy="Leave `remoteAccess` away and use Session Manager; or name `sourceSecurityGroupIds`.",
)
def node_group_ssh(properties: Properties) -> Iterator[str]:
    access = part(properties, "remoteAccess")
    if has(access, "ec2SshKey") and not has(access, "sourceSecurityGroupIds"):
        yield "SSH is open to the whole internet"
