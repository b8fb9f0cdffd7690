"""Rules about topology-aware placement."""

from __future__ import annotations

from config.rules.model import Category, Example, advice, error

TOPOLOGY = Category(
    "topology",
    "Topology",
    "How near to each other the nodes of a job stand, and what the network between them can do.",
    (
        error(
            "topology-hostname",
            "The node itself is not the nearest level",
            "Kueue refuses the Topology, and with it every queue whose flavors use it.",
            "Move `kubernetes.io/hostname` to the end of `governance.topology.levels`.",
            source="Kueue 0.16, Topology: kubernetes.io/hostname only as the last level",
            waivable=False,
            example=Example(environment="governance: {topology: {levels: [kubernetes.io/hostname, example.com/rack]}}"),
        ),
        advice(
            "efa-unknown",
            "A type whose EFA interfaces are not published",
            "Its nodes and quotas count no `vpc.amazonaws.com/efa`: a job that asks for one is never admitted.",
            "Let jobs on it ask for none; when AWS publishes the number, add it to `config/instance_types.csv`.",
            source="Amazon EC2, instance types with EFA",
            example=Example(
                environment="clusters: {main: {instance_groups: {gb200: {instance_type: ml.p6e-gb200.36xlarge, count: 1}}}}"
            ),
        ),
    ),
)
