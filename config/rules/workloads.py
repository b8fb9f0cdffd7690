"""Rules about cases: scripts of workloads that the simulation plays."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, error

_case = partial(error, waivable=False)

WORKLOADS = Category(
    "workloads",
    "Workloads and cases",
    "What `workloads/*.yaml` must not say. Cases are read against the plan, so that a mistake is told before anything is "
    "started.",
    (
        _case(
            "cases-none",
            "No case",
            "A simulation of nothing would succeed.",
            "Write one in `workloads/demo.yaml`.",
        ),
        _case(
            "case-twice",
            "Two cases of one name",
            "Their jobs would have the same names, and each would wait for the other's.",
            "Rename one of the two.",
        ),
        _case(
            "case-unknown",
            "A case that doesn't exist",
            "Nothing would be played under that name.",
            "Correct the spelling.",
        ),
        _case(
            "workload-unknown",
            "A step names a workload that the case doesn't declare",
            "The step would wait for a job that never comes.",
            "Correct the spelling, or declare it under `workloads`.",
        ),
        _case(
            "workload-twice",
            "A workload is submitted twice",
            "The API server refuses a second job of that name.",
            "Declare another workload, and submit that.",
        ),
        _case(
            "workload-early",
            "A workload is used before it is submitted",
            "No verdict can be reached on a job that isn't there.",
            "Submit it in an earlier step.",
        ),
        _case(
            "workload-gone",
            "A workload is finished or deleted a second time",
            "There is no job any more that the step could act on.",
            "Remove it from the step.",
        ),
        _case(
            "workload-unused",
            "A workload that no step submits",
            "The case shows less than its author believes.",
            "Submit it, or remove it.",
        ),
        _case(
            "team-inactive",
            "A workload of a team that is held or draining",
            "Kueue admits nothing of it: the step would wait until its time is up.",
            "Use an active team.",
        ),
        _case(
            "instance-group-unknown",
            "Nodes of a group that the environment doesn't have",
            "There is nothing to add or remove.",
            "Correct the spelling.",
        ),
        _case(
            "per-pod",
            "A pod that asks for nothing, or for everything and more",
            "A pod without requests is admitted at once and shows nothing; a whole node has all amounts already.",
            "Write `whole_node`, or amounts: one of the two.",
        ),
        _case(
            "pod-too-large",
            "A pod that fits on no node",
            "Its quota admits it, and it waits for ever: a node keeps a part of its vCPUs and memory for itself.",
            "Ask for less, or write `whole_node`.",
            source="HyperPod CLI, reserved vCPUs and memory of a node",
        ),
        _case(
            "max-run-time",
            "A workload that runs longer than its team may",
            "Kueue stops it, and the case ends in another verdict than expected.",
            "Shorten `runs_for`.",
            source="Kueue 0.16, maximumExecutionTimeSeconds",
        ),
        _case(
            "kind-field",
            "A field that this kind of workload doesn't have",
            "Deployments and spaces run without end, don't grow of themselves, and Kueue places their pods one by one.",
            "Remove the field, or make the workload a `job`.",
            source="Kueue 0.16, pkg/controller/jobs/deployment",
        ),
        _case(
            "kind-framework",
            "A workload of a kind that Kueue doesn't integrate here",
            "Kueue lets it pass: its pods run beside every quota, and no verdict is ever reached.",
            "Add what governs the kind to the cluster's `kueue.frameworks`: `pod` and `deployment` for deployments and spaces.",
            source="Kueue 0.16, pkg/controller/jobs/deployment",
        ),
        _case(
            "space-pods",
            "A space of several pods",
            "A space is the IDE of one person, in one pod.",
            "Declare a space for each person, or make the workload a `deployment`.",
            source="jupyter-k8s, the operator of HyperPod's spaces",
        ),
        _case(
            "elastic-pods",
            "An elastic job with a fixed number of pods",
            "It has from `min` to `max` of them.",
            "Remove `pods`.",
        ),
        _case(
            "elastic-counts",
            "Replica counts that an elastic job can't have",
            "An elastic job grows from `min` to `max` by equal steps, or over counts that are listed.",
            "Keep one of `step` and `values`; let steps lead to `max`, and values rise from `min` to `max`.",
            source="SageMaker HyperPod, elastic training: replicaIncrementStep, replicaDiscreteValues",
        ),
        _case(
            "elastic-priority",
            "The elastic part ranks no lower than the base",
            "A reclaim takes the lowest priority first; were both equal, it might stop the base, and with it the training.",
            "Give the base a priority class of a higher weight than `elastic_priority`.",
            source="Kueue 0.16, pkg/scheduler/preemption/common/ordering.go",
        ),
        _case(
            "topology-mode",
            "A placement that is both required and preferred, or neither",
            "Kueue refuses a pod with both annotations.",
            "Keep one of `required` and `preferred`.",
            source="Kueue 0.16, Topology-aware scheduling: annotations of a pod template",
        ),
        _case(
            "topology-level",
            "A level that the type's topology doesn't have",
            "Kueue finds no domain of that level: the job is never admitted.",
            "Name a level of the type's topology.",
            source="Kueue 0.16, Topology-aware scheduling",
        ),
        _case(
            "step-actions",
            "A step that does nothing, or two things",
            "The order of two things in one step would be anybody's guess.",
            "Write one action a step.",
        ),
        _case(
            "step-option",
            "An option of an expectation on another step",
            "It would have no effect.",
            "Move it to an `expect` step.",
        ),
        _case(
            "one-domain",
            "One domain for a workload that has no nodes",
            "Only running pods stand somewhere: there is nothing to compare.",
            "Expect the workload apart, without `one_domain` and `together`.",
        ),
        _case(
            "verdict-kind",
            "A verdict that this kind of workload never gets",
            "Kueue deletes pods of a Deployment that it preempts; the Deployment makes others, which wait. And it never ends.",
            "Expect `pending`, or count `replicas`; in place of `finish`, `delete` it.",
            source="Kueue 0.16, pkg/controller/jobs/pod",
        ),
        _case(
            "replicas-kind",
            "Replicas of a workload that has all its pods or none",
            "Kueue admits a plain job as a whole.",
            "Expect a verdict.",
        ),
        _case(
            "replicas-count",
            "More or other replicas than an elastic job runs with",
            "The step would wait until its time is up.",
            "Expect one of the job's counts, or 0.",
        ),
        _case(
            "scale-kind",
            "A workload is scaled that is no deployment",
            "The pods of a job or of a space are as many as declared.",
            "Remove it from the step, or make it a `deployment`.",
        ),
        _case(
            "nodes-unused",
            "Nodes of a type that no workload asks for",
            "The step would change nothing for the case.",
            "Name a group of the workloads' types.",
        ),
        _case(
            "nodes-count",
            "More nodes are removed than the group has",
            "The step can't be done.",
            "Remove fewer.",
        ),
    ),
)
