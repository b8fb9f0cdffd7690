"""The bucket with the script that instances run when they are made."""

from pathlib import Path

import pulumi
import pulumi_aws as aws

from components.base import PlatformComponent
from config.files import ENVIRONMENTS, SUFFIX
from config.findings import ConfigError, Where
from config.groups import Lifecycle
from governance.platform.iam import text
from governance.platform.lifecycle import PREFIX, digest, lifecycle_findings, scripts
from governance.platform.model import PlatformPlan
from governance.platform.policies import bucket_policy

_OLD_VERSION_DAYS = 90
_UNFINISHED_UPLOAD_DAYS = 7


class LifecycleBucket(PlatformComponent, module="platform"):
    """The script's files in a bucket of our own; where they lie in a bucket already, nothing is made.

    The address stays the same whatever the files hold: a changed script is an update of an object, it touches no running
    instance, and the next one that is made runs it. Old versions are kept for 90 days.
    """

    source_uri: pulumi.Input[str]
    """Where instances find the files."""
    bucket_arn: pulumi.Input[str]
    ready: list[pulumi.Resource]
    """There once every file is, in a bucket that is closed."""

    def __init__(
        self, name: str, plan: PlatformPlan, key_arn: pulumi.Input[str], root: Path, opts: pulumi.ResourceOptions
    ) -> None:
        """Raises ConfigError where the folder or the script in it is missing."""
        lifecycle = plan.declared.hyperpod.lifecycle
        assert lifecycle is not None, "only a declared script has a bucket"  # noqa: S101
        super().__init__(name, {"cluster": plan.cluster, "bucket": plan.names.bucket}, opts)
        if lifecycle.source_uri is not None:
            existing = lifecycle.source_uri.removeprefix("s3://").partition("/")[0]
            self.source_uri, self.ready = lifecycle.source_uri, []
            self.bucket_arn = plan.arn("s3", existing, region="", account="")
        else:
            files = _files(plan, lifecycle, root)
            self._make(plan, key_arn, files)
        self.finish({"sourceUri": self.source_uri})

    def _make(self, plan: PlatformPlan, key_arn: pulumi.Input[str], files: dict[str, Path]) -> None:
        bucket = aws.s3.Bucket(
            self.child_name("bucket"),
            bucket=plan.names.bucket,
            tags=dict(plan.tags),
            opts=self.child_options(protect=plan.protected),
        )
        closed = self._close(plan, bucket, key_arn)
        objects = [
            aws.s3.BucketObjectv2(
                self.child_name(f"file/{path}"),
                bucket=bucket.bucket,
                key=f"{PREFIX}/{path}",
                source=pulumi.FileAsset(str(file)),
                # Not the object's ETag, which is no digest of the content under KMS.
                source_hash=digest(file),
                tags=dict(plan.tags),
                opts=self.child_options(depends_on=closed),
            )
            for path, file in files.items()
        ]
        self.bucket_arn = _arn(plan, bucket)
        self.source_uri = bucket.bucket.apply(lambda name: f"s3://{name}/{PREFIX}")
        self.ready = [*closed, *objects]

    def _close(self, plan: PlatformPlan, bucket: aws.s3.Bucket, key_arn: pulumi.Input[str]) -> list[pulumi.Resource]:
        name = bucket.bucket
        public = aws.s3.BucketPublicAccessBlock(
            self.child_name("public-access"),
            bucket=name,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=self.child_options(),
        )
        owner = aws.s3.BucketOwnershipControls(
            self.child_name("ownership"),
            bucket=name,
            rule=aws.s3.BucketOwnershipControlsRuleArgs(object_ownership="BucketOwnerEnforced"),
            opts=self.child_options(),
        )
        versions = aws.s3.BucketVersioning(
            self.child_name("versioning"),
            bucket=name,
            versioning_configuration=aws.s3.BucketVersioningVersioningConfigurationArgs(status="Enabled"),
            opts=self.child_options(),
        )
        encryption = aws.s3.BucketServerSideEncryptionConfiguration(
            self.child_name("encryption"),
            bucket=name,
            rules=[
                aws.s3.BucketServerSideEncryptionConfigurationRuleArgs(
                    apply_server_side_encryption_by_default=(
                        aws.s3.BucketServerSideEncryptionConfigurationRuleApplyServerSideEncryptionByDefaultArgs(
                            sse_algorithm="aws:kms", kms_master_key_id=key_arn
                        )
                    ),
                    bucket_key_enabled=True,
                )
            ],
            opts=self.child_options(),
        )
        expiry = aws.s3.BucketLifecycleConfiguration(
            self.child_name("expiry"),
            bucket=name,
            rules=[
                aws.s3.BucketLifecycleConfigurationRuleArgs(
                    id="old-versions",
                    status="Enabled",
                    filter=aws.s3.BucketLifecycleConfigurationRuleFilterArgs(prefix=""),
                    noncurrent_version_expiration=aws.s3.BucketLifecycleConfigurationRuleNoncurrentVersionExpirationArgs(
                        noncurrent_days=_OLD_VERSION_DAYS
                    ),
                    abort_incomplete_multipart_upload=aws.s3.BucketLifecycleConfigurationRuleAbortIncompleteMultipartUploadArgs(
                        days_after_initiation=_UNFINISHED_UPLOAD_DAYS
                    ),
                )
            ],
            opts=self.child_options(depends_on=[versions]),
        )
        policy = aws.s3.BucketPolicy(
            self.child_name("policy"),
            bucket=name,
            policy=_arn(plan, bucket).apply(lambda arn: text(bucket_policy(plan, arn))),
            # S3 refuses two changes of a bucket's access at a time.
            opts=self.child_options(depends_on=[public]),
        )
        return [public, owner, versions, encryption, expiry, policy]


def _arn(plan: PlatformPlan, bucket: aws.s3.Bucket) -> pulumi.Output[str]:
    """From the name, which is known before the bucket is made: so a preview shows the policies that name it."""
    return bucket.bucket.apply(lambda name: plan.arn("s3", name, region="", account=""))


def _files(plan: PlatformPlan, lifecycle: Lifecycle, root: Path) -> dict[str, Path]:
    findings = lifecycle_findings(lifecycle, root, Where(f"{ENVIRONMENTS}/{plan.environment}{SUFFIX}"))
    if findings:
        raise ConfigError(findings)
    return scripts(root / str(lifecycle.folder))
