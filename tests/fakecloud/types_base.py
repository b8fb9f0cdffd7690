"""Identity, keys, logs and buckets."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from fakecloud.calls import AwsError
from fakecloud.codec import flat, plain
from fakecloud.kinds import CREATED, Findings, Hook, Inputs, Kind, Ref
from fakecloud.world import Place, Thing

TRUST: Final = 2048
"""Characters of a trust policy: the default quota."""
MANAGED: Final = 6144
INLINE: Final = 10240
"""Of all inline policies of a role together."""
_ROLE: Final = Ref("role", "role", "DeleteConflict", "NoSuchEntity")
_BUCKET: Final = Ref("bucket", "bucket", "", "NoSuchBucket")


def trusted_services(role: Thing) -> set[str]:
    """The services that may assume a role."""
    document = plain(role.properties.get("assumeRolePolicy", "{}"))
    found = json.loads(document) if isinstance(document, str) else document
    statements = found.get("Statement", [])
    principals = [one.get("Principal", {}) for one in (statements if isinstance(statements, list) else [statements])]
    services = [one.get("Service", []) for one in principals if isinstance(one, dict)]
    return {name for one in services for name in (one if isinstance(one, list) else [one])}


def _iam_arn(what: str) -> Any:
    def outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
        path = inputs.get("path", "/")
        return {
            "arn": place.arn("iam", f"{what}{path}{inputs['name']}", region=False),
            "createDate": CREATED,
            "uniqueId": "AROAFAKEFAKEFAKEFAKE",
        }

    return outputs


def _policy_id(place: Place, inputs: Inputs) -> str:
    return place.arn("iam", f"policy{inputs.get('path', '/')}{inputs['name']}", region=False)


def _inline_created(hook: Hook) -> None:
    (role,) = hook.linked("role")
    size = 0
    for one, _ in hook.world.referrers(role, "role policy"):
        size += len("".join(str(one.inputs.get("policy", "")).split()))
    if size > INLINE:
        raise AwsError("LimitExceeded", f"Maximum policy size of {INLINE} bytes exceeded for role {role.id}")


def _role_deleted(hook: Hook) -> None:
    attached = hook.world.referrers(hook.thing, "role policy attachment") or hook.world.referrers(hook.thing, "role policy")
    if attached and not hook.inputs.get("forceDetachPolicies"):
        raise AwsError("DeleteConflict", f"Cannot delete entity {hook.thing.id}, must detach all policies first")


def _role_check(inputs: Inputs) -> Findings:
    for name in flat(inputs, "name"):
        if not re.fullmatch(r"[\w+=,.@-]{1,64}", name):
            yield "name", f"ValidationError: {name!r} is longer than 64 or has other characters than alphanumeric and +=,.@-_"


def policies_of(hook_world: Any, role: Thing) -> int:
    """How many policies a role has, of any sort."""
    own = role.properties.get("managedPolicyArns") or role.properties.get("inlinePolicies") or []
    linked = [one for one, _ in hook_world.referrers(role) if one.noun in ("role policy", "role policy attachment")]
    return len(own) + len(linked) + (1 if role.foreign else 0)


# -- keys and logs -------------------------------------------------------------------------------------------------------------


def _key_outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
    found = {"arn": place.arn("kms", f"key/{id_}"), "keyId": id_}
    if "policy" not in inputs:
        statement = {
            "Sid": "Enable IAM User Permissions",
            "Effect": "Allow",
            "Principal": {"AWS": place.arn("iam", "root", region=False)},
            "Action": "kms:*",
            "Resource": "*",
        }
        found["policy"] = json.dumps({"Version": "2012-10-17", "Id": "key-default-1", "Statement": [statement]})
    return found


def key_admits(key: Thing, service: str) -> bool:
    """Whether a key's policy names a service, by its regional name too."""
    return key.foreign or service in json.dumps(plain(key.properties.get("policy", "")))


def _log_group_created(hook: Hook) -> None:
    for key in hook.linked("key"):
        if not key_admits(key, "logs."):
            raise AwsError(
                "AccessDeniedException", f"The specified KMS key {key.id} is not allowed to be used with the log group"
            )


# -- buckets -------------------------------------------------------------------------------------------------------------------


def _bucket_check(inputs: Inputs) -> Findings:
    for name in flat(inputs, "bucket"):
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", name) or ".." in name:
            yield "bucket", f"InvalidBucketName: {name!r} is not 3 to 63 lower-case letters, digits, dots and hyphens"


def _bucket_outputs(place: Place, id_: str, inputs: Inputs) -> dict[str, Any]:
    return {
        "arn": place.arn("s3", id_, region=False, account=False),
        "bucket": id_,
        "bucketDomainName": f"{id_}.s3.{place.suffix}",
        "bucketRegionalDomainName": f"{id_}.s3.{place.region}.{place.suffix}",
        "bucketRegion": place.region,
        "hostedZoneId": "Z3AQBSTGFYJSTF",
    }


def _bucket_deleted(hook: Hook) -> None:
    objects = hook.world.referrers(hook.thing, "object")
    if objects and not hook.inputs.get("forceDestroy"):
        raise AwsError("BucketNotEmpty", f"The bucket {hook.thing.id} you tried to delete is not empty")
    for one, _ in objects:
        hook.world.forget(one)


def _part(noun: str, **more: Any) -> Kind:
    """A setting of a bucket: one of each kind."""
    return Kind(
        noun,
        id=lambda place, inputs: str(inputs["bucket"]),
        unique=("bucket",),
        conflict="OperationAborted",
        force_new=("bucket", "expectedBucketOwner"),
        refs=(_BUCKET, *more.pop("refs", ())),
        **more,
    )


BASE: Final[dict[str, Kind]] = {
    "aws:iam/role:Role": Kind(
        "role",
        id=lambda place, inputs: str(inputs["name"]),
        unique=("name",),
        conflict="EntityAlreadyExists",
        autoname="name",
        force_new=("name", "namePrefix", "path"),
        refs=(Ref("managedPolicyArns", "policy", "DeleteConflict", "NoSuchEntity"),),
        defaults={"path": "/", "maxSessionDuration": 3600, "forceDetachPolicies": False},
        outputs=_iam_arn("role"),
        twin="AWS::IAM::Role",
        renames={"name": "RoleName", "assumeRolePolicy": "-", "inlinePolicies": "-"},
        documents={"assumeRolePolicy": ("trust", TRUST), "inlinePolicies.policy": ("identity", INLINE)},
        check=_role_check,
        on_delete=_role_deleted,
    ),
    "aws:iam/rolePolicy:RolePolicy": Kind(
        "role policy",
        id=lambda place, inputs: f"{inputs['role']}:{inputs['name']}",
        unique=("role", "name"),
        autoname="name",
        name_limit=128,
        force_new=("name", "namePrefix", "role"),
        refs=(_ROLE,),
        documents={"policy": ("identity", INLINE)},
        on_create=_inline_created,
        on_update=_inline_created,
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": Kind(
        "role policy attachment",
        id=lambda place, inputs: f"{inputs['role']}/{inputs['policyArn']}",
        force_new=("role", "policyArn"),
        refs=(_ROLE, Ref("policyArn", "policy", "DeleteConflict", "NoSuchEntity")),
    ),
    "aws:iam/policy:Policy": Kind(
        "policy",
        id=_policy_id,
        unique=("name", "path"),
        conflict="EntityAlreadyExists",
        autoname="name",
        name_limit=128,
        force_new=("name", "namePrefix", "path", "description"),
        defaults={"path": "/"},
        outputs=lambda place, id_, inputs: {"arn": id_, "policyId": "ANPAFAKEFAKEFAKEFAKE", "attachmentCount": 0},
        documents={"policy": ("identity", MANAGED)},
    ),
    "aws:kms/key:Key": Kind(
        "key",
        id=lambda place, inputs: "",
        force_new=("customerMasterKeySpec", "keyUsage", "multiRegion", "customKeyStoreId"),
        defaults={
            "customerMasterKeySpec": "SYMMETRIC_DEFAULT",
            "keyUsage": "ENCRYPT_DECRYPT",
            "isEnabled": True,
            "enableKeyRotation": False,
            "multiRegion": False,
            "description": "",
        },
        outputs=_key_outputs,
        twin="AWS::KMS::Key",
        renames={"deletionWindowInDays": "PendingWindowInDays", "isEnabled": "Enabled", "customerMasterKeySpec": "KeySpec"},
        documents={"policy": ("resource", 32768)},
    ),
    "aws:kms/alias:Alias": Kind(
        "key alias",
        id=lambda place, inputs: str(inputs["name"]),
        unique=("name",),
        autoname="name",
        name_limit=250,
        force_new=("name", "namePrefix"),
        refs=(Ref("targetKeyId", "key", "", "NotFoundException"),),
        outputs=lambda place, id_, inputs: {
            "arn": place.arn("kms", id_),
            "targetKeyArn": place.arn("kms", f"key/{str(inputs['targetKeyId']).rpartition('/')[2]}"),
        },
        twin="AWS::KMS::Alias",
        renames={"name": "AliasName"},
    ),
    "aws:cloudwatch/logGroup:LogGroup": Kind(
        "log group",
        id=lambda place, inputs: str(inputs["name"]),
        unique=("name",),
        conflict="ResourceAlreadyExistsException",
        autoname="name",
        name_limit=512,
        force_new=("name", "namePrefix"),
        refs=(Ref("kmsKeyId", "key", "", "InvalidParameterException"),),
        defaults={"logGroupClass": "STANDARD", "retentionInDays": 0, "skipDestroy": False},
        outputs=lambda place, id_, inputs: {"arn": place.arn("logs", f"log-group:{id_}")},
        handles=lambda id_, found: (f"{found.get('arn', '')}:*",),
        twin="AWS::Logs::LogGroup",
        renames={"name": "LogGroupName"},
        on_create=_log_group_created,
    ),
    "aws:s3/bucketVersioning:BucketVersioning": _part("bucket versioning"),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _part(
        "bucket encryption",
        refs=(Ref("rules.applyServerSideEncryptionByDefault.kmsMasterKeyId", "key", "", "KMS.NotFoundException"),),
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _part(
        "bucket public access block",
        defaults=dict.fromkeys(("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"), False),
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _part("bucket ownership controls"),
    "aws:s3/bucketPolicy:BucketPolicy": _part("bucket policy", documents={"policy": ("resource", 20480)}),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _part("bucket lifecycle"),
    "aws:s3/bucketLogging:BucketLogging": _part(
        "bucket logging", refs=(Ref("targetBucket", "bucket", "", "InvalidTargetBucketForLogging"),)
    ),
    "aws:s3/bucketObjectv2:BucketObjectv2": Kind(
        "object",
        id=lambda place, inputs: f"{inputs['bucket']}/{inputs['key']}",
        force_new=("bucket", "key"),
        refs=(_BUCKET, Ref("kmsKeyId", "key", "", "KMS.NotFoundException")),
        defaults={"storageClass": "STANDARD", "contentType": "application/octet-stream"},
        outputs=lambda place, id_, inputs: {
            "arn": place.arn("s3", id_, region=False, account=False),
            "etag": "0" * 32,
            "versionId": "null",
        },
    ),
    "aws:s3/bucket:Bucket": Kind(
        "bucket",
        id=lambda place, inputs: str(inputs["bucket"]),
        unique=("bucket",),
        conflict="BucketAlreadyOwnedByYou",
        autoname="bucket",
        name_limit=63,
        force_new=("bucket", "bucketPrefix", "objectLockEnabled"),
        defaults={"forceDestroy": False, "objectLockEnabled": False},
        outputs=_bucket_outputs,
        twin="AWS::S3::Bucket",
        renames={"bucket": "BucketName"},
        check=_bucket_check,
        on_delete=_bucket_deleted,
    ),
}
for _token in list(BASE):
    if _token.startswith("aws:s3/") and _token != "aws:s3/bucketObjectv2:BucketObjectv2":
        _module, _, _name = _token.rpartition(":")
        BASE[f"{_module}V2:{_name}V2"] = BASE[_token]
BASE["aws:s3/bucketObject:BucketObject"] = BASE["aws:s3/bucketObjectv2:BucketObjectv2"]
