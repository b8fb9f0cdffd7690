"""Rules about jobs: what `hpctl job` finds before anything is printed or submitted."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, advice, error, warning

_job = partial(error, waivable=False)
_risk = partial(warning, waivable=False)
_AWS_ELASTIC = "AWS, elastic training in HyperPod; HyperPod CLI, hyp-pytorch-job"

JOBS = Category(
    "jobs",
    "Jobs",
    "What `hpctl job` tells of a job, with the option in the file's place. Nothing is submitted where one of them is an error.",
    (
        _job(
            "job-name",
            "A name that no job can have",
            "Controllers append to the name, and what they make has to be a DNS label.",
            "Use small letters, digits and hyphens, a letter first; and few of them.",
            source="Kubernetes, names of Jobs, Services and pods; KubeRay, RayJob",
        ),
        _job(
            "job-kind",
            "A kind of job that doesn't exist",
            "There would be nothing to print.",
            "Name a kind that `hpctl job --help` lists.",
        ),
        _job(
            "job-option",
            "An option that can't be, or that the kind needs or doesn't take",
            "The API server would refuse the object, or the job would do something else than meant.",
            "Follow what the finding says of the option.",
        ),
        _job(
            "job-cluster",
            "A cluster that the team isn't on, or several to choose from",
            "The team has no namespace and no queue there.",
            "Name a cluster of the team with `--cluster`.",
        ),
        _job(
            "job-type",
            "An instance type that the team's queue doesn't have",
            "Kueue finds no flavor for the pods: the job is never admitted.",
            "Use a type of the queue, or give the team quota of it.",
            source="Kueue 0.16, flavors of a ClusterQueue",
        ),
        _job(
            "job-framework",
            "A kind of job that the cluster's Kueue doesn't queue",
            "Kueue passes over it: it would stay suspended for ever, or run beside every quota.",
            "Add the kind to `kueue.frameworks` or `kueue.external_frameworks`, or use another kind.",
            source="Kueue 0.16, integrations.frameworks and externalFrameworks",
        ),
        _risk(
            "job-framework-managed",
            "A kind of job that AWS's task governance isn't known to queue",
            "Where its Kueue passes over the kind, the job stays suspended for ever.",
            "Try one small job first, or use a kind that AWS documents.",
        ),
        _job(
            "job-amounts",
            "Amounts that contradict each other, or that are none",
            "No pod can have them.",
            "Follow what the finding says.",
        ),
        _job(
            "job-uncovered",
            "A resource that the team's queue doesn't count",
            "Kueue never admits a pod that asks for a resource of which the queue says nothing.",
            "Leave it out, or name it in the quota or in `governance.resources`.",
            source="Kueue 0.16, coveredResources of a ClusterQueue",
        ),
        _job(
            "job-too-large",
            "A job that is larger than the team can ever have",
            "Quota and borrowing together never reach it: it waits for ever.",
            "Ask for less, or raise the team's quota or borrow limit.",
            source="Kueue 0.16, arithmetic of cohorts",
        ),
        _risk(
            "job-growth",
            "An elastic job that can never reach its largest size",
            "The part beyond the team's quota and borrowing is never admitted.",
            "Lower `--max-replicas`, or raise the team's quota or borrow limit.",
        ),
        advice(
            "job-borrows",
            "A job that is larger than the team's guarantee",
            "It begins only when others leave enough idle, and may be preempted when they want it back.",
            "Stay within the guarantee, or save checkpoints.",
            waivable=False,
        ),
        _risk(
            "job-no-nodes",
            "A job for which there are too few nodes",
            "Quota admits it, and its pods wait for nodes.",
            "Add nodes, or ask for fewer or smaller pods.",
        ),
        _job(
            "job-block",
            "A required block that is too small for the job",
            "No block of that layer has room for all pods: the job is never admitted.",
            "Ask for fewer pods, for a farther layer, or prefer the layer instead of requiring it.",
            source="Kueue 0.16, topology-aware scheduling",
        ),
        _risk(
            "job-block-assumed",
            "A required block that may be too small for the job",
            "By the layout that the declaration assumes, no block has room. How the nodes really stand, only their labels say.",
            "Look at `hpctl topology`; ask for a farther layer, or prefer the layer instead of requiring it.",
            source="Kueue 0.16, topology-aware scheduling",
        ),
        advice(
            "job-priority",
            "A job without a priority class",
            "Kueue takes its priority for 0, below every class with a weight: others preempt it first.",
            "Give `--priority`, or the team a `default_priority`.",
            source="Kueue 0.16, priority of a workload",
            waivable=False,
        ),
        _job(
            "job-elastic",
            "An elastic policy that can't be",
            "The operator would refuse it, or the job would never reach the sizes that are meant.",
            "Give `--min-replicas` and `--max-replicas`, and either `--increment` or `--discrete` sizes between them.",
            source=_AWS_ELASTIC,
        ),
        _risk(
            "job-elastic-priority",
            "An elastic part that doesn't rank below its base",
            "A reclaim may then take the base, and with it the whole training run.",
            "Give the base a higher class, or the elastic part a lower one.",
            source=_AWS_ELASTIC,
        ),
        _risk(
            "job-entry-point",
            "A command that doesn't start HyperPod's agent",
            "The training operator waits for the agent in each pod, and gives the job up.",
            "Start the script with `hyperpodrun`, or give the script alone.",
            source="AWS, HyperPod training operator: elastic agent",
        ),
        _job(
            "job-hyperpod-cli",
            "A kind for which the HyperPod CLI has no command",
            "There is nothing equivalent to print.",
            "Apply the manifest, or use a kind that the HyperPod CLI has.",
            source="HyperPod CLI 3, hyp create",
        ),
        _job(
            "job-exists",
            "A job of that name is there already",
            "Writing over it would change a running job, or lose what it has done.",
            "Use another name, or delete the old one first.",
        ),
        _job(
            "job-refused",
            "The API server refuses the job",
            "A webhook, an admission policy, a schema or the rights of the user stand against it.",
            "Follow what the server says.",
        ),
    ),
)
