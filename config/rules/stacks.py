"""Rules about stacks and the project's folder."""

from __future__ import annotations

from functools import partial

from config.rules.model import Category, error

_wrong = partial(error, waivable=False)

STACKS = Category(
    "stacks",
    "Stacks",
    "What a stack's file says, and what the stack needs to reach its clusters.",
    (
        _wrong(
            "project-missing",
            "No project here",
            "There is nothing to read: neither the folder nor one above has a `Pulumi.yaml`.",
            "Change to the project's folder, or name it with `--project`.",
        ),
        _wrong(
            "layers",
            "Layers that don't exist",
            "A layer that is misspelt would be left out: a stack without `governance` takes every team's queue away.",
            "Write a list of `platform` and `governance`, one or both.",
        ),
        _wrong(
            "stack-environment",
            "An environment's name that is no text",
            "The stack would deploy another environment, or none.",
            "Write the name of a file in `environments/`, as text.",
        ),
        _wrong(
            "kubeconfig-missing",
            "No way to a cluster",
            "Without one of its own, the deployment would reach whichever cluster the shell happens to point at.",
            "Store the stack's secret `kubeconfig-<cluster>`, or name a file in `kubeconfig`.",
        ),
        _wrong(
            "platform-stack-missing",
            "A stack of queues alone that doesn't know who built the cluster",
            "It would find neither the cluster's address nor its names.",
            "Add `hyperpod-platform:platform_stack` to the stack's file, with the full name of the stack that builds the "
            "cluster.",
        ),
        _wrong(
            "permissions-none",
            "Permissions for an environment that builds nothing",
            "Clusters of kind existing need no rights in AWS: a policy would be empty.",
            "Name the stack of an environment with a HyperPod cluster.",
        ),
    ),
)
