"""Rules about amounts that no type has, no node holds, or no job can use."""

from __future__ import annotations

from functools import partial

from config.findings import Severity
from config.rules.model import Category, Example, Rule, advice, error, warning

_impossible = partial(error, waivable=False)
_NODES = "SageMaker, HyperPod task governance: quotas should not exceed the cluster's capacity"
_RATIO = "SageMaker API, ComputeQuotaResourceConfig"
_REACH = "Kueue 0.16, pkg/cache/scheduler/resource_node.go"
_ALLOCATABLE = "Kubernetes, Reserve Compute Resources; quotas count an instance's specification"


def _by_policy(id_: str, title: str, why: str, remedy: str, *, source: str, example: Example) -> Rule:
    """An error or a warning, as the declaration decides."""
    return Rule(id_, (Severity.ERROR, Severity.WARNING), title, why, remedy, source, example=example)


FEASIBILITY = Category(
    "feasibility",
    "Quotas that can't work",
    "Amounts that no type has, that no node holds, or that no job can use; and quota that comes and goes.",
    (
        _impossible(
            "accelerators-none",
            "Accelerators of a type that has none",
            "Jobs that ask for one on that type wait for ever.",
            "Give instances, vcpu or memory_gib; or name a type with accelerators.",
            example=Example(team="quota: {ml.m5.4xlarge: {accelerators: 1}}"),
        ),
        _impossible(
            "mig-profile-type",
            "A MIG profile that the type doesn't have",
            "No node of the type can ever offer the partition: jobs that ask for it wait for ever.",
            "Choose one of the profiles that the message names.",
            source="NVIDIA, Multi-Instance GPU: supported profiles",
            example=Example(team="quota: {ml.p5.48xlarge: {partitions: {mig-1g.5gb: 1}}}"),
        ),
        _impossible(
            "mig-capacity",
            "More MIG partitions than an instance's GPUs hold",
            "Partitioning fails on every node of the group, or capacity is counted that isn't there.",
            "Lower the partitions of the group: a GPU has seven slices.",
            source="NVIDIA, Multi-Instance GPU: placement of instances",
            example=Example(environment="clusters: {main: {instance_groups: {h100: {partitions: {mig-7g.80gb: 9}}}}}"),
        ),
        _impossible(
            "instance-type-numbers",
            "A type whose numbers are not known",
            "What its instances hold isn't published: a quota of it can't be resolved.",
            "Use another type, or add its row to `config/instance_types.csv`.",
        ),
        error(
            "quota-no-group",
            "A family or kind of accelerator that no group has",
            "There is no type to divide the quota among. Set aside, the entry counts nothing.",
            "Name an instance type, correct the key, limit the team's `clusters`, or add a group.",
            example=Example(team="quota: {trainium: {accelerators: 8}}"),
        ),
        _by_policy(
            "overcommit",
            "Guarantees above capacity",
            "Not all teams can have their guarantee at once: jobs that Kueue admits wait for nodes, and hold their quota "
            "meanwhile.",
            "Lower quotas or add nodes; where it is meant, set `governance.overcommit: allow`.",
            source=_NODES,
            example=Example(team="quota: {ml.p5.48xlarge: {accelerators: 80}}"),
        ),
        _by_policy(
            "overcommit-no-group",
            "Quota of a type that no group has",
            "The type is most likely another one. Jobs would be admitted to nodes that never come.",
            "Correct the type, limit the team's `clusters`, or add a group (on HyperPod of `count: 0` while its nodes are to "
            "come).",
            source=_NODES,
            example=Example(team="quota: {ml.g5.2xlarge: {instances: 1}}"),
        ),
        warning(
            "quota-none",
            "A team without any quota",
            "It has a namespace and a queue, and no job of it ever starts.",
            "Give it a quota, or absolute limits in `sharing.borrow`.",
            example=Example(team="quota: {ml.p5.48xlarge: {accelerators: 0}}"),
        ),
        advice(
            "quota-without-devices",
            "Quota of an accelerated type without accelerators",
            "Amounts of vCPU or memory alone bring no accelerators: the team's jobs on that type can't use any.",
            "Give accelerators or instances; or quota of a type without accelerators.",
            source=_RATIO,
            example=Example(team="quota: {ml.g6.12xlarge: {vcpu: 24}}"),
        ),
        warning(
            "borrow-rounds-to-none",
            "A borrow limit of less than one device",
            "Limits are rounded down: the team believes that it may borrow, and can't.",
            "Raise `borrow_limit`, or give absolute limits in `sharing.borrow`.",
            source="SageMaker API, ResourceSharingConfig.BorrowLimit",
            example=Example(team="quota: {ml.p5.48xlarge: {accelerators: 1}}"),
        ),
        advice(
            "borrow-from-nobody",
            "A borrow limit where nobody lends",
            "The limit has no effect: no other team shares the type, and idle nodes that nobody owns are not shared.",
            "Remove the limit until others lend, or set `governance.idle_sharing: true`.",
            source="SageMaker, HyperPod task governance: borrowing needs two quotas",
            example=Example(team="sharing: {borrow: {ml.g6.12xlarge: {accelerators: 4}}}"),
        ),
        advice(
            "weights-all-zero",
            "Fair sharing without a weight",
            "All teams that borrow have weight 0, the default: idle compute is shared alike, whatever was meant; and the first "
            "team that gets a weight goes before all others.",
            "Give each team a weight.",
            source="SageMaker API, FairShareWeight (default 0); Kueue 0.16, fairSharing.weight",
        ),
        warning(
            "flavors-cpu-last",
            "A type with accelerators tried before one without",
            "Kueue tries types in this order, so jobs that need no accelerator take the vCPUs of nodes with accelerators, whose "
            "devices then stand idle.",
            "Name types without accelerators first in `flavors`, or leave the order to the plan.",
            source="Kueue 0.16, flavors of a resource group are tried in order",
            example=Example(
                team="quota: {ml.m5.4xlarge: {instances: 1}}\nflavors: [ml.p5.48xlarge]",
            ),
        ),
        warning(
            "topology-on-some-flavors",
            "A queue with a topology on some of its flavors",
            "Jobs that ask for no topology are refused on flavors that have one, unless all flavors of the queue have one.",
            "Give all flavors of the queue a topology, or none.",
            source="Kueue 0.16, topology-aware scheduling: implied only where all flavors have a topology",
            example=Example(
                environment="governance: {names: {flavors: {ml.g6.12xlarge: {name: l4}}}}",
                team="quota: {ml.g6.12xlarge: {instances: 1}}",
            ),
        ),
        _by_policy(
            "largest-job-never",
            "A planned job that can never be admitted",
            "It is larger than the team's quota and all that it may borrow: Kueue leaves it pending for good, even on an idle "
            "cluster. A warning where extra quota that has ended, the team's own or a lender's, was what allowed it.",
            "Raise the quota or the borrow limit as the message says, or plan a smaller job.",
            source=_REACH,
            example=Example(team="largest_job: {ml.p5.48xlarge: {accelerators: 24}}"),
        ),
        warning(
            "largest-job-no-nodes",
            "A planned job that the nodes can't hold",
            "Quotas admit it, and then it waits for nodes that there are not, holding its quota.",
            "Add nodes, or plan a smaller job.",
            source=_ALLOCATABLE,
            example=Example(
                environment="clusters: {main: {instance_groups: {h100: {count: 2}}}}",
                team="quota: {ml.p5.48xlarge: {accelerators: 24}}\nlargest_job: {ml.p5.48xlarge: {instances: 3}}",
            ),
        ),
        warning(
            "largest-job-full-node",
            "A planned job that leaves the node nothing",
            "A node keeps a part of its vCPUs and memory for itself. Quota admits a pod of the whole specification; no node ever "
            "takes it.",
            "Write `instances`, which asks for what pods can have, or lower the amount.",
            source=_ALLOCATABLE,
            example=Example(team="largest_job: {ml.p5.48xlarge: {accelerators: 8, vcpu: 192}}"),
        ),
        warning(
            "extra-quota-ended",
            "Extra quota past its date",
            "It counts nothing any more: the next deployment takes the amount away from the team. While the entry stands in the "
            "file, a type that the team has through it alone stays in its queue with a quota of zero: jobs may still hold it.",
            "Remove it once no job of the team runs on what it gave, or give it a later date and say why.",
            example=Example(
                team="extra_quota: {paper: {quota: {ml.p5.48xlarge: {instances: 1}}, until: 2020-05-31, reason: a paper is due}}"
            ),
        ),
        advice(
            "extra-quota-ends",
            "Extra quota that ends within a week",
            "The first deployment after its date takes the amount away, from running jobs too where others claim it.",
            "Tell the team; give it a later date if it is needed longer.",
            example=Example(
                team="extra_quota: {paper: {quota: {ml.p5.48xlarge: {instances: 1}}, until: 2026-11-25, reason: a paper is due}}"
            ),
        ),
    ),
)
