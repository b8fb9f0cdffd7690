"""KMS keys, log groups and registries."""

from __future__ import annotations

from collections.abc import Iterator

from policies.model import Domain, Properties, Stack, Violation, has, part
from policies.rules.documents import is_everybody, label, principals, statements

KEYS = Domain("keys", "Keys, logs and registries")
KEY, LOG_GROUP = "aws:kms/key:Key", "aws:cloudwatch/logGroup:LogGroup"
REPOSITORY, REPOSITORY_LIFECYCLE = "aws:ecr/repository:Repository", "aws:ecr/lifecyclePolicy:LifecyclePolicy"
YEAR = 365


@KEYS.rule(
    "kms-rotation",
    "Keys are rotated",
    types=[KEY],
    severity="medium",
    anchors=["CKV_AWS_7"],
    remedy="Set `enableKeyRotation: true`.",
)
def rotation(properties: Properties) -> Iterator[str]:
    if not properties.get("enableKeyRotation", False) and properties.get("keyUsage", "ENCRYPT_DECRYPT") == "ENCRYPT_DECRYPT":
        yield "the key is never rotated"


@KEYS.rule(
    "kms-policy",
    "A key's policy is written down, and names who may use it",
    types=[KEY],
    severity="high",
    anchors=["CKV2_AWS_64", "CKV_AWS_33"],
    remedy="Give `policy`, with principals of your account or services under a condition.",
)
def key_policy(properties: Properties) -> Iterator[str]:
    if not has(properties, "policy"):
        yield "no policy is declared, so AWS's default holds"
        return
    for statement in statements(properties["policy"]):
        everybody = any(is_everybody(one) for _, one in principals(statement))
        if everybody and statement.get("Effect") == "Allow" and not statement.get("Condition"):
            yield f"{label(statement)} lets everybody use the key"


@KEYS.rule(
    "logs-encrypted",
    "Log groups are encrypted under a key of ours",
    types=[LOG_GROUP],
    severity="medium",
    anchors=["CKV_AWS_158"],
    remedy="Give `kmsKeyId`.",
)
def logs_encrypted(properties: Properties) -> Iterator[str]:
    if not has(properties, "kmsKeyId"):
        yield "the log group has no key of ours"


@KEYS.rule(
    "logs-retention",
    "Logs are kept for a year",
    types=[LOG_GROUP],
    severity="low",
    level="advisory",  # what a year of logs costs is for each environment to decide
    anchors=["CKV_AWS_338"],
    remedy="Set `flow_log_days` and `eks.log_days` to 365 or more.",
)
def logs_retention(properties: Properties) -> Iterator[str]:
    days = int(properties.get("retentionInDays", 0))  # 0: for ever
    if 0 < days < YEAR:
        yield f"logs are gone after {days} days"


@KEYS.rule(
    "ecr-scan",
    "Images are scanned when they are pushed",
    types=[REPOSITORY],
    severity="high",
    anchors=["ECR.1", "CIS 5.1.1"],
    remedy="Set `imageScanningConfiguration.scanOnPush: true`.",
)
def ecr_scan(properties: Properties) -> Iterator[str]:
    if not part(properties, "imageScanningConfiguration").get("scanOnPush", False):
        yield "nobody looks for vulnerabilities in its images"


@KEYS.rule(
    "ecr-immutable",
    "A tag of an image means one image",
    types=[REPOSITORY],
    severity="medium",
    anchors=["ECR.2", "CKV_AWS_51"],
    remedy="Set `imageTagMutability: IMMUTABLE`.",
)
def ecr_immutable(properties: Properties) -> Iterator[str]:
    if not str(properties.get("imageTagMutability", "MUTABLE")).startswith("IMMUTABLE"):
        yield "a tag may mean another image tomorrow"


@KEYS.stack_rule(
    "ecr-lifecycle",
    "Old images are removed",
    severity="low",
    anchors=["ECR.3"],
    remedy="Declare a LifecyclePolicy for the repository.",
)
def ecr_lifecycle(stack: Stack) -> Iterator[Violation]:
    for repository in stack.of(REPOSITORY):
        if not stack.about(repository, [REPOSITORY_LIFECYCLE], "repository", "name"):
            yield Violation(repository, "its images are kept for ever")
