"""EC2 instances and their volumes, where a stack declares some beside HyperPod's."""

from __future__ import annotations

from collections.abc import Iterator

from policies.model import Domain, Properties, has, items, part

INSTANCES = Domain("instances", "Instances and volumes")
INSTANCE, TEMPLATE = "aws:ec2/instance:Instance", "aws:ec2/launchTemplate:LaunchTemplate"


@INSTANCES.rule(
    "imds-v2",
    "Instance metadata is given to its own instance only",
    types=[INSTANCE, TEMPLATE],
    severity="high",
    anchors=["CKV_AWS_79", "CKV_AWS_341", "EC2.8", "EC2.170"],
    remedy="Set `metadataOptions` with `httpTokens: required` and `httpPutResponseHopLimit: 1`.",
)
def imds_v2(properties: Properties) -> Iterator[str]:
    options = part(properties, "metadataOptions")
    if options.get("httpTokens") != "required":
        yield "metadata is given without a token (IMDSv1)"
    if options.get("httpPutResponseHopLimit", 1) > 1:
        yield "pods reach the instance's metadata: the hop limit is above 1"


@INSTANCES.rule(
    "ebs-encrypted",
    "Volumes are encrypted under a key of ours",
    types=["aws:ebs/volume:Volume", "aws:ebs/encryptionByDefault:EncryptionByDefault", INSTANCE, TEMPLATE],
    severity="high",
    anchors=["CKV_AWS_8", "CKV_AWS_3", "CKV_AWS_189", "EC2.3", "EC2.7", "EC2.181"],
    remedy="Set `encrypted: true` and `kmsKeyId`.",
)
def ebs_encrypted(properties: Properties) -> Iterator[str]:
    if has(properties, "enabled") and not properties["enabled"]:
        yield "new volumes of the account are not encrypted by default"
    volumes = [properties] if has(properties, "size") or has(properties, "encrypted") else []
    volumes += [part(properties, "rootBlockDevice")] if has(properties, "rootBlockDevice") else []
    volumes += [*items(properties, "ebsBlockDevices")]
    volumes += [part(mapping, "ebs") for mapping in items(properties, "blockDeviceMappings") if has(mapping, "ebs")]
    for volume in volumes:
        if str(volume.get("encrypted", False)).lower() != "true":
            yield "a volume is not encrypted"
        elif not has(volume, "kmsKeyId"):
            yield "a volume is encrypted under AWS's key, not one of ours"
