"""The account as a whole: threat detection and tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policies.model import Domain, Properties, Resource, Stack, Violation, has, part

ACCOUNT = Domain("account", "Account")
DETECTOR, FEATURE = "aws:guardduty/detector:Detector", "aws:guardduty/detectorFeature:DetectorFeature"
WATCHED = ("EKS_AUDIT_LOGS", "EKS_RUNTIME_MONITORING", "RUNTIME_MONITORING")


@ACCOUNT.rule(
    "guardduty-eks",
    "GuardDuty watches audit logs and runtime of EKS",
    types=[DETECTOR, FEATURE],
    severity="high",
    anchors=["GuardDuty.5", "GuardDuty.7"],
    remedy="Enable the detector and its features EKS_AUDIT_LOGS and RUNTIME_MONITORING.",
)
def guardduty(properties: Properties) -> Iterator[str]:
    if has(properties, "enable") and not properties["enable"]:
        yield "the detector is off"
    logs = part(part(part(properties, "datasources"), "kubernetes"), "auditLogs")
    if has(logs, "enable") and not logs["enable"]:
        yield "audit logs of EKS are not watched"
    if properties.get("name") in WATCHED and properties.get("status") != "ENABLED":
        yield f"{properties['name']} is off"


@ACCOUNT.stack_rule(
    "required-tags",
    "What can carry tags says whose it is",
    severity="low",
    anchors=["own"],
    remedy="Give the tags that `tags` in the settings names; the cluster's own go to all that it makes.",
)
def required_tags(stack: Stack) -> Iterator[Violation]:
    for resource in stack.resources:
        if not resource.type.startswith(("aws:", "aws-native:")) or not has(resource.properties, "tags"):
            continue
        missing = [key for key in stack.parameters.tags if key not in _keys(resource)]
        if missing:
            yield Violation(resource, f"it has no tag {', '.join(missing)}")


def _keys(resource: Resource) -> set[str]:
    """Keys of tags, of a map or of a list of `{key, value}`."""
    found = resource.properties["tags"]
    if isinstance(found, Mapping):
        return set(found)
    return {str(one.get("key", one.get("Key"))) for one in found or ()}
