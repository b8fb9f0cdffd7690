"""IAM: what roles may do, and who may be them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from policies.model import Domain, Properties, has, items
from policies.rules.documents import (
    Statement,
    allowed,
    conditions,
    covers,
    everywhere,
    is_everybody,
    label,
    listed,
    matches,
    principals,
    statements,
)

IAM = Domain("iam", "IAM")
ROLE = "aws:iam/role:Role"
POLICIES = (
    ROLE,
    "aws:iam/policy:Policy",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/userPolicy:UserPolicy",
    "aws:iam/groupPolicy:GroupPolicy",
)
ATTACHMENTS = (
    ROLE,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:iam/userPolicyAttachment:UserPolicyAttachment",
    "aws:iam/groupPolicyAttachment:GroupPolicyAttachment",
    "aws:iam/policyAttachment:PolicyAttachment",
)
UNRESTRICTABLE = ("*:describe*", "*:list*", "ecr:getauthorizationtoken", "cloudwatch:putmetricdata", "sts:getcalleridentity")
"""Actions that know no resource, or only tell names (Service Authorization Reference)."""
ESCALATION = (
    "iam:AddUserToGroup",
    "iam:AttachGroupPolicy",
    "iam:AttachRolePolicy",
    "iam:AttachUserPolicy",
    "iam:CreateAccessKey",
    "iam:CreateLoginProfile",
    "iam:CreatePolicyVersion",
    "iam:PassRole",
    "iam:PutGroupPolicy",
    "iam:PutRolePolicy",
    "iam:PutUserPolicy",
    "iam:SetDefaultPolicyVersion",
    "iam:UpdateAssumeRolePolicy",
    "iam:UpdateLoginProfile",
    "sts:AssumeRole",
)
"""With one of these on everything, a principal gets whatever rights it wants."""
WITHOUT_ACCOUNT = ("ec2.amazonaws.com", "pods.eks.amazonaws.com")
"""Services that tell no source account when they take a role: instances are their own, Pod Identity has tags of its own."""


@IAM.rule(
    "iam-no-full-access",
    "No policy allows everything on everything",
    types=POLICIES,
    severity="critical",
    anchors=["CKV_AWS_62", "CKV_AWS_63"],
    remedy="Name the actions.",
)
def no_full_access(properties: Properties) -> Iterator[str]:
    for statement in _documents(properties):
        if any(action in {"*", "*:*"} for action in listed(statement, "Action")) and everywhere(statement):
            yield f"{label(statement)} allows everything on {_resources(statement)}"
        if has(statement, "NotAction"):
            yield f"{label(statement)} allows everything but what it names"


@IAM.rule(
    "iam-no-wildcard-resource",
    "Actions that know resources name them",
    types=POLICIES,
    severity="medium",
    anchors=["CKV_AWS_355", "CKV_AWS_356", "CKV_AWS_290", "CKV_AWS_111"],
    remedy="Name ARNs, or a condition that narrows them.",
)
def no_wildcard_resource(properties: Properties) -> Iterator[str]:
    for statement in _documents(properties):
        if not everywhere(statement) or statement.get("Condition"):
            continue
        wide = [action for action in listed(statement, "Action") if not matches(UNRESTRICTABLE, action)]
        if has(statement, "NotAction"):
            wide = [f"all but {', '.join(listed(statement, 'NotAction'))}"]
        if wide:
            yield f"{label(statement)} allows {', '.join(wide)} on {_resources(statement)}"


@IAM.rule(
    "iam-no-escalation",
    "No policy lets its holder give itself more",
    types=POLICIES,
    severity="critical",
    anchors=["CKV_AWS_286", "CKV_AWS_110", "CKV_AWS_289", "CKV_AWS_109"],
    remedy="Name the roles that may be passed, with `iam:PassedToService`; leave the others to administrators.",
)
def no_escalation(properties: Properties) -> Iterator[str]:
    for statement in _documents(properties):
        if not everywhere(statement) or "iam:passedtoservice" in conditions(statement):
            continue
        found = [action for action in ESCALATION if covers(statement, action)]
        if found:
            yield f"{label(statement)} lets its holder get any right, by {', '.join(found[:3])}"


@IAM.rule(
    "iam-no-administrator",
    "Nobody gets AWS's policy for administrators",
    types=ATTACHMENTS,
    severity="critical",
    anchors=["CKV_AWS_274"],
    remedy="Write a policy of what is needed.",
)
def no_administrator(properties: Properties) -> Iterator[str]:
    # Asked by name first: on a role, all managed policies are in one list, which is rarely there.
    found = [properties["policyArn"]] if has(properties, "policyArn") else list(items(properties, "managedPolicyArns"))
    for arn in found:
        name = str(arn).rpartition("/")[2]
        if name in {"AdministratorAccess", "IAMFullAccess", "PowerUserAccess"}:
            yield f"{name} is attached"


@IAM.rule(
    "iam-trust",
    "A role is taken by named principals, a service only for this account",
    types=[ROLE],
    severity="high",
    anchors=["CKV_AWS_60", "CKV_AWS_61"],
    remedy="Name the service or role, and for a service the condition `aws:SourceAccount` or `aws:SourceArn`.",
)
def trust(properties: Properties) -> Iterator[str]:
    for statement in statements(properties.get("assumeRolePolicy")):
        if statement.get("Effect") != "Allow":
            continue
        tests = conditions(statement)
        for kind, name in principals(statement):
            if is_everybody(name):
                yield "everybody may take the role"
            elif kind == "AWS" and (name.isdigit() or name.endswith(":root")) and "sts:externalid" not in tests:
                yield f"the whole account {name} may take the role"
            elif kind == "Service" and name not in WITHOUT_ACCOUNT and not tests.keys() & {"aws:sourceaccount", "aws:sourcearn"}:
                yield f"{name} may take the role for whatever account asks it to"


def _resources(statement: Statement) -> str:
    return "everything but what it names" if has(statement, "NotResource") else "everything"


def _documents(properties: Properties) -> Iterator[Statement]:
    """What the policies of a resource allow: its own document, or those written into a role."""
    found: list[Any] = [properties["policy"]] if has(properties, "policy") else []
    found += [one["policy"] for one in items(properties, "inlinePolicies") if has(one, "policy")]
    for document in found:
        yield from allowed(document)
