"""The clock of a replay: ticks, ends, checkpoints and longest run times."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from simulation.replay.clock import Clock, up_to
from simulation.traces.model import Job


def job(name: str, arrives: int = 0, runs_for: int | None = 600, checkpoint: int | None = None, team: str = "alpha") -> Job:
    return Job(name, team, arrives, runs_for, 1, {"cpu": 1000}, checkpoint=checkpoint)


def names(jobs: list[Job]) -> list[str]:
    return [one.name for one in jobs]


@given(st.integers(0, 10**6), st.integers(1, 3600))
def test_a_tick_is_never_before_what_it_stands_for(seconds: int, tick: int) -> None:
    assert up_to(seconds, tick) % tick == 0
    assert 0 <= up_to(seconds, tick) - seconds < tick


def test_arrivals_of_a_tick_come_together_in_the_order_of_the_trace() -> None:
    clock = Clock([job("late", 61), job("b", 60), job("a", 1), job("first", 0)], 60, None)
    assert clock.next() == 0
    assert names(clock.arriving(0)) == ["first"]
    assert clock.next() == 60
    assert names(clock.arriving(60)) == ["b", "a"]
    assert clock.next() == 120
    assert names(clock.arriving(120)) == ["late"]
    assert clock.next() is None


def test_a_job_runs_from_its_admission_and_its_end_is_rounded_up() -> None:
    clock = Clock([job("a", runs_for=61)], 60, None)
    clock.arriving(0)
    assert clock.next() is None
    clock.admitted("a", 60)
    assert clock.next() == 180
    assert clock.ending(120) == ([], [])
    assert names(clock.ending(180)[0]) == ["a"]
    assert clock.next() is None


def test_a_job_without_an_end_runs_on() -> None:
    clock = Clock([job("a", runs_for=None)], 60, None)
    clock.arriving(0)
    clock.admitted("a", 0)
    assert clock.next() is None


def test_a_preempted_job_begins_anew() -> None:
    clock = Clock([job("a", runs_for=600)], 60, None)
    clock.arriving(0)
    clock.admitted("a", 0)
    clock.preempted("a", 540)
    assert clock.next() is None
    clock.admitted("a", 600)
    assert clock.next() == 1200


def test_a_preempted_job_keeps_what_it_ran_up_to_its_last_checkpoint() -> None:
    clock = Clock([job("a", runs_for=600, checkpoint=100)], 60, None)
    clock.arriving(0)
    clock.admitted("a", 0)
    clock.preempted("a", 240)  # 200 s are kept
    clock.admitted("a", 300)
    clock.preempted("a", 360)  # no checkpoint in 60 s
    clock.admitted("a", 420)
    assert clock.next() == up_to(420 + 400, 60)


def test_nothing_happens_after_the_end() -> None:
    clock = Clock([job("a", runs_for=120), job("b", arrives=300)], 60, until=180)
    clock.arriving(0)
    clock.admitted("a", 0)
    assert clock.next() == 120
    clock.ending(120)
    assert clock.next() is None


def test_the_longest_run_time_counts_over_preemptions() -> None:
    clock = Clock([job("a", runs_for=600, checkpoint=600), job("short", runs_for=60)], 60, None, {"alpha": 300})
    clock.arriving(0)
    clock.admitted("a", 0)
    clock.admitted("short", 0)
    done, expired = clock.ending(60)
    assert (names(done), expired) == (["short"], [])
    clock.preempted("a", 180)
    clock.admitted("a", 240)
    assert clock.next() == 360  # 120 s are left
    done, expired = clock.ending(360)
    assert (done, names(expired)) == ([], ["a"])


@given(
    tick=st.integers(1, 100),
    runs_for=st.integers(1, 2000),
    checkpoint=st.one_of(st.none(), st.integers(1, 500)),
    stints=st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), max_size=8),
)
def test_a_job_ends_when_it_has_run_for_what_it_needs(
    tick: int, runs_for: int, checkpoint: int | None, stints: list[tuple[int, int]]
) -> None:
    clock = Clock([job("a", runs_for=runs_for, checkpoint=checkpoint)], tick, None)
    clock.arriving(0)
    now, kept = 0, 0
    for wait, ran in stints:
        now += wait * tick
        clock.admitted("a", now)
        if clock.next() <= now + ran * tick:  # type: ignore[operator]
            break
        now += ran * tick
        clock.preempted("a", now)
        kept += ran * tick // checkpoint * checkpoint if checkpoint else 0
        assert clock.next() is None
    else:
        clock.admitted("a", now)
    assert clock.next() == up_to(now + runs_for - kept, tick)
    end = clock.next()
    assert end is not None
    assert names(clock.ending(end)[0]) == ["a"]
    assert clock.ending(end) == ([], [])
    assert clock.next() is None
