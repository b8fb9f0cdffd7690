"""Rules about what the two governance backends hold."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, error, warning

_lacks = partial(error, waivable=False)
_SIZES = ("2", "4", "8", "12", "16", "24", "48", "")

BACKENDS = Category(
    "backends",
    "Governance backends",
    "What AWS's task governance (`managed`) and open-source Kueue (`kueue`) can do, and how much they hold.",
    (
        _lacks(
            "backend-feature",
            "A setting that the backend doesn't have",
            "It would be dropped in silence: a team would believe in a limit, an order or a department that nobody keeps.",
            "Remove it, or use the backend that the message names.",
            source="SageMaker API, ComputeQuota and ClusterSchedulerConfig",
            example=Example(base="managed", team="max_pods: 50"),
        ),
        _lacks(
            "managed-needs-hyperpod",
            "The managed backend on a cluster that is no HyperPod cluster",
            "Quotas are SageMaker's, and SageMaker makes them on its own clusters alone.",
            "Use the kueue backend, or declare the cluster with `kind: hyperpod`.",
            source="SageMaker API, CreateComputeQuota: ClusterArn",
            example=Example(environment="governance: {backend: managed}"),
        ),
        error(
            "managed-quota-types",
            "More types and partitions than a managed quota holds",
            "CreateComputeQuota refuses the team's quota; the team gets no namespace and no queue.",
            "Name fewer, or use the kueue backend.",
            source="SageMaker API, ComputeQuotaResources and AbsoluteBorrowLimits: 15 entries",
            example=Example(
                base="managed",
                team="quota:\n"
                + "".join(f"  ml.{kind}.{size}xlarge: {{instances: 1}}\n" for kind in ("g5", "g6") for size in _SIZES),
            ),
        ),
        error(
            "managed-quota-amount",
            "An amount that a managed quota can't hold",
            "CreateComputeQuota refuses the team's quota.",
            "Lower it, or give whole instances, of which the API takes as many.",
            source="SageMaker API, ComputeQuotaResourceConfig: 10,000,000 of anything",
            example=Example(base="managed", team="quota: {ml.p5.48xlarge: {accelerators: 9000000}}"),
        ),
        _lacks(
            "managed-mig-profile",
            "A MIG partition that a managed quota can't name",
            "The API knows 28 profiles, and those of the B300 are not among them: the quota would be made without them.",
            "Choose another profile, or use the kueue backend.",
            source="SageMaker API, MIGProfileType",
            example=Example(base="managed", team="quota: {ml.p6-b300.48xlarge: {partitions: {mig-1g.34gb: 7}}}"),
        ),
        warning(
            "managed-borrow-limit",
            "A borrow limit that AWS documents in two ways",
            "The API's model takes up to 10,000 %, its text 500 %: above that, CreateComputeQuota may refuse it.",
            "Lower it, or give absolute limits in `sharing.borrow`.",
            source="SageMaker API, ResourceSharingConfig.BorrowLimit",
            example=Example(base="managed", team="sharing: {borrow_limit: 600}"),
        ),
        _lacks(
            "queue-too-large",
            "More types or resources than a queue holds",
            "The API server refuses the ClusterQueue, and the team has none.",
            "Use fewer instance types or MIG profiles.",
            source="Kueue 0.16, ClusterQueue: 64 flavors, 64 resources and 512 quotas in a resource group",
        ),
        _lacks(
            "flavor-tolerations",
            "More taints than a flavor tolerates",
            "Kueue refuses the ResourceFlavor, or jobs are admitted to nodes that don't take them.",
            "Use fewer taints on the groups of one type.",
            source="Kueue 0.16, ResourceFlavor: 8 tolerations",
            example=Example(
                base="hyperpod",
                environment="clusters: {main: {instance_groups: {h100: {taints: ["
                + ", ".join(f"{{key: example.com/t{n}, effect: NoSchedule}}" for n in range(9))
                + "]}}}}",
            ),
        ),
    ),
)
