"""What the pinned Kueue knows: versions, job frameworks and feature gates."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator

from config.findings import did_you_mean
from config.vocabulary import problem

KueueVersion = Literal["0.16.6"]
"""Versions whose fields, gates and behaviour this package was tested with."""

FRAMEWORKS = (
    "batch/job",
    "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "kubeflow.org/jaxjob",
    "ray.io/rayjob",
    "ray.io/raycluster",
    "jobset.x-k8s.io/jobset",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
)
"""`integrations.frameworks` of Kueue 0.16, all that its chart enables."""

_GATES = """
AdmissionFairSharing DynamicResourceAllocation ElasticJobsViaWorkloadSlices FailureRecoveryPolicy
FairSharingPreemptWithinNominal FairSharingPrioritizeNonBorrowing FinishOrphanedWorkloads FlavorFungibility
HierarchicalCohorts LendingLimit LocalQueueDefaulting LocalQueueMetrics ManagedJobsNamespaceSelectorAlwaysRespected
MultiKueue MultiKueueAdaptersForCustomJobs MultiKueueBatchJobWithManagedBy MultiKueueClusterProfile
ObjectRetentionPolicies PartialAdmission PrioritySortingWithinCohort PropagateBatchJobLabels ReclaimablePods
RejectUpdatesToCQWithInvalidOnFlavors SanitizePodSets SchedulingEquivalenceHashing ShortWorkloadNames
SkipFinalizersForPodsSuspendedByParent TASBalancedPlacement TASFailedNodeReplacement TASFailedNodeReplacementFailFast
TASProfileLeastFreeCapacity TASProfileMixed TASReplaceNodeOnNodeTaints TASReplaceNodeOnPodTermination TLSOptions
TopologyAwareScheduling VisibilityOnDemand WorkloadRequestUseMergePatch
"""
FEATURE_GATES: dict[str, frozenset[str]] = {"0.16.6": frozenset(_GATES.split())}


def check_feature_gates(version: str, gates: dict[str, bool]) -> None:
    """Refuse gates that `version` doesn't have: Kueue would not start."""
    known = FEATURE_GATES[version]
    unknown = [gate for gate in gates if gate not in known]
    if unknown:
        raise problem(
            "feature_gate_unknown",
            f"Kueue {version} has no feature gate {', '.join(f'`{g}`' for g in unknown)}",
            did_you_mean(unknown[0], sorted(known)),
        )


def _framework(value: str) -> str:
    if value not in FRAMEWORKS:
        raise problem("framework_unknown", f"`{value}` is not a framework of Kueue", did_you_mean(value, FRAMEWORKS))
    return value


Frameworks = Annotated[
    tuple[Annotated[str, AfterValidator(_framework)], ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)
]
