"""Rules about teams: what they refer to, and what they are called."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, advice, error

_broken = partial(error, waivable=False)

TEAMS = Category(
    "teams",
    "Teams",
    "Names that teams refer to, choose or share.",
    (
        _broken(
            "team-unknown",
            "A team that there is not",
            "What was asked for, or a workload of a case, would belong to nobody.",
            "Correct the spelling; or write `teams/<name>.yaml`.",
        ),
        _broken(
            "cluster-unknown",
            "A cluster that the environment doesn't have",
            "A team that names it would have no queue anywhere, and no error would say why.",
            "Correct the spelling, or add the cluster to the environment.",
            example=Example(team="clusters: [mian]"),
        ),
        _broken(
            "team-name",
            "A file's name and the team's name differ",
            "Everything on the cluster is named after the team: nobody would find the file that declares it.",
            "Give both the same name, or remove `name`.",
            example=Example(team="name: gamma"),
        ),
        _broken(
            "name-shared",
            "Two teams with one namespace or one queue",
            "Each would see, and could delete, the other's jobs; the deployment stops at the second object of the same name.",
            "Give each team its own in `names`.",
            example=Example(team="names: {namespace: hyperpod-ns-beta}"),
        ),
        error(
            "label-reserved",
            "A label that is not yours to set",
            "Kubernetes, Kueue, SageMaker and this project steer by these labels: queues are found by them, and access is given.",
            "Choose another prefix; on instance groups, remove the label: the node sets it itself.",
            source="Kubernetes, Well-Known Labels; HyperPod task governance, namespaces",
            example=Example(team="labels: {kubernetes.io/team: alpha}"),
        ),
        _broken(
            "namespace-reserved",
            "A namespace that is the system's",
            "Members of the team would hold rights where Kubernetes or Kueue itself runs, and its queue label would be asked of "
            "system pods.",
            "Give the team a namespace of its own.",
            source="Kubernetes, Namespaces",
            example=Example(team="names: {namespace: kube-system}"),
        ),
        _broken(
            "default-queue-twice",
            "Two queues named `default`",
            "The team's own queue has the name already that `default_queue` would make a second time.",
            "Remove `default_queue`, or name the queue differently.",
            source="Kueue 0.16, LocalQueueDefaulting",
            example=Example(team="default_queue: true\nnames: {local_queue: default}"),
        ),
        error(
            "flavor-without-quota",
            "An order that names a type without quota",
            "Kueue tries the types of the queue alone: the order is not the one that its author reads.",
            "Remove the type from `flavors`, or add a quota of it.",
            example=Example(team="flavors: [ml.g6.12xlarge]"),
        ),
        advice(
            "iam-roles-unused",
            "IAM roles that get no access",
            "An IAM role becomes a member through an EKS access entry, and those of an existing cluster are not made here. The "
            "team's members are refused by the API server.",
            "Give the roles an access entry with the group of the message; or use `access.groups`.",
            source="EKS, Access entries",
            example=Example(team="access: {iam_roles: ['arn:aws:iam::111122223333:role/alpha']}"),
        ),
    ),
)
