"""Replays on a real Kueue: order over ticks, preemption and resuming, topology, limits, repeats, interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sandbox_support import runs
from strategies import API_VERSION, ProjectData, planned

from governance.model import ClusterPlan
from governance.units import GPU
from sandbox.local import Sandbox
from sandbox.toolchain import SilentProgress
from simulation.cases import Placement
from simulation.replay import stage as stages
from simulation.replay.model import Event, Replay, Settings
from simulation.replay.stage import Interrupted, Stage
from simulation.traces.model import Job

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]

TYPE = "ml.p5.48xlarge"
LEVEL = "topology.k8s.aws/network-node-layer-3"
TICK = 60


def plan_of(backend: str = "kueue", **more: dict[str, Any]) -> ClusterPlan:
    """Teams with two nodes of eight GPUs each; who borrows can be reclaimed from."""
    team = {
        "apiVersion": API_VERSION,
        "owners": ["someone@example.com"],
        "quota": {TYPE: {"instances": 2}},
        "sharing": {"strategy": "lend_and_borrow", "borrow_limit": 100},
        "preemption": "lower_priority",
    }
    group = {"instance_type": TYPE, "count": 8, "network": {"nodes_per_block": 2, "blocks_per_spine": 2}}
    environment: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "clusters": {"main": {"kind": "existing", "instance_groups": {"p5": group}}},
        "governance": {"backend": backend, "priority_classes": {"high": {"weight": 90}, "low": {"weight": 10}}},
    }
    if backend == "kueue":  # by which Kueue says nothing of a job like one that didn't fit
        environment["clusters"]["main"]["kueue"] = {"feature_gates": {"SchedulingEquivalenceHashing": True}}
    teams = {"alpha": team, "beta": team, **{name: {**team, **fields} for name, fields in more.items()}}
    return planned(ProjectData(environment, teams)).clusters["main"]


def job(name: str, at: int, runs_for: int | None, team: str = "alpha", nodes: int = 2, **fields: Any) -> Job:
    """Whole nodes; times in ticks."""
    seconds = None if runs_for is None else runs_for * TICK
    return Job(name, team, at * TICK, seconds, nodes, {GPU: 8}, TYPE, **fields)


def told(replay: Replay, *kinds: str) -> list[tuple[int, str, str]]:
    """Tick, kind and job of the events of some kinds."""
    return [(event.at // TICK, event.kind, event.job) for event in replay.events if event.kind in kinds]


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    dont_share = {"sharing": {"strategy": "dont_lend"}}
    plan = plan_of(limited={"max_run_time": "5m", **dont_share}, held={"state": "held", **dont_share})
    with Stage(plan, "test", "workloads", SilentProgress()) as found:
        yield found


def test_first_come_first_served_holds_over_ticks(stage: Stage) -> None:
    blocker = [job("blocker", 0, 20), job("neighbour", 0, 36, "beta")]
    queue = [job(f"number-{number}", number, 3) for number in range(1, 6)]
    order = [(20 + 3 * number, "admitted", one.name) for number, one in enumerate(queue)]
    replay = stage.run(blocker + queue, Settings(TICK))
    assert [event for event in told(replay, "admitted") if event[2].startswith("number")] == order
    assert (replay.waiting, replay.complete, replay.until) == ({}, True, 36 * TICK)
    assert replay.kueue.count(".") == 2
    assert replay.admissions == 7


def test_a_borrower_gives_way_and_resumes_without_its_lost_work(stage: Stage) -> None:
    done: list[tuple[int, int]] = []
    jobs = [
        job("own", 0, 40),
        job("borrows", 1, 20, checkpoint=4 * TICK),  # two more nodes, which are beta's
        job("owner", 11, 10, "beta"),
    ]
    replay = stage.run(jobs, Settings(TICK), lambda so_far, total: done.append((so_far, total)))
    (preemption,) = [event for event in replay.events if event.kind == "preempted"]
    assert (preemption.at, preemption.job, preemption.by) == (11 * TICK, "borrows", "owner")
    assert preemption.reason.startswith("InCohort")
    # It ran for ten ticks and keeps eight; the owner's nodes are free again at 21.
    assert told(replay, "admitted", "finished") == [
        (0, "admitted", "own"),
        (1, "admitted", "borrows"),
        (11, "admitted", "owner"),
        (21, "finished", "owner"),
        (21, "admitted", "borrows"),
        (33, "finished", "borrows"),
        (40, "finished", "own"),
    ]
    assert done[-1] == (9, 9)
    assert done == sorted(done)


def test_the_latest_is_preempted_first_though_all_were_admitted_in_a_blink(stage: Stage) -> None:
    lows = [job(f"low-{number}", number, None, nodes=1, priority="low") for number in range(4)]
    neighbours = [job("neighbour", 0, None, "beta")]
    highs = [job(f"high-{number}", 10 + number, None, nodes=1, priority="high") for number in range(2)]
    replay = stage.run(neighbours + lows[:2] + highs, Settings(TICK))
    taken = [(event.at // TICK, event.job, event.by) for event in replay.events if event.kind == "preempted"]
    assert taken == [(10, "low-1", "high-0"), (11, "low-0", "high-1")]
    assert set(replay.waiting) == {"low-0", "low-1"}
    assert all("insufficient" in words for words in replay.waiting.values())


def test_domains_are_told_and_a_required_level_is_kept(stage: Stage) -> None:
    jobs = [job("a", 0, None, topology=Placement(required=LEVEL)), job("b", 1, None, "beta", topology=Placement(required=LEVEL))]
    replay = stage.run(jobs, Settings(TICK))
    admitted = {event.job: event for event in replay.events if event.kind == "admitted"}
    for event in admitted.values():
        assert (event.levels[-1], len(event.domains)) == ("kubernetes.io/hostname", 2)
        assert len({domain[event.levels.index(LEVEL)] for domain in event.domains}) == 1
        assert event.usage[stage.plan.flavors[TYPE].name, GPU] == 16
    hosts = [domain[-1] for event in admitted.values() for domain in event.domains]
    assert len(set(hosts)) == 4


def test_limits_refusals_and_queues_that_are_held(stage: Stage) -> None:
    jobs = [
        job("too-long", 0, 30, "limited"),
        job("Bad_Name", 0, 1),
        job("held", 0, 1, "held"),
        job("giant", 1, 1, nodes=7),
        job("after", 2, 1, "limited"),
    ]
    replay = stage.run(jobs, Settings(TICK, until=9 * TICK))
    assert told(replay, "admitted", "preempted", "finished") == [
        (0, "admitted", "too-long"),
        (5, "preempted", "too-long"),
        (5, "admitted", "after"),
        (6, "finished", "after"),
    ]
    (refusal,) = [event for event in replay.events if event.kind == "refused"]
    assert refusal.job == "Bad_Name"
    assert "lowercase" in refusal.reason
    assert set(replay.waiting) == {"giant", "held"}
    assert "maximum capacity" in replay.waiting["giant"]
    assert "inactive" in replay.waiting["held"]
    assert replay.until == 9 * TICK


def test_what_kueue_still_does_about_the_last_replay_does_not_matter(stage: Stage) -> None:
    for team, nodes in (("alpha", 4), ("limited", 2), ("alpha", 4), ("limited", 2)):
        jobs = [job(name, 0, 1, team, nodes) for name in ("one", "other")]
        happened = told(stage.run(jobs, Settings(TICK)), "admitted", "finished")
        assert sorted((at, kind) for at, kind, _ in happened) == [
            (0, "admitted"),
            (1, "admitted"),
            (1, "finished"),
            (2, "finished"),
        ]


def test_an_interrupted_replay_keeps_what_is_settled_and_leaves_nothing() -> None:
    plan = plan_of("managed")
    jobs = [job(f"number-{number}", number, 2) for number in range(40)]
    sent: list[int] = []

    def interrupt(done: int, _total: int) -> None:
        if done >= 12 and not sent:  # three a job: some ticks have settled, however often progress was told
            sent.append(done)
            os.kill(os.getpid(), signal.SIGINT)

    with Stage(plan, "interrupted", "workloads", SilentProgress()) as own:
        whole = own.run(jobs[:3], Settings(TICK))
        box = own.sandbox
        status = box.status()
        with pytest.raises(Interrupted) as caught:
            own.run(jobs, Settings(TICK), interrupt)
    assert told(whole, "admitted", "finished")[-1] == (4, "finished", "number-2")
    assert set(status.pids) == {"supervisor", "etcd", "kube-apiserver", "kueue"}
    part = caught.value.replay
    assert not part.complete
    assert 0 < part.until < 40 * TICK
    assert max(event.at for event in part.events) == part.until
    settled = told(part, "arrived")
    assert settled == [(number, "arrived", f"number-{number}") for number in range(len(settled))]
    assert not any(runs(pid) for pid in status.pids.values())
    assert not box.dir.exists()


@pytest.fixture(scope="module")
def pods() -> Iterator[Stage]:
    with Stage(plan_of(alone={"sharing": {"strategy": "dont_lend"}}), "pods", "pods", SilentProgress()) as found:
        yield found


def test_jobs_with_pods_run_where_the_scheduler_puts_them_and_end_with_the_clock(pods: Stage) -> None:
    jobs = [
        job("own", 0, 40),
        job("borrows", 1, 20, checkpoint=4 * TICK),
        job("owner", 11, 10, "beta"),
        job("packed", 12, 3, "alone", nodes=1, topology=Placement(required=LEVEL)),
    ]
    replay = pods.run(jobs, Settings(TICK))
    assert pods.server.get("/api/v1/pods")["items"] == []
    assert told(replay, "admitted", "preempted", "finished") == [
        (0, "admitted", "own"),
        (1, "admitted", "borrows"),
        (11, "preempted", "borrows"),
        (11, "admitted", "owner"),
        (12, "admitted", "packed"),
        (15, "finished", "packed"),
        (21, "finished", "owner"),
        (21, "admitted", "borrows"),
        (33, "finished", "borrows"),
        (40, "finished", "own"),
    ]
    (preemption,) = [event for event in replay.events if event.kind == "preempted"]
    assert preemption.by == "owner"
    assert all(event.domains for event in replay.events if event.kind == "admitted")
    assert replay.fidelity == "pods"


KILLED = """
import sys, time
from test_replay import SilentProgress, Stage, plan_of
with Stage(plan_of(), "killed", "workloads", SilentProgress()) as stage:
    print(stage.sandbox.dir, *stage.sandbox.status().pids.values(), flush=True)
    time.sleep(600)
"""


def test_a_sandbox_ends_with_the_process_that_it_was_booted_for() -> None:
    tests = Path(__file__).parents[1]
    paths = os.pathsep.join(map(str, (tests.parent, tests, tests / "engine")))
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}, text=True
    ) as owner:
        assert owner.stdout is not None
        folder, *pids = owner.stdout.readline().split()
        owner.kill()
    deadline = time.monotonic() + 150
    while (Path(folder).exists() or any(runs(int(pid)) for pid in pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(pids) == 4
    assert not [pid for pid in pids if runs(int(pid))]
    assert not Path(folder).exists()


@pytest.mark.full
@pytest.mark.parametrize(("where", "team"), [("stage", "limited"), ("pods", "alone")])
def test_a_circle_of_preemptions_is_told_and_does_not_hold_up_the_replay(
    where: str, team: str, request: pytest.FixtureRequest
) -> None:
    """Kueue preempts for ever here: by priority in alpha, by fair share for beta, by reclaiming for alpha."""
    jobs = [
        job("beta-first", 0, 10, "beta", nodes=1, priority="low"),
        job("alpha-first", 0, 10, nodes=3, priority="high"),
        job("alpha-large", 1, 5, nodes=4, priority="high"),
        job("alpha-small", 2, 5, nodes=2),
        job("beta-large", 3, 5, "beta", nodes=3),
        job("later", 12, 1, team),
    ]
    replay = request.getfixturevalue(where).run(jobs, Settings(TICK, until=13 * TICK))
    assert replay.complete
    assert set(replay.circles) <= {"alpha-large", "alpha-small", "beta-large"}
    assert len(replay.circles) > 0
    rounds = [event.job for event in replay.events if event.kind == "preempted" and event.at == min(replay.circles.values())]
    assert len(rounds) < 20
    assert told(replay, "finished")[-1] == (13, "finished", "later")
    often = Counter((event.at, event.job) for event in replay.events if event.kind == "preempted")
    assert 3 <= max(often.values()) <= (3 if where == "stage" else 6), "controllers may be faster than the replay"


@pytest.mark.full
def test_a_lean_sandbox_decides_as_a_whole_one(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """One job a tick, and all come before one ends: then order is defined, and Kueue's decisions repeat."""
    jobs = [job(f"job-{n}", n, 40 + 7 * n % 31, ("alpha", "alpha", "beta")[n % 3], 1 + n % 2) for n in range(30)]
    lean = stage.run(jobs, Settings(TICK))
    monkeypatch.setattr(stages, "Sandbox", lambda name, **_: Sandbox(name, lean=False, owned=True))
    with Stage(stage.plan, "whole", "workloads", SilentProgress()) as whole:
        assert "kwok" in whole.sandbox.status().pids
        full = whole.run(jobs, Settings(TICK))

    def settled(replay: Replay) -> list[Event]:
        return sorted(replay.events, key=lambda event: (event.at, event.kind, event.job))

    assert sum(event.kind == "preempted" for event in lean.events) > 0
    assert settled(full) == settled(lean)
