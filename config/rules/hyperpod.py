"""Rules about the HyperPod cluster itself."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, error, warning

_wrong = partial(error, waivable=False)
_KEYS = "SageMaker, Customer managed keys for HyperPod"
_NOVA = "{instance_type: ml.p5.48xlarge, count: 4, availability_zone: us-west-2a"
_KARPENTER = "SageMaker, Autoscaling on HyperPod with Karpenter"


def _main(settings: str, *, governance: str = "") -> Example:
    return Example(base="hyperpod", environment=f"clusters: {{main: {{{settings}}}}}{governance}")


_UNPLACED = "\ngovernance: {topology: {enabled: false}}"

HYPERPOD = Category(
    "hyperpod",
    "HyperPod",
    "Karpenter, keys, restricted groups and task governance on one cluster.",
    (
        error(
            "karpenter-unused",
            "Karpenter without a group to scale",
            "It is paid for with a role and rights, and does nothing.",
            "Mark a group `autoscaled: true`, or remove `karpenter`.",
            source=_KARPENTER,
            example=_main("hyperpod: {karpenter: true}", governance=_UNPLACED),
        ),
        error(
            "karpenter-continuous",
            "Karpenter without continuous provisioning",
            "SageMaker refuses the cluster: Karpenter adds and removes single nodes, which only continuous provisioning can.",
            "Set `hyperpod.continuous_provisioning: true`.",
            source=_KARPENTER,
            example=_main(
                "hyperpod: {karpenter: true, continuous_provisioning: false}, instance_groups: {h100: {autoscaled: true}}",
                governance=_UNPLACED,
            ),
        ),
        error(
            "karpenter-topology",
            "Karpenter beside topology-aware placement",
            "Placement admits a job only where nodes stand already; Karpenter adds nodes only for jobs that are admitted. Each "
            "waits for the other.",
            "Set `governance.topology.enabled: false` on the kueue backend, or remove `karpenter`.",
            source="SageMaker, Topology-aware scheduling in task governance: not with Karpenter",
            example=_main("hyperpod: {karpenter: true}, instance_groups: {h100: {autoscaled: true}}"),
        ),
        error(
            "autoscaled-by-nobody",
            "A group whose count is left to nobody",
            "Its count is never changed back when it drifts, and nothing scales it.",
            "Set `hyperpod.karpenter: true`, or remove `autoscaled`.",
            source=_KARPENTER,
            example=_main("instance_groups: {h100: {autoscaled: true}}"),
        ),
        warning(
            "topology-level-label",
            "A topology level that nodes don't carry",
            "Kueue counts only nodes with the labels of every level: there are none for the type, and its jobs are never "
            "admitted.",
            "Remove the level, or set the label on the type's groups.",
            source="Kueue 0.16, Topology: nodes without a level's label take no part; SageMaker, topology labels by type",
            example=_main("", governance="\ngovernance: {topology: {levels: [example.com/rack, kubernetes.io/hostname]}}"),
        ),
        error(
            "volume-key-continuous",
            "A key for volumes without continuous provisioning",
            "SageMaker refuses the cluster.",
            "Set `hyperpod.continuous_provisioning: true`, or remove the key.",
            source=_KEYS,
            example=_main(
                'hyperpod: {continuous_provisioning: false, volume_key: "arn:aws:kms:us-west-2:111122223333:key/0123"}'
            ),
        ),
        error(
            "volume-key-restricted",
            "A key for volumes of a restricted group",
            "SageMaker refuses the cluster: volumes there take its own key alone.",
            "Remove `key`.",
            source=_KEYS,
            example=_main(
                f"restricted_instance_groups: {{nova: {_NOVA}, "
                'volumes: [{size_gib: 100, key: "arn:aws:kms:us-west-2:111122223333:key/0123"}]}}'
            ),
        ),
        _wrong(
            "restricted-file-system",
            "A file system of restricted groups that fits none of them",
            "SageMaker makes one file system that all restricted groups share, or one for each: not both, and none without a "
            "group.",
            "Keep `restricted_file_system`, or the groups' own.",
            source="SageMaker API, ClusterRestrictedInstanceGroupSpecification.EnvironmentConfig",
            example=_main("restricted_file_system: {size_gib: 1200, throughput: 125}"),
        ),
        _wrong(
            "restricted-file-system-keep",
            "Keeping a file system that goes with its group",
            "A group's own file system is deleted with the group: only a shared one can be kept.",
            "Remove `keep`, or use `restricted_file_system`.",
            source="SageMaker API, RestrictedInstanceGroupsConfig",
            example=_main(
                f"restricted_instance_groups: {{nova: {_NOVA}, file_system: {{size_gib: 1200, throughput: 125, keep: true}}}}}}"
            ),
        ),
        error(
            "managed-restricted",
            "Task governance on a cluster with restricted groups",
            "HyperPod has none there: the add-on doesn't govern the cluster, and teams wait for queues that never come.",
            "Use the kueue backend, or another cluster for the restricted groups.",
            source="SageMaker, HyperPod clusters with restricted instance groups",
            example=Example(
                base="managed", environment=f"clusters: {{main: {{restricted_instance_groups: {{nova: {_NOVA}}}}}}}}}"
            ),
        ),
        error(
            "governance-region",
            "A region without task governance",
            "CreateComputeQuota is not offered there: the cluster would be built, and no team get a queue.",
            "Use the kueue backend, or another region. Where AWS offers it by now, waive this.",
            source="AWS CloudFormation, regions of AWS::SageMaker::ComputeQuota",
            example=Example(
                base="managed",
                environment="clusters: {main: {region: eu-west-3, "
                "network: {availability_zones: [eu-west-3a, eu-west-3b, eu-west-3c]}, "
                "instance_groups: {h100: {availability_zone: eu-west-3a}, l4: {availability_zone: eu-west-3b}}}}",
            ),
        ),
    ),
)
