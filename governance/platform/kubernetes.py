"""Kubernetes versions of EKS clusters: which HyperPod and Kueue go with, and until when EKS supports them.

Each table says where it comes from. They age: what they find may be waived where AWS or Kueue has gone on since.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from config.environment import Backend
from config.findings import Finding, Severity, Where, problem_at
from config.hyperpod import HyperPodCluster
from governance.platform.versions import Version, addon_version, dotted, kubernetes_version

HYPERPOD = ((1, 28), (1, 35))
"""Oldest and newest that HyperPod is documented for (SageMaker, "Getting started with Amazon EKS support in SageMaker HyperPod":
up to 1.34; the metadata of its add-ons: 1.35)."""
KUEUE = {"0.16.6": ((1, 32), (1, 35))}
"""Oldest and newest that a Kueue is tested with, by its version (E2E_K8S_VERSIONS of its Makefiles)."""
SUPPORT = {
    (1, 28): (date(2024, 11, 26), date(2025, 11, 26)),
    (1, 29): (date(2025, 3, 23), date(2026, 3, 23)),
    (1, 30): (date(2025, 7, 23), date(2026, 7, 23)),
    (1, 31): (date(2025, 11, 26), date(2026, 11, 26)),
    (1, 32): (date(2026, 3, 23), date(2027, 3, 23)),
    (1, 33): (date(2026, 7, 29), date(2027, 7, 29)),
    (1, 34): (date(2026, 12, 2), date(2027, 12, 2)),
    (1, 35): (date(2027, 3, 27), date(2028, 3, 27)),
}
"""Days on which standard and extended support end (EKS User Guide, "Amazon EKS Kubernetes release calendar"). Newer ones are not
listed yet, and nothing is said of them."""
PROXY_SKEW = 3
"""Versions that kube-proxy may be behind the control plane; it must not be ahead (Kubernetes, "Version Skew Policy")."""


def kubernetes_findings(cluster: HyperPodCluster, backend: Backend, today: date, where: Where, proxy: Where) -> Iterator[Finding]:
    """What the version of a new EKS cluster doesn't go with. That of an existing one is not known here.

    `where`: the place of the version; `proxy`: that of kube-proxy's.
    """
    eks = cluster.eks
    if eks.existing is not None:
        return
    version = kubernetes_version(eks.version)
    yield from _hyperpod(version, where)
    yield from _support(version, today, where)
    if backend == "kueue" and cluster.kueue.install:
        oldest, newest = KUEUE[cluster.kueue.version]
        if not oldest <= version <= newest:
            tested = f"{dotted(oldest)} to {dotted(newest)}"
            message = f"Kueue {cluster.kueue.version} is tested with Kubernetes {tested}, not with {dotted(version)}"
            yield Finding("kueue-kubernetes", Severity.WARNING, where, message, f"set eks.version to one of {tested}")
    if "kube-proxy" in eks.addons:
        yield from _proxy(eks.addons["kube-proxy"], version, proxy)


def _hyperpod(version: Version, where: Where) -> Iterator[Finding]:
    oldest, newest = HYPERPOD
    message = f"HyperPod is documented for Kubernetes {dotted(oldest)} to {dotted(newest)}, not for {dotted(version)}"
    remedy = f"set eks.version to one of {dotted(oldest)} to {dotted(newest)}"
    if version < oldest:
        yield problem_at("hyperpod-kubernetes", where, message, remedy)
    elif version > newest:
        yield Finding("hyperpod-kubernetes", Severity.WARNING, where, message, remedy)


def _support(version: Version, today: date, where: Where) -> Iterator[Finding]:
    """Support ends at the beginning of the day."""
    standard, extended = SUPPORT.get(version, (date.max, date.max))
    supported = [dotted(other) for other, (ends, _) in SUPPORT.items() if ends > today]
    remedy = f"raise it to {supported[-1]}" if supported else "raise it to a newer one"
    if today >= extended:
        message = f"EKS ended its support of Kubernetes {dotted(version)} on {extended}: it makes no new cluster of it"
        yield problem_at("kubernetes-support", where, message, remedy)
    elif today >= standard:
        message = (
            f"standard support of Kubernetes {dotted(version)} ended on {standard}: until {extended} EKS charges extra for it, "
            "then it raises the version itself"
        )
        yield Finding("kubernetes-support", Severity.ADVICE, where, message, remedy)


def _proxy(pinned: str, version: Version, where: Where) -> Iterator[Finding]:
    own = addon_version(pinned)[:2]
    if own > version or own < (version[0], version[1] - PROXY_SKEW):
        words = "newer than" if own > version else f"more than {PROXY_SKEW} versions behind"
        message = f"kube-proxy {pinned} is {words} the control plane's {dotted(version)}"
        yield problem_at("kube-proxy-version", where, message, f"pin one of v{dotted(version)}, or leave the choice to EKS")
