"""Promises that Kueue keeps over random traces: guarantees, limits, order and topology, on platforms without overcommit.

Traces run side by side: each has a department of its own that shares with no other, and quotas that nodes are there for.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from typing import Any

import pytest
from strategies import API_VERSION, ProjectData, planned

from governance.model import ClusterPlan
from governance.units import GPU
from sandbox.toolchain import SilentProgress
from simulation.audit import audit
from simulation.cases import Placement
from simulation.jobs import node_room
from simulation.replay.model import Replay, Settings
from simulation.replay.stage import Stage
from simulation.traces.model import Job

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]

SEED = int(os.environ.get("TRACES_SEED", "20261121"))
"""Of all that is drawn here; told at the end of the run."""
TRACES = 10
"""Side by side on one platform."""
TICK = 60
TYPES = ("ml.p5.48xlarge", "ml.g5.12xlarge")
LEVEL = "topology.k8s.aws/network-node-layer-3"
CLASSES = {"high": {"weight": 90}, "middle": {"weight": 50}, "low": {"weight": 10}}
SHARING: tuple[dict[str, Any], ...] = (
    {"strategy": "lend_and_borrow", "borrow_limit": 50},
    {"strategy": "lend_and_borrow", "borrow_limit": 100},
    {"strategy": "lend_and_borrow", "borrow_limit": 200, "lend_limit": 50},
    {"strategy": "lend_and_borrow", "borrow_limit": 500},
    {"strategy": "lend"},
    {"strategy": "dont_lend"},
)


def platform(rng: random.Random, traces: int, governance: dict[str, Any]) -> ClusterPlan:
    """As many departments as there are traces, of three teams each; capacity is the sum of the guarantees."""
    nodes: Counter[str] = Counter()
    teams = {}
    for name in (f"t{number}-{letter}" for number in range(traces) for letter in "abc"):
        quota = {kind: {"instances": rng.randint(1, 4)} for kind in TYPES if kind == TYPES[0] or rng.random() < 0.6}
        nodes.update({kind: amount["instances"] for kind, amount in quota.items()})
        teams[name] = {
            "apiVersion": API_VERSION,
            "owners": ["team@example.com"],
            "department": name.partition("-")[0],
            "quota": quota,
            "sharing": rng.choice(SHARING),
            "weight": rng.randint(1, 100),
            "preemption": rng.choice(("lower_priority", "never")),
        }
    groups = {kind.split(".")[1]: {"instance_type": kind, "count": count} for kind, count in nodes.items()}
    departments = {f"t{number}": {"alone": True} for number in range(traces)}
    policy = {"priority_classes": CLASSES, "overcommit": "forbid", "departments": departments, **governance}
    environment = {
        "apiVersion": API_VERSION,
        "clusters": {"main": {"kind": "existing", "instance_groups": groups}},
        "governance": policy,
    }
    return planned(ProjectData(environment, teams)).clusters["main"]


def trace(rng: random.Random, plan: ClusterPlan, traces: int, *, whole: bool) -> list[Job]:
    """24 jobs a department; more than fit at once."""
    return [job(rng, plan, f"t{number}", index, whole=whole) for number in range(traces) for index in range(24)]


def job(rng: random.Random, plan: ClusterPlan, department: str, index: int, *, whole: bool) -> Job:
    team = f"{department}-{rng.choice('abc')}"
    kind = rng.choice([flavor.instance_type for flavor in plan.teams[team].flavors])
    placement = None
    if whole and kind == TYPES[0]:
        placement = rng.choice((None, None, Placement(required=LEVEL), Placement(preferred=LEVEL)))
    return Job(
        name=f"{department}-{index}",
        team=team,
        arrives=rng.randint(0, 5) * TICK,
        runs_for=rng.randint(1, 4) * TICK,
        pods=rng.randint(1, 4 if whole else 8),
        per_pod={k: v for k, v in node_room(kind, plan).items() if v} if whole else {GPU: rng.randint(1, 4)},
        instance_type=kind,
        priority=rng.choice((None, *CLASSES)),
        topology=placement,
    )


POLICIES = {
    "fair-share-whole-nodes": ({"idle_compute": "fair_share"}, True),
    "first-come-parts-of-nodes": ({"idle_compute": "first_come_first_served", "topology": {"enabled": False}}, False),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_kueue_keeps_its_promises(policy: str, record_property: Any) -> None:
    replayed(policy, SEED, record_property)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(SEED + 1, SEED + 11))
@pytest.mark.parametrize("policy", POLICIES)
def test_kueue_keeps_its_promises_over_many_traces(policy: str, seed: int, record_property: Any) -> None:
    """10 platforms of each policy with 10 traces each: 200 traces."""
    replayed(policy, seed, record_property)


def replayed(policy: str, seed: int, record_property: Any) -> None:
    governance, whole = POLICIES[policy]
    drawn = random.Random(f"{seed} {policy}")  # noqa: S311
    plan = platform(drawn, TRACES, governance)
    with Stage(plan, "test-invariants", "workloads", SilentProgress()) as stage:
        jobs = trace(drawn, plan, TRACES, whole=whole)
        replay = stage.run(jobs, Settings(TICK))
    happened = Counter(event.kind for event in replay.events)
    record_property(
        "coverage", [f"{happened['admitted']:6} admissions, {happened['preempted']} preemptions; {policy}; seed {seed}"]
    )
    judged(plan, jobs, replay)


def judged(plan: ClusterPlan, jobs: list[Job], replay: Replay) -> None:
    assert replay.complete
    # A promise may be late by the tick in which Kueue settles, never by more.
    assert [one for one in audit(plan, jobs, replay) if one.ticks > 1 or one.rule != "guarantee"] == []
    # Traces that press on nothing prove nothing.
    kinds = Counter(event.kind for event in replay.events)
    assert kinds["arrived"] == len(jobs)
    assert kinds["preempted"] > len(jobs) // 20
    assert any(event.domains for event in replay.events) == any(flavor.topology for flavor in plan.flavors.values())
