"""What the add-ons of an EKS cluster need to know of its nodes."""

from __future__ import annotations

from typing import Any

from governance.platform.model import PlatformPlan

REPELLING = ("NoSchedule", "NoExecute")
"""Effects of taints that keep away what doesn't tolerate them."""
_DEFAULT_TOLERATIONS: tuple[dict[str, str], ...] = (
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"},
)
"""Those that EKS's coredns has by itself; a list of ours takes their place."""


def nodes_expected(plan: PlatformPlan) -> bool:
    """Whether this deployment brings nodes that run ordinary pods. Restricted groups don't: they run customization alone."""
    return any(group.declared.count > 0 for group in plan.groups)


def coredns_settings(plan: PlatformPlan) -> dict[str, Any]:
    """Settings of the coredns add-on: where every group is tainted, tolerations, or no name would resolve."""
    tainted = [[t for t in group.declared.taints if t.effect in REPELLING] for group in plan.groups if group.declared.count > 0]
    if not tainted or not all(tainted):
        return {}
    own = {(taint.key, taint.value, taint.effect) for taints in tainted for taint in taints}
    tolerations = [{"key": key, "operator": "Equal", "value": value, "effect": effect} for key, value, effect in sorted(own)]
    return {"tolerations": [*_DEFAULT_TOLERATIONS, *tolerations]}
