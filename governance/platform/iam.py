"""IAM documents as plain dicts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Document = dict[str, Any]
Statement = dict[str, Any]
Conditions = Mapping[str, Mapping[str, str | Sequence[str]]]
INLINE_LIMIT, MANAGED_LIMIT = 10_240, 6_144
"""Characters, white space not counted, of all inline policies of a role together, and of a policy of its own (IAM quotas)."""


def document(*statements: Statement) -> Document:
    """A policy of these statements."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


def allow(sid: str, actions: Sequence[str], resources: Sequence[str], conditions: Conditions | None = None) -> Statement:
    """A statement that allows actions on resources."""
    return _statement("Allow", sid, {"Action": list(actions), "Resource": list(resources)}, conditions)


def deny(sid: str, actions: Sequence[str], resources: Sequence[str], conditions: Conditions) -> Statement:
    """A statement of a resource's policy that refuses everybody under the conditions."""
    return _statement("Deny", sid, {"Principal": "*", "Action": list(actions), "Resource": list(resources)}, conditions)


def trust(service: str, account: str, *, operator: str = "StringEquals") -> Document:
    """A role's trust in a service, for work on behalf of its own account alone: no other account can make the service use it."""
    own = {operator: {"aws:SourceAccount": account}}
    return document(_statement("Allow", "Service", {"Principal": {"Service": service}, "Action": "sts:AssumeRole"}, own))


def _statement(effect: str, sid: str, body: Mapping[str, Any], conditions: Conditions | None) -> Statement:
    condition = {"Condition": {operator: dict(keys) for operator, keys in conditions.items()}} if conditions else {}
    return {"Sid": sid, "Effect": effect, **body, **condition}


def text(policy: Document) -> str:
    """The document as AWS takes it, without white space."""
    return json.dumps(policy, separators=(",", ":"))


def parts(policy: Document, limit: int = MANAGED_LIMIT) -> list[Document]:
    """The policy as several that keep the limit, statements in their order. Raises ValueError for a statement that can't."""
    found: list[list[Statement]] = [[]]
    for statement in policy["Statement"]:
        if len(text(document(statement))) > limit:
            raise ValueError(f"the statement {statement['Sid']} alone is longer than {limit} characters")
        if len(text(document(*found[-1], statement))) > limit:
            found.append([])
        found[-1].append(statement)
    return [document(*statements) for statements in found]
