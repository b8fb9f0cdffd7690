"""Rules about the networks of clusters, and where nodes stand in them."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, error, warning

_wrong = partial(error, waivable=False)
_FSX = "{dns_name: fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com, mount_name: abcdefgh, availability_zone: us-west-2b}"


def _network(settings: str) -> Example:
    return Example(base="hyperpod", environment=f"clusters: {{main: {{network: {{{settings}}}}}}}")


def _group(settings: str) -> Example:
    return Example(base="hyperpod", environment=f"clusters: {{main: {{instance_groups: {{{settings}}}}}}}")


NETWORK = Category(
    "network",
    "Networks and zones",
    "How a cluster's addresses are divided, and what must stand in one availability zone.",
    (
        _wrong(
            "network-shape",
            "A network that can't be",
            "The VPC or its subnets are refused, or EKS refuses them: blocks that overlap or are too small, settings of an "
            "existing VPC beside those of a new one, too few zones.",
            "Change what the message names.",
            source="Amazon VPC, IPv4 CIDR block association restrictions; EKS, VPC and subnet considerations",
            example=_network("cidr: 10.0.0.0/24"),
        ),
        _wrong(
            "zone-region",
            "A zone of another region",
            "A network stands in one region: its subnets are refused.",
            "Name zones of the cluster's region, or correct `region`.",
            source="Amazon VPC, a VPC spans one region",
            example=_network("availability_zones: [us-west-2a, us-west-2b, us-east-1a]"),
        ),
        _wrong(
            "zone-unknown",
            "A zone where the network has no subnet",
            "There is no subnet that the group's nodes could stand in.",
            "Name one of the network's zones, or add the zone to the network.",
            source="SageMaker API, OverrideVpcConfig",
            example=_group("cpu: {availability_zone: us-west-2d}"),
        ),
        error(
            "efa-zone",
            "A group with EFA that may stand in several zones",
            "EFA doesn't reach across zones: the cluster's checks fail half an hour into its creation (`EFA health checks did "
            "not run successfully`), or jobs hang in their first collective operation.",
            "Give the group one `availability_zone`.",
            source="SageMaker, Setting up HyperPod clusters across multiple AZs; troubleshooting of EFA health checks",
            example=_group("b: {instance_type: ml.p5.48xlarge, count: 1}"),
        ),
        _wrong(
            "fsx-zone",
            "A file system in another zone than its nodes",
            "HyperPod mounts file systems of the nodes' own zone alone: the group fails, and traffic between zones is paid for.",
            "Use a file system in the group's zone, or move the group.",
            source="SageMaker, Setting up HyperPod clusters across multiple AZs",
            example=_group(f"h100: {{fsx_lustre: [{_FSX}]}}"),
        ),
        warning(
            "addresses-few",
            "A subnet that may not hold its nodes",
            "An ml.p5.48xlarge takes 81 addresses. When a subnet has none left, further nodes fail to start, one by one.",
            "Give the zone a block of its own in `network.node_cidrs`, take a larger `cidr`, or use fewer instances.",
            source="SageMaker, Prerequisites for using HyperPod: addresses of an instance",
            example=_network("cidr: 10.0.0.0/21"),
        ),
        warning(
            "job-spans-zones",
            "A largest job that no zone holds",
            "The quota admits it, for it counts the type in all zones together; but EFA doesn't reach across zones, and so the "
            "job's pods wait for ever or hang.",
            "Declare a smaller `largest_job`, or put the type's groups into one zone.",
            source="SageMaker, Setting up HyperPod clusters across multiple AZs",
            example=Example(
                base="hyperpod",
                environment="clusters: {main: {instance_groups: {h100: {count: 4}, "
                "more: {instance_type: ml.p5.48xlarge, count: 4, availability_zone: us-west-2b}}}}",
                team="quota: {ml.p5.48xlarge: {accelerators: 48}}\nlargest_job: {ml.p5.48xlarge: {instances: 6}}",
            ),
        ),
        warning(
            "closed-chart",
            "A closed network, and a chart that names public images",
            "Nodes can't pull the images of the device plugins: none of them ever offers a GPU.",
            "Mirror the images, and name the mirror in `hyperpod.chart.values`, or in a chart of your own.",
            source="HyperPod's dependency chart: images of public registries",
            example=_network("egress: closed"),
        ),
        warning(
            "closed-kueue",
            "A closed network, and Kueue's public chart",
            "The chart names an image on `registry.k8s.io`, which nodes can't reach: Kueue never starts, the deployment fails "
            "after ten minutes, and no job is admitted.",
            "Name a chart of your own in `kueue.chart` whose image lies in a mirror, or set `kueue.install: false`.",
            source="Kueue 0.16, Helm chart: controllerManager.manager.image",
            example=_network("egress: closed"),
        ),
    ),
)
