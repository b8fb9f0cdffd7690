"""MultiKueue: which cluster hands jobs to which, what it is asked for that it can't do, and the manager's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from config.catalogue import instance_types
from config.environment import Cluster
from config.findings import Finding, Severity, did_you_mean, problem_at
from config.load import Platform
from config.multikueue import MultiKueue
from config.yamlsource import Path_
from governance.model import CheckPlan, ClusterPlan, DispatchPlan
from governance.names import fingerprint
from governance.team_amounts import ClusterAmounts

CHECK = "multikueue"
"""The AdmissionCheck of teams that work on all workers, and its MultiKueueConfig."""
_DISPATCHER = "kueue.x-k8s.io/multikueue-dispatcher-"
_NEEDED_GATES = ("MultiKueue", "MultiKueueBatchJobWithManagedBy")
"""Without the second, the manager's own Job controller would run what is dispatched."""
_SET_IT = "have whoever installs it set it, and let it integrate the kinds of governance.multi_kueue.frameworks alone"
_PATH: Path_ = ("governance", "multi_kueue")


def manager_and_workers(platform: Platform) -> tuple[str, tuple[str, ...]] | None:
    """The manager and its workers; None without MultiKueue, and where they can't be told apart, which is a finding."""
    multi, known = platform.environment.governance.multi_kueue, platform.environment.clusters
    if (
        multi is None
        or multi.manager not in known
        or multi.manager in multi.workers
        or platform.environment.governance.backend != "kueue"
    ):
        return None
    workers = tuple(name for name in multi.workers if name in known)
    return (multi.manager, workers) if workers else None


def dispatched(platform: Platform, workers: tuple[str, ...], found: Mapping[str, ClusterAmounts]) -> DispatchPlan:
    """The manager's part. Teams of the same workers share a check: with one for all, a job would be offered to clusters that
    have no queue of its team."""
    multi = platform.environment.governance.multi_kueue
    teams = sorted({team for name in workers for team in found[name].teams})
    own = {team: tuple(name for name in workers if team in found[name].teams) for team in teams}
    checks = {one: CheckPlan(check_name(one, workers), one) for one in (workers, *sorted(set(own.values())))}
    origin = multi.origin if multi is not None else None
    return DispatchPlan(
        workers, tuple(checks.values()), {team: checks[one].name for team, one in own.items()}, origin or platform.name
    )


def check_name(own: tuple[str, ...], workers: tuple[str, ...]) -> str:
    """Named after the set: a hyphen between clusters' names would let two sets coincide."""
    return CHECK if set(own) == set(workers) else f"{CHECK}-{fingerprint(sorted(own))}"


def with_largest_jobs(manager: ClusterPlan, workers: Iterable[ClusterPlan]) -> ClusterPlan:
    """A job runs on one worker: the largest is the largest of any. Flavors of one type may be called otherwise there."""
    largest: dict[str, dict[tuple[str, str], int]] = {}
    for worker in workers:
        for name, team in worker.teams.items():
            kinds = {flavor.flavor: flavor.instance_type for flavor in team.flavors}
            of_team = largest.setdefault(name, {})
            for (flavor, resource), amount in team.largest.items():
                cell = (kinds[flavor], resource)
                of_team[cell] = max(amount, of_team.get(cell, 0))
    teams = {
        name: replace(
            team,
            largest={
                (flavor.flavor, quota.resource): largest[name].get((flavor.instance_type, quota.resource), 0)
                for flavor in team.flavors
                for quota in flavor.quotas
            },
        )
        for name, team in manager.teams.items()
    }
    return replace(manager, teams=teams)


def configuration(multi: MultiKueue, origin: str) -> dict[str, Any]:
    """The section `multiKueue` of the manager's Kueue."""
    return {
        "gcInterval": f"{multi.gc_interval}s",
        "origin": origin,
        "workerLostTimeout": f"{multi.worker_lost_timeout}s",
        "dispatcherName": _DISPATCHER + multi.dispatcher.replace("_", "-"),
    }


def multikueue_findings(platform: Platform) -> Iterator[Finding]:
    """What can be said without resolving a quota."""
    multi = platform.environment.governance.multi_kueue
    if multi is None or platform.environment.governance.backend != "kueue":
        return
    yield from _references(platform, multi)
    manager = platform.environment.clusters.get(multi.manager)
    if manager is None or multi.manager in multi.workers:
        return
    yield from _manager(platform, multi, manager)
    yield from _workers(platform, multi)
    yield from _teams(platform, multi)


def _references(platform: Platform, multi: MultiKueue) -> Iterator[Finding]:
    known = platform.environment.clusters
    named: list[tuple[Path_, str]] = [
        (("manager",), multi.manager),
        *((("workers", i), name) for i, name in enumerate(multi.workers)),
    ]
    for path, name in named:
        where = platform.where("", (*_PATH, *path))
        if name not in known:
            message = f"there is no cluster `{name}` in the environment `{platform.name}`"
            yield problem_at("cluster-unknown", where, message, did_you_mean(name, list(known)) or "add it to `clusters`")
        elif path[0] == "workers" and name == multi.manager:
            message = f"the manager `{name}` can't be a worker of its own"
            yield problem_at("multikueue-manager-worker", where, message, "name another manager, or remove it from the workers")


def _manager(platform: Platform, multi: MultiKueue, manager: Cluster) -> Iterator[Finding]:
    place: Path_ = ("clusters", multi.manager)
    for group_name, group in manager.instance_groups.items():
        if group.count and instance_types()[group.instance_type].accelerators:
            where = platform.where("", (*place, "instance_groups", group_name), key=True)
            message = (
                f"no job of a team ever runs on the manager `{multi.manager}`: its {group.count} {group.instance_type} stay idle"
            )
            yield Finding("multikueue-manager-nodes", Severity.WARNING, where, message, "move the group to a worker")
    for field in ("frameworks", "external_frameworks"):
        if field in manager.kueue.model_fields_set:
            where = platform.where("", (*place, "kueue", field), key=True)
            message = f"the manager `{multi.manager}` queues what it dispatches, and nothing else"
            remedy = "remove it, and name the kinds of jobs in governance.multi_kueue.frameworks"
            yield problem_at("multikueue-manager-frameworks", where, message, remedy)
    for gate in _NEEDED_GATES:
        if manager.kueue.feature_gates.get(gate) is False:
            where = platform.where("", (*place, "kueue", "feature_gates", gate))
            message = f"without the feature gate {gate}, the manager `{multi.manager}` dispatches nothing"
            yield problem_at("multikueue-gate", where, message, "remove it: it is on by default")
    if not manager.kueue.install and not manager.sandbox:
        where = platform.where("", (*place, "kueue", "install"))
        message = (
            f"the Kueue of the manager `{multi.manager}` is not ours: the section `multiKueue` of its configuration isn't set"
        )
        yield Finding("multikueue-not-ours", Severity.ADVICE, where, message, _SET_IT)


def _workers(platform: Platform, multi: MultiKueue) -> Iterator[Finding]:
    for name in multi.workers:
        worker = platform.environment.clusters.get(name)
        missing = sorted(set(multi.frameworks) - set(worker.kueue.frameworks)) if worker is not None else []
        if missing:
            where = platform.where("", ("clusters", name, "kueue", "frameworks"), key=True)
            message = f"jobs of {', '.join(missing)} are dispatched to the worker `{name}`, whose Kueue doesn't queue them"
            yield problem_at("multikueue-worker-frameworks", where, message, "add them to its frameworks")


def _teams(platform: Platform, multi: MultiKueue) -> Iterator[Finding]:
    for team in platform.teams.values():
        named: list[Path_] = [("clusters", i) for i, name in enumerate(team.clusters or ()) if name == multi.manager]
        named += [("cluster_quota", name) for name in team.cluster_quota if name == multi.manager]
        for path in named:
            where = platform.where(team.name, path, key=path[0] == "cluster_quota")
            message = f"the manager `{multi.manager}` runs no jobs; every team that works on a worker has a queue there"
            yield problem_at("multikueue-manager-team", where, message, "name workers")
