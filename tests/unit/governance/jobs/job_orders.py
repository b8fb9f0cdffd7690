"""A platform to hold jobs against, and orders of jobs."""

from __future__ import annotations

from typing import Any

from governance.jobs.model import Elasticity, Order

ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue:
      install: false
      frameworks: [batch/job, kubeflow.org/pytorchjob, ray.io/rayjob, jobset.x-k8s.io/jobset, pod, deployment]
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 16}
      l4: {instance_type: ml.g6.12xlarge, count: 2}
      mig: {instance_type: ml.p4d.24xlarge, count: 1, partitions: {mig-3g.20gb: 16}}
      cpu: {instance_type: ml.m5.4xlarge, count: 2}
  other:
    kind: existing
    instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 16}}
governance:
  priority_classes: {high: {weight: 90}, middle: {weight: 50}, low: {weight: 10}}
"""
TEAMS = {
    "alpha": "quota: {ml.p5.48xlarge: {instances: 6}}\nweight: 10\ndefault_priority: middle\nclusters: [main]",
    "beta": (
        "quota:\n  ml.g6.12xlarge: {accelerators: 4}\n  ml.m5.4xlarge: {instances: 1}\n"
        "  ml.p4d.24xlarge: {partitions: {mig-3g.20gb: 8}}\nmax_run_time: 1h\nclusters: [main]\nweight: 1"
    ),
    "lazy": "quota: {ml.p5.48xlarge: {instances: 2}}\nclusters: [main]\nsharing: {strategy: lend_and_borrow, borrow_limit: 100}",
    "asleep": "quota: {ml.p5.48xlarge: {instances: 1}}\nstate: held\nclusters: [main]",
    "both": "quota: {ml.p5.48xlarge: {instances: 2}}\nweight: 5",
    "there": "quota: {ml.p5.48xlarge: {instances: 2}}\nweight: 5\nclusters: [other]",
}
DEFAULTS: dict[str, Any] = {
    "name": "llama",
    "team": "alpha",
    "kind": "job",
    "instance_type": "ml.p5.48xlarge",
    "image": "train:1",
}
ELASTIC = ("least", "most", "increment", "discrete", "scaling_timeout", "graceful_shutdown_timeout", "faulty_timeout")


def order_of(**options: Any) -> Order:
    """An order of alpha's with 8 GPUs a pod, unless amounts are given; `elastic` options among the others."""
    amounts = {"accelerators", "vcpu", "memory_gib", "partition", "whole_node", "nodes"}
    given = DEFAULTS | ({} if amounts & options.keys() else {"accelerators": 8}) | options
    elastic = Elasticity(**{name: given.pop(name) for name in ELASTIC if name in given})
    return Order(**given, elastic=elastic)
