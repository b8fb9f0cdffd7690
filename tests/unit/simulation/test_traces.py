"""Files of jobs to replay: what is read, and every finding with its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from config.findings import ConfigError, Finding
from config.load import Project
from governance.model import ClusterPlan
from governance.plan import plan
from simulation.traces import building
from simulation.traces.model import Trace
from simulation.traces.reading import read_trace
from simulation.traces.sides import missing, submittable

ROOT = Path(__file__).parents[3]
GOOD = """\
apiVersion: hyperpod-platform/v1
until: 1d
defaults:
  runs_for: 2h
  priority: low
jobs:
  - {name: big, team: alpha, arrives: 5m, pods: 2, per_pod: whole_node, instance_type: ml.p5.48xlarge, priority: high}
  - team: beta
    arrives: 0s
    per_pod: {accelerators: 1, vcpu: 4.5, memory_gib: 16}
    instance_type: ml.g6.12xlarge
    count: 3
    every: 10m
    checkpoint: 30m
  - {team: beta, arrives: 1h, per_pod: {vcpu: 2}, topology: {preferred: kubernetes.io/hostname}, runs_for: null}
"""


def write(folder: Path, text: str, name: str = "trace.yaml") -> Path:
    (folder / name).write_text(text)
    return folder / name


def read(folder: Path, text: str, *clusters: ClusterPlan, name: str = "trace.yaml") -> Trace:
    return read_trace(write(folder, text, name), folder, clusters)


def findings(folder: Path, text: str, *clusters: ClusterPlan, name: str = "trace.yaml") -> list[Finding]:
    with pytest.raises(ConfigError) as caught:
        read(folder, text, *clusters, name=name)
    return list(caught.value.findings)


def test_a_good_file_is_read(tmp_path: Path, cluster: ClusterPlan) -> None:
    trace = read(tmp_path, GOOD, cluster)
    assert (trace.source, trace.until, trace.seed, trace.notes) == ("trace.yaml", 86_400, None, ())
    assert [(job.name, job.arrives) for job in trace.jobs] == [
        ("beta-2-1", 0),
        ("big", 300),
        ("beta-2-2", 600),
        ("beta-2-3", 1200),
        ("beta-3", 3600),
    ]
    small, big, last = trace.jobs[0], trace.jobs[1], trace.jobs[4]
    assert small.per_pod == {"cpu": 4500, "memory": 16 * 1024, "nvidia.com/gpu": 1}
    assert (small.runs_for, small.priority, small.checkpoint, small.pods) == (7200, "low", 1800, 1)
    assert (big.priority, big.pods, big.requests()["nvidia.com/gpu"]) == ("high", 2, 16)
    assert 0 < big.per_pod["cpu"] < 192_000  # a whole node is what pods can have of it, less than its specification
    assert str(big.where) == "trace.yaml:7:5"
    assert last.runs_for is None  # null takes the default away
    assert (last.instance_type, last.topology and last.topology.preferred) == (None, "kubernetes.io/hostname")


@pytest.mark.parametrize(
    ("old", "new", "kind", "line", "words"),
    [
        ("team: alpha", "team: alpa", "team-unknown", 7, "did you mean `alpha`?"),
        ("priority: high", "priority: hihg", "priority-class-unknown", 7, "did you mean `high`?"),
        ("priority: low", "priority: lwo", "priority-class-unknown", 5, "did you mean `low`?"),
        ("ml.g6.12xlarge", "ml.g6.12xlarg", "instance-type-unknown", 11, "did you mean `ml.g6.12xlarge`?"),
        ("ml.g6.12xlarge", "ml.g5.2xlarge", "instance-type-unknown", 11, "there is no instance type `ml.g5.2xlarge` here"),
        ("arrives: 5m", "arrives: -5m", "time-negative", 7, "lies before the beginning"),
        ("arrives: 0s", "arrives: -1", "time-negative", 9, "write 0s"),
        ("arrives: 0s", "arrives: 10", "duration", 9, "as in 5m"),
        ("runs_for: 2h", "runs_for: 0s", "duration", 4, "from 1s"),
        ("pods: 2", "pods: 0", "greater-than-equal", 7, "at least 1"),
        ("per_pod: whole_node", "per_pod: {accelerators: 9}", "pod-too-large", 7, "9 of nvidia.com/gpu; pods on ml.p5.48xlarge"),
        ("{vcpu: 2}", "{vcpu: 900}", "pod-too-large", 15, "no node gives pods more than"),
        ("{vcpu: 2}", "{}", "per-pod", 15, "asks for nothing"),
        ("{vcpu: 2}", "whole_node", "instance-type-missing", 15, "a whole node of which type?"),
        ("whole_node", "{whole_node: true, vcpu: 1}", "per-pod", 7, "keep whole_node or the amounts"),
        ("ml.g6.12xlarge", "ml.m5.4xlarge", "accelerators-none", 10, "ml.m5.4xlarge has no accelerators"),
        ("{preferred: kubernetes.io/hostname}", "{preferred: a.b/c}", "topology-level", 15, "no level of the topology"),
        ("{preferred: kubernetes.io/hostname}", "{}", "topology-mode", 15, "exactly one"),
        ("team: beta\n", "name: big\n    team: beta\n", "job-twice", 8, "stands at trace.yaml:7:5 already"),
        ("count: 3", "count: 1", "job-every", 13, "add `count:`"),
        ("count: 3", "count: 300000", "less-than-equal", 12, "200,000"),
        ("checkpoint: 30m", "checkpiont: 30m", "unknown-key", 14, "did you mean `checkpoint`?"),
        ("{team: beta, arrives: 1h, ", "{arrives: 1h, ", "missing-key", 15, "`team` is missing"),
        (GOOD[GOOD.index("jobs:") :], "jobs: []\n", "jobs-none", 1, "there is no job"),
        ("until: 1d", "until: yes", "yaml-word", 2, "not a truth value"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, cluster: ClusterPlan, old: str, new: str, kind: str, line: int, words: str
) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if kind == "job-twice":
        text = text.replace("    count: 3\n    every: 10m\n", "")
    found = findings(tmp_path, text, cluster)
    (told,) = [finding for finding in found if finding.id == kind]
    assert (told.where.file, told.where.line) == ("trace.yaml", line)
    assert told.where.column > 0
    assert words in f"{told.message} {told.remedy}"
    assert told.remedy
    assert [finding.id for finding in found] == [kind]


def test_all_mistakes_are_told_at_once(tmp_path: Path, cluster: ClusterPlan) -> None:
    """What a model refuses doesn't hide what only the plan refuses."""
    text = (
        GOOD.replace("arrives: 5m", "arrives: -5m").replace("team: beta", "team: nobody").replace("checkpoint: 30m", "pods: many")
    )
    text += "generate: {teams: {nobody: {per_hour: 1, sizes: [{per_pod: {vcpu: 1}}], runs_for: 1h}}}\n"
    found = findings(tmp_path, text, cluster)
    assert [(finding.id, finding.where.line) for finding in found] == [
        ("time-negative", 7),
        ("team-unknown", 8),
        ("int-type", 14),
        ("team-unknown", 15),
        ("team-unknown", 16),
    ]


BAD = "  - {team: nlpp, arrives: -5s, priority: hihg, per_pod: {accelerators: 100}, instance_type: ml.p5.48xlarge}\n"


@pytest.mark.parametrize(
    ("job", "wanted"),
    [
        (BAD, "pod-too-large priority-class-unknown team-unknown time-negative"),
        (BAD.replace("arrives: -5s", "pods: 0"), "greater-than-equal pod-too-large priority-class-unknown team-unknown"),
        (BAD.replace("100", "many"), "int-type priority-class-unknown team-unknown time-negative"),
        (BAD.replace("ml.p5.48xlarge", "5"), "priority-class-unknown string-type team-unknown time-negative"),
        (BAD.replace("ml.p5.48xlarge", "ml.none"), "instance-type-unknown priority-class-unknown team-unknown time-negative"),
        (
            BAD.replace("100}", "1}, topology: {required: a.b/c}"),
            "priority-class-unknown team-unknown time-negative topology-level",
        ),
        (BAD.replace("priority: hihg", "name: big"), "job-twice pod-too-large team-unknown time-negative"),
        ("  - {team: nlpp, arrives: -5s}\n", "missing-key team-unknown time-negative"),
        ("  - {team: nlpp}\n", "missing-key team-unknown"),
        ("  - {tem: nlpp, per_pod: {vcpu: 1}}\n", "unknown-key"),  # no word of a team that is missing
        ("  - {team: nlpp, per_pod: whole_node, instanc_type: ml.p5.48xlarge}\n", "team-unknown unknown-key"),
        ("  - {team: nlpp, zzzz: 1}\n", "team-unknown unknown-key"),
    ],
)
def test_of_a_job_with_a_mistake_the_sound_fields_are_checked(
    tmp_path: Path, cluster: ClusterPlan, job: str, wanted: str
) -> None:
    found = findings(tmp_path, GOOD + job, cluster)
    assert sorted(finding.id for finding in found) == wanted.split()
    assert {finding.where.line for finding in found} == {16}


def test_defaults_with_a_mistake_are_held_against_no_job(tmp_path: Path, cluster: ClusterPlan) -> None:
    """What a default says soundly stands for the jobs; what it says wrongly is told once, not as missing in each job."""
    text = "apiVersion: hyperpod-platform/v1\ndefaults: {team: alpa, per_pod: {vcpu: x}, runs_for: 0s}\njobs:\n  - {}\n"
    found = findings(tmp_path, text, cluster)
    assert sorted((finding.id, finding.where.line) for finding in found) == [
        ("duration", 2),
        ("float-type", 2),
        ("team-unknown", 2),
    ]


def test_of_many_mistakes_of_the_same_words_the_first_ones_are_told(tmp_path: Path, cluster: ClusterPlan) -> None:
    lines = "".join("  - {team: nobody, per_pod: {vcpu: 1}}\n" for _ in range(30))
    found = findings(tmp_path, f"apiVersion: hyperpod-platform/v1\njobs:\n{lines}", cluster)
    assert [finding.where.line for finding in found] == list(range(3, 13))
    assert found[-1].message.endswith("and 20 more like it")


def test_what_one_of_two_plans_knows_is_known(tmp_path: Path, cluster: ClusterPlan, project: Path) -> None:
    loaded = Project(project).load("main")
    other = plan(replace(loaded, teams={name: team for name, team in loaded.teams.items() if name != "alpha"})).clusters["main"]
    assert "alpha" not in other.teams
    assert [finding.id for finding in findings(tmp_path, GOOD, other)] == ["team-unknown"]
    trace = read(tmp_path, GOOD, other, cluster)
    assert trace == read(tmp_path, GOOD, cluster)
    assert {job.team for job in submittable(trace, other).jobs} == {"beta"}
    assert submittable(trace, cluster) is trace
    assert missing(trace.jobs[1], other) == "there is no team alpha"
    assert [f.id for f in findings(tmp_path, GOOD.replace("team: alpha", "team: x"), other, cluster)] == ["team-unknown"]


def test_a_quota_that_is_too_small_is_no_mistake(tmp_path: Path, cluster: ClusterPlan) -> None:
    assert read(tmp_path, GOOD.replace("pods: 2", "pods: 100"), cluster).jobs[1].pods == 100


def test_jobs_after_the_end_are_left_out_and_told(tmp_path: Path, cluster: ClusterPlan) -> None:
    trace = read(tmp_path, GOOD.replace("until: 1d", "until: 20m"), cluster)
    assert [job.name for job in trace.jobs] == ["beta-2-1", "big", "beta-2-2"]
    assert trace.notes == ("2 jobs arrive when the trace has ended, and are left out",)


def test_names_that_nobody_wrote_take_none_of_those_that_are_written(tmp_path: Path, cluster: ClusterPlan) -> None:
    jobs = [read(tmp_path, GOOD.replace("name: big", "name: beta-3"), cluster).jobs][0]
    assert sorted(job.name for job in jobs) == ["beta-2-1", "beta-2-2", "beta-2-3", "beta-3", "beta-3-1"]


def test_a_file_of_another_ending_is_told(tmp_path: Path, cluster: ClusterPlan) -> None:
    (found,) = findings(tmp_path, GOOD, cluster, name="trace.json")
    assert (found.id, found.where.file) == ("trace-ending", "trace.json")
    (found,) = findings(tmp_path, "- a", cluster)
    assert found.id == "file-shape"
    with pytest.raises(ConfigError) as caught:
        read_trace(tmp_path / "none.yaml", tmp_path, [cluster])
    assert [finding.id for finding in caught.value.findings] == ["file-unreadable"]


def test_more_jobs_than_a_replay_takes_are_told(tmp_path: Path, cluster: ClusterPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MAX_JOBS", 4)
    (found,) = findings(tmp_path, GOOD, cluster)
    assert (found.id, found.where.line) == ("trace-too-large", 6)
    load = "generate: {over: 1d, teams: {beta: {per_hour: 2, sizes: [{per_pod: {vcpu: 1}}], runs_for: 1h}}}"
    (found,) = findings(tmp_path, f"apiVersion: hyperpod-platform/v1\n{load}\n", cluster)
    assert found.message.startswith("the trace has about 48 jobs")


@pytest.mark.parametrize("path", sorted((ROOT / "workloads/traces").iterdir()), ids=lambda path: path.name)
def test_the_traces_of_the_project_fit_its_sandbox(path: Path) -> None:
    local = plan(Project(ROOT).load("local")).clusters["local"]
    trace = read_trace(path, ROOT, [local])
    assert trace.jobs
    assert trace.source == f"workloads/traces/{path.name}"
    assert all(job.where and job.where.file == trace.source for job in trace.jobs)
