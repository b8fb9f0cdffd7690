"""Versions of the task governance add-on: what each needs, what is inside, and which updates lose data.

Sources: AWS's documentation of HyperPod task governance (requirements, release notes, troubleshooting).
"""

from __future__ import annotations

import re
from typing import NamedTuple

ADDON = "amazon-sagemaker-hyperpod-taskgovernance"
_ADDON_VERSION = re.compile(r"v(\d+)\.(\d+)\.(\d+)-eksbuild\.(\d+)\Z")
_KUBERNETES = re.compile(r"(\d+)\.(\d+)\Z")
_KUEUE = {(1, 0): "0.8", (1, 1): "0.12", (1, 3): "0.12", (1, 5): "0.18", (1, 6): "0.19"}
"""Minor version of the Kueue inside, by the add-on's; others are not documented."""
_DOCUMENTED = {*_KUEUE, (1, 2)}
"""Of v1.2 it isn't documented which Kueue is inside, but that there is one."""


class AddonVersion(NamedTuple):
    """`v<major>.<minor>.<patch>-eksbuild.<build>`; compares as versions do."""

    major: int
    minor: int
    patch: int
    build: int


Version = tuple[int, int]
"""A Kubernetes version, without its patch."""


class Problem(NamedTuple):
    """What a version can't do, and what to do about it."""

    kind: str
    """Identifies the rule, as a finding's id does."""
    message: str
    remedy: str


FINE_GRAINED = AddonVersion(1, 3, 0, 0)
"""First that knows quotas by accelerator, vCPU and memory."""
TOPOLOGY = AddonVersion(1, 2, 2, 0)
"""First with topology-aware scheduling."""
NEW_STORAGE = AddonVersion(1, 5, 0, 0)
"""First whose Kueue no longer serves the version in which older ones stored their objects."""
KUBERNETES = (1, 30)
"""Oldest Kubernetes that task governance runs on."""


def addon_version(version: str) -> AddonVersion:
    """Raises ValueError for anything but `v1.6.0-eksbuild.1` and the like."""
    match = _ADDON_VERSION.match(version)
    if not match:
        raise ValueError(f"`{version}` is not the version of an EKS add-on, as v1.6.0-eksbuild.1")
    return AddonVersion(*(int(part) for part in match.groups()))


def documented(version: str) -> bool:
    """Whether there is word of the add-on's version. Raises ValueError as `addon_version`."""
    return addon_version(version)[:2] in _DOCUMENTED


def contained_kueue(version: str) -> str | None:
    """Minor version of the Kueue inside, as `0.19`; None where it isn't documented. Raises ValueError as `addon_version`."""
    return _KUEUE.get(addon_version(version)[:2])


def addon_problems(
    version: str, kubernetes: str, *, fine_grained: bool = False, mig: bool = False, topology: bool = False
) -> list[Problem]:
    """What the add-on's version and the cluster's can't do of what the quotas ask. `kubernetes` is as `1.33`.

    Raises ValueError as `addon_version`, and for a Kubernetes version that is none.
    """
    found, cluster = addon_version(version), kubernetes_version(kubernetes)
    problems = []
    if cluster < KUBERNETES:
        message = f"task governance needs Kubernetes {dotted(KUBERNETES)} or newer; the cluster has {kubernetes}"
        problems.append(Problem("addon-kubernetes", message, f"set eks.version to {dotted(KUBERNETES)} or newer"))
    if fine_grained and found < FINE_GRAINED:
        problems.append(_too_old("addon-fine-grained", version, "quotas by accelerator, vCPU or memory", FINE_GRAINED))
    if mig and found < FINE_GRAINED:
        problems.append(_too_old("addon-mig", version, "quotas of MIG partitions", FINE_GRAINED))
    if topology and found < TOPOLOGY:
        problems.append(_too_old("addon-topology", version, "topology-aware scheduling", TOPOLOGY))
    return problems


def unsafe_jump(old: str, new: str) -> str | None:
    """Why an installed add-on must not be updated from `old` to `new`, with the way that works; None where it may be.

    A version that can't be read is left to EKS.
    """
    try:
        before, after = addon_version(old), addon_version(new)
    except ValueError:
        return None
    if after[:3] < before[:3]:
        return (
            f"{ADDON}: {old} → {new} is a downgrade: the older Kueue can't read what the newer one has stored. "
            f"Keep {old}, or newer."
        )
    if before < NEW_STORAGE <= after:
        return (
            f"{ADDON}: {old} → {new} can't be done in place: the Kueue inside no longer serves the version in which {old} "
            f"has stored its objects, and the update fails half-way. {MIGRATION}"
        )
    return None


MIGRATION = (
    "Instead: let running jobs end; `pulumi state unprotect` the add-on, the quotas and their role bindings; "
    "`pulumi destroy --target <the add-on's URN> --target-dependents`; delete Kueue's CRDs with kubectl; then `pulumi up` with "
    "the new version installs the add-on and makes priorities, quotas and access again (docs/failed-quota.md has the commands)."
)
"""The way across the gap, for messages."""


def _too_old(kind: str, version: str, what: str, since: AddonVersion) -> Problem:
    return Problem(kind, f"{ADDON} {version} doesn't know {what}", f"set task_governance.version to {_since(since)} or newer")


def _since(version: AddonVersion) -> str:
    return f"v{version.major}.{version.minor}.{version.patch}"


def kubernetes_version(version: str) -> Version:
    """Raises ValueError for anything but `1.33` and the like."""
    match = _KUBERNETES.match(version)
    if not match:
        raise ValueError(f"`{version}` is not a Kubernetes version, as 1.33")
    return int(match[1]), int(match[2])


def dotted(version: Version) -> str:
    """As files have it: `1.33`."""
    return f"{version[0]}.{version[1]}"
