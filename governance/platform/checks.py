"""Findings on clusters that the platform layer builds: all that can be known before a call to AWS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from config.cluster import Kueue
from config.consistency_hyperpod import hyperpod_findings
from config.files import ENVIRONMENTS, SUFFIX
from config.findings import Finding, Severity, did_you_mean, problem_at, quoted
from config.hyperpod import TASK_GOVERNANCE_VERSION, HyperPodCluster
from config.load import Platform
from config.yamlsource import Path_
from governance.access import conflicting_roles
from governance.managed import fine_grained, partitioned
from governance.model import ClusterPlan
from governance.platform.addresses import address_shortages
from governance.platform.kubernetes import kubernetes_findings
from governance.platform.labels import level_findings, partition_findings
from governance.platform.lifecycle import is_there, lifecycle_findings
from governance.platform.names import platform_names
from governance.platform.ownership import ownership_findings
from governance.platform.placement import placement_findings
from governance.platform.regions import GOVERNANCE_REGIONS
from governance.platform.spans import span_findings
from governance.platform.systempods import system_pod_findings
from governance.platform.versions import KUBERNETES, addon_problems, addon_version, documented

OLDEST_CNI = (1, 18, 3)
"""Oldest version of the add-on vpc-cni (AWS's documentation of HyperPod on EKS)."""
_KARPENTER_REASON = (
    "Karpenter adds nodes when a job waits for them, but topology-aware placement admits a job only where nodes stand already"
)


def build_findings(platform: Platform) -> Iterator[Finding]:
    """What is wrong with the clusters of kind hyperpod, beyond their syntax."""
    source, governance = platform.sources[""], platform.environment.governance
    clusters = {n: c for n, c in platform.environment.clusters.items() if isinstance(c, HyperPodCluster)}
    for name, cluster in clusters.items():
        path: Path_ = ("clusters", name)
        yield from hyperpod_findings(cluster, source, path)
        yield from placement_findings(cluster, source, path)
        yield from ownership_findings(cluster, source, path)
        yield from level_findings(cluster, governance.topology, source, path)
        yield from partition_findings(cluster, source, path)
        yield from _kubernetes(platform, cluster, path)
        yield from _cni(platform, cluster, path)
        yield from _admins(platform, cluster, path)
        yield from _files(platform, cluster, path)
        yield from _managed(platform, cluster, path)
        yield from _unused(platform, cluster, path)
        yield from _closed(platform, cluster, path)
        yield from _topology(platform, cluster, path)
    yield from _same_names(platform, clusters)


def built_findings(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """What the resolved teams ask of a cluster that the platform layer builds."""
    declared = cluster.declared
    if not isinstance(declared, HyperPodCluster):
        return
    for role, teams in conflicting_roles(cluster).items():
        for team in teams:
            where = platform.where(team, ("access", "iam_roles", platform.teams[team].access.iam_roles.index(role)))
            owner = "the instances' own role" if role == declared.hyperpod.execution_role else "an administrator of the cluster"
            message = f"{quoted(role)} is {owner}, and a role has one access entry"
            yield problem_at("iam-role-taken", where, message, "name another role for the team")
    yield from _addresses(platform, cluster)
    yield from span_findings(platform, cluster)
    yield from system_pod_findings(cluster, platform.where("", ("clusters", cluster.name, "instance_groups"), key=True))
    if platform.environment.governance.backend == "managed":
        yield from _addon(platform, cluster, declared)


def _addresses(platform: Platform, cluster: ClusterPlan) -> Iterator[Finding]:
    """A warning alone: nodes take as many addresses as their pods need, up to this many."""
    for shortage in address_shortages(cluster.platform) if cluster.platform else ():
        setting: Path_ = ("node_cidrs", shortage.zone) if shortage.own_block else ("cidr",)
        where = platform.where("", ("clusters", cluster.name, "network", *setting))
        message = (
            f"{', '.join(shortage.groups)} may take {shortage.needed:,} addresses in {shortage.zone}, "
            f"whose subnet has {shortage.free:,}"
        )
        remedy = f"give the zone a larger block in network.node_cidrs.{shortage.zone}, or use fewer instances"
        yield Finding("addresses-few", Severity.WARNING, where, message, remedy)


def _addon(platform: Platform, cluster: ClusterPlan, declared: HyperPodCluster) -> Iterator[Finding]:
    """Topology-aware placement is always on there. The version of an existing EKS cluster is not known here."""
    version = declared.task_governance.version
    kubernetes = ".".join(map(str, KUBERNETES)) if declared.eks.existing else declared.eks.version
    asked = {"fine_grained": fine_grained(cluster), "mig": partitioned(cluster), "topology": True}
    for problem in addon_problems(version, kubernetes, **asked):
        section = ("eks", "version") if problem.kind == "addon-kubernetes" else ("task_governance", "version")
        where = platform.where("", ("clusters", cluster.name, *section))
        yield problem_at(problem.kind, where, problem.message, problem.remedy)
    if not documented(version):
        where = platform.where("", ("clusters", cluster.name, "task_governance", "version"))
        message = f"there is no documentation of the add-on's {version}: neither of the Kueue inside, nor of updates to it"
        yield Finding(
            "addon-undocumented", Severity.ADVICE, where, message, f"correct it; the default is {TASK_GOVERNANCE_VERSION}"
        )


def _cni(platform: Platform, cluster: HyperPodCluster, path: Path_) -> Iterator[Finding]:
    pinned = cluster.eks.addons.get("vpc-cni")
    if pinned is not None and addon_version(pinned)[:3] < OLDEST_CNI:
        where = platform.where("", (*path, "eks", "addons", "vpc-cni"))
        oldest = ".".join(map(str, OLDEST_CNI))
        yield problem_at(
            "vpc-cni-version", where, f"HyperPod needs vpc-cni {oldest} or newer; {pinned} is pinned", "pin a newer one"
        )


def _kubernetes(platform: Platform, cluster: HyperPodCluster, path: Path_) -> Iterator[Finding]:
    where, proxy = platform.where("", (*path, "eks", "version")), platform.where("", (*path, "eks", "addons", "kube-proxy"))
    yield from kubernetes_findings(cluster, platform.environment.governance.backend, platform.today, where, proxy)


def _admins(platform: Platform, cluster: HyperPodCluster, path: Path_) -> Iterator[Finding]:
    """Whoever makes an EKS cluster gets no standing access of its own; HyperPod makes the entry of the instances' role."""
    where = platform.where("", (*path, "eks", "admins"))
    if cluster.eks.existing is None and not cluster.eks.admins:
        message = f"nobody could enter the EKS cluster of `{path[-1]}`, not even who makes it"
        yield problem_at("admins-none", where, message, "name in eks.admins the role that deploys")
    for index, role in enumerate(cluster.eks.admins):
        if role == cluster.hyperpod.execution_role:
            place = platform.where("", (*path, "eks", "admins", index))
            message = f"{quoted(role)} is the instances' own role, and a role has one access entry"
            yield problem_at("iam-role-taken", place, message, "name another role")


def _files(platform: Platform, cluster: HyperPodCluster, path: Path_) -> Iterator[Finding]:
    """Local files that the cluster is to be given, where the project's folder is known."""
    root, lifecycle, chart = platform.root, cluster.hyperpod.lifecycle, cluster.hyperpod.chart.path
    if root is None:
        return
    yield from lifecycle_findings(lifecycle, root, platform.where("", (*path, "hyperpod", "lifecycle", "folder")))
    if chart is not None and not is_there(Path.exists, root / chart):
        where = platform.where("", (*path, "hyperpod", "chart", "path"))
        yield problem_at("chart-missing", where, f"there is no folder or archive {quoted(chart)}", "create or correct it")


def _managed(platform: Platform, cluster: HyperPodCluster, path: Path_) -> Iterator[Finding]:
    """What HyperPod task governance asks of the cluster."""
    if platform.environment.governance.backend != "managed":
        return
    if cluster.region not in GOVERNANCE_REGIONS:
        message = f"HyperPod task governance is not offered in {cluster.region}"
        remedy = did_you_mean(cluster.region, sorted(GOVERNANCE_REGIONS)) or "choose another region"
        where = platform.where("", (*path, "region"))
        yield problem_at("governance-region", where, message, f"use the kueue backend; or: {remedy}")
    if cluster.restricted_instance_groups:
        where = platform.where("", (*path, "restricted_instance_groups"), key=True)
        message = "HyperPod has no task governance on clusters with restricted instance groups"
        yield problem_at("managed-restricted", where, message, "use the kueue backend, or another cluster for them")


def _unused(platform: Platform, cluster: HyperPodCluster, path: Path_) -> Iterator[Finding]:
    """Settings of the other backend. Those that a base declares are its own business."""
    backend = platform.environment.governance.backend
    key, other = ("kueue", "kueue") if backend == "managed" else ("task_governance", "managed")
    where = platform.where("", (*path, key), key=True)
    if key in cluster.model_fields_set and where.file == f"{ENVIRONMENTS}/{platform.name}{SUFFIX}":
        message = f"`{key}` has no effect on the {backend} backend"
        yield Finding("backend-section-unused", Severity.ADVICE, where, message, f"remove it, or use the {other} backend")


def _closed(platform: Platform, cluster: HyperPodCluster, path: Path_) -> Iterator[Finding]:
    """Kueue's chart names an image in a public registry, as HyperPod's dependency chart does (`closed-chart`)."""
    kueue, network = cluster.kueue, cluster.network
    public = kueue.install and kueue.chart == Kueue.model_fields["chart"].default
    if network.existing or network.egress != "closed" or not public or platform.environment.governance.backend != "kueue":
        return
    message = "nodes of a closed network can't pull the image that Kueue's chart names: Kueue never starts"
    remedy = "mirror it, and name a chart of your own in kueue.chart; or set kueue.install: false"
    yield Finding("closed-kueue", Severity.WARNING, platform.where("", (*path, "network", "egress")), message, remedy)


def _topology(platform: Platform, cluster: HyperPodCluster, path: Path_) -> Iterator[Finding]:
    """Topology-aware placement is always on with the managed backend."""
    governance = platform.environment.governance
    if not cluster.hyperpod.karpenter or not governance.topology.enabled:
        return
    off = "set governance.topology.enabled: false"
    remedy = off if governance.backend == "kueue" else f"use the kueue backend and {off}"
    where = platform.where("", (*path, "hyperpod", "karpenter"))
    yield problem_at("karpenter-topology", where, _KARPENTER_REASON, f"{remedy}, or remove `karpenter`")


def _same_names(platform: Platform, clusters: dict[str, HyperPodCluster]) -> Iterator[Finding]:
    """Two clusters of one account and region need two names."""
    for attribute in ("hyperpod", "eks"):
        owner: dict[tuple[str, str, str], str] = {}
        for name, cluster in clusters.items():
            made = getattr(platform_names(platform.name, name, cluster), attribute)
            first = owner.setdefault((cluster.account, cluster.region, made), name)
            if first != name:
                key = "existing" if attribute == "eks" and cluster.eks.existing else "name"
                where = platform.where("", ("clusters", name, attribute, key))
                message = f"the cluster `{first}` is named {quoted(made)} too, in the same account and region"
                yield problem_at("cluster-name-twice", where, message, f"give it another {attribute}.{key}")
