"""Figures of replays by hand: every number can be followed on paper."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from replays import G5, GPU, P5, admitted, cluster_of, job, replay, trace_of

from governance.model import ClusterPlan
from simulation.cases import Placement
from simulation.replay.model import Event
from simulation.results.compare import compare, duration
from simulation.results.figures import measure
from simulation.results.model import Figures
from simulation.results.never import Never
from simulation.results.spread import as_dict, ranges

HOUR = 3600
LAYER = "topology.k8s.aws/network-node-layer-3"


@pytest.fixture(scope="module")
def plan() -> ClusterPlan:
    """nlp owns 8 GPUs and may borrow as many, vision owns 8; all 16 are there."""
    teams = {
        "nlp": {"quota": {G5: {"instances": 2}}, "weight": 10, "sharing": {"strategy": "lend_and_borrow", "borrow_limit": 100}},
        "vision": {"quota": {G5: {"instances": 2}}, "weight": 30},
        "asleep": {"quota": {P5: {"instances": 1}}, "state": "held"},
    }
    return cluster_of(teams, {G5: 4, P5: 2})


OWN, EXTRA = job("own", "nlp", pods=2, priority="low", checkpoint=1800), job("extra", "nlp", pods=2, checkpoint=1800)
RETURNS, LATER = job("returns", "vision", pods=2, arrives=2 * HOUR, priority="high"), job("later", "vision", arrives=2 * HOUR)


def borrowing(plan: ClusterPlan, **other: Any) -> Figures:
    """nlp borrows 8 GPUs from 0:00 to 2:00; then vision takes them back, and nlp has them again from 4:00 to the end at 5:00."""
    events = [
        Event(0, "arrived", "own"),
        Event(0, "arrived", "extra"),
        admitted(0, OWN),
        admitted(60, EXTRA),
        Event(2 * HOUR, "arrived", "returns"),
        Event(2 * HOUR, "arrived", "later"),
        Event(2 * HOUR, "preempted", "extra", by="returns", reason="InCohortReclamation"),
        admitted(2 * HOUR, RETURNS),
        Event(3 * HOUR, "finished", "own"),
        Event(4 * HOUR, "finished", "returns"),
        admitted(4 * HOUR, EXTRA),
    ]
    words = {"later": "insufficient quota"}
    return measure(replay(events, 5 * HOUR, waiting=words, **other), trace_of(OWN, EXTRA, RETURNS, LATER), plan)


def test_jobs_and_waiting(plan: ClusterPlan) -> None:
    found = borrowing(plan)
    nlp, vision = found.teams["nlp"].jobs, found.teams["vision"].jobs
    assert (nlp.jobs, nlp.finished, nlp.running, nlp.waiting) == (2, 1, 1, 0)
    assert (vision.jobs, vision.finished, vision.running, vision.waiting) == (2, 1, 0, 1)
    assert (nlp.wait.at_once, nlp.wait.p50, nlp.wait.p95, nlp.wait.mean, nlp.wait.at_least) == (1, 0, 60, 30.0, ())
    assert nlp.waited_again == 2 * HOUR
    # `later` has waited for three hours and may wait longer: so may the figures that stand on it.
    assert (vision.wait.p50, vision.wait.p95, vision.wait.most, vision.wait.still) == (0, 3 * HOUR, 3 * HOUR, 1)
    assert vision.wait.at_least == ("p95_s", "max_s", "mean_s")
    assert (found.overall.jobs, found.overall.wait.at_once, found.overall.wait.p50) == (4, 2, 0)
    assert {name: jobs.jobs for name, jobs in found.classes.items()} == {"high": 1, "low": 1, "(none)": 2}
    assert [(one.job, one.team, one.why, one.since) for one in found.waiting] == [
        ("later", "vision", "insufficient quota", 2 * HOUR)
    ]


def test_preemptions_and_lost_work(plan: ClusterPlan) -> None:
    found = borrowing(plan)
    nlp, vision = found.teams["nlp"].jobs, found.teams["vision"].jobs
    assert (nlp.preempted, nlp.jobs_preempted, nlp.caused) == (1, 1, 0)
    assert (vision.preempted, vision.jobs_preempted, vision.caused) == (0, 0, 1)
    assert [(one.team, one.by, one.reason, one.times) for one in found.pairs] == [("nlp", "vision", "InCohortReclamation", 1)]
    # It ran for 1:59 and saved every half hour: 29 minutes of 8 GPUs are lost.
    assert nlp.lost == {GPU: 8 * 29 * 60}
    assert nlp.as_dict()["lost_h"] == {GPU: round(8 * 29 / 60, 3)}


def test_guarantees_borrowing_and_idle_nodes(plan: ClusterPlan) -> None:
    found = borrowing(plan)
    nlp, vision = found.teams["nlp"].use[G5, GPU], found.teams["vision"].use[G5, GPU]
    # Own: 8 GPUs to 3:00. Extra beside it: borrowed from 0:01 to 2:00; alone from 4:00 to 5:00 it is within the guarantee.
    assert (nlp.within, nlp.borrowed) == (8 * 4 * HOUR, 8 * (2 * HOUR - 60))
    assert nlp.unused == 8 * HOUR
    assert (vision.within, vision.borrowed, vision.unused) == (8 * 2 * HOUR, 0, 8 * 3 * HOUR)
    held = found.held[G5, GPU]
    assert (held.capacity, held.within, held.borrowed, held.over) == (16, 8 * 6 * HOUR, 8 * (2 * HOUR - 60), 0)
    assert held.within + held.borrowed + held.idle == 16 * 5 * HOUR
    assert held.as_dict()["used_share"] == round(1 - held.idle / (16 * 5 * HOUR), 4)
    assert (nlp.borrowed_share, vision.borrowed_share) == (1.0, 0.0)
    assert (nlp.fair_share, vision.fair_share) == (0.25, 0.75)
    assert found.held[P5, GPU].idle == 16 * 5 * HOUR


def test_borrowing_is_contested_while_a_borrower_waits(plan: ClusterPlan) -> None:
    """`extra` waits from 0:00 to 0:01, when nobody borrows; vision's `later` waits from 2:00 on, when nothing is borrowed."""
    assert borrowing(plan).teams["nlp"].use[G5, GPU].contested == 0
    early = replace(LATER, arrives=HOUR)
    events = [
        Event(0, "arrived", "own"),
        Event(0, "arrived", "extra"),
        admitted(0, OWN),
        admitted(0, EXTRA),
        Event(HOUR, "arrived", "later"),
    ]
    found = measure(replay(events, 2 * HOUR), trace_of(OWN, EXTRA, early), plan)
    use = found.teams["nlp"].use[G5, GPU]
    assert (use.borrowed, use.contested, use.contested_share) == (8 * 2 * HOUR, 8 * HOUR, 1.0)


def test_lines_for_a_plot(plan: ClusterPlan) -> None:
    series = borrowing(plan).series
    line = series.use["nlp"][G5, GPU]
    assert line.times == (0, 60, 2 * HOUR, 3 * HOUR, 4 * HOUR, 5 * HOUR)
    assert line.values == {"within": (8, 8, 8, 0, 8, 0), "borrowed": (0, 8, 0, 0, 0, 0)}
    assert series.waiting["nlp"].times == (0, 60, 2 * HOUR, 4 * HOUR)
    assert series.waiting["nlp"].values == {"jobs": (1, 0, 1, 0)}
    assert series.waiting["vision"].times == (2 * HOUR, 5 * HOUR)


def test_evictions_that_no_job_asked_for_are_no_preemptions(plan: ClusterPlan) -> None:
    events = [
        Event(0, "arrived", "own"),
        admitted(0, OWN),
        Event(600, "preempted", "own", reason="NodeFailures"),
        Event(0, "arrived", "extra"),
        admitted(0, EXTRA),
        Event(1200, "preempted", "extra", reason="Deactivated"),
    ]
    nlp = measure(replay(events, HOUR), trace_of(OWN, EXTRA), plan).teams["nlp"].jobs
    assert (nlp.preempted, nlp.evicted, nlp.expired, nlp.waiting) == (0, 1, 1, 1)
    assert nlp.lost == {GPU: 8 * 600}
    assert nlp.waited_again == HOUR - 600


def test_jobs_that_never_arrived_or_were_refused(plan: ClusterPlan) -> None:
    events = [Event(0, "arrived", "own"), Event(0, "refused", "own", reason="denied")]
    found = measure(replay(events, HOUR, complete=False), trace_of(OWN, LATER), plan)
    assert (found.complete, found.overall.refused, found.overall.absent, found.overall.wait.jobs) == (False, 1, 1, 0)
    assert found.overall.wait.p95 is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pods": 5}, "it asks for 20 nvidia.com/gpu on ml.g5.12xlarge; with all others idle team nlp can have 16"),
        (
            {"instance_type": P5, "gpus": 8},
            "the queue of team nlp has no ml.p5.48xlarge",
        ),
        ({"team": "asleep", "instance_type": P5}, "team asleep is held"),
        ({"team": "nobody"}, "there is no team nobody"),
        ({"priority": "urgent"}, "there is no priority class urgent"),
        ({"instance_type": "ml.g6.12xlarge"}, "the queue of team nlp has no ml.g6.12xlarge"),
        ({"gpus": 5, "pods": 2}, "its pods fit on none of the 4 nodes of ml.g5.12xlarge"),
        ({"gpus": 3, "pods": 5}, "its 5 pods don't fit on the 4 nodes of ml.g5.12xlarge together: 4 do"),
        ({"topology": Placement(required=LAYER)}, "the topology of ml.g5.12xlarge has no level"),
        ({"pods": 2, "topology": Placement(required="kubernetes.io/hostname")}, "stand in one hostname; the largest holds 1"),
        ({"pods": 2, "topology": Placement(preferred="kubernetes.io/hostname")}, ""),
        ({"pods": 4}, ""),
        ({"gpus": 0, "instance_type": None}, ""),
    ],
)
def test_why_a_job_can_never_run(plan: ClusterPlan, changes: dict[str, Any], words: str) -> None:
    one = job("one", **{"team": "nlp", **changes})
    why = Never(plan).why(one)
    assert words in why
    assert bool(words) == bool(why)
    found = measure(replay([Event(0, "arrived", "one")], HOUR), trace_of(one), plan)
    assert (found.overall.never, found.overall.waiting) == (int(bool(words)), int(not words))
    assert found.overall.wait.jobs == int(not words)
    assert [stuck.why for stuck in found.never] == ([why] if words else [])


def test_blocks_of_the_network_limit_a_job_that_needs_one() -> None:
    cluster = cluster_of({"all": {"quota": {P5: {"instances": 12}}}}, {P5: 12})
    wide = job("wide", "all", gpus=8, pods=5, instance_type=P5, topology=Placement(required=LAYER))
    assert Never(cluster).why(wide) == "its 5 pods have to stand in one network-node-layer-3; the largest holds 4 of them"
    assert Never(cluster).why(replace(wide, pods=4)) == ""
    assert Never(cluster).why(replace(wide, topology=Placement(required=LAYER.replace("3", "2")))) == ""


def test_what_ran_refutes_what_the_plan_says(plan: ClusterPlan) -> None:
    one = job("one", "nlp", pods=5)
    found = measure(replay([Event(0, "arrived", "one"), admitted(0, one)], HOUR), trace_of(one), plan)
    assert (found.overall.never, found.overall.running) == (0, 1)


def test_several_runs_have_a_spread(plan: ClusterPlan) -> None:
    events = [Event(0, "arrived", "own"), Event(0, "arrived", "later")]
    trace = trace_of(OWN, replace(LATER, arrives=0))
    runs = [
        measure(replay([*events, admitted(at, OWN), admitted(0, LATER)], HOUR, seconds=2.5), trace, plan) for at in (0, 600, 1200)
    ]
    found = ranges(runs)
    p95 = found["teams", "nlp", "wait", "p95_s"]
    assert (p95.least, p95.median, p95.most, p95.same) == (0, 600, 1200, False)
    assert found["overall", "jobs"].same
    data = as_dict(runs)
    assert json.loads(json.dumps(data)) == data
    assert (data["runs"], data["teams"]["nlp"]["wait"]["p95_s"]) == (3, 600)
    assert data["spread"]["teams.nlp.wait.p95_s"] == {"min": 0, "median": 600, "max": 1200}
    assert not any(key.startswith("teams.vision") for key in data["spread"])


def test_before_and_after(plan: ClusterPlan) -> None:
    """vision gives one of its two nodes to nlp, and one of its jobs waits for it."""
    teams = {
        "nlp": {"quota": {G5: {"instances": 3}}, "weight": 10, "sharing": {"strategy": "lend_and_borrow", "borrow_limit": 100}},
        "vision": {"quota": {G5: {"instances": 1}}, "weight": 30},
    }
    changed = cluster_of(teams, {G5: 4, P5: 2})
    events = [
        Event(0, "arrived", "own"),
        Event(0, "arrived", "extra"),
        admitted(0, OWN),
        admitted(0, EXTRA),
        Event(2 * HOUR, "arrived", "returns"),
        Event(2 * HOUR, "arrived", "later"),
        Event(3 * HOUR, "finished", "own"),
        admitted(3 * HOUR, RETURNS),
    ]
    trace = trace_of(OWN, EXTRA, RETURNS, LATER)
    after = measure(replay(events, 5 * HOUR), trace, changed)
    found = compare([borrowing(plan)], [after])
    said = dict(sentence.split(" ", 1) for sentence in found.sentences)
    assert "gains 4 GPUs of guarantee on ml.g5.12xlarge (8 → 12)" in said["nlp"]
    assert "is preempted 1 time less (1 → 0)" in said["nlp"]
    assert "loses 4 GPUs of guarantee on ml.g5.12xlarge (8 → 4)" in said["vision"]
    assert "waits 30 min more on average (at least 1 h 30 min → at least 2 h)" in said["vision"]
    assert "preempts other jobs 1 time less (1 → 0)" in said["vision"]
    assert "1 fewer job finishes (1 → 0)" in said["vision"]
    delta = found.deltas["teams", "nlp", "preemptions_suffered"]
    assert (delta.change, delta.certain) == (-1, True)
    assert ("overall", "jobs") not in found.deltas
    assert json.dumps(found.as_dict())


def test_what_lies_within_the_spread_of_the_runs_is_not_told(plan: ClusterPlan) -> None:
    trace = trace_of(OWN)
    runs = [measure(replay([Event(0, "arrived", "own"), admitted(at, OWN)], HOUR), trace, plan) for at in (0, 600, 1200)]
    found = compare(runs[:2], runs[1:])
    assert found.sentences == ("Nothing changes for any team beyond the spread of the runs.",)
    assert not found.deltas["teams", "nlp", "wait", "p95_s"].certain
    assert compare(runs[:1], runs[2:]).sentences == ("nlp waits 20 min more at p95 (0 s → 20 min).",)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (90, "1 min 30 s"),
        (3600, "1 h"),
        (4805, "1 h 20 min"),
        (97_200, "1 d 3 h"),
        (3605, "1 h"),
    ],
)
def test_durations_as_people_say_them(seconds: int, words: str) -> None:
    assert duration(seconds) == words
