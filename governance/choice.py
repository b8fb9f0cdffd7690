"""Which of an environment's clusters is meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from config.findings import ConfigError, Where, did_you_mean, problem_at, quoted
from governance.model import ClusterPlan, Plan


def chosen(clusters: Iterable[str], name: str | None) -> list[str]:
    """All clusters by name, or the one of that name. Raises ConfigError where there is none such."""
    known = sorted(clusters)
    if name is not None and name not in known:
        message = f"there is no cluster {quoted(name)}"
        raise ConfigError([problem_at("cluster-unknown", Where("--cluster"), message, did_you_mean(name, known) or _all(known))])
    return known if name is None else [name]


def one_cluster(plan: Plan, name: str | None) -> ClusterPlan:
    """The cluster of that name, or the only one. Raises ConfigError where there is none such, or several and no name."""
    found = chosen(plan.clusters, name)
    if len(found) > 1:
        raise ConfigError(
            [problem_at("cluster-unknown", Where("--cluster"), "the environment has several clusters", _all(found))]
        )
    return plan.clusters[found[0]]


def running_cluster(plan: Plan, name: str | None) -> ClusterPlan:
    """As `one_cluster`, among those that run jobs. Raises ConfigError for a manager too: its quotas are sums of its workers'."""
    running = {each: found for each, found in plan.clusters.items() if found.dispatch is None}
    if name is not None and name in plan.clusters and name not in running:
        message = f"the manager {quoted(name)} runs no jobs: its quotas are the sums of its workers'"
        raise ConfigError([problem_at("cluster-unknown", Where("--cluster"), message, _all(_workers(plan.clusters[name])))])
    return one_cluster(replace(plan, clusters=running), name)


def with_nodes(plan: Plan, name: str | None) -> tuple[list[str], list[str]]:
    """The clusters whose nodes are teams', or the one of that name; and a sentence on each manager that is meant.

    Raises ConfigError where there is none such.
    """
    names = chosen(plan.clusters, name)
    managers = [each for each in names if plan.clusters[each].dispatch is not None]
    fate = "it is left out" if name is None else "nodes of its own run no team's jobs"
    told = [f"{each} runs no jobs, it hands them to {', '.join(_workers(plan.clusters[each]))}: {fate}" for each in managers]
    return names if name is not None else [each for each in names if each not in managers], told


def _workers(manager: ClusterPlan) -> tuple[str, ...]:
    return manager.dispatch.workers if manager.dispatch is not None else ()


def _all(names: Iterable[str]) -> str:
    return f"name one: {', '.join(names)}"
