"""Rules about teams on several clusters, and about handing jobs from one to another."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, advice, error, warning

_wrong = partial(error, waivable=False)
_HUB = "hub: {kind: existing, instance_groups: {cpu: {instance_type: ml.m5.4xlarge, count: 2}}}"
_MULTI = "governance: {multi_kueue: {manager: hub, workers: [main]}}"
_SOURCE = "Kueue 0.16, MultiKueue"


def _managed(cluster: str = "", team: str = "", hub: str = _HUB) -> Example:
    """A manager `hub` beside the base project's cluster, which becomes its worker."""
    return Example(environment=f"clusters: {{{hub}, main: {{{cluster}}}}}\n{_MULTI}\n", team=team)


MULTI_CLUSTER = Category(
    "multi_cluster",
    "Several clusters",
    "Teams placed on some of an environment's clusters, and jobs that one cluster hands to others (MultiKueue).",
    (
        warning(
            "cluster-quota-unused",
            "A quota for a cluster that the team doesn't work on",
            "It counts nothing: the team believes in compute that it doesn't have.",
            "Remove it, or add the cluster to the team's `clusters`.",
            example=Example(
                environment="clusters: {other: {kind: existing, instance_groups: {}}}",
                team="clusters: [main]\ncluster_quota: {other: {ml.p5.48xlarge: {accelerators: 8}}}",
            ),
        ),
        _wrong(
            "multikueue-manager-worker",
            "A manager that is its own worker",
            "Kueue doesn't support it: a job would be handed to the queue that it waits in.",
            "Name another manager, or remove it from the workers.",
            source=_SOURCE,
            example=Example(environment="governance: {multi_kueue: {manager: main, workers: [main]}}"),
        ),
        _wrong(
            "multikueue-manager-team",
            "A team placed on the manager",
            "No job of a team runs on the manager; its queue there follows from the workers that the team is placed on, with the "
            "sum of their quotas. A quota of its own would let in jobs that no worker takes.",
            "Name workers in `clusters` and `cluster_quota`.",
            source=_SOURCE,
            example=_managed(team="clusters: [hub, main]"),
        ),
        warning(
            "multikueue-manager-nodes",
            "Accelerators on the manager",
            "They stay idle: what is submitted on the manager runs on workers, and nothing else may run in a team's namespace "
            "there.",
            "Move the instance group to a worker, or make the cluster one.",
            example=_managed(
                hub="hub: {kind: existing, instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 2}}}",
            ),
        ),
        _wrong(
            "multikueue-manager-frameworks",
            "Kinds of jobs on the manager's own list",
            "The manager queues what it dispatches. For each further kind, Kueue would watch that kind on every worker, and take "
            "a worker without its CRD for lost.",
            "Remove the list, and name the kinds in `governance.multi_kueue.frameworks`.",
            source=_SOURCE,
            example=_managed(
                hub="hub: {kind: existing, instance_groups: {}, kueue: {frameworks: [batch/job, pod]}}",
            ),
        ),
        _wrong(
            "multikueue-worker-frameworks",
            "A worker that doesn't queue what it is handed",
            "The worker's Kueue never starts the job: it stays suspended there, and admitted on the manager.",
            "Add the kinds to the worker's `kueue.frameworks`.",
            source=_SOURCE,
            example=_managed("kueue: {frameworks: [pod]}"),
        ),
        _wrong(
            "multikueue-gate",
            "A feature gate that the manager needs is off",
            "Nothing is dispatched; or the manager's own Job controller runs what a worker runs too.",
            "Remove the gate: it is on by default.",
            source="Kueue 0.16, feature gates MultiKueue and MultiKueueBatchJobWithManagedBy",
            example=_managed(hub="hub: {kind: existing, instance_groups: {}, kueue: {feature_gates: {MultiKueue: false}}}"),
        ),
        advice(
            "multikueue-not-ours",
            "A manager whose Kueue somebody else installs",
            "The kinds of jobs, the dispatcher and the origin are set in Kueue's own configuration, which isn't ours there: with "
            "Kueue's defaults, a worker without the CRD of every kind counts as lost.",
            "Have it configured as the declaration says, by whoever installs it.",
            source="Kueue 0.16, Configuration: multiKueue, integrations.frameworks",
            example=_managed(hub="hub: {kind: existing, instance_groups: {}, kueue: {install: false}}"),
        ),
    ),
)
