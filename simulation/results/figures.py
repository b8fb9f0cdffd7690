"""Figures of a replay: `measure(replay, trace, cluster) -> Figures`. Pure arithmetic."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from governance.model import ClusterPlan
from governance.units import CPU, is_device
from simulation.replay.model import Replay
from simulation.results.lives import Life, lives
from simulation.results.model import Figures, Jobs, Line, Pair, Series, Stuck, Team, Waiting
from simulation.results.never import Never
from simulation.results.steps import Steps, steps
from simulation.results.usage import usage
from simulation.traces.model import Trace

NO_CLASS = "(none)"


def measure(replay: Replay, trace: Trace, cluster: ClusterPlan) -> Figures:
    """What the replay of the trace on the plan shows. `trace`: the whole one, jobs that can't be submitted here included."""
    found = lives(trace, replay)
    never = _never(found, cluster)
    caused = _caused(found)
    until = replay.until
    by_team: dict[str, list[Life]] = {team: [] for team in cluster.teams}
    by_class: dict[str, list[Life]] = {planned.declared: [] for planned in cluster.priority_classes}
    for life in found.values():
        by_team.setdefault(life.job.team, []).append(life)
        by_class.setdefault(life.job.priority or NO_CLASS, []).append(life)
    hopeful = [life for name, life in found.items() if name not in never]
    used = usage(hopeful, cluster, until)
    return Figures(
        cluster=cluster.name,
        kueue=replay.kueue,
        tick=replay.tick,
        fidelity=replay.fidelity,
        until=until,
        complete=replay.complete,
        seconds=replay.seconds,
        admissions=replay.admissions,
        overall=jobs_of(list(found.values()), never, caused, until),
        teams={
            team: Team(jobs_of(members, never, caused, until), used.by_team.get(team, {})) for team, members in by_team.items()
        },
        classes={name: jobs_of(members, never, caused, until) for name, members in by_class.items() if members},
        held=used.held,
        pairs=tuple(_pairs(found)),
        never=tuple(Stuck(name, found[name].job.team, why, found[name].arrived or 0) for name, why in never.items()),
        waiting=tuple(_waiting(found, never, replay.waiting)),
        series=Series(used.lines, _queues(hopeful, until)),
        circles=tuple(sorted(replay.circles)),
    )


def jobs_of(members: Sequence[Life], never: Mapping[str, str], caused: Mapping[str, int], until: int) -> Jobs:
    """Figures of some jobs. `never`: why some of all jobs can never run; `caused`: preemptions for each job."""
    stuck = sum(life.job.name in never for life in members)
    suffered = [len(life.preemptions()) for life in members]
    return Jobs(
        jobs=len(members),
        finished=sum(life.finished is not None for life in members),
        running=sum(life.running for life in members),
        waiting=sum(life.waiting and life.job.name not in never for life in members),
        expired=sum(life.expired for life in members),
        never=stuck,
        refused=sum(life.refused is not None and life.job.name not in never for life in members),
        absent=sum(life.arrived is None and life.refused is None and life.job.name not in never for life in members),
        wait=waiting(
            [life for life in members if life.job.name not in never and life.refused is None and life.arrived is not None], until
        ),
        waited_again=sum(life.waited_again(until) for life in members),
        preempted=sum(suffered),
        jobs_preempted=sum(number > 0 for number in suffered),
        caused=sum(caused.get(life.job.name, 0) for life in members),
        evicted=sum(life.evictions() for life in members),
        lost=_lost(members),
    )


def waiting(members: Sequence[Life], until: int) -> Waiting:
    """Times to the first admission, by nearest rank: p95 is what 95 % of the jobs waited at most."""
    times = sorted((life.waited(until) or 0, not life.stays) for life in members)
    if not times:
        return Waiting()
    values = [seconds for seconds, _ in times]
    still = [seconds for seconds, open_ in times if open_]
    ranked = {name: _rank(values, percent) for name, percent in (("p50", 50), ("p95", 95), ("most", 100))}
    least = tuple(f"{'max' if name == 'most' else name}_s" for name, value in ranked.items() if still and still[0] <= value)
    return Waiting(
        jobs=len(times),
        at_once=sum(seconds == 0 and not open_ for seconds, open_ in times),
        p50=ranked["p50"],
        p95=ranked["p95"],
        most=ranked["most"],
        mean=sum(values) / len(values),
        still=len(still),
        at_least=(*least, "mean_s") if still else (),
    )


def _rank(values: Sequence[int], percent: int) -> int:
    return values[max(0, -(-len(values) * percent // 100) - 1)]


def _never(found: Mapping[str, Life], cluster: ClusterPlan) -> dict[str, str]:
    """What ran has refuted it, what was refused has another reason."""
    judge = Never(cluster)
    idle = (life for life in found.values() if not life.stays and life.refused is None and life.finished is None)
    return {life.job.name: why for life in idle if (why := judge.why(life.job))}


def _caused(found: Mapping[str, Life]) -> Counter[str]:
    return Counter(event.by for life in found.values() for event in life.preemptions() if event.by is not None)


def _lost(members: Iterable[Life]) -> dict[str, int]:
    """By accelerator; of jobs without any, vCPUs."""
    lost: dict[str, int] = {}
    for life in members:
        for held, seconds in life.lost():
            devices = {cell: amount for cell, amount in held.items() if is_device(cell[1]) and amount}
            counted = devices or {cell: amount for cell, amount in held.items() if cell[1] == CPU}
            for (_, resource), amount in counted.items():
                lost[resource] = lost.get(resource, 0) + amount * seconds
    return dict(sorted(lost.items()))


def _pairs(found: Mapping[str, Life]) -> Iterable[Pair]:
    """Most often first."""
    counted = Counter(
        (life.job.team, found[event.by].job.team if event.by is not None and event.by in found else None, event.reason)
        for life in found.values()
        for event in life.preemptions()
    )
    for (team, by, reason), times in sorted(counted.items(), key=lambda one: (-one[1], one[0][0], one[0][1] or "", one[0][2])):
        yield Pair(team, by, reason, times)


def _waiting(found: Mapping[str, Life], never: Mapping[str, str], words: Mapping[str, str]) -> Iterable[Stuck]:
    for name, life in found.items():
        if life.waiting and name not in never:
            since = life.stays[-1].end if life.stays else life.arrived
            yield Stuck(name, life.job.team, words.get(name, ""), since or 0)


def _queues(members: Iterable[Life], until: int) -> dict[str, Line]:
    """How many jobs of each team wait, over time; teams of which none ever waits are left out."""
    changes: dict[str, list[tuple[int, int]]] = {}
    for life in members:
        for start, end in life.waits(until):
            if end > start:
                changes.setdefault(life.job.team, []).extend(((start, 1), (end, -1)))
    return {team: _numbers(steps(found)) for team, found in sorted(changes.items())}


def _numbers(found: Steps) -> Line:
    return Line(tuple(moment for moment, _ in found), {"jobs": tuple(number for _, number in found)})
