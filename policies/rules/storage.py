"""S3 buckets. What closes a bucket are resources of their own, so each rule judges these, and the stack for those missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policies.model import Domain, Properties, Stack, StackCheck, Violation, has, items, part
from policies.rules.documents import Statement, allowed, conditions, is_everybody, listed, principals, statements

STORAGE = Domain("storage", "S3 buckets")


def _both(name: str) -> tuple[str, str]:
    """A companion's type token, and its older spelling."""
    kind = f"{name[0].upper()}{name[1:]}"
    return f"aws:s3/{name}:{kind}", f"aws:s3/{name}V2:{kind}V2"


BUCKETS = _both("bucket")
PUBLIC = ("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",)
OWNERSHIP = ("aws:s3/bucketOwnershipControls:BucketOwnershipControls",)
POLICY = ("aws:s3/bucketPolicy:BucketPolicy",)
VERSIONING, LOGGING = _both("bucketVersioning"), _both("bucketLogging")
ENCRYPTION = _both("bucketServerSideEncryptionConfiguration")
LIFECYCLE = _both("bucketLifecycleConfiguration")
BLOCKS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def _missing(types: Sequence[str], text: str, inline: str = "") -> StackCheck:
    """A check that each bucket has a companion, or says the same itself."""

    def check(stack: Stack) -> Iterator[Violation]:
        for bucket in stack.of(*BUCKETS):
            if not stack.about(bucket, types, "bucket") and not (inline and part(bucket.properties, inline)):
                yield Violation(bucket, text)

    return check


@STORAGE.rule(
    "s3-public-access",
    "Public access is blocked in all four ways",
    types=PUBLIC,
    severity="critical",
    anchors=["CKV_AWS_53", "CKV_AWS_54", "CKV_AWS_55", "CKV_AWS_56", "CKV2_AWS_6", "S3.1", "S3.8"],
    remedy="Declare a BucketPublicAccessBlock with all four settings true.",
    whole=_missing(PUBLIC, "nothing blocks public access"),
)
def public_access(properties: Properties) -> Iterator[str]:
    off = [key for key in BLOCKS if not properties.get(key, False)]
    if off:
        yield f"{', '.join(off)} is off"


@STORAGE.rule(
    "s3-encrypted",
    "Buckets are encrypted under a key of ours",
    types=ENCRYPTION,
    severity="high",
    anchors=["CKV_AWS_19", "CKV_AWS_145"],
    remedy="Declare encryption with `aws:kms` and a key.",
    whole=_missing(ENCRYPTION, "objects are encrypted under S3's key, not one of ours"),
)
def encrypted(properties: Properties) -> Iterator[str]:
    for rule in items(properties, "rules"):
        default = part(rule, "applyServerSideEncryptionByDefault")
        if not str(default.get("sseAlgorithm", "")).startswith("aws:kms") or not has(default, "kmsMasterKeyId"):
            yield "objects are encrypted under S3's or AWS's key, not one of ours"


@STORAGE.rule(
    "s3-versioned",
    "Buckets keep old versions",
    types=VERSIONING,
    severity="medium",
    anchors=["CKV_AWS_21"],
    remedy="Declare versioning with status Enabled.",
    whole=_missing(VERSIONING, "what is overwritten is lost"),
)
def versioned(properties: Properties) -> Iterator[str]:
    if part(properties, "versioningConfiguration").get("status") != "Enabled":
        yield "what is overwritten is lost"


def _denies_plain(statement: Statement) -> bool:
    test = conditions(statement).get("aws:securetransport", {})
    everybody = any(is_everybody(one) for _, one in principals(statement))
    return statement.get("Effect") == "Deny" and everybody and "false" in {str(one).lower() for one in test.values()}


@STORAGE.rule(
    "s3-tls-only",
    "Buckets refuse what is not encrypted on the way",
    types=POLICY,
    severity="medium",
    anchors=["S3.5"],
    remedy="Deny `s3:*` to everybody where `aws:SecureTransport` is false.",
    whole=_missing(POLICY, "requests without TLS are taken"),
)
def tls_only(properties: Properties) -> Iterator[str]:
    if not any(_denies_plain(one) and "s3:*" in listed(one, "Action") for one in statements(properties.get("policy"))):
        yield "requests without TLS are taken"


@STORAGE.rule(
    "s3-own-account",
    "Only the own account gets at a bucket",
    types=POLICY,
    severity="high",
    anchors=["S3.6", "CKV_AWS_70"],
    remedy="Deny every principal of another account (`aws:PrincipalAccount`), and allow nobody else.",
    whole=_missing(POLICY, "nothing keeps other accounts out"),
)
def own_account(properties: Properties) -> Iterator[str]:
    document = properties.get("policy")
    if not any(one.get("Effect") == "Deny" and _about_account(one) for one in statements(document)):
        yield "nothing keeps other accounts out"
    for statement in allowed(document):
        if any(is_everybody(one) for _, one in principals(statement)) and not _about_account(statement):
            yield "everybody is allowed in"


def _about_account(statement: Statement) -> bool:
    return bool(conditions(statement).keys() & {"aws:principalaccount", "aws:principalorgid", "aws:sourceaccount"})


@STORAGE.rule(
    "s3-acls-off",
    "Buckets know no ACLs",
    types=OWNERSHIP,
    severity="medium",
    anchors=["S3.12"],
    remedy="Declare ownership controls with `BucketOwnerEnforced`.",
    whole=_missing(OWNERSHIP, "ACLs may give objects to others"),
)
def acls_off(properties: Properties) -> Iterator[str]:
    if part(properties, "rule").get("objectOwnership") != "BucketOwnerEnforced":
        yield "ACLs may give objects to others"


@STORAGE.stack_rule(
    "s3-access-logs",
    "Who read and wrote is logged",
    severity="low",
    level="advisory",  # logs need a bucket of their own; data events of CloudTrail tell the same
    anchors=["CKV_AWS_18", "S3.9"],
    remedy="Declare logging into a bucket for logs, or data events of CloudTrail.",
)
def access_logs(stack: Stack) -> Iterator[Violation]:
    yield from _missing(LOGGING, "nobody can tell later who read it")(stack)  # type: ignore[misc]


@STORAGE.rule(
    "s3-lifecycle",
    "Old versions and unfinished uploads go away",
    types=LIFECYCLE,
    severity="low",
    anchors=["CKV_AWS_300", "CKV2_AWS_61", "S3.13"],
    remedy="Declare a lifecycle with `abortIncompleteMultipartUpload`.",
    whole=_missing(LIFECYCLE, "old versions and unfinished uploads are paid for until the end of days"),
)
def lifecycle(properties: Properties) -> Iterator[str]:
    rules = items(properties, "rules")
    if not any(rule.get("status") == "Enabled" and has(rule, "abortIncompleteMultipartUpload") for rule in rules):
        yield "unfinished uploads stay"
