"""What the running cluster forbids: changes that would lose running work, found before anything is touched.

The cluster's admission policy refuses to drop a flavor in use as well; here it is said earlier, and for all teams at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from config.findings import Finding, Severity, Where
from config.load import Platform
from governance.model import ClusterPlan, Plan

QUEUES = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"
_SHOWN = 5
"""Workloads that a message names."""
DRAIN = "set `state: draining` for the teams named, apply, wait until nothing of theirs runs, and then make this change"


class Source(Protocol):
    """Reads lists from an API server."""

    def items(self, path: str) -> list[dict[str, Any]]: ...


def flavor_findings(platform: Platform, cluster: ClusterPlan, source: Source) -> Iterator[Finding]:
    """An error for every flavor that a queue would lose while workloads hold quota on it.

    Kueue forgets the usage of a flavor that a queue no longer lists, and gives the same nodes out a second time.
    """
    planned = {team.cluster_queue: team for team in cluster.teams.values()}
    for queue in source.items(QUEUES):
        team = planned.get(queue["metadata"]["name"])
        if team is None:
            continue
        keeps = {flavor.flavor for flavor in team.flavors}
        for flavor, used in _reserved(queue).items():
            if flavor not in keeps:
                yield Finding(
                    "flavor-in-use",
                    Severity.ERROR,
                    platform.where(team.name, ("quota",), key=True),
                    f"workloads of team `{team.name}` hold {used} on the flavor {flavor}, which this change takes from its queue",
                    DRAIN,
                )


def replacement_findings(last: Mapping[str, Mapping[str, Any]], platform: Platform, plan: Plan) -> Iterator[Finding]:
    """An error for every protected cluster that the declaration would build a second time, under another name or elsewhere.

    `last` are names by cluster of the last deployment. The engine refuses it too, but only when it comes to the cluster.
    """
    for name, facts in last.items():
        built = plan.clusters[name].platform if name in plan.clusters else None
        if built is None or not built.protected:
            continue
        declared = {
            ("hyperpod", "name"): (facts.get("hyperpod_name"), built.names.hyperpod),
            ("eks", "name"): (facts.get("eks_name"), built.names.eks),
            ("region",): (facts.get("region"), built.declared.region),
            ("account",): (facts.get("account"), built.declared.account),
        }
        for path, (before, now) in declared.items():
            if before is not None and before != now:
                yield Finding(
                    "cluster-replaced",
                    Severity.ERROR,
                    platform.where("", ("clusters", name, *path)),
                    f"cluster `{name}`: {path[-1]} {before} → {now} would delete the cluster with all that runs on it",
                    "change it back; to replace the cluster all the same, first apply `protection: false`",
                )


def removal_findings(
    last: Sequence[Mapping[str, Any]], platform: Platform, plan: Plan, sources: Mapping[str, Source]
) -> Iterator[Finding]:
    """An error for every team that leaves a cluster before it was drained, or that still runs something there.

    `last` are the job contracts of the last deployment; `sources` the API servers by cluster.
    """
    for contract in last:
        team, cluster = contract["team"], contract["cluster"]
        if cluster in plan.clusters and team in plan.clusters[cluster].teams:
            continue
        where = _left(platform, plan, team, cluster)
        running = running_of(contract["namespace"], sources[cluster]) if cluster in sources else []
        if contract["state"] != "draining":
            yield Finding("team-not-drained", Severity.ERROR, where, _not_drained(contract, running), _DRAIN_FIRST)
        elif cluster not in sources:
            yield unseen(team, cluster, where)
        elif running:
            yield still_runs(team, cluster, running, where, "wait until they have ended, or delete them")


def unseen(team: str, cluster: str, where: Where) -> Finding:
    """An error: nobody answers who could say whether the team still runs something."""
    message = f"whether team `{team}` still runs something on {cluster} can't be seen: its API server doesn't answer"
    return Finding("cluster-unseen", Severity.ERROR, where, message, "run this where the API server can be reached")


def still_runs(team: str, cluster: str, workloads: Sequence[str], where: Where, remedy: str) -> Finding:
    """An error: the team's work would be ended."""
    message = f"team `{team}` still runs {shown(workloads)} on {cluster}"
    return Finding("team-still-runs", Severity.ERROR, where, message, remedy)


_DRAIN_FIRST = "put it back with `state: draining`, apply, and then take it away"


def _not_drained(contract: Mapping[str, Any], running: Sequence[str]) -> str:
    runs = f", and it runs {shown(running)}" if running else ""
    team, cluster = contract["team"], contract["cluster"]
    return f"team `{team}` was {contract['state']} on {cluster} when it went; its namespace and queue are protected{runs}"


def _left(platform: Platform, plan: Plan, team: str, cluster: str) -> Where:
    """What made the team leave the cluster: its file is gone, or names others, or the cluster is gone."""
    if team not in platform.teams:
        return Where(f"teams/{team}.yaml")
    return (
        platform.where(team, ("clusters",), key=True) if cluster in plan.clusters else platform.where("", ("clusters",), key=True)
    )


def running_of(namespace: str, source: Source) -> list[str]:
    """Names of the workloads of a namespace that hold quota, sorted."""
    workloads = source.items(f"/apis/kueue.x-k8s.io/v1beta2/namespaces/{namespace}/workloads")
    return sorted(item["metadata"]["name"] for item in workloads if holds_quota(item))


def shown(names: Sequence[str]) -> str:
    """The first few of many names."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def _reserved(queue: Mapping[str, Any]) -> dict[str, str]:
    """What workloads hold of each flavor, in words; flavors that nothing holds are left out."""
    result = {}
    for flavor in queue.get("status", {}).get("flavorsReservation", []):
        held = [f"{r['total']} {r['name']}" for r in flavor.get("resources", []) if str(r.get("total", "0")) != "0"]
        if held:
            result[flavor["name"]] = ", ".join(held)
    return result


def holds_quota(workload: Mapping[str, Any]) -> bool:
    """Whether the Workload has quota reserved and isn't finished."""
    conditions = {c["type"]: c["status"] for c in workload.get("status", {}).get("conditions", [])}
    return conditions.get("QuotaReserved") == "True" and conditions.get("Finished") != "True"
