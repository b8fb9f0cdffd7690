"""Regions with HyperPod task governance."""

from __future__ import annotations

GOVERNANCE_REGIONS = frozenset(
    (
        "us-east-1",
        "us-east-2",
        "us-west-1",
        "us-west-2",
        "ap-south-1",
        "ap-southeast-1",
        "ap-southeast-2",
        "ap-southeast-3",
        "ap-northeast-1",
        "eu-central-1",
        "eu-west-1",
        "eu-west-2",
        "eu-north-1",
        "eu-south-2",
        "sa-east-1",
    )
)
"""Where CloudFormation has AWS::SageMaker::ComputeQuota (its schemas by region)."""
