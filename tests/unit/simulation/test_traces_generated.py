"""Loads that jobs are drawn from: the same seed draws the same, and what is drawn is what was asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest
from test_traces import findings, read

from config.findings import ConfigError
from config.load import Project
from governance.model import ClusterPlan
from governance.plan import plan
from simulation.traces.file import RunTimes
from simulation.traces.generator import mean_run_time, run_time
from simulation.traces.model import Job, Trace
from simulation.traces.quick import Quick, quick_trace
from simulation.traces.reading import read_trace

ROOT = Path(__file__).parents[3]
LOADS = """\
apiVersion: hyperpod-platform/v1
generate:
  seed: 7
  over: 10d
  teams:
    alpha:
      per_hour: 6
      sizes:
        - {pods: 2, per_pod: whole_node, instance_type: ml.p5.48xlarge, weight: 1}
        - {pods: 1, per_pod: {accelerators: 4}, instance_type: ml.p5.48xlarge, weight: 3}
      runs_for: {median: 1h, spread: 1.0, least: 10m, most: 6h}
      priorities: {high: 1, low: 4}
      checkpoint: 15m
    beta:
      every: 30m
      sizes: [{per_pod: {vcpu: 2}}]
      runs_for: [5m, 10m]
"""


def of(trace: Trace, team: str) -> list[Job]:
    return [replace(job, where=None) for job in trace.jobs if job.team == team]


def test_what_is_drawn_is_what_was_asked_for(tmp_path: Path, cluster: ClusterPlan) -> None:
    trace = read(tmp_path, LOADS, cluster)
    alpha, beta = of(trace, "alpha"), of(trace, "beta")
    assert trace.seed == 7
    assert [job.arrives for job in trace.jobs] == sorted(job.arrives for job in trace.jobs)
    # Poisson: 1,440 and 480 are expected, with deviations of 38 and 22.
    assert abs(len(alpha) - 1440) < 4 * 38
    assert abs(len(beta) - 480) < 4 * 22
    assert max(job.arrives for job in alpha) < 10 * 86_400
    large = sum(job.pods == 2 for job in alpha) / len(alpha)
    assert abs(large - 0.25) < 0.05
    assert abs(sum(job.priority == "high" for job in alpha) / len(alpha) - 0.2) < 0.05
    assert {job.priority for job in beta} == {None}
    times = [job.runs_for or 0 for job in alpha]
    assert (min(times), max(times)) == (600, 6 * 3600)
    assert abs(median(times) - 3600) < 400
    assert Counter(job.runs_for for job in beta).keys() == {300, 600}
    assert all(job.checkpoint == 900 and job.per_pod["nvidia.com/gpu"] in (4, 8) for job in alpha)
    assert len({job.name for job in trace.jobs}) == len(trace.jobs)


def test_the_same_seed_draws_the_same_and_another_one_does_not(tmp_path: Path, cluster: ClusterPlan) -> None:
    one, again = read(tmp_path, LOADS, cluster), read(tmp_path, LOADS, cluster)
    other = read(tmp_path, LOADS.replace("seed: 7", "seed: 8"), cluster)
    assert one == again
    assert of(one, "alpha") != of(other, "alpha")
    told = read_trace(tmp_path / "trace.yaml", tmp_path, [cluster], seed=7)
    assert (told.seed, of(told, "alpha")) == (7, of(one, "alpha"))


def test_a_team_does_not_depend_on_the_others_nor_on_how_long_jobs_arrive(tmp_path: Path, cluster: ClusterPlan) -> None:
    whole = read(tmp_path, LOADS, cluster)
    alone = read(tmp_path, LOADS[: LOADS.index("    beta:")], cluster)
    assert of(alone, "alpha") == of(whole, "alpha")
    shorter = of(read(tmp_path, LOADS.replace("over: 10d", "over: 2d"), cluster), "alpha")
    assert shorter == of(whole, "alpha")[: len(shorter)]
    assert len(shorter) > 200
    longer = of(read(tmp_path, LOADS.replace("median: 1h", "median: 2h"), cluster), "alpha")
    assert [(job.arrives, job.pods, job.priority) for job in longer] == [
        (job.arrives, job.pods, job.priority) for job in of(whole, "alpha")
    ]


def test_arrivals_follow_the_day(tmp_path: Path, cluster: ClusterPlan) -> None:
    text = LOADS.replace("per_hour: 6", "per_hour: 60\n      daily: {busiest: 14h, quiet: 0.1}")
    hours = Counter(job.arrives % 86_400 // 3600 for job in of(read(tmp_path, text, cluster), "alpha"))
    busy, quiet = sum(hours[hour] for hour in (13, 14)), sum(hours[hour] for hour in (1, 2))
    assert abs(quiet / busy - 0.1) < 0.05
    assert abs(sum(hours.values()) - 14_400) < 4 * 120  # the day's shape leaves the mean as it was


@pytest.mark.parametrize(
    ("old", "new", "kind", "line", "words"),
    [
        ("    alpha:", "    alpa:", "team-unknown", 6, "did you mean `alpha`?"),
        ("per_hour: 6", "per_hour: 6\n      every: 1h", "load-rate", 6, "exactly one of per_hour and every"),
        ("      every: 30m\n", "", "load-rate", 14, "exactly one"),
        ("every: 30m", "every: -3m", "duration", 15, "is not a duration"),
        ("per_hour: 6", "per_hour: -6", "greater-than-equal", 7, "at least 0.001"),
        ("median: 1h, ", "", "load-run-time", 11, "exactly one of median and choices"),
        ("most: 6h", "most: 5m", "load-run-time", 11, "less than `least`"),
        ("high: 1", "hihg: 1", "priority-class-unknown", 12, "did you mean `high`?"),
        ("accelerators: 4", "accelerators: 16", "pod-too-large", 10, "16 of nvidia.com/gpu"),
        ("ml.p5.48xlarge, weight: 3", "ml.g5.2xlarge, weight: 3", "instance-type-unknown", 10, "no instance type"),
        ("[{per_pod: {vcpu: 2}}]", "[]", "too-short", 16, "at least 1 entries"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, cluster: ClusterPlan, old: str, new: str, kind: str, line: int, words: str
) -> None:
    assert old in LOADS
    (told,) = findings(tmp_path, LOADS.replace(old, new, 1), cluster)
    assert (told.id, told.where.line) == (kind, line)
    assert words in f"{told.message} {told.remedy}"


def test_a_mean_is_that_of_what_is_drawn() -> None:
    times = RunTimes.model_validate({"median": "1h", "spread": 0.8, "least": "5m", "most": "8h"})
    drawn = [run_time(times, (number + 0.5) / 20_000) for number in range(20_000)]
    assert abs(sum(drawn) / len(drawn) / mean_run_time(times) - 1) < 0.01
    assert drawn == sorted(drawn)


@pytest.mark.parametrize("utilisation", [0.5, 1.5])
def test_a_quick_load_asks_for_a_part_of_each_guarantee(utilisation: float) -> None:
    local = plan(Project(ROOT).load("local")).clusters["local"]
    trace = quick_trace(Quick(seed=5, over=15 * 86_400, utilisation=utilisation), [local])
    for team in local.teams.values():
        for flavor in team.flavors:
            device = local.kinds[flavor.instance_type].resource or "cpu"
            own = flavor.nominal().get(device, 0)
            jobs = [job for job in trace.jobs if (job.team, job.instance_type) == (team.name, flavor.instance_type)]
            if not own:
                assert not jobs
                continue
            asked = sum(job.requests()[device] * (job.runs_for or 0) for job in jobs)
            assert abs(asked / (own * 15 * 86_400) / utilisation - 1) < 0.35
            # Every job could run within what its team owns, at least if nobody else is there.
            for job in jobs:
                assert all(amount <= flavor.nominal()[resource] for resource, amount in job.requests().items())
            assert max(job.requests()[device] for job in jobs) * 2 > own


def test_a_quick_load_is_the_same_for_the_teams_that_stay() -> None:
    loaded = Project(ROOT).load("local")
    after = plan(replace(loaded, teams={name: team for name, team in loaded.teams.items() if name != "nlp"})).clusters["local"]
    before = plan(loaded).clusters["local"]
    both, one = quick_trace(Quick(seed=2), [after, before]), quick_trace(Quick(seed=2), [after])
    assert [job for job in both.jobs if job.team != "nlp"] == list(one.jobs)
    assert any(job.team == "nlp" for job in both.jobs)
    only = quick_trace(Quick(seed=2, teams=("nlp",)), [after, before])
    assert {job.team for job in only.jobs} == {"nlp"}
    with pytest.raises(ConfigError) as caught:
        quick_trace(Quick(teams=("nlpp",)), [before])
    assert [(found.id, found.remedy) for found in caught.value.findings] == [("team-unknown", "did you mean `nlp`?")]


def test_a_team_that_is_held_gets_no_quick_load(cluster: ClusterPlan) -> None:
    trace = quick_trace(Quick(), [cluster])
    assert {job.team for job in trace.jobs} == {"alpha", "beta"}
    assert trace.notes[1:] == ("no jobs of asleep: held, draining, or without a quota",)
    with pytest.raises(ConfigError) as caught:
        quick_trace(Quick(teams=("asleep",)), [cluster])
    assert [found.id for found in caught.value.findings] == ["jobs-none"]
