"""Plans to hold jobs against."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from declarations import planned, team

from config.findings import Finding
from governance.jobs.model import Elasticity, Order, Resolved
from governance.jobs.resolve import resolve
from governance.model import Plan

ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false, frameworks: [batch/job, kubeflow.org/pytorchjob, ray.io/rayjob, jobset.x-k8s.io/jobset, pod, deployment]}
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
        "quota: {ml.g6.12xlarge: {accelerators: 4}, ml.m5.4xlarge: {instances: 1}, ml.p4d.24xlarge: {partitions: {mig-3g.20gb: 8}}}\n"
        "max_run_time: 1h\nclusters: [main]\nweight: 1"
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

Ordering = Callable[..., tuple[Resolved | None, list[Finding]]]


@pytest.fixture(scope="session")
def job_plan() -> Plan:
    return planned({name: team(text) for name, text in TEAMS.items()}, ENVIRONMENT)


def order_of(**options: Any) -> Order:
    """An order of alpha's with 8 GPUs a pod, unless amounts are given; `elastic` options among the others."""
    amounts = {"accelerators", "vcpu", "memory_gib", "partition", "whole_node", "nodes"}
    given = DEFAULTS | ({} if amounts & options.keys() else {"accelerators": 8}) | options
    elastic = Elasticity(**{name: given.pop(name) for name in ELASTIC if name in given})
    return Order(**given, elastic=elastic)


@pytest.fixture(scope="session")
def ordering(job_plan: Plan) -> Ordering:
    return lambda **options: resolve(order_of(**options), job_plan)


@pytest.fixture(scope="session")
def placed(ordering: Ordering) -> Callable[..., Resolved]:
    """A job that nothing stands against."""

    def resolved(**options: Any) -> Resolved:
        job, found = ordering(**options)
        assert job is not None, found
        return job

    return resolved
