"""Rules about clusters as a whole: whose they are, what they are called, and what they take from elsewhere."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, advice, error

_wrong = partial(error, waivable=False)
_ROLE = "arn:aws:iam::111122223333:role/platform-admin"


def _main(settings: str) -> Example:
    return Example(base="hyperpod", environment=f"clusters: {{main: {{{settings}}}}}")


CLUSTERS = Category(
    "clusters",
    "Clusters and accounts",
    "Whose a cluster is, what it is called, who enters it, and what it takes from elsewhere.",
    (
        error(
            "account-other",
            "An ARN of another account",
            "Copied from another environment, it would give production's key or role to a test cluster, or fail after the "
            "network and EKS are made.",
            "Name one of the cluster's account, or correct `account`. Where it is shared between accounts on purpose, waive it.",
            source="AWS, ARNs",
            example=_main('eks: {secrets_key: "arn:aws:kms:us-west-2:999988887777:key/0123"}'),
        ),
        _wrong(
            "region-other",
            "Something of another region",
            "SageMaker, EKS and EBS take keys, plans and file systems of their own region alone: the cluster would fail.",
            "Name one in the cluster's region, or correct `region`.",
            source="AWS KMS, keys are of one region; Amazon FSx, DNS names",
            example=_main('hyperpod: {volume_key: "arn:aws:kms:us-east-1:111122223333:key/0123"}'),
        ),
        _wrong(
            "partition-other",
            "An ARN of another partition",
            "`aws`, `aws-cn` and `aws-us-gov` share nothing: no cluster of one can use a key or role of another.",
            "Name one of the region's partition, or correct `region`.",
            source="AWS, ARNs: partitions",
            example=_main('permissions_boundary: "arn:aws-cn:iam::111122223333:policy/bound"'),
        ),
        _wrong(
            "cluster-name-twice",
            "Two clusters of one name in one account and region",
            "The second would be refused after its network is made; or two declarations would change one cluster in turn.",
            "Give one of them another `hyperpod.name` or `eks.name`.",
            source="SageMaker and EKS, cluster names are unique in an account and region",
            example=Example(
                base="hyperpod",
                environment="clusters: {main: {hyperpod: {name: same}}, "
                'second: {kind: hyperpod, account: "111122223333", region: us-west-2, hyperpod: {name: same}, '
                "network: {availability_zones: [us-west-2a, us-west-2b, us-west-2c]}, "
                f'eks: {{admins: ["{_ROLE}"]}}, instance_groups: {{cpu: {{instance_type: ml.m5.4xlarge, count: 2}}}}}}}}',
            ),
        ),
        _wrong(
            "iam-role-taken",
            "A role that would need two access entries",
            "EKS has one access entry for a role: the second is refused when the cluster is there already.",
            "Name another role.",
            source="EKS, Create access entries; HyperPod makes the entry of the instances' role",
            example=Example(base="hyperpod", team=f'access: {{iam_roles: ["{_ROLE}"]}}'),
        ),
        _wrong(
            "admins-none",
            "A new EKS cluster that nobody may enter",
            "Who makes a cluster gets no standing access of its own: the deployment would stop half-way, before its first "
            "object.",
            "Name in `eks.admins` the role that deploys, and who else administers the cluster.",
            source="EKS, bootstrapClusterCreatorAdminPermissions",
            example=_main("eks: {admins: []}"),
        ),
        _wrong(
            "tag-reserved",
            "A tag that is made for every resource",
            "The tags that say which environment and cluster a resource belongs to would say something else.",
            "Choose another prefix than `hyperpod-platform/`.",
            example=_main("tags: {hyperpod-platform/cluster: other}"),
        ),
        _wrong(
            "tag-twice",
            "Two tags that are one to IAM",
            "IAM doesn't look at the case of a tag's key, and refuses the roles after the network is made.",
            "Keep one.",
            source="IAM, Rules for tagging: keys are not case sensitive",
            example=_main("tags: {Team: a, team: b}"),
        ),
        advice(
            "backend-section-unused",
            "A section of the backend that is not in use",
            "It has no effect: a Kueue setting on the managed backend, or the add-on's version on the kueue backend, is never "
            "applied.",
            "Remove it, or choose the backend that it belongs to.",
            example=Example(base="managed", environment="clusters: {main: {kueue: {replicas: 2}}}"),
        ),
        _wrong(
            "sandbox-connection",
            "A sandbox that is to be reached some other way",
            "A sandbox brings its own kubeconfig and context: with another, its nodes and jobs would be made on a real cluster.",
            "Remove `kubeconfig` and `context`, or `sandbox`.",
            example=Example(environment="clusters: {main: {sandbox: true, context: production, kueue: {install: false}}}"),
        ),
        _wrong(
            "sandbox-kueue",
            "Kueue is to be installed on a sandbox",
            "A sandbox runs Kueue itself: a second one would fight over every queue.",
            "Set `kueue.install: false`.",
            example=Example(environment="clusters: {main: {sandbox: true}}"),
        ),
        _wrong(
            "chart-missing",
            "HyperPod's dependency chart is not there",
            "Without the chart no node of the cluster ever takes work: it has the device plugins and the health agent.",
            "Correct `hyperpod.chart`, or put the chart there. A digest that differs tells the one that was found.",
            source="SageMaker, Installing packages on the Amazon EKS cluster using Helm",
            example=_main("hyperpod: {chart: {path: charts/none}}"),
        ),
        _wrong(
            "lifecycle-missing",
            "The lifecycle script is not there",
            "Every node would fail in its first minutes, and the cluster be rolled back.",
            "Create the folder and its script, or correct `folder` and `script`.",
            source="SageMaker API, ClusterLifeCycleConfig",
            example=_main("hyperpod: {lifecycle: {folder: nowhere}}"),
        ),
    ),
)
