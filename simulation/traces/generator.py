"""Drawing jobs: arrivals, sizes, run times and priorities, each from its own stream of random numbers.

A stream is seeded by the seed, the team and what is drawn. So a team's jobs don't depend on the other teams, a longer time only
adds jobs, and other run times leave arrivals and sizes as they were: two plans, or two loads, are compared job by job.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from simulation.traces.file import Generate, RunTimes, Size, TeamLoad
from simulation.traces.resolve import Resolver, Wrong

_DAY = 86_400
_STEPS = 1000
"""Quantiles that stand for a distribution where its mean is wanted."""


class Drawn(NamedTuple):
    """A job as it was drawn."""

    name: str
    team: str
    arrives: int
    size: Size
    runs_for: int
    priority: str | None
    checkpoint: int | None


def check_loads(loads: Generate, resolver: Resolver) -> Iterator[Wrong]:
    """What is wrong with the loads, placed below `teams`."""
    for team, load in loads.teams.items():
        if (load.per_hour is None) == (load.every is None):
            yield Wrong("load-rate", (team,), "exactly one of per_hour and every is meant", "keep one of them")
        yield from _run_times(load.runs_for, team)
        yield from (wrong._replace(path=(team,)) for wrong in resolver.team(team))
        for priority in load.priorities:
            yield from (wrong._replace(path=(team, "priorities", priority)) for wrong in resolver.priority(priority))
        for index, size in enumerate(load.sizes):
            yield from _size(size, resolver, (team, "sizes", index))


def _run_times(times: RunTimes, team: str) -> Iterator[Wrong]:
    path = (team, "runs_for")
    if (times.median is None) == (not times.choices):
        yield Wrong("load-run-time", path, "exactly one of median and choices is meant", "keep one of them")
    if times.most is not None and times.most < times.least:
        yield Wrong("load-run-time", (*path, "most"), "`most` is less than `least`", "raise it")


def _size(size: Size, resolver: Resolver, path: tuple[str | int, ...]) -> Iterator[Wrong]:
    kind = size.instance_type
    found = list(resolver.kind(kind))
    if not found:
        found = [*resolver.pod(size.per_pod, kind)[1], *resolver.placement(size.topology, kind)]
    for wrong in found:
        yield wrong._replace(path=(*path, *wrong.path))


def drawn(loads: Generate, seed: int | None = None) -> Iterator[Drawn]:
    """The jobs of all loads, team by team. `seed` takes the place of the loads' own."""
    for team, load in loads.teams.items():
        yield from _team(team, load, loads.over, loads.seed if seed is None else seed)


def expected(loads: Generate) -> float:
    """How many jobs there will be, about."""
    return sum(loads.over * _rate(load) for load in loads.teams.values())


def _rate(load: TeamLoad) -> float:
    """Arrivals a second."""
    return (load.per_hour or 0) / 3600 if load.every is None else 1 / load.every


def _team(team: str, load: TeamLoad, over: int, seed: int) -> Iterator[Drawn]:
    streams = ("arrivals", "sizes", "times", "classes")
    arrivals, sizes, times, priorities = (Random(f"{seed}/{team}/{what}") for what in streams)  # noqa: S311 - reproducible
    classes = sorted(load.priorities)
    pick_size = _picker([size.weight for size in load.sizes])
    pick_class = _picker([load.priorities[name] for name in classes])
    for number, moment in enumerate(_arrivals(load, over, arrivals), start=1):
        yield Drawn(
            name=f"{team}-r{number}",
            team=team,
            arrives=int(moment),
            size=load.sizes[pick_size(sizes.random())],
            runs_for=run_time(load.runs_for, times.random()),
            priority=classes[pick_class(priorities.random())] if classes else None,
            checkpoint=load.checkpoint,
        )


def _arrivals(load: TeamLoad, over: int, stream: Random) -> Iterator[float]:
    """A Poisson process; over the day it is thinned from that of the busiest hour."""
    rate = _rate(load)
    swing = (1 - load.daily.quiet) / (1 + load.daily.quiet) if load.daily else 0.0
    peak = rate * (1 + swing)
    moment = 0.0
    while True:
        moment += -math.log(1 - stream.random()) / peak
        if moment >= over:
            return
        if load.daily is None:
            yield moment
            continue
        wave = 1 + swing * math.cos(2 * math.pi * (moment - load.daily.busiest) / _DAY)
        if stream.random() * (1 + swing) < wave:
            yield moment


class _picker:  # noqa: N801 - used as a function
    """An index by weights, from a number between 0 and 1."""

    def __init__(self, weights: Sequence[float]) -> None:
        self._sums = list(accumulate(weights))

    def __call__(self, number: float) -> int:
        wanted = number * self._sums[-1] if self._sums else 0.0
        return next((index for index, upto in enumerate(self._sums) if wanted < upto), len(self._sums) - 1)


def run_time(times: RunTimes, number: float) -> int:
    """The run time in seconds at a quantile, from 0 up to 1."""
    if times.choices:
        return int(times.choices[min(int(number * len(times.choices)), len(times.choices) - 1)])
    value = (times.median or 1) * math.exp(times.spread * _normal(number))
    return max(times.least, min(round(value), times.most or round(value), 999_999_999))


def mean_run_time(times: RunTimes) -> float:
    """The mean in seconds, bounds included."""
    return mean(run_time(times, (step + 0.5) / _STEPS) for step in range(_STEPS))


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _normal(number: float) -> float:
    """The normal distribution's quantile; none is infinitely far out."""
    from statistics import NormalDist

    return NormalDist().inv_cdf(min(max(number, 1e-9), 1 - 1e-9))
