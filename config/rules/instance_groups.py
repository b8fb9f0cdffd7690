"""Rules about instance groups of HyperPod clusters."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, error, warning

_wrong = partial(error, waivable=False)
_GROUP = "SageMaker API, ClusterInstanceGroupSpecification"
_EBS = "SageMaker API, ClusterEbsVolumeConfig"
_FSX = "{dns_name: fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com, mount_name: abcdefgh, availability_zone: us-west-2a"
_PLAN = "arn:aws:sagemaker:us-west-2:111122223333:training-plan/reserved"


def _h100(settings: str) -> Example:
    return _groups(f"h100: {{{settings}}}")


def _groups(groups: str) -> Example:
    return Example(base="hyperpod", environment=f"clusters: {{main: {{instance_groups: {{{groups}}}}}}}")


INSTANCE_GROUPS = Category(
    "instance_groups",
    "Instance groups",
    "What an instance group of HyperPod can have, and what its settings must not say together.",
    (
        _wrong(
            "min-count",
            "A smallest count above the group's count",
            "SageMaker refuses the cluster.",
            "Lower `min_count`, or raise `count`.",
            source=f"{_GROUP}: MinInstanceCount",
            example=_h100("min_count: 9"),
        ),
        _wrong(
            "capacity-twice",
            "Spot instances out of a training plan",
            "A training plan reserves its instances; spot ones are taken away at two minutes' notice. SageMaker refuses the two "
            "together.",
            "Remove `capacity` or `training_plan`.",
            source=f"{_GROUP}: CapacityRequirements, TrainingPlanArn",
            example=_h100(f'capacity: spot, training_plan: "{_PLAN}"'),
        ),
        warning(
            "threads-per-core",
            "Hyper-threads are off, and quotas count them",
            "Nodes offer half of the vCPUs that quotas are made of: jobs are admitted whose pods find no place.",
            "Name `vcpu` in the teams' quotas, or remove `threads_per_core`.",
            source=f"{_GROUP}: ThreadsPerCore",
            example=_h100("threads_per_core: 1"),
        ),
        _wrong(
            "image-twice",
            "A release of HyperPod's image beside an image of your own",
            "SageMaker refuses the two together: an image has one origin.",
            "Remove `image` or `image_release`.",
            source=f"{_GROUP}: ImageId, ImageReleaseVersion",
            example=_h100("image: ami-0123456789abcdef0, image_release: 1.2.3"),
        ),
        _wrong(
            "flexible-type-twice",
            "The group's own type among those to fall back on",
            "SageMaker refuses a type that stands twice.",
            "Remove it from `flexible_types`.",
            source="SageMaker API, ClusterInstanceRequirements.InstanceTypes",
            example=_h100("flexible_types: [ml.p5.48xlarge]"),
        ),
        error(
            "flexible-type-devices",
            "A type to fall back on with other accelerators",
            "Quotas count the group's instances with its first type: with fewer devices on the other, teams are promised what "
            "isn't there.",
            "Name types with as many of the same accelerators, or make a group of its own.",
            example=_h100("flexible_types: [ml.g5.12xlarge]"),
        ),
        warning(
            "flexible-type-queue",
            "A type to fall back on that teams have no quota of",
            "Its nodes carry their own type's name. Jobs that are admitted to the group's first type are not placed on them: "
            "they are paid for and stay empty.",
            "Give teams a quota of that type too, or make a group of its own.",
            source="Kueue 0.16, ResourceFlavor: nodeLabels",
            example=_h100("flexible_types: [ml.p5e.48xlarge]"),
        ),
        error(
            "deep-health-checks-type",
            "Deep health checks on nodes without accelerators",
            "They test accelerators and the network between them: SageMaker refuses them elsewhere.",
            "Remove `deep_health_checks`.",
            source=f"{_GROUP}: OnStartDeepHealthChecks",
            example=_groups("cpu: {deep_health_checks: [instance_stress]}"),
        ),
        error(
            "network-interface-type",
            "EFA interfaces on a type that has none",
            "SageMaker refuses the group.",
            "Remove `network_interface`, or use a type with EFA.",
            source="SageMaker API, ClusterNetworkInterface; Amazon EC2, instance types with EFA",
            example=_groups("cpu: {network_interface: efa}"),
        ),
        error(
            "storage-too-many",
            "More volumes and file systems than a group holds",
            "SageMaker refuses the cluster.",
            "Use fewer: four in all.",
            source=f"{_GROUP}: InstanceStorageConfigs",
            example=_h100(
                "volumes: [{root: true}, {size_gib: 9}], fsx_lustre: ["
                + ", ".join(f"{_FSX}, mount_path: /fsx{number}}}" for number in range(3))
                + "]"
            ),
        ),
        _wrong(
            "volume-twice",
            "A second volume of one kind",
            "An instance has one root volume and one further volume.",
            "Keep one.",
            source=_EBS,
            example=_h100("volumes: [{size_gib: 100}, {size_gib: 200}]"),
        ),
        _wrong(
            "volume-root-size",
            "A size for the root volume",
            "SageMaker chooses it, and refuses another.",
            "Remove `size_gib`; for more room, add a volume that is not the root.",
            source=f"{_EBS}: RootVolume",
            example=_h100("volumes: [{root: true, size_gib: 100}]"),
        ),
        _wrong(
            "volume-size",
            "A volume without a size",
            "SageMaker refuses the group.",
            "Add `size_gib`.",
            source=_EBS,
            example=_h100("volumes: [{}]"),
        ),
        _wrong(
            "mount-path-twice",
            "Two file systems at one place",
            "The second would hide the first, or its mount fail with the node.",
            "Give each a `mount_path` of its own.",
            source="SageMaker API, ClusterFsxLustreConfig.MountPath",
            example=_h100(f"fsx_lustre: [{_FSX}}}, {_FSX}}}]"),
        ),
        _wrong(
            "group-twice",
            "A group and a restricted group of one name",
            "Both kinds share one space of names: SageMaker refuses the cluster.",
            "Give one of them another name.",
            source=f"{_GROUP}: InstanceGroupName",
            example=Example(
                base="hyperpod",
                environment="clusters: {main: {restricted_instance_groups: "
                "{h100: {instance_type: ml.p5.48xlarge, count: 4, availability_zone: us-west-2a}}}}",
            ),
        ),
        error(
            "groups-too-many",
            "More groups than a cluster holds",
            "SageMaker refuses the cluster.",
            "Use fewer: 100, restricted ones included.",
            source="SageMaker API, CreateCluster: InstanceGroups",
            example=Example(
                base="hyperpod",
                environment="clusters: {main: {instance_groups: {"
                + ", ".join(f"g{number}: {{instance_type: ml.m5.4xlarge, count: 0}}" for number in range(97))
                + "}, restricted_instance_groups: "
                "{nova: {instance_type: ml.p5.48xlarge, count: 4, availability_zone: us-west-2a}}}}",
            ),
        ),
        warning(
            "mig-config",
            "Partitions that nobody makes",
            "NVIDIA's operator cuts a node's GPUs as its label `nvidia.com/mig.config` says. Without it, or with another "
            "partition there, no node offers what quotas are made of, and their jobs wait for ever.",
            "Label the group as its partitions are, as `nvidia.com/mig.config: all-1g.10gb`.",
            source="SageMaker, Using GPU partitions in HyperPod: node lifecycle and labels",
            example=_h100("partitions: {mig-1g.10gb: 56}"),
        ),
        error(
            "system-nodes-none",
            "No node takes add-ons and controllers",
            "Kueue's controller and the operators tolerate no taint of yours: with every group tainted, or without an instance, "
            "they wait for ever. The deployment fails after its time is up, and no job is ever admitted.",
            "Add a small group without taints, as one of `ml.m5.4xlarge`.",
            source="Kubernetes, Taints and Tolerations; SageMaker, task governance: all pods have to run before the add-on",
            example=_groups("h100: {count: 0}, l4: {count: 0}, cpu: {count: 0}"),
        ),
        warning(
            "system-nodes-small",
            "Nodes that are too small for add-ons and controllers",
            "A node of HyperPod has one network interface for its pods, and small types have few addresses on it: pods of the "
            "add-ons stay pending, and with them whatever waits for these.",
            "Use a larger type, or more instances without taints.",
            source="Amazon EC2, IP addresses per network interface; requests of the charts and add-ons",
            example=_groups("h100: {count: 0}, l4: {count: 0}, cpu: {instance_type: ml.t3.medium, count: 1}"),
        ),
    ),
)
