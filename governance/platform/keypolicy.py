"""The key policy of a cluster's KMS key."""

from __future__ import annotations

from typing import Any

from governance.platform.iam import Document, document
from governance.platform.model import PlatformPlan

_USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]


def key_policy(plan: PlatformPlan) -> Document:
    """The account's own IAM policies decide who may use the key; CloudWatch Logs may, for log groups of the account alone.

    Without the first statement nobody but AWS could change the key any more (KMS, "Default key policy"). CloudWatch Logs comes
    with no identity of the account and so must be named (CloudWatch Logs, "Encrypt log data"). EKS, EBS and SageMaker use the key
    through grants, which principals of the account give them.
    """
    region, account = plan.declared.region, plan.declared.account
    root = plan.arn("iam", "root", region="")
    groups = plan.arn("logs", "log-group:*")
    return document(
        _allow("Account", {"AWS": root}, ["kms:*"]),
        _allow(
            "Logs",
            {"Service": f"logs.{region}.{plan.dns_suffix}"},
            _USE,
            {
                "ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups},
                "StringEquals": {"aws:SourceAccount": account},
            },
        ),
    )


def _allow(sid: str, principal: dict[str, str], actions: list[str], condition: dict[str, Any] | None = None) -> dict[str, Any]:
    """A statement of a key's policy, where `*` means the key itself."""
    extra = {"Condition": condition} if condition else {}
    return {"Sid": sid, "Effect": "Allow", "Principal": principal, "Action": actions, "Resource": "*", **extra}
