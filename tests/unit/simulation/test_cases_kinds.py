"""Cases with Deployments, spaces and elastic jobs: what is read, and every finding with its line."""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.findings import ConfigError
from config.load import Project
from governance.model import ClusterPlan
from governance.plan import plan
from simulation import elastic
from simulation.cases import Elastic, load_cases

TEXT = """\
apiVersion: hyperpod-platform/v1
cases:
  - name: kinds
    workloads:
      grows:
        team: alpha
        instance_type: ml.p5.48xlarge
        per_pod: whole_node
        priority: high
        elastic: {min: 1, max: 5, step: 2}
        elastic_priority: low
      serves: {kind: deployment, team: beta, instance_type: ml.g6.12xlarge, pods: 3, per_pod: {accelerators: 1}}
      ide: {kind: space, team: beta, instance_type: ml.m5.4xlarge, per_pod: {vcpu: 2}}
    steps:
      - submit: [grows, serves, ide]
      - expect: {serves: admitted, ide: admitted}
        replicas: {grows: 3}
        together: kubernetes.io/hostname
      - scale: {serves: 0}
      - replicas: {serves: 0}
      - finish: grows
"""


def write(folder: Path, text: str) -> Path:
    (folder / "workloads").mkdir()
    (folder / "workloads/demo.yaml").write_text(text)
    return folder


def test_every_kind_is_read(tmp_path: Path, cluster: ClusterPlan) -> None:
    (case,) = load_cases(write(tmp_path, TEXT), cluster)
    assert [workload.kind for workload in case.workloads.values()] == ["job", "deployment", "space"]
    assert case.workloads["grows"].elastic == Elastic(min=1, max=5, step=2)
    assert case.steps[1].replicas == {"grows": 3}
    assert [step.expects for step in case.steps] == [False, True, False, True, False]


STEP = "elastic: {min: 1, max: 5, step: 2}"


@pytest.mark.parametrize(
    ("old", "new", "kind", "line", "words"),
    [
        ("pods: 3", "pods: 3, runs_for: 1m", "kind-field", 12, "a deployment runs without end: it has no `runs_for`"),
        ("pods: 3", "topology: {preferred: kubernetes.io/hostname}", "kind-field", 12, "is placed pod by pod"),
        ("kind: space,", "kind: space, elastic: {min: 1, max: 2, step: 1}, priority: low,", "kind-field", 13, "doesn't train"),
        ("kind: space,", "kind: space, pods: 2,", "space-pods", 13, "the one pod of one person"),
        ("kind: space,", "kind: notebook,", "literal-error", 13, "notebook"),
        ("priority: high", "pods: 4\n        priority: high", "elastic-pods", 9, "`min` to `max` pods"),
        (STEP, "elastic: {min: 1, max: 5}", "elastic-counts", 10, "exactly one of step and values"),
        (STEP, "elastic: {min: 1, max: 5, step: 2, values: [1, 5]}", "elastic-counts", 10, "exactly one of step and values"),
        (STEP, "elastic: {min: 5, max: 5, step: 1}", "elastic-counts", 10, "can't grow from 5 to 5"),
        (STEP, "elastic: {min: 1, max: 5, step: 3}", "elastic-counts", 10, "steps of 3 don't lead from 1 to 5"),
        (STEP, "elastic: {min: 1, max: 5, values: [1, 3]}", "elastic-counts", 10, "must rise from 1 to 5"),
        (STEP, "elastic: {min: 1, max: 5, values: [1, 5, 3]}", "elastic-counts", 10, "must rise from 1 to 5"),
        (STEP, "elastic: {min: 1, max: 80, step: 1}", "elastic-counts", 10, "in 79 steps"),
        ("elastic_priority: low", "elastic_priority: high", "elastic-priority", 11, "must rank below the base"),
        ("elastic_priority: low", "elastic_priority: lo", "priority-class-unknown", 11, "did you mean `low`?"),
        ("priority: high", "topology: {preferred: kubernetes.io/hostname}", "elastic-priority", 11, "rank below the base"),
        (STEP, "pods: 2", "elastic-priority", 11, "only an elastic job"),
        ("replicas: {grows: 3}", "replicas: {grows: 4}", "replicas-count", 17, "it runs with 1, 3, 5"),
        ("replicas: {grows: 3}", "replicas: {ide: 1}", "replicas-kind", 17, "all its pods or none"),
        ("replicas: {grows: 3}", "replicas: {grow: 3}", "workload-unknown", 17, "did you mean `grows`?"),
        ("replicas: {grows: 3}", "replicas: {grows: -1}", "greater-than-equal", 17, "-1"),
        ("scale: {serves: 0}", "scale: {grows: 0}", "scale-kind", 19, "only a deployment is scaled"),
        ("scale: {serves: 0}", "scale: {serve: 0}", "workload-unknown", 19, "did you mean `serves`?"),
        ("serves: admitted", "serves: preempted", "verdict-kind", 16, "is a deployment, which is never preempted"),
        ("finish: grows", "finish: ide", "verdict-kind", 21, "a space, which is never finished"),
        ("ide: admitted}", "ide: pending}", "one-domain", 16, "without together"),
        ("- scale: {serves: 0}", "- {scale: {serves: 0}, together: a.b/c}", "step-option", 19, "belongs to an expectation"),
        ("- scale: {serves: 0}", "- {scale: {serves: 0}, replicas: {serves: 0}}", "step-actions", 19, "scale and replicas"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, cluster: ClusterPlan, old: str, new: str, kind: str, line: int, words: str
) -> None:
    assert old in TEXT
    with pytest.raises(ConfigError) as caught:
        load_cases(write(tmp_path, TEXT.replace(old, new, 1)), cluster)
    told = [finding for finding in caught.value.findings if finding.id == kind]
    assert [finding.where.line for finding in told] == [line] * len(told)
    assert told, caught.value.findings
    assert any(words in f"{finding.message} {finding.remedy}" for finding in told), told


def test_a_kind_that_kueue_does_not_integrate_is_told(tmp_path: Path, project: Path) -> None:
    for folder in ("environments", "teams"):
        shutil.copytree(project / folder, tmp_path / folder)
    environment = tmp_path / "environments/main.yaml"
    text = environment.read_text()
    assert "kueue: {install: false}" in text
    environment.write_text(text.replace("{install: false}", "{install: false, frameworks: [batch/job, pod]}"))
    with pytest.raises(ConfigError) as caught:
        load_cases(write(tmp_path, TEXT), plan(Project(tmp_path).load("main")).clusters["main"])
    assert [(finding.id, finding.where.line) for finding in caught.value.findings] == [
        ("kind-framework", 12),
        ("kind-framework", 13),
    ]
    assert "framework" in caught.value.findings[0].message
    assert "of the cluster `main`" in caught.value.findings[0].remedy


@pytest.mark.parametrize(("length", "fits"), [(26, True), (27, False)])
def test_a_jobs_pods_are_hosts_of_a_name_that_is_not_too_long(
    tmp_path: Path, cluster: ClusterPlan, length: int, fits: bool
) -> None:
    """`<case, 24>-<workload>-elastic-2-4`: 63 characters at most."""
    text = TEXT.replace("name: kinds", f"name: {'k' * 24}").replace("grows", "g" * length)
    if fits:
        assert load_cases(write(tmp_path, text), cluster)
        return
    with pytest.raises(ConfigError) as caught:
        load_cases(write(tmp_path, text), cluster)
    (told,) = caught.value.findings
    assert (told.id, told.where.line) == ("name-too-long", 5)
    assert "of 64 characters" in told.message


@st.composite
def policies(draw: st.DrawFn) -> Elastic:
    """Sound ones."""
    low = draw(st.integers(1, 200))
    if draw(st.booleans()):
        step = draw(st.integers(1, 40))
        return Elastic(min=low, max=low + step * draw(st.integers(1, 20)), step=step)
    above = sorted(draw(st.sets(st.integers(low + 1, low + 300), min_size=1, max_size=10)))
    return Elastic(min=low, max=above[-1], values=(low, *above))


@given(policies())
def test_counts_rise_from_the_least_to_the_most(policy: Elastic) -> None:
    found = elastic.counts(policy)
    assert (found[0], found[-1]) == (policy.min, policy.max)
    assert list(found) == sorted(set(found))


@given(policies(), st.data())
def test_a_job_trains_with_the_largest_count_that_its_pods_allow(policy: Elastic, data: st.DataObject) -> None:
    counts = elastic.counts(policy)
    steps = [more - less for less, more in pairwise(counts)]
    held = [step if data.draw(st.booleans()) else 0 for step in steps]
    runs = elastic.replicas(policy, [policy.min, *held])
    assert runs in counts
    assert runs <= policy.min + sum(held)
    assert not any(runs < count <= policy.min + sum(held) for count in counts)
    assert elastic.replicas(policy, [policy.min - 1, *held]) == 0, "without its base nothing trains"
    if policy.step:
        assert runs == policy.min + sum(held), "equal steps leave nothing idle"


def test_pods_between_two_values_stay_idle() -> None:
    policy = Elastic(min=20, max=32, values=(20, 24, 32))
    assert [elastic.replicas(policy, held) for held in ([20, 4, 8], [20, 0, 8], [20, 4, 0], [20, 0, 0], [])] == [
        32,
        24,
        24,
        20,
        0,
    ]
