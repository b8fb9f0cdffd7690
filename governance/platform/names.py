"""Physical names of a platform, within each service's limits, and what a region's name says."""

from __future__ import annotations

from config.hyperpod import HyperPodCluster
from governance.names import fingerprint
from governance.platform.model import PlatformNames

IAM_ROLE = 64
"""Longest name of an IAM role."""
_BUCKET, _CLUSTER, _EKS = 63, 63, 100
_PARTITIONS = (
    ("cn-", "aws-cn", "amazonaws.com.cn"),
    ("us-gov-", "aws-us-gov", "amazonaws.com"),
    ("us-isob-", "aws-iso-b", "sc2s.sgov.gov"),
    ("us-isof-", "aws-iso-f", "csp.hci.ic.gov"),
    ("eu-isoe-", "aws-iso-e", "cloud.adc-e.uk"),
    ("us-iso-", "aws-iso", "c2s.ic.gov"),
    ("eusc-", "aws-eusc", "amazonaws.eu"),
)
"""Prefix of the region's name, partition, DNS suffix (botocore's partitions.json)."""


def partition_of(region: str) -> tuple[str, str]:
    """Partition and DNS suffix of a region."""
    for prefix, partition, suffix in _PARTITIONS:
        if region.startswith(prefix):
            return partition, suffix
    return "aws", "amazonaws.com"


def platform_names(environment: str, cluster: str, declared: HyperPodCluster) -> PlatformNames:
    """The names. SageMaker's roles and bucket begin with `sagemaker-`: AWS's policies allow only these."""
    prefix = f"{environment}-{cluster}"
    scripts = declared.hyperpod.lifecycle is not None and declared.hyperpod.lifecycle.folder is not None
    return PlatformNames(
        prefix=prefix,
        hyperpod=declared.hyperpod.name or bounded(prefix, _CLUSTER),
        eks=declared.eks.existing or declared.eks.name or bounded(prefix, _EKS),
        bucket=bounded(f"sagemaker-{prefix}-{declared.account}-{declared.region}", _BUCKET) if scripts else None,
        execution_role=bounded(f"sagemaker-{prefix}-{declared.region}-execution", IAM_ROLE),
        karpenter_role=bounded(f"sagemaker-{prefix}-{declared.region}-karpenter", IAM_ROLE),
        eks_role=bounded(f"{prefix}-{declared.region}-eks", IAM_ROLE),
        flow_log_role=bounded(f"{prefix}-{declared.region}-flow-logs", IAM_ROLE),
    )


def bounded(name: str, limit: int) -> str:
    """The name, cut and told apart by a fingerprint where it is longer than the limit."""
    if len(name) <= limit:
        return name
    tail = f"-{fingerprint(name)}"
    return name[: limit - len(tail)].rstrip("-") + tail
