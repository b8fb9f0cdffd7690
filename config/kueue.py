"""What the pinned Kueue knows: versions, job frameworks and feature gates."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator

from config.findings import did_you_mean, quoted
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
FlavorFungibilityImplicitPreferenceDefault HierarchicalCohorts LendingLimit LocalQueueDefaulting LocalQueueMetrics
ManagedJobsNamespaceSelectorAlwaysRespected MultiKueue MultiKueueAdaptersForCustomJobs
MultiKueueAllowInsecureKubeconfigs MultiKueueBatchJobWithManagedBy MultiKueueClusterProfile
MultiKueueRedoAdmissionOnEvictionInWorker MultiKueueWaitForWorkloadAdmitted ObjectRetentionPolicies PartialAdmission
PrioritySortingWithinCohort PropagateBatchJobLabelsToWorkload ReclaimablePods RejectUpdatesToCQWithInvalidOnFlavors
RemoveFinalizersWithStrictPatch SanitizePodSets SchedulerLongRequeueInterval SchedulerTimestampPreemptionBuffer
SchedulingEquivalenceHashing ShortWorkloadNames SkipFinalizersForPodsSuspendedByParent TASBalancedPlacement
TASFailedNodeReplacement TASFailedNodeReplacementFailFast TASProfileLeastFreeCapacity TASProfileMixed
TASReplaceNodeOnNodeTaints TASReplaceNodeOnPodTermination TLSOptions TopologyAwareScheduling VisibilityOnDemand
WorkloadRequestUseMergePatch
"""
FEATURE_GATES: dict[str, frozenset[str]] = {"0.16.6": frozenset(_GATES.split())}
"""Gates by version. Kueue doesn't start with one that it doesn't know."""


def _framework(value: str) -> str:
    if value not in FRAMEWORKS:
        remedy = did_you_mean(value, FRAMEWORKS) or "see Kueue's integrations.frameworks"
        raise problem("framework_unknown", f"{quoted(value)} is not a framework of Kueue", remedy)
    return value


Framework = Annotated[str, AfterValidator(_framework)]
