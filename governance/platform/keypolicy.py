"""The key policy of a cluster's KMS key."""

from __future__ import annotations

from typing import Any

from governance.platform.iam import Document, document
from governance.platform.model import PlatformPlan

_USE = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"]


def key_policy(plan: PlatformPlan) -> Document:
    """The account's own IAM policies decide who may use the key.

    Without this statement nobody but AWS could change the key any more (KMS, "Default key policy"). EKS, EBS and SageMaker use
    the key through grants, which principals of the account give them. There are no conditions on the encryption context:
    HyperPod could not use the key for volumes (SageMaker, "Customer managed keys for HyperPod").
    """
    return document(_account(plan))


def logs_key_policy(plan: PlatformPlan) -> Document:
    """The same, and CloudWatch Logs may use the key for log groups of the account alone.

    It comes with no identity of the account and so must be named. The encryption context, which names the log group and so the
    account, is all that AWS documents it to bring along for a condition (CloudWatch Logs, "Encrypt log data").
    """
    logs = {"Service": f"logs.{plan.declared.region}.{plan.dns_suffix}"}
    own = {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": plan.arn("logs", "log-group:*")}}
    return document(_account(plan), _allow("Logs", logs, _USE, own))


def _account(plan: PlatformPlan) -> dict[str, Any]:
    return _allow("Account", {"AWS": plan.arn("iam", "root", region="")}, ["kms:*"])


def _allow(sid: str, principal: dict[str, str], actions: list[str], condition: dict[str, Any] | None = None) -> dict[str, Any]:
    """A statement of a key's policy, where `*` means the key itself."""
    extra = {"Condition": condition} if condition else {}
    return {"Sid": sid, "Effect": "Allow", "Principal": principal, "Action": actions, "Resource": "*", **extra}
