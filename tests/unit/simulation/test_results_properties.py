"""Figures of random replays against an oracle that counts tick by tick, and laws that hold whatever happens."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from replays import G5, GPU, P5, TICK, admitted, cluster_of, job, replay, trace_of

from governance.model import ClusterPlan, cells
from simulation.replay.model import Event, Replay
from simulation.results.figures import measure
from simulation.results.steps import integral, joined, steps
from simulation.traces.model import Job, Trace

SHARING = {"strategy": "lend_and_borrow", "borrow_limit": 100}
FIT = cluster_of(
    {
        "a": {"quota": {G5: {"instances": 2}, P5: {"instances": 1}}, "sharing": SHARING, "weight": 10},
        "b": {"quota": {G5: {"instances": 1}}, "sharing": SHARING, "weight": 20},
        "c": {"quota": {G5: {"instances": 1}, P5: {"instances": 1}}, "sharing": "lend"},
    },
    {G5: 5, P5: 2},
)
OVER = cluster_of({"a": {"quota": {G5: {"instances": 4}}}, "b": {"quota": {G5: {"instances": 2}}}}, {G5: 3})
TICKS = 40


@dataclass
class Fate:
    """What the oracle knows of a job: its state in each tick."""

    job: Job
    states: list[str] = field(default_factory=lambda: ["absent"] * TICKS)
    first: int | None = None
    lost: int = 0


@st.composite
def replays(draw: st.DrawFn, plan: ClusterPlan = FIT) -> tuple[Trace, Replay, list[Fate]]:
    """Any order of arrivals, admissions, preemptions and ends; capacity is kept where the plan has no overcommit."""
    rng = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311 - the same cases for the same draw
    number = draw(st.integers(0, 14))
    types = [kind for kind in (G5, P5) if kind in plan.capacity]
    jobs = [
        job(
            f"j{index}",
            rng.choice(list(plan.teams)),
            gpus=rng.choice((1, 2, 4)),
            pods=rng.randint(1, 3),
            arrives=rng.randrange(TICKS) * TICK,
            instance_type=rng.choice(types),
            checkpoint=rng.choice((None, 60, 120, 300)),
            priority=rng.choice((None, "high", "low")),
        )
        for index in range(number)
    ]
    fates = [Fate(one) for one in jobs]
    events: list[Event] = []
    began: dict[str, int] = {}
    room = {kind: plan.capacity[kind][GPU] * (2 if plan is OVER else 1) for kind in types}
    for tick in range(TICKS):
        at = tick * TICK
        for fate in rng.sample(fates, len(fates)):
            one = fate.job
            state = fate.states[tick - 1] if tick else "absent"
            if state == "absent" and one.arrives <= at:
                events.append(Event(at, "arrived", one.name))
                state = "waiting"
            if state == "running" and rng.random() < 0.25:
                room[str(one.instance_type)] += one.requests()[GPU]
                ran = at - began.pop(one.name)
                if rng.random() < 0.5:
                    by = rng.choice(jobs).name if rng.random() < 0.8 else None
                    events.append(Event(at, "preempted", one.name, by=by, reason="InCohortReclamation"))
                    fate.lost += ran % one.checkpoint if one.checkpoint else ran
                    state = "waiting"
                else:
                    events.append(Event(at, "finished", one.name))
                    state = "over"
            if state == "waiting" and rng.random() < 0.4 and room[str(one.instance_type)] >= one.requests()[GPU]:
                room[str(one.instance_type)] -= one.requests()[GPU]
                events.append(admitted(at, one, str(one.instance_type)))
                began[one.name] = at
                fate.first = at if fate.first is None else fate.first
                state = "running"
            for later in range(tick, TICKS):
                fate.states[later] = state
    return trace_of(*jobs), replay(events, TICKS * TICK), fates


def used(fates: list[Fate], team: str, kind: str, tick: int) -> int:
    return sum(
        fate.job.requests()[GPU]
        for fate in fates
        if (fate.job.team, fate.job.instance_type, fate.states[tick]) == (team, kind, "running")
    )


@settings(max_examples=150)
@given(replays())
def test_use_is_what_an_oracle_counts_tick_by_tick(made: tuple[Trace, Replay, list[Fate]]) -> None:
    trace, one, fates = made
    found = measure(one, trace, FIT)
    for kind in (G5, P5):
        total = {"within": 0, "borrowed": 0}
        for name, team in FIT.teams.items():
            own = cells(team.flavors)[kind, GPU].nominal if (kind, GPU) in cells(team.flavors) else 0
            use = [used(fates, name, kind, tick) for tick in range(TICKS)]
            within, borrowed = (TICK * sum(values) for values in ([min(u, own) for u in use], [max(0, u - own) for u in use]))
            total["within"] += within
            total["borrowed"] += borrowed
            if own or any(use):
                figures = found.teams[name].use[kind, GPU]
                assert (figures.guarantee, figures.within, figures.borrowed) == (own, within, borrowed)
                assert figures.within + figures.unused == own * TICKS * TICK
                assert 0 <= figures.contested <= figures.borrowed
            else:
                assert (kind, GPU) not in found.teams[name].use
        held = found.held[kind, GPU]
        assert (held.within, held.borrowed) == (total["within"], total["borrowed"])
        assert held.over == 0
        assert held.within + held.borrowed + held.idle == held.capacity * TICKS * TICK


@settings(max_examples=150)
@given(replays())
def test_jobs_are_what_an_oracle_counts(made: tuple[Trace, Replay, list[Fate]]) -> None:
    trace, one, fates = made
    found = measure(one, trace, FIT)
    groups = [(found.overall, fates)]
    groups += [(team.jobs, [fate for fate in fates if fate.job.team == name]) for name, team in found.teams.items()]
    groups += [(jobs, [f for f in fates if (f.job.priority or "(none)") == name]) for name, jobs in found.classes.items()]
    for jobs, own in groups:
        last = [fate.states[-1] for fate in own]
        never = {stuck.job for stuck in found.never} & {fate.job.name for fate in own}
        assert all(fate.first is None for fate in own if fate.job.name in never)
        assert (jobs.finished, jobs.running) == (last.count("over"), last.count("running"))
        assert jobs.finished + jobs.running + jobs.waiting + jobs.expired + jobs.never + jobs.refused + jobs.absent == len(own)
        counted = [fate for fate in own if fate.job.name not in never and fate.states[-1] != "absent"]
        waits = sorted((TICKS * TICK if fate.first is None else fate.first) - fate.job.arrives for fate in counted)
        assert (jobs.wait.jobs, jobs.wait.most) == (len(waits), waits[-1] if waits else None)
        if waits and jobs.wait.p95 is not None and jobs.wait.p50 is not None:
            # What the least number is that so many percent of the jobs waited at most.
            for percent, value in ((50, jobs.wait.p50), (95, jobs.wait.p95)):
                assert 100 * sum(wait <= value for wait in waits) >= percent * len(waits)
                assert 100 * sum(wait < value for wait in waits) < percent * len(waits)
        waiting_ticks = sum(fate.states.count("waiting") for fate in counted)
        assert sum(waits) + jobs.waited_again == waiting_ticks * TICK
        assert jobs.lost.get(GPU, 0) == sum(fate.lost * fate.job.requests()[GPU] for fate in own)
    preempted = [event for event in one.events if event.kind == "preempted"]
    assert found.overall.preempted == len(preempted) == sum(pair.times for pair in found.pairs)
    assert found.overall.caused == sum(event.by is not None for event in preempted)
    assert sum(team.jobs.caused for team in found.teams.values()) == found.overall.caused
    assert sum(team.jobs.lost.get(GPU, 0) for team in found.teams.values()) == found.overall.lost.get(GPU, 0)


@settings(max_examples=60)
@given(replays(OVER))
def test_what_is_admitted_beyond_the_nodes_is_told_apart(made: tuple[Trace, Replay, list[Fate]]) -> None:
    trace, one, fates = made
    held = measure(one, trace, OVER).held[G5, GPU]
    use = [sum(used(fates, team, G5, tick) for team in OVER.teams) for tick in range(TICKS)]
    assert held.over == TICK * sum(max(0, amount - 12) for amount in use)
    assert held.within + held.borrowed + held.idle - held.over == 12 * TICKS * TICK


@settings(max_examples=60)
@given(replays())
def test_lines_say_what_the_sums_say(made: tuple[Trace, Replay, list[Fate]]) -> None:
    trace, one, fates = made
    found = measure(one, trace, FIT)
    for team, by_type in found.series.use.items():
        for measured, line in by_type.items():
            for what, values in line.values.items():
                drawn = list(zip(line.times, values, strict=True))
                assert integral(drawn, TICKS * TICK) == getattr(found.teams[team].use[measured], what)
    for team in FIT.teams:
        hopeless = {stuck.job for stuck in found.never}
        waits = [
            sum(fate.states[tick] == "waiting" for fate in fates if fate.job.team == team and fate.job.name not in hopeless)
            for tick in range(TICKS)
        ]
        line = found.series.waiting.get(team)
        drawn = list(zip(line.times, line.values["jobs"], strict=True)) if line else []
        assert integral(drawn, TICKS * TICK) == TICK * sum(waits)


CHANGES = st.lists(st.tuples(st.integers(0, 50), st.integers(-5, 5)), max_size=12)


@given(CHANGES, CHANGES, st.integers(1, 60))
def test_sums_over_time(one: list[tuple[int, int]], other: list[tuple[int, int]], until: int) -> None:
    def at(changes: list[tuple[int, int]], second: int) -> int:
        return sum(change for moment, change in changes if moment <= second)

    assert integral(steps(one), until) == sum(at(one, second) for second in range(until))
    assert integral(steps(one), until, abs) == sum(abs(at(one, second)) for second in range(until))
    together = sum(seconds * a * b for seconds, a, b in joined(steps(one), steps(other), until))
    assert together == sum(at(one, second) * at(other, second) for second in range(until))
