"""A plausible load for every team, made from its quota: what `hpctl simulate --generate` replays where nobody has a trace.

Each team asks for a given part of its guarantee on average, by jobs from one GPU up to all that it owns, small ones more often.
So a team asks for more than it owns for a while, and for less at another time: that is when sharing shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from config.findings import ConfigError, Where, problem_at
from config.yamlsource import Path_
from governance.model import ClusterPlan, FlavorQuota, TeamPlan
from governance.units import CPU, MEMORY, is_device, times
from simulation.jobs import node_room
from simulation.traces.building import Builder
from simulation.traces.file import Daily, Generate, PodRequest, RunTimes, Size, TeamLoad, TraceFile
from simulation.traces.generator import mean_run_time
from simulation.traces.model import Trace
from simulation.traces.resolve import Resolver

RUN_TIMES = RunTimes.model_validate({"median": "1h", "spread": 0.8, "least": "5m", "most": "8h"})
"""An hour at the median, from five minutes to eight hours."""
_OWN_CLASS = 3.0
"""How much more often a job has its team's default priority than any other."""
_CPU_POD = 4000
"""Milli-vCPUs of a pod on types without accelerators."""
_MIG = "nvidia.com/"


@dataclass(frozen=True, slots=True)
class Quick:
    """What to draw."""

    seed: int = 1
    over: int = 86_400
    """Seconds in which jobs arrive."""
    utilisation: float = 1.0
    """What a team asks for on average, as a part of its guarantee; above 0. Above 1, queues grow."""
    teams: tuple[str, ...] = ()
    """Those that submit jobs; empty: all that are active."""
    run_times: RunTimes = RUN_TIMES
    daily: bool = False
    """Whether arrivals follow the day, busiest at noon."""


def quick_trace(wanted: Quick, clusters: Sequence[ClusterPlan]) -> Trace:
    """The jobs that the load draws, for one plan or for those before and after a change. Raises ConfigError for unknown teams."""
    resolver = Resolver(clusters)
    unknown = (wrong for team in wanted.teams for wrong in resolver.team(team))
    findings = [problem_at(wrong.id, Where("--team"), wrong.message, wrong.remedy) for wrong in unknown]
    loads = {} if findings else team_loads(wanted, clusters)
    if not loads and not findings:
        message = "no team has a quota to draw jobs from"
        findings.append(problem_at("jobs-none", Where("--generate"), message, "give a team a quota, or write a trace"))
    if findings:
        raise ConfigError(findings)
    generate = Generate.model_construct(seed=wanted.seed, over=wanted.over, teams=loads)
    builder = Builder(resolver, _Nowhere())
    jobs = builder.build([], TraceFile.model_construct(apiVersion="hyperpod-platform/v1", generate=generate), None)
    if builder.findings:
        raise ConfigError(builder.findings)
    jobs.sort(key=lambda job: job.arrives)
    return Trace("generated", tuple(jobs), None, wanted.seed, tuple(_notes(wanted, loads, resolver.teams)))


def team_loads(wanted: Quick, clusters: Sequence[ClusterPlan]) -> dict[str, TeamLoad]:
    """By team, from its quota in the first plan that has it: the jobs of a comparison are those of the plan before the change."""
    found: dict[str, TeamLoad] = {}
    for cluster in clusters:
        for name, team in cluster.teams.items():
            if name not in found and (not wanted.teams or name in wanted.teams) and team.state == "active":
                load = _load(team, cluster, wanted)
                if load is not None:
                    found[name] = load
    return dict(sorted(found.items()))


def _notes(wanted: Quick, loads: Mapping[str, TeamLoad], teams: Sequence[str]) -> Iterator[str]:
    yield f"drawn from quotas: each team asks for {wanted.utilisation:.0%} of its guarantee on average"
    silent = [team for team in wanted.teams or teams if team not in loads]
    if silent:
        yield f"no jobs of {', '.join(silent)}: held, draining, or without a quota"


def _load(team: TeamPlan, cluster: ClusterPlan, wanted: Quick) -> TeamLoad | None:
    """One load over all types of the team; each type is asked for in proportion to the guarantee."""
    sizes: list[Size] = []
    rate = 0.0
    for flavor in team.flavors:
        kinds = list(_sizes(flavor, cluster))
        if not kinds:
            continue
        # Small jobs more often: each size asks for as much in all as any other.
        arrivals = [wanted.utilisation / (len(kinds) * part * mean_run_time(wanted.run_times)) for part, _ in kinds]
        rate += sum(arrivals)
        sizes += [size.model_copy(update={"weight": often * 1e6}) for often, (_, size) in zip(arrivals, kinds, strict=True)]
    if not sizes:
        return None
    return TeamLoad.model_construct(
        per_hour=rate * 3600,
        every=None,
        daily=Daily() if wanted.daily else None,
        sizes=tuple(sizes),
        runs_for=wanted.run_times,
        priorities=_priorities(team, cluster),
        checkpoint=None,
    )


def _priorities(team: TeamPlan, cluster: ClusterPlan) -> dict[str, float]:
    return {c.declared: _OWN_CLASS if c.name == team.default_priority else 1.0 for c in cluster.priority_classes}


def _sizes(flavor: FlavorQuota, cluster: ClusterPlan) -> Iterator[tuple[float, Size]]:
    """Jobs on one type, each with the part of the guarantee that it takes: 1, 2, 4, … devices, then whole nodes."""
    own, kind = flavor.nominal(), cluster.kinds[flavor.instance_type]
    room = node_room(flavor.instance_type, cluster)
    for resource in sorted(own):
        if is_device(resource) and own[resource]:
            on_node = room.get(resource, 0) or (kind.accelerators or 0 if resource == kind.resource else own[resource])
            for devices in _doubling(own[resource]):
                pods = max(1, -(-devices // max(1, on_node)))
                if devices % pods == 0:
                    size = _pod(flavor, room, resource, devices // pods, own, pods)
                    yield devices / own[resource], size
    if not any(is_device(resource) and amount for resource, amount in own.items()):
        pod = min(_CPU_POD, own.get(CPU, 0), room.get(CPU, 0)) // 1000 * 1000
        for pods in _doubling(own.get(CPU, 0) // pod) if pod else ():
            yield pods * pod / own[CPU], Size(pods=pods, per_pod=PodRequest(vcpu=pod / 1000), instance_type=flavor.instance_type)


def _pod(flavor: FlavorQuota, room: Mapping[str, int], resource: str, devices: int, own: Mapping[str, int], pods: int) -> Size:
    """The node's vCPUs and memory in proportion to its devices, no more than the guarantee has for them."""
    kind = flavor.instance_type
    whole = {name: amount for name, amount in room.items() if amount}
    if whole.get(resource) == devices and all(n <= own.get(r, 0) for r, n in times(whole, pods).items()):
        return Size(pods=pods, per_pod=PodRequest(whole_node=True), instance_type=kind)
    there = room.get(resource, 0) or own[resource]
    cpu, memory = (min(room.get(r, 0) * devices // there, own.get(r, 0) * devices // own[resource]) for r in (CPU, MEMORY))
    amounts: dict[str, Any] = {"vcpu": cpu // 1000 or None, "memory_gib": memory // 1024 or None}
    if resource.startswith(f"{_MIG}mig-"):
        amounts["partitions"] = {resource.removeprefix(_MIG): devices}
    else:
        amounts["accelerators"] = devices
    return Size(pods=pods, per_pod=PodRequest(**amounts), instance_type=kind)


def _doubling(most: int) -> Iterator[int]:
    """1, 2, 4, …, up to `most`."""
    number = 1
    while number <= most:
        yield number
        number *= 2


class _Nowhere:
    """The places of a load that stands in no file."""

    def where(self, path: Path_ = (), *, key: bool = False) -> Where:  # noqa: ARG002
        return Where("--generate")
