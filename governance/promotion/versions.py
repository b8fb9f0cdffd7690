"""Versions of what runs on a cluster, and steps between them that can't be made."""

from __future__ import annotations

from collections.abc import Iterator

from config.hyperpod import HyperPodCluster
from governance.model import ClusterPlan
from governance.platform.versions import ADDON, contained_kueue, unsafe_jump
from governance.promotion.model import VersionChange


def version_changes(
    old: ClusterPlan, new: ClusterPlan, backend: tuple[str, str], *, side_by_side: bool
) -> Iterator[VersionChange]:
    """Versions that differ. Between environments that stand side by side there is no step, and so no warning."""
    before, after = _versions(old, backend[0]), _versions(new, backend[1])
    for what in dict.fromkeys((*before, *after)):
        one, other = before.get(what), after.get(what)
        if one != other:
            warning = "" if side_by_side or one is None or other is None else _warning(what, one, other)
            yield VersionChange(new.name, what, one, other, warning)


def _versions(cluster: ClusterPlan, backend: str) -> dict[str, str]:
    found: dict[str, str] = {}
    declared = cluster.declared
    if isinstance(declared, HyperPodCluster):
        if declared.eks.existing is None:
            found["Kubernetes"] = declared.eks.version
            found |= {f"add-on {name}": version for name, version in sorted(declared.eks.addons.items())}
        if backend == "managed":
            found[ADDON] = declared.task_governance.version
            inside = contained_kueue(declared.task_governance.version)
            if inside is not None:
                found["Kueue inside the add-on"] = inside
    if backend == "kueue":
        found["Kueue"] = cluster.kueue.version
        found["Kueue's chart"] = cluster.kueue.chart
    return found


def _warning(what: str, old: str, new: str) -> str:
    if what == ADDON:
        return unsafe_jump(old, new) or ""
    if what != "Kubernetes":
        return ""
    before, after = (tuple(int(part) for part in version.split(".")) for version in (old, new))
    if after < before:
        return "EKS takes no downgrade: keep the version, or build another cluster"
    if after[1] > before[1] + 1:
        return f"EKS updates one minor version at a time: first to {before[0]}.{before[1] + 1}"
    return ""
