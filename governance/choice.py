"""Which of an environment's clusters is meant."""

from __future__ import annotations

from collections.abc import Iterable

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


def _all(names: Iterable[str]) -> str:
    return f"name one: {', '.join(names)}"
