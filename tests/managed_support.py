"""Clusters and teams of the managed backend, for tests of its payloads."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from strategies import TYPES, amounts, quotas

from config.catalogue import instance_types

GROUPS = "".join(
    f"      g{n}: {{instance_type: {kind}, count: 4, availability_zone: us-west-2a}}\n" for n, kind in enumerate(TYPES)
)
HYPERPOD = f"""\
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: hyperpod
    account: "123456789012"
    region: us-west-2
    network: {{availability_zones: [us-west-2a, us-west-2b, us-west-2c]}}
    eks: {{admins: ["arn:aws:iam::123456789012:role/admin"]}}
    instance_groups:
{GROUPS}"""
MANAGED = HYPERPOD + "governance: {backend: managed, priority_classes: {train: {weight: 70}, serve: {weight: 90}}}\n"
_GROUPS = {"clusters": {"main": {"instance_groups": {kind: {"instance_type": kind} for kind in TYPES}}}}


@st.composite
def managed_teams(draw: st.DrawFn) -> dict[str, Any]:
    """A team of what the managed backend has."""
    limits = st.sampled_from(TYPES).flatmap(lambda name: st.fixed_dictionaries({name: amounts([instance_types()[name]], most=8)}))
    sharing = st.one_of(
        st.sampled_from(["lend", "dont_lend", "lend_and_borrow"]),
        st.integers(0, 10_000).map(lambda percent: {"borrow_limit": percent}),
        limits.map(lambda found: {"borrow": found}),
    )
    return {
        "apiVersion": "hyperpod-platform/v1",
        "owners": ["owner@example.com"],
        "quota": draw(quotas(_GROUPS, ["main"])),
        "weight": draw(st.integers(0, 100)),
        "sharing": draw(sharing),
        "preemption": draw(st.sampled_from(["lower_priority", "never"])),
        "state": draw(st.sampled_from(["active", "held", "draining"])),
    }
