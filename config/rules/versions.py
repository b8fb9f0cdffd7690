"""Rules about versions that don't go together."""

from __future__ import annotations

from config.findings import Severity
from config.rules.model import Category, Example, Rule, advice, error, warning

_ADDON = "SageMaker, HyperPod task governance: setup and release notes"


def _managed(settings: str, *, team: str = "") -> Example:
    return Example(base="managed", environment=f"clusters: {{main: {{{settings}}}}}", team=team)


def _eks(version: str) -> Example:
    return Example(base="hyperpod", environment=f'clusters: {{main: {{eks: {{version: "{version}"}}}}}}')


VERSIONS = Category(
    "versions",
    "Versions",
    "Kubernetes, Kueue and the add-ons: pairs of versions that don't go together, and versions whose time is up.",
    (
        Rule(
            "hyperpod-kubernetes",
            (Severity.ERROR, Severity.WARNING),
            "A Kubernetes version that HyperPod isn't documented for",
            "CreateCluster refuses an older one when EKS is there already. With a newer one, HyperPod's images, health checks "
            "and chart are untested.",
            "Set `eks.version` to one that HyperPod is documented for; where AWS documents yours by now, waive this.",
            "SageMaker, Getting started with Amazon EKS support in HyperPod: 1.28 to 1.34; add-ons' metadata: 1.35",
            example=_eks("1.27"),
        ),
        Rule(
            "kubernetes-support",
            (Severity.ERROR, Severity.ADVICE),
            "A Kubernetes version whose support is over",
            "After standard support every hour of the cluster costs more. After extended support EKS makes no new cluster of "
            "the version, and raises those that are there at a time of its own choice.",
            "Raise `eks.version`, one version at a time where the cluster is there already.",
            "EKS, Kubernetes release calendar",
            example=_eks("1.29"),
        ),
        warning(
            "kueue-kubernetes",
            "A Kubernetes version that this Kueue was not tested with",
            "Kueue's webhooks stand in the way of every job: a fault there keeps all teams from working.",
            "Set `eks.version` to one that Kueue is tested with.",
            source="Kueue 0.16, versions of its end-to-end tests",
            example=_eks("1.31"),
        ),
        error(
            "feature-gate-unknown",
            "A feature gate that this Kueue doesn't know",
            "Kueue doesn't start with a gate that it doesn't know: the deployment fails after ten minutes, and no job is "
            "admitted.",
            "Correct the spelling, or remove it: gates come and go with Kueue's versions.",
            source="Kueue 0.16, kube_features.go",
            waivable=False,
            example=Example(environment="clusters: {main: {kueue: {feature_gates: {TopologyAwareSchedulling: true}}}}"),
        ),
        error(
            "addon-kubernetes",
            "A Kubernetes version that is too old for task governance",
            "EKS refuses the add-on when the cluster is built: no team gets a queue.",
            "Set `eks.version` to 1.30 or newer.",
            source=f"{_ADDON}: Kubernetes 1.30 or newer",
            example=_managed('eks: {version: "1.29"}'),
        ),
        error(
            "addon-fine-grained",
            "An add-on that only knows quotas of whole instances",
            "It would govern by the instances and pass over accelerators, vCPUs and memory: teams get other quotas than "
            "declared.",
            "Set `task_governance.version` to v1.3.0 or newer, or give quotas in whole `instances`.",
            source=_ADDON,
            example=_managed("task_governance: {version: v1.2.2-eksbuild.1}"),
        ),
        error(
            "addon-mig",
            "An add-on that doesn't know partitions of GPUs",
            "Quotas of partitions would be refused, or govern nothing.",
            "Set `task_governance.version` to v1.3.0 or newer.",
            source=_ADDON,
            example=_managed(
                "task_governance: {version: v1.2.2-eksbuild.1}", team="quota: {ml.p5.48xlarge: {partitions: {mig-1g.10gb: 7}}}"
            ),
        ),
        error(
            "addon-topology",
            "An add-on without topology-aware scheduling",
            "Job contracts tell teams labels of the topology that nothing looks at: pods land anywhere.",
            "Set `task_governance.version` to v1.2.2 or newer.",
            source=f"{_ADDON}: topology-aware scheduling from v1.2.2",
            example=_managed("task_governance: {version: v1.1.3-eksbuild.1}"),
        ),
        advice(
            "addon-undocumented",
            "A version of the add-on that isn't documented",
            "Which Kueue is inside, and whether installed versions can be updated to it in place, is not known here. It may be "
            "misspelt.",
            "Correct it; or try the update on a cluster that may be lost first.",
            source=_ADDON,
            example=_managed("task_governance: {version: v1.16.0-eksbuild.1}"),
        ),
    ),
)
