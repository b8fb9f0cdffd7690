"""The audit of a replay: what Kueue promises holds in a good one, and each broken promise is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from governance.model import ClusterPlan
from governance.sharing import Cell
from governance.units import GPU
from simulation.audit import Violation, audit
from simulation.cases import Placement
from simulation.replay.model import Event, Replay
from simulation.traces.model import Job
from tests.strategies import API_VERSION, ProjectData, planned

TYPE = "ml.p5.48xlarge"
CELL: Cell = (TYPE, GPU)
LEVEL = "topology.k8s.aws/network-node-layer-3"
LEVELS = ("topology.k8s.aws/network-node-layer-1", "topology.k8s.aws/network-node-layer-2", LEVEL, "kubernetes.io/hostname")
WHOLE = {GPU: 8}


def team(name: str, nodes: int, **sharing: int) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "owners": [f"{name}@example.com"],
        "quota": {TYPE: {"instances": nodes}},
        "sharing": {"strategy": "lend_and_borrow", **sharing},
    }


@pytest.fixture(scope="module")
def plan() -> ClusterPlan:
    """Of 8 nodes, a owns 4 and lends 2 of them, b owns 2 and may borrow 4, c owns 1 and may borrow 3, and 1 is nobody's."""
    environment = {
        "apiVersion": API_VERSION,
        "clusters": {"main": {"kind": "existing", "instance_groups": {"h100": {"instance_type": TYPE, "count": 8}}}},
        "governance": {"priority_classes": {"high": {"weight": 90}, "low": {"weight": 10}}, "idle_sharing": True},
    }
    teams = {
        "a": team("a", 4, borrow_limit=100, lend_limit=50),
        "b": team("b", 2, borrow_limit=200),
        "c": team("c", 1, borrow_limit=300),
    }
    return planned(ProjectData(environment, teams)).clusters["main"]


def job(name: str, team: str = "a", nodes: int = 1, **more: Any) -> Job:
    return Job(
        **{"arrives": 0, "runs_for": 600, "per_pod": WHOLE, "instance_type": TYPE, "name": name, "team": team, "pods": nodes}
        | more
    )


def came(one: Job, at: int = 0) -> Event:
    return Event(at, "arrived", one.name)


def ran(one: Job, at: int = 0, **more: Any) -> Event:
    return Event(at, "admitted", one.name, **{"usage": {CELL: 8 * one.pods}} | more)


def found(
    plan: ClusterPlan, jobs: Sequence[Job], *events: Event, circles: dict[str, int] | None = None
) -> list[tuple[str, int, str, int]]:
    told = audit(plan, jobs, Replay("main", tuple(events), 3600, 60, "workloads", "0.16.6", circles=circles or {}))
    assert all(isinstance(one, Violation) and one.message for one in told)
    return [(one.rule, one.at, one.subject, one.ticks) for one in told]


def test_an_orderly_replay_breaks_nothing(plan: ClusterPlan) -> None:
    own, extra, owner = job("own", "b", 2), job("extra", "b", 4), job("owner", "a", 4)
    events = [came(own), came(extra), ran(own), ran(extra), came(owner, 60), Event(60, "preempted", "extra", by="owner")]
    events += [ran(owner, 60), Event(600, "finished", "own"), Event(660, "finished", "owner"), ran(extra, 660)]
    assert found(plan, [own, extra, owner], *events, Event(1200, "finished", "extra")) == []


def test_a_job_that_fits_the_guarantee_must_not_wait(plan: ClusterPlan) -> None:
    one, other, third = job("one", nodes=4), job("other", "b", 6), job("third", "c", 9)
    events = [came(one), came(other), ran(other)]
    assert found(plan, [one, other, third], *events, came(third, 60)) == [("guarantee", 0, "one", 2)]
    assert found(plan, [one, other, third], *events, Event(60, "preempted", "other"), ran(one, 60)) == [
        ("guarantee", 0, "one", 1)
    ]
    assert found(plan, [one], came(one), ran(one)) == []


def test_more_than_the_guarantee_may_wait(plan: ClusterPlan) -> None:
    big = job("big", nodes=5)
    assert found(plan, [big], came(big)) == []


def test_only_what_ranks_as_high_may_stand_before_a_guarantee(plan: ClusterPlan) -> None:
    low, high = job("low", nodes=4, priority="low"), job("high", nodes=4, priority="high")
    assert found(plan, [low, high], came(low), ran(low), came(high, 60)) == [("guarantee", 60, "high", 1)]
    assert found(plan, [low, high], came(high), ran(high), came(low, 60)) == []


def test_no_class_ranks_below_every_class(plan: ClusterPlan) -> None:
    none, low = job("none", nodes=4), job("low", nodes=4, priority="low")
    assert found(plan, [none, low], came(none), ran(none), came(low, 60)) == [("guarantee", 60, "low", 1)]


def test_a_block_that_is_not_free_excuses_waiting(plan: ClusterPlan) -> None:
    wide = job("wide", nodes=4, topology=Placement(required=LEVEL))
    assert found(plan, [wide], came(wide)) == []


def test_parts_of_nodes_excuse_waiting(plan: ClusterPlan) -> None:
    whole, part = job("whole", nodes=4), job("part", "b", per_pod={GPU: 1})
    assert found(plan, [whole, part], came(whole), came(part), Event(0, "admitted", "part", usage={CELL: 1})) == []


def test_borrowing_ends_at_its_limit(plan: ClusterPlan) -> None:
    most, more = job("most", "c", 4), job("more", "c", 5)
    assert found(plan, [most], came(most), ran(most)) == []
    assert found(plan, [more], came(more), ran(more)) == [("borrowing-limit", 0, f"c {CELL}", 1)]


def test_what_is_not_lent_stays_free(plan: ClusterPlan) -> None:
    six, one = job("six", "b", 6), job("one", "c", 1)
    assert found(plan, [six, one], came(six), ran(six), came(one)) == [("guarantee", 0, "one", 1)]
    assert found(plan, [six, one], came(six), came(one), ran(six), ran(one)) == [("lending-limit", 0, f"a b c {CELL}", 1)]


def test_nodes_are_given_away_once(plan: ClusterPlan) -> None:
    one, other = job("one", "a", 6), job("other", "b", 4)
    assert ("capacity", 0, str(CELL), 1) in found(plan, [one, other], came(one), came(other), ran(one), ran(other))


def test_the_earlier_of_two_alike_comes_first(plan: ClusterPlan) -> None:
    first, second = job("first", nodes=6), job("second", nodes=6)
    events = [came(first), came(second, 60), ran(second, 120, usage={CELL: 1})]
    assert found(plan, [first, second], *events) == [("fifo", 120, "second", 1)]
    assert found(plan, [first, second], came(first), came(second), ran(second)) == []


def test_the_higher_of_two_alike_comes_first(plan: ClusterPlan) -> None:
    high, low = job("high", nodes=6, priority="high"), job("low", nodes=6, priority="low")
    events = [came(high), came(low), ran(low, 60, usage={CELL: 1})]
    assert found(plan, [high, low], *events) == [("priority", 60, "low", 1)]
    assert found(plan, [high, low], came(low), ran(low, usage={CELL: 1}), came(high, 60)) == []


def test_what_a_preemption_frees_has_no_order(plan: ClusterPlan) -> None:
    first, second, gone = job("first", nodes=6), job("second", nodes=6), job("gone", "b")
    events = [came(first), came(gone), ran(gone), came(second, 60), Event(60, "preempted", "gone")]
    assert ("fifo", 60, "second", 1) not in found(plan, [first, second, gone], *events, ran(second, 60, usage={CELL: 1}))


def test_a_circle_excuses_waiting_from_its_first_tick(plan: ClusterPlan) -> None:
    one, other = job("one", nodes=4), job("other", "b", 6)
    events = [came(one), came(other), ran(other), came(job("third", "c", 9), 60)]
    jobs = [one, other, job("third", "c", 9)]
    assert found(plan, jobs, *events, circles={"other": 60}) == [("guarantee", 0, "one", 1)]


def test_a_required_block_holds_all_pods(plan: ClusterPlan) -> None:
    two = job("two", nodes=2, topology=Placement(required=LEVEL))
    same, other = ("r", "s", "block-0", "n-0"), ("r", "s", "block-0", "n-1")
    elsewhere = ("r", "s", "block-1", "n-2")
    assert found(plan, [two], came(two), ran(two, domains=(same, other), levels=LEVELS)) == []
    assert found(plan, [two], came(two), ran(two, domains=(same, elsewhere), levels=LEVELS)) == [("topology", 0, "two", 1)]
    assert found(plan, [two], came(two), ran(two)) == [("topology", 0, "two", 1)]


def test_a_replay_must_make_sense(plan: ClusterPlan) -> None:
    one = job("one")
    assert found(plan, [one], ran(one)) == [("sequence", 0, "one", 1)]
    again = found(plan, [one], came(one), ran(one), Event(60, "finished", "one"), Event(120, "preempted", "one"))
    assert ("sequence", 120, "one", 1) in again
