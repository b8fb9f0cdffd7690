"""What the settings of one HyperPod cluster must not say together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from config.catalogue import InstanceType, instance_types
from config.findings import Finding, Severity, problem_at, quoted
from config.groups import HyperPodGroup, RestrictedGroup
from config.hyperpod import HyperPodCluster
from config.yamlsource import Layered, Path_

MAX_GROUPS = 100
"""Most instance groups of a cluster, restricted ones included (SageMaker API, InstanceGroups)."""
MAX_STORAGES = 4
"""Most storage configurations of a group (SageMaker API, InstanceStorageConfigs)."""
OWN_TAGS = "hyperpod-platform/"
"""Beginning of the tags that are made for every resource."""


def hyperpod_findings(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """Contradictions within one cluster of kind hyperpod, which stands at `path`."""
    yield from _eks(cluster, source, path)
    yield from _karpenter(cluster, source, path)
    yield from _volume_keys(cluster, source, path)
    yield from _closed(cluster, source, path)
    yield from _names(cluster, source, path)
    yield from _tags(cluster.tags, source, (*path, "tags"))
    for name, group in cluster.instance_groups.items():
        place = (*path, "instance_groups", name)
        yield from _capacity(group, source, place)
        yield from _image(group, source, place)
        yield from _flexible(group, source, place)
        yield from _devices(group, source, place)
        yield from _storage(group, source, place)
    for name, restricted in cluster.restricted_instance_groups.items():
        place = (*path, "restricted_instance_groups", name)
        yield from _devices(restricted, source, place)
        yield from _storage(restricted, source, place)
    yield from _restricted(cluster, source, path)


def _eks(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """An existing cluster keeps its settings, and the network that it stands in."""
    eks = cluster.eks
    if eks.existing is None:
        return
    for key in ("public_access_from", "private_access_from", "name", "secrets_key", "addons", "log_days"):
        if key in eks.model_fields_set and getattr(eks, key):
            where = source.where((*path, "eks", key), key=True)
            message = f"eks.{key} has no effect on the existing cluster {quoted(eks.existing)}"
            yield problem_at("eks-existing", where, message, "remove it, or `existing`")
    if not cluster.network.existing:
        where = source.where((*path, "eks", "existing"))
        message = f"the existing cluster {quoted(eks.existing)} can't stand in a network that is still to be made"
        yield problem_at("eks-network", where, message, "give network.vpc and network.subnets, those of the cluster")


def _closed(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """Endpoints lead to AWS's services alone; the dependency chart's images, and Kueue's, lie in registries of others."""
    chart = cluster.hyperpod.chart
    if cluster.network.existing or cluster.network.egress != "closed" or chart.oci or chart.path or chart.values:
        return
    message = "nodes of a closed network can't pull the images that HyperPod's dependency chart names: no device plugins, no GPUs"
    remedy = "mirror them, and give hyperpod.chart.values (or a chart of your own in `oci` or `path`) with the mirror's names"
    yield Finding("closed-chart", Severity.WARNING, source.where((*path, "network", "egress")), message, remedy)


def _volume_keys(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """Where SageMaker takes no key of ours (SageMaker, "Customer managed keys for HyperPod")."""
    for name, restricted in cluster.restricted_instance_groups.items():
        for index, volume in enumerate(restricted.volumes):
            if volume.key is not None:
                where = source.where((*path, "restricted_instance_groups", name, "volumes", index, "key"))
                message = f"volumes of the restricted group `{name}` take no key but SageMaker's own"
                yield problem_at("volume-key-restricted", where, message, "remove it")
    if cluster.hyperpod.continuous_provisioning:
        return
    message, remedy = (
        "a key for volumes needs continuous provisioning",
        "set hyperpod.continuous_provisioning: true, or remove it",
    )
    if cluster.hyperpod.volume_key is not None:
        yield problem_at("volume-key-continuous", source.where((*path, "hyperpod", "volume_key")), message, remedy)
    for name, group in cluster.instance_groups.items():
        for index, volume in enumerate(group.volumes):
            if volume.key is not None:
                where = source.where((*path, "instance_groups", name, "volumes", index, "key"))
                yield problem_at("volume-key-continuous", where, message, remedy)


def _karpenter(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    scaled = [name for name, group in cluster.instance_groups.items() if group.autoscaled]
    where = source.where((*path, "hyperpod", "karpenter"))
    if cluster.hyperpod.karpenter and not scaled:
        yield problem_at("karpenter-unused", where, "Karpenter has no group to scale", "mark a group `autoscaled: true`")
    if cluster.hyperpod.karpenter and not cluster.hyperpod.continuous_provisioning:
        message = "Karpenter needs continuous provisioning"
        yield problem_at("karpenter-continuous", where, message, "set hyperpod.continuous_provisioning: true")
    if not cluster.hyperpod.karpenter:
        for name in scaled:
            place = source.where((*path, "instance_groups", name, "autoscaled"))
            message = f"nobody scales the group `{name}`: Karpenter is off"
            yield problem_at("autoscaled-by-nobody", place, message, "set hyperpod.karpenter: true, or remove it")


def _names(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """Both kinds of groups share one space of names, and one limit."""
    for name in cluster.restricted_instance_groups:
        if name in cluster.instance_groups:
            where = source.where((*path, "restricted_instance_groups", name), key=True)
            yield problem_at("group-twice", where, f"instance_groups has a group `{name}` too", "give it another name")
    number = len(cluster.instance_groups) + len(cluster.restricted_instance_groups)
    if number > MAX_GROUPS:
        where = source.where((*path, "restricted_instance_groups"), key=True)
        message = f"{number} groups, restricted ones included; a cluster holds {MAX_GROUPS}"
        yield problem_at("groups-too-many", where, message, "use fewer groups")


def _tags(tags: Mapping[str, str], source: Layered, path: Path_) -> Iterator[Finding]:
    """IAM takes keys that differ by case alone for one; those of ours can't be chosen."""
    first: dict[str, str] = {}
    for key in tags:
        where = source.where((*path, key), key=True)
        if key.lower().startswith(OWN_TAGS):
            yield problem_at("tag-reserved", where, f"the tag {quoted(key)} is made for every resource", "choose another prefix")
        if key.lower() in first:
            message = f"the tags {quoted(first[key.lower()])} and {quoted(key)} are one to IAM, which doesn't look at case"
            yield problem_at("tag-twice", where, message, "keep one")
        first.setdefault(key.lower(), key)


def _capacity(group: HyperPodGroup, source: Layered, path: Path_) -> Iterator[Finding]:
    if group.min_count is not None and group.min_count > group.count:
        message = f"min_count: {group.min_count} is more than the group's {group.count} instances"
        yield problem_at("min-count", source.where((*path, "min_count")), message, f"at most {group.count}")
    if group.training_plan is not None and group.capacity == "spot":
        message = "spot instances can't come from a training plan, which reserves them"
        yield problem_at("capacity-twice", source.where((*path, "capacity")), message, "remove `capacity` or `training_plan`")

    vcpus = instance_types()[group.instance_type].vcpu
    if group.threads_per_core == 1 and vcpus is not None:
        message = f"with hyper-threads off, a node of {group.instance_type} has {vcpus // 2} vCPUs at most; quotas count {vcpus}"
        remedy = "name vcpu in the teams' quotas, or remove it"
        yield Finding("threads-per-core", Severity.WARNING, source.where((*path, "threads_per_core")), message, remedy)


def _image(group: HyperPodGroup, source: Layered, path: Path_) -> Iterator[Finding]:
    if group.image_release is not None and group.image not in (None, "default"):
        message = f"a release of HyperPod's image and an image of your own ({group.image}) are given"
        yield problem_at("image-twice", source.where((*path, "image_release")), message, "remove `image` or `image_release`")


def _flexible(group: HyperPodGroup, source: Layered, path: Path_) -> Iterator[Finding]:
    """Quotas count a group's instances with its first type: the others must hold the same devices."""
    own = instance_types()[group.instance_type]
    for index, name in enumerate(group.flexible_types):
        where, other = source.where((*path, "flexible_types", index)), instance_types()[name]
        if other is own:
            yield problem_at("flexible-type-twice", where, f"{name} is the group's instance_type already", "remove it")
        elif (other.accelerator, other.accelerators) != (own.accelerator, own.accelerators):
            message = f"{name} has {_held(other)}, {own.name} {_held(own)}: quotas would be wrong"
            remedy = "name types with the same accelerators, or make a group of its own"
            yield problem_at("flexible-type-devices", where, message, remedy)
        else:
            message = f"nodes of {name} carry that type: jobs that are admitted to {own.name} are not placed on them"
            remedy = f"give teams a quota of {name} too, or make a group of its own"
            yield Finding("flexible-type-queue", Severity.WARNING, where, message, remedy)


def _held(kind: InstanceType) -> str:
    return f"{kind.accelerators} of {kind.resource}" if kind.resource else "no accelerators"


def _devices(group: HyperPodGroup | RestrictedGroup, source: Layered, path: Path_) -> Iterator[Finding]:
    kind = instance_types()[group.instance_type]
    if group.deep_health_checks and kind.accelerator is None:
        where = source.where((*path, "deep_health_checks"), key=True)
        message = f"deep health checks test accelerators, and {kind.name} has none"
        yield problem_at("deep-health-checks-type", where, message, "remove it")
    if isinstance(group, HyperPodGroup) and group.network_interface is not None and kind.efa == 0:
        where = source.where((*path, "network_interface"))
        yield problem_at(
            "network-interface-type", where, f"{kind.name} has no EFA interface", "remove it, or use a type with EFA"
        )


def _storage(group: HyperPodGroup | RestrictedGroup, source: Layered, path: Path_) -> Iterator[Finding]:
    shared = (*group.fsx_lustre, *group.fsx_openzfs) if isinstance(group, HyperPodGroup) else ()
    number = len(group.volumes) + len(shared)
    if number > MAX_STORAGES:
        message = f"{number} volumes and file systems; a group holds {MAX_STORAGES}"
        yield problem_at("storage-too-many", source.where((*path,), key=True), message, "use fewer")
    seen: set[bool] = set()
    for index, volume in enumerate(group.volumes):
        where, words = source.where((*path, "volumes", index)), "root volume" if volume.root else "volume at /opt/sagemaker"
        if volume.root in seen:
            yield problem_at("volume-twice", where, f"a second {words}: an instance has one", "keep one")
        seen.add(volume.root)
        if volume.root and volume.size_gib is not None:
            place = source.where((*path, "volumes", index, "size_gib"))
            yield problem_at("volume-root-size", place, "SageMaker chooses the root volume's size", "remove `size_gib`")
        if not volume.root and volume.size_gib is None:
            yield problem_at("volume-size", where, "the volume has no size", "add `size_gib:`")
    for mount, times in Counter(system.mount_path for system in shared).items():
        if times > 1:
            message = f"{times} file systems are mounted at {quoted(mount)}"
            where = source.where((*path,), key=True)
            yield problem_at("mount-path-twice", where, message, "give each a mount_path of its own")


def _restricted(cluster: HyperPodCluster, source: Layered, path: Path_) -> Iterator[Finding]:
    """The file system of restricted groups is one of all of them, or each has its own."""
    shared, groups = cluster.restricted_file_system, cluster.restricted_instance_groups
    if shared is not None and not groups:
        where = source.where((*path, "restricted_file_system"), key=True)
        yield problem_at("restricted-file-system", where, "there is no restricted group to use it", "remove it")
    for name, group in groups.items():
        if group.file_system is None:
            continue
        where = source.where((*path, "restricted_instance_groups", name, "file_system"), key=True)
        if shared is not None:
            message = f"the group `{name}` has a file system of its own beside the shared one"
            yield problem_at("restricted-file-system", where, message, "remove it, or restricted_file_system")
        if "keep" in group.file_system.model_fields_set:
            place = source.where((*path, "restricted_instance_groups", name, "file_system", "keep"))
            message = "a group's own file system goes with the group; only a shared one can be kept"
            yield problem_at("restricted-file-system-keep", place, message, "remove `keep`, or use restricted_file_system")
