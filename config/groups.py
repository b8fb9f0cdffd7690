"""Instance groups of a HyperPod cluster, with every property of the SageMaker API."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from config.cluster import InstanceGroup, Taint
from config.eks import KeyArn
from config.findings import quoted
from config.network import Zone
from config.team import InstanceTypeName
from config.vocabulary import LabelKey, LabelValue, List, Model, Words, problem

_CRON = re.compile(
    r"cron\((?:[0-5]?[0-9]) (?:[01]?[0-9]|2[0-3]) (?:[1-9]|0[1-9]|[12][0-9]|3[01]|\?) "
    r"(?:[1-9]|0[1-9]|1[0-2]|\*|\*/(?:[1-9]|1[0-2])) "
    r"(?:MON|TUE|WED|THU|FRI|SAT|SUN|[1-7]|\?|L|[1-7]#[1-5]|[1-7]L) (?:20[2-9][0-9]|\*)\)\Z"
)
_DNS = r"^(fs|fc)i?-[0-9a-f]{8,}\..{4,253}$"
_MOUNT_PATH = r"^/[a-zA-Z0-9._-]+(/[a-zA-Z0-9._-]+)*$"


def _cron(value: str) -> str:
    if not _CRON.match(value):
        remedy = "cron(minute hour day month weekday year), as cron(0 3 ? * SUN *)"
        raise problem("cron", f"{quoted(value)} is not a schedule that SageMaker takes", remedy)
    return value


Cron = Annotated[str, Field(max_length=256), AfterValidator(_cron)]
NodeLabels = dict[LabelKey, Annotated[LabelValue, Field(min_length=1)]]
DeepHealthCheck = Literal["instance_stress", "instance_connectivity"]
TrainingPlan = Annotated[
    str, Field(min_length=50, max_length=2048, pattern=r"^arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:training-plan/.+$")
]


class Volume(Model):
    """An EBS volume of each instance: a further one, mounted at /opt/sagemaker, or the root volume. Encrypted always."""

    size_gib: Annotated[int, Field(ge=1, le=16_384)] | None = None
    """GiB, 1-16,384; not of the root volume, whose size is SageMaker's."""
    root: bool = False
    """The root volume (SageMaker API, ClusterEbsVolumeConfig.RootVolume: only its key can be chosen)."""
    key: KeyArn | None = None
    """KMS key; default the cluster's."""


class FsxLustre(Model):
    """An FSx for Lustre file system that each instance mounts."""

    dns_name: Annotated[str, Field(min_length=16, max_length=275, pattern=_DNS)]
    mount_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,8}$")]
    mount_path: Annotated[str, Field(max_length=1024, pattern=_MOUNT_PATH)] = "/fsx"
    availability_zone: Zone
    """Where the file system stands: in the zone of its nodes, or traffic crosses zones, which HyperPod refuses."""


class FsxOpenZfs(Model):
    """An FSx for OpenZFS file system that each instance mounts."""

    dns_name: Annotated[str, Field(min_length=16, max_length=275, pattern=_DNS)]
    mount_path: Annotated[str, Field(max_length=1024, pattern=_MOUNT_PATH)] = "/home"
    availability_zone: Zone


class BatchSize(Model):
    """Instances updated at a time: a number, or a percentage of the group."""

    instances: Annotated[int, Field(ge=1, le=6758)] | None = None
    percent: Annotated[int, Field(ge=1, le=100)] | None = None

    @model_validator(mode="after")
    def _one(self) -> BatchSize:
        if (self.instances is None) == (self.percent is None):
            raise problem("batch_size", "a batch is a number of instances or a percentage", "give `instances` or `percent`")
        return self


class RollingUpdate(Model):
    """How an update of the software goes through a group."""

    batch: BatchSize
    rollback_batch: BatchSize | None = None
    wait_seconds: Annotated[int, Field(ge=0, le=3600)] | None = None
    """Seconds between batches, 0-3,600."""
    rollback_alarms: Annotated[
        Words(Annotated[str, Field(min_length=1, max_length=256)]), Field(max_length=10)  # type: ignore[valid-type]
    ] = ()
    """CloudWatch alarms that roll the update back, at most 10."""


class ScheduledUpdate(Model):
    """Software updates by the clock."""

    schedule: Cron
    """`cron(minute hour day month weekday year)`, UTC."""
    deployment: RollingUpdate | None = None


class AutoPatch(Model):
    """Security patches without being asked, when instances are idle."""

    strategy: Literal["when_idle", "when_all_idle"]
    """`when_idle`: each instance as it becomes idle; `when_all_idle`: all at once when the whole group is."""
    deployment: RollingUpdate | None = None


class Lifecycle(Model):
    """A script that instances run when they are made. The files go to a bucket of ours, unless they lie in one already."""

    folder: Annotated[str, Field(min_length=1)] | None = None
    """Local folder with the script and its files, from the project's folder."""
    source_uri: Annotated[str, Field(max_length=1024, pattern=r"^s3://sagemaker-[^/]+(/.*)?$")] | None = None
    """Existing folder in a bucket whose name begins with `sagemaker-`."""
    script: Annotated[str, Field(min_length=1, max_length=128)] = "on_create.sh"
    """The script's file name."""
    when: Literal["on_create", "on_init_complete"] = "on_create"
    """Whether it runs while an instance is set up, or after."""

    @model_validator(mode="after")
    def _one_source(self) -> Lifecycle:
        if (self.folder is None) == (self.source_uri is None):
            raise problem("lifecycle_source", "the script lies in a local folder or in a bucket", "give `folder` or `source_uri`")
        return self


class HyperPodGroup(InstanceGroup):
    """Nodes of a HyperPod cluster."""

    availability_zone: Zone | None = None
    """The one zone of its nodes; types with EFA need it: their checks fail across zones. Default: any of the first three."""
    labels: Annotated[NodeLabels, Field(max_length=50)] = Field(default_factory=dict)
    """Further labels of the nodes, at most 50, without empty values (SageMaker API, KubernetesConfig)."""
    taints: Annotated[List(Taint), Field(max_length=50)] = ()  # type: ignore[valid-type]
    """Taints of the nodes, at most 50 (SageMaker API, KubernetesConfig); on the kueue backend at most 8."""
    flexible_types: Annotated[Words(InstanceTypeName), Field(max_length=19)] = ()  # type: ignore[valid-type]
    """Types to take, in this order, where `instance_type` is not to be had; at most 19. Quotas count with `instance_type`."""
    min_count: Annotated[int, Field(ge=0, le=6758)] | None = None
    """Fewest instances with which the group counts as in service; not reached in three hours, it is rolled back."""
    autoscaled: bool = False
    """Karpenter owns the count; ours is only the first."""
    capacity: Literal["on_demand", "spot"] | None = None
    """Default: on demand, or the training plan."""
    training_plan: TrainingPlan | None = None
    threads_per_core: Annotated[int, Field(ge=1, le=2)] | None = None
    """1 switches hyper-threads off."""
    volumes: Annotated[List(Volume), Field(max_length=4)] = ()  # type: ignore[valid-type]
    """EBS volumes; at most 4 together with file systems."""
    fsx_lustre: Annotated[List(FsxLustre), Field(max_length=4)] = ()  # type: ignore[valid-type]
    fsx_openzfs: Annotated[List(FsxOpenZfs), Field(max_length=4)] = ()  # type: ignore[valid-type]
    deep_health_checks: Words(DeepHealthCheck) = ()  # type: ignore[valid-type]
    """Checks that an instance passes before it is given work; they take up to two hours."""
    image: Annotated[str, Field(pattern=r"^(ami-[0-9a-f]{8,17}|default)$")] | None = None
    """AMI; default HyperPod's own."""
    image_release: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$", max_length=64)] | None = None
    """Release of HyperPod's AMI, as 1.2.3; a change updates the software."""
    network_interface: Literal["efa", "efa-only"] | None = None
    bootstrap: bool = False
    """Run no lifecycle script, though the cluster has one."""
    scheduled_update: ScheduledUpdate | None = None
    auto_patch: AutoPatch | None = None


class SharedFileSystem(Model):
    """FSx for Lustre of restricted instance groups, made by SageMaker."""

    size_gib: Annotated[int, Field(ge=1200, le=100_800)]
    """GiB, 1,200-100,800."""
    throughput: Annotated[int, Field(ge=125, le=1000)]
    """MB/s per TiB, 125-1,000."""
    keep: bool = True
    """Keep it when no group uses it any more (only where it is shared by all)."""


class RestrictedGroup(Model):
    """Nodes that run Amazon Nova customization alone; nobody can log in to them."""

    instance_type: InstanceTypeName
    count: Annotated[int, Field(ge=0, le=6758)]
    availability_zone: Zone | None = None
    file_system: SharedFileSystem | None = None
    """A file system of its own."""
    training_plan: TrainingPlan | None = None
    threads_per_core: Annotated[int, Field(ge=1, le=2)] | None = None
    volumes: Annotated[List(Volume), Field(max_length=4)] = ()  # type: ignore[valid-type]
    deep_health_checks: Words(DeepHealthCheck) = ()  # type: ignore[valid-type]
