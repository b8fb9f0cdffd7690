"""Findings on labels that nodes carry, or don't: levels of a topology, and what NVIDIA's operator partitions by."""

from __future__ import annotations

import re
from collections.abc import Iterator

from config.catalogue import instance_types
from config.environment import HOSTNAME, Topology
from config.findings import Finding, Severity
from config.groups import HyperPodGroup
from config.hyperpod import HyperPodCluster
from config.yamlsource import Layered, Path_
from governance.flavors import has_level, is_network_layer
from governance.names import GROUP_LABEL, INSTANCE_TYPE_LABEL

MIG_CONFIG = "nvidia.com/mig.config"
"""Label of a node: the name of a configuration of NVIDIA's operator (SageMaker, GPU partitions: "Node Lifecycle and Labels")."""
ULTRASERVER = "topology.k8s.aws/ultraserver-id"
_ULTRASERVERS = ("p6e-gb200",)
"""Families of HyperPod whose nodes carry it."""
_ON_ALL_NODES = (
    HOSTNAME,
    INSTANCE_TYPE_LABEL,
    GROUP_LABEL,
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.k8s.aws/zone-id",
)
_PROFILE = re.compile(r"[1-7]g\.\d+gb")
_CONFIG = re.compile(r"all-(disabled|[1-7]g\.\d+gb)\Z|mixed(-\d+-[1-7]g\.\d+gb)+\Z")
"""Names of HyperPod's configurations, which say what they do; those of others say nothing here."""


def level_findings(cluster: HyperPodCluster, topology: Topology, source: Layered, path: Path_) -> Iterator[Finding]:
    """Levels of the declaration that nodes of the cluster don't carry. Those of HyperPod's own topology are left out by type."""
    if not topology.enabled or "levels" not in topology.model_fields_set:
        return
    for index, level in enumerate(topology.levels):
        lacking = [name for name, group in sorted(cluster.instance_groups.items()) if not _carries(group, level)]
        some = len(lacking) < len(cluster.instance_groups)
        if not lacking or (some and is_network_layer(level)):
            continue  # a type without that layer has a topology of its own, without it
        where = source.where(("governance", "topology", "levels", index))
        if is_network_layer(level):
            message = f"no type of the cluster `{path[-1]}` has the network layer {level}: the level has no effect"
            remedy = "remove it, or use types with network layers"
        else:
            message = f"nodes of {', '.join(lacking)} on `{path[-1]}` don't carry the label {level}: no job is admitted to them"
            remedy = "set the label on these groups, or remove the level"
        yield Finding("topology-level-label", Severity.WARNING, where, message, remedy)


def _carries(group: HyperPodGroup, level: str) -> bool:
    kind = instance_types()[group.instance_type]
    if is_network_layer(level):
        return has_level(kind, level)
    if level == ULTRASERVER:
        return kind.family in _ULTRASERVERS
    return level in _ON_ALL_NODES or level in group.labels


def partition_findings(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """Groups whose partitions aren't those that their label asks NVIDIA's operator for."""
    for name, group in cluster.instance_groups.items():
        label, declared = group.labels.get(MIG_CONFIG), {profile.removeprefix("mig-") for profile in group.partitions}
        place: Path_ = (*path, "instance_groups", name)
        if label is None:
            if declared:
                message = f"nobody makes the partitions of the group `{name}`: it has no label {MIG_CONFIG}"
                remedy = f"add it to its labels, as `{MIG_CONFIG}: all-{min(declared)}`"
                yield Finding("mig-config", Severity.WARNING, source.where((*place, "partitions"), key=True), message, remedy)
        elif _CONFIG.match(label) and set(_PROFILE.findall(label)) != declared:
            told = f"has partitions of {', '.join(sorted(declared))}" if declared else "declares no partitions"
            message = f"the label {MIG_CONFIG} of the group `{name}` is {label}, and the group {told}"
            where = source.where((*place, "labels", MIG_CONFIG))
            yield Finding("mig-config", Severity.WARNING, where, message, "let the label and `partitions` say the same")
