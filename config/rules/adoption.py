"""Rules about what is there already: names in the declaration, and what `hpctl import` finds on a cluster."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, Example, advice, error, warning

_found = partial(error, waivable=False)

ADOPTION = Category(
    "adoption",
    "Adopting what exists",
    "Declarations that name existing objects, and what `hpctl import` can't say of a running cluster.",
    (
        _found(
            "flavor-topology-unknown",
            "An adopted flavor of a topology that isn't described",
            "The plan wouldn't know the flavor's levels, and a flavor with a topology can't be changed later.",
            "Give the topology's levels in `governance.names.topologies`.",
            source="Kueue 0.16, ResourceFlavor: the spec is immutable once topologyName is set",
            example=Example(
                environment="governance: {names: {flavors: {ml.p5.48xlarge: {name: h100, topology: racks}}}}",
            ),
        ),
        _found(
            "flavor-node-labels",
            "An adopted flavor with a topology and no node labels",
            "The API server refuses the flavor: it couldn't tell which nodes the topology is of.",
            "Name the labels of its nodes in `node_labels`, or leave that out for the instance type's.",
            source="Kueue 0.16, ResourceFlavor: at least one nodeLabel is required when topology is set",
            example=Example(
                environment="governance: {names: {topologies: {racks: [example.com/rack]}, "
                "flavors: {ml.p5.48xlarge: {name: h100, topology: racks, node_labels: {}}}}}",
            ),
        ),
        _found(
            "flavor-shared",
            "One flavor for two instance types",
            "Kueue counts what runs on a flavor as one: quotas of the two types would be one quota.",
            "Name a flavor of its own for each type.",
            example=Example(
                environment="governance: {names: {flavors: {ml.p5.48xlarge: {name: gpus}, ml.g6.12xlarge: {name: gpus}}}}",
                team="quota: {ml.g6.12xlarge: {accelerators: 1}}",
            ),
        ),
        error(
            "resource-uncounted",
            "Quota of a resource that queues don't count",
            "Kueue leaves jobs pending for good that ask for a resource which their queue doesn't cover. Set aside, the quota "
            "has no effect.",
            "List it in `governance.resources`, or correct the quota.",
            source="Kueue 0.16, ClusterQueue: coveredResources",
            example=Example(environment="governance: {resources: [cpu, memory]}"),
        ),
        _found(
            "department-alone",
            "A department with a parent that stands alone",
            "It can't be both: whoever shares with its parent shares with it.",
            "Remove `parent`, or `alone`.",
            example=Example(
                environment="governance: {departments: {research: {parent: science, alone: true}, science: {}}}",
            ),
        ),
        warning(
            "import-differs",
            "The first `up` after an import would change something",
            "No declaration says exactly what is there. The finding names the field, its value on the cluster and the one that "
            "`up` would write.",
            "Accept the change, or make it by hand first, and import again.",
            waivable=False,
        ),
        advice(
            "import-left",
            "Something that an import doesn't adopt",
            "It stays on the cluster as it is; no declaration says it, and nothing here would notice if it changed.",
            "Keep it by hand, or remove it when nobody needs it.",
            waivable=False,
        ),
        _found(
            "import-type-unknown",
            "A flavor whose instance type can't be told",
            "Quotas are declared by instance type: without it, the quota of every queue that names the flavor would be lost.",
            "Say it with `--type <flavor>=<instance type>`.",
        ),
        _found(
            "import-type-twice",
            "Two flavors of one instance type",
            "A declaration has one flavor for each type: quotas of the two would be one quota.",
            "Say with `--type` what the second stands for, or make the two one.",
        ),
        _found(
            "import-conflict",
            "A file that an import would overwrite",
            "What it says would be lost. Nothing has been written.",
            "Import into another folder with `--to`, or under another environment's name.",
        ),
        _found(
            "import-empty",
            "Nothing to adopt",
            "There is no ClusterQueue and no compute quota: most likely this is another cluster.",
            "Name the right one with `--kubeconfig` and `--context`, or the HyperPod cluster.",
        ),
    ),
)
