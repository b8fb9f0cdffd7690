"""Instance groups, from the nodes that are there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from config.catalogue import instance_types
from governance.adoption.amounts import base_units
from governance.adoption.model import Note, Object, labels_of, spec_of
from governance.names import GROUP_LABEL, INSTANCE_TYPE_LABEL
from governance.nodes import ZONE_LABEL

_MIG = "nvidia.com/mig-"
_OWN_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "sagemaker.amazonaws.com/")
"""Taints that come and go with a node's condition."""


def known_type(label: str) -> str | None:
    """The instance type that a label means: on nodes outside HyperPod it stands without `ml.`. None for an unknown one."""
    return next((name for name in (label, f"ml.{label}") if name in instance_types()), None)


def instance_groups(nodes: Iterable[Object]) -> tuple[dict[str, Any], list[Note]]:
    """Groups by name, as HyperPod labels its nodes, or one for each instance type; and notes on nodes of unknown types."""
    members: dict[str, list[Object]] = {}
    unknown: dict[str, int] = {}
    for node in nodes:
        label = labels_of(node).get(INSTANCE_TYPE_LABEL, "")
        kind = known_type(label)
        if kind is None:
            unknown[label] = unknown.get(label, 0) + 1
        else:
            members.setdefault(group_name(labels_of(node).get(GROUP_LABEL) or kind), []).append(node)
    groups = {name: _group(found) for name, found in sorted(members.items())}
    notes = [
        Note(
            "import-left",
            "Nodes",
            f"{count} of type `{label}`, which the catalogue doesn't know, count for no capacity",
        )
        for label, count in sorted(unknown.items())
    ]
    return groups, notes


def group_name(text: str) -> str:
    """A group's name, from a label or an instance type."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower().removeprefix("ml.")).strip("-")
    return name[:63].rstrip("-") or "nodes"


def _group(nodes: list[Object]) -> dict[str, Any]:
    first = nodes[0]
    group: dict[str, Any] = {"instance_type": known_type(labels_of(first)[INSTANCE_TYPE_LABEL]), "count": len(nodes)}
    zones = {labels_of(node).get(ZONE_LABEL) for node in nodes}
    if len(zones) == 1 and (zone := zones.pop()):
        group["availability_zone"] = zone
    if taints := _taints(first):
        group["taints"] = taints
    if partitions := _partitions(first):
        group["partitions"] = partitions
    return group


def _taints(node: Object) -> list[Mapping[str, str]]:
    found = (taint for taint in spec_of(node).get("taints") or () if not taint["key"].startswith(_OWN_TAINTS))
    return [{field: taint[field] for field in ("key", "value", "effect") if taint.get(field)} for taint in found]


def _partitions(node: Object) -> dict[str, int]:
    capacity = (node.get("status") or {}).get("capacity") or {}
    counts = {resource: base_units(resource, amount) for resource, amount in capacity.items() if resource.startswith(_MIG)}
    return {resource.removeprefix("nvidia.com/"): count for resource, count in sorted(counts.items()) if count}
