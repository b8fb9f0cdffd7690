"""Rules about the spelling of what AWS, Kueue and the dependency chart name."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, error

_value = partial(error, waivable=False)
_IAM = "IAM, ARNs and identifiers"


def _hyperpod(fragment: str) -> Example:
    """A change of the cluster `main` of kind hyperpod."""
    return Example(base="hyperpod", environment=f"clusters: {{main: {{{fragment}}}}}")


def _group(fragment: str) -> Example:
    return _hyperpod(f"instance_groups: {{h100: {{{fragment}}}}}")


FORMATS = Category(
    "formats",
    "Names and forms of AWS, Kueue and charts",
    "Accounts, ARNs, address blocks, versions. A service refuses a wrong one in the middle of a deployment; here it is found "
    "before. No model could hold these values, so none of these findings can be waived.",
    (
        _value(
            "account",
            "Text that is no AWS account",
            "Without quotes, an account that begins with 0 is another number: resources would be looked for elsewhere.",
            'Write its 12 digits in quotes, as `"012345678901"`.',
            source=_IAM,
            example=_hyperpod('account: "1234"'),
        ),
        _value(
            "region",
            "Text that is no AWS region",
            "Every ARN, zone and endpoint is made of it.",
            "Write the region's name, as `us-west-2`.",
            source="AWS General Reference, Regions",
            example=_hyperpod("region: oregon"),
        ),
        _value(
            "availability-zone",
            "Text that is no availability zone",
            "Subnets are made by the zone's name, and groups find their subnet by it; ids such as `usw2-az1` are not taken.",
            "Write the zone's name, as `us-west-2a`.",
            source="Amazon EC2, Regions and Zones",
            example=_group("availability_zone: usw2-az1"),
        ),
        _value(
            "cidr",
            "Text that is no block of addresses, or one that a VPC doesn't take",
            "A VPC holds private blocks of /16 to /28; with any other, nothing of the network can be made.",
            "Write a private block of a size that fits, as `10.16.0.0/16`.",
            source="Amazon VPC, VPC CIDR blocks; RFC 1918 and 6598",
            example=_hyperpod("network: {cidr: 10.0.0.0/8}"),
        ),
        _value(
            "resource-id",
            "Text that is no id of a VPC, subnet or security group",
            "The cluster would be asked for in a network that doesn't exist.",
            "Write the id as the console shows it, as `subnet-0123456789abcdef0`.",
            source="Amazon EC2, Resource IDs",
            example=_hyperpod("network: {vpc: my-network}"),
        ),
        _value(
            "role-arn",
            "Text that is no ARN of an IAM role",
            "An access entry for it is refused, and the team has no access.",
            "Write `arn:aws:iam::<12 digits>:role/<name>`.",
            source=_IAM,
            example=Example(base="hyperpod", team="access: {iam_roles: [admin]}"),
        ),
        _value(
            "kms-key",
            "Text that is no ARN of a KMS key",
            "Volumes and secrets couldn't be encrypted: the nodes would not start.",
            "Write `arn:aws:kms:<region>:<12 digits>:key/<id>`; an alias is not taken.",
            source="AWS KMS, Key identifiers",
            example=_hyperpod("hyperpod: {volume_key: alias/ml}"),
        ),
        _value(
            "tag",
            "A tag that AWS doesn't take",
            "Every resource carries the tags: the first one that is made is refused.",
            "Use letters, digits, spaces and `_ . : / = + - @`; don't begin with `aws:`.",
            source="AWS General Reference, Tag naming limits",
            example=_hyperpod("tags: {'aws:team': ml}"),
        ),
        _value(
            "log-days",
            "A number of days that CloudWatch doesn't keep logs for",
            "PutRetentionPolicy takes 22 numbers alone; another one fails when the log group is made.",
            "Use one of the numbers in the message.",
            source="CloudWatch Logs API, PutRetentionPolicy",
            example=_hyperpod("network: {flow_log_days: 100}"),
        ),
        _value(
            "cluster-name",
            "A name that SageMaker doesn't take for a cluster",
            "CreateCluster refuses it, after network and EKS cluster were made.",
            "Use 1-63 letters, digits and hyphens, none at the ends.",
            source="SageMaker API, ClusterName",
            example=_hyperpod("hyperpod: {name: my_cluster}"),
        ),
        _value(
            "eks-name",
            "A name that EKS doesn't take for a cluster",
            "CreateCluster refuses it, after the network was made.",
            "Use 1-100 letters, digits, hyphens and underscores, the first a letter or digit.",
            source="EKS API, CreateCluster",
            example=_hyperpod("eks: {name: my.cluster}"),
        ),
        _value(
            "eks-version",
            "Text that is no Kubernetes version of EKS",
            "EKS takes minor versions alone: `1.34`, not `v1.34` or `1.34.1`.",
            'Write it in quotes, as `"1.34"`.',
            source="EKS, Kubernetes versions",
            example=_hyperpod("eks: {version: v1.34}"),
        ),
        _value(
            "addon-version",
            "Text that is no version of an EKS add-on",
            "CreateAddon refuses it; for task governance, what the version knows couldn't be checked either.",
            "Write it as `v1.18.3-eksbuild.1`.",
            source="EKS API, DescribeAddonVersions",
            example=_hyperpod('eks: {addons: {vpc-cni: "1.18"}}'),
        ),
        _value(
            "public-to-all",
            "An API server that is open to the whole internet",
            "Anybody could try stolen credentials on it. A list of networks costs nothing.",
            "Name your own networks in `eks.public_access_from`.",
            source="EKS best practices, Restrict access to the control plane",
            example=_hyperpod("eks: {public_access_from: [0.0.0.0/0]}"),
        ),
        _value(
            "group-reserved",
            "A group that is Kubernetes' own",
            "Members of `system:masters` may do everything on the cluster: a team's file must not give that.",
            "Name a group of your identity provider.",
            source="EKS, Create access entries (`system:` is refused)",
            example=Example(team="access: {groups: ['system:masters']}"),
        ),
        _value(
            "framework-unknown",
            "A kind of job that Kueue has no integration for",
            "Kueue doesn't start with a framework that it doesn't know: no job of any team would be admitted.",
            "Correct the spelling; a kind that another controller integrates belongs to `external_frameworks`.",
            source="Kueue 0.16, integrations.frameworks",
            example=Example(environment="clusters: {main: {kueue: {frameworks: [batch/jobs]}}}"),
        ),
        _value(
            "framework-not-dispatched",
            "A kind of job that MultiKueue doesn't dispatch",
            "Kueue rejects every job of the kind on the manager, or leaves it to run there beside every quota.",
            "Remove it from the list; submit jobs of the kind on a worker.",
            source="Kueue 0.16, MultiKueue adapters",
            example=Example(environment="governance: {multi_kueue: {manager: hub, workers: [main], frameworks: [deployment]}}"),
        ),
        _value(
            "cron",
            "Text that is no schedule",
            "SageMaker refuses the whole cluster for it.",
            "Write `cron(minute hour day month weekday year)` in UTC, as `cron(0 3 ? * SUN *)`.",
            source="SageMaker API, ScheduledUpdateConfig.ScheduleExpression",
            example=_group("scheduled_update: {schedule: daily}"),
        ),
        _value(
            "batch-size",
            "A batch that is no single number",
            "SageMaker takes a number of instances or a percentage of the group, one of the two.",
            "Give `instances` or `percent`.",
            source="SageMaker API, RollingDeploymentPolicy.MaximumBatchSize",
            example=_group("scheduled_update: {schedule: cron(0 3 ? * SUN *), deployment: {batch: {instances: 2, percent: 5}}}"),
        ),
        _value(
            "lifecycle-source",
            "A lifecycle script that lies in two places, or in none",
            "Nobody could say which files the nodes run.",
            "Give `folder`, for files of the project, or `source_uri`, for files that lie in a bucket already.",
            example=_hyperpod("hyperpod: {lifecycle: {script: on_create.sh}}"),
        ),
        _value(
            "chart-source",
            "A chart that comes from two places",
            "Nobody could say which chart is installed on the nodes.",
            "Keep one of `repository` (with `commit` and `folder`), `oci` and `path`.",
            example=_hyperpod("hyperpod: {chart: {path: chart, oci: 'oci://registry.example.com/chart', version: 1.0.0}}"),
        ),
        _value(
            "chart-version",
            "An OCI reference without a version, or a version without one",
            "The newest chart would be installed, another one on each day.",
            "Give `oci` and `version` together.",
            example=_hyperpod("hyperpod: {chart: {oci: 'oci://registry.example.com/chart'}}"),
        ),
        _value(
            "chart-digest",
            "A digest that nothing checks",
            "`sha256` is compared with a chart's files; of an OCI reference, the registry keeps digests of its own.",
            "Remove `sha256`.",
            example=_hyperpod(
                f"hyperpod: {{chart: {{oci: 'oci://registry.example.com/chart', version: 1.0.0, sha256: {'ab' * 32}}}}}"
            ),
        ),
    ),
)
