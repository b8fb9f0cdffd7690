"""Case files: what is read, and every finding with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from config.findings import ConfigError, Finding
from config.load import Project
from governance.model import ClusterPlan
from governance.plan import plan
from simulation.cases import load_cases
from simulation.demo import lanes

ROOT = Path(__file__).parents[3]
GOOD = """\
apiVersion: hyperpod-platform/v1
cases:
  - name: one
    title: Something is shown.
    workloads:
      big: {team: alpha, instance_type: ml.p5.48xlarge, pods: 2, per_pod: whole_node, priority: high}
      small:
        team: beta
        instance_type: ml.g6.12xlarge
        per_pod: {accelerators: 1, vcpu: 4.5, memory_gib: 16}
        runs_for: 30s
    steps:
      - submit: [big, small]
      - expect: {big: admitted, small: admitted}
        within: 40s
        one_domain: topology.k8s.aws/network-node-layer-3
      - finish: big
      - add_nodes: {group: h100, count: 2}
      - remove_nodes: {group: h100, count: 6}
      - delete: small
"""


def write(folder: Path, text: str, file: str = "demo.yaml") -> Path:
    (folder / "workloads").mkdir(exist_ok=True)
    (folder / "workloads" / file).write_text(text)
    return folder


def findings(folder: Path, cluster: ClusterPlan, text: str) -> list[Finding]:
    with pytest.raises(ConfigError) as caught:
        load_cases(write(folder, text), cluster)
    return list(caught.value.findings)


FOLLOW = {"step-actions", "nodes-count", "nodes-unused"}
"""Findings that another mistake may bring along."""


def test_a_good_file_is_read(tmp_path: Path, cluster: ClusterPlan) -> None:
    (case,) = load_cases(write(tmp_path, GOOD), cluster)
    assert (case.name, case.teams, case.groups) == ("one", {"alpha", "beta"}, {"h100"})
    assert case.workloads["big"].per_pod.whole_node
    assert case.workloads["small"].runs_for == 30
    assert case.steps[0].submit == ("big", "small")
    assert (case.steps[1].within, case.steps[2].within) == (40, 20)
    assert case.steps[2].finish == ("big",)


@pytest.mark.parametrize(
    ("old", "new", "kind", "line", "words"),
    [
        ("team: alpha", "team: alpa", "team-unknown", 6, "did you mean `alpha`?"),
        ("team: alpha", "team: asleep", "team-inactive", 6, "is held"),
        ("priority: high", "priority: hihg", "priority-class-unknown", 6, "did you mean `high`?"),
        ("ml.p5.48xlarge", "ml.p5.48xlarg", "instance-type-unknown", 6, "did you mean `ml.p5.48xlarge`?"),
        ("ml.p5.48xlarge", "ml.g5.2xlarge", "instance-type-unknown", 6, "there is no instance type `ml.g5.2xlarge` here"),
        ("whole_node", "{whole_node: true, vcpu: 1}", "per-pod", 6, "keep whole_node or the amounts"),
        ("whole_node", "{}", "per-pod", 6, "asks for nothing"),
        ("per_pod: whole_node", "per_pod: whole", "model-type", 6, "is not a map"),
        ("vcpu: 4.5", "vcpu: 48", "pod-too-large", 10, "48 of cpu; pods on ml.g6.12xlarge can have"),
        ("accelerators: 1", "accelerators: 5", "pod-too-large", 10, "5 of nvidia.com/gpu"),
        ("runs_for: 30s", "runs_for: 2h", "max-run-time", 11, "3600 seconds"),
        ("runs_for: 30s", "topology: {required: a.b/c}", "topology-level", 11, "no level of the topology of ml.g6.12xlarge"),
        ("runs_for: 30s", "topology: {}", "topology-mode", 11, "exactly one"),
        ("submit: [big, small]", "submit: [big, smal, small]", "workload-unknown", 13, "did you mean `small`?"),
        ("submit: [big, small]", "submit: [big, small, big]", "workload-twice", 13, "submitted already"),
        ("big: admitted, small", "bigg: admitted, big: admitted, small", "workload-unknown", 14, "did you mean `big`?"),
        ("small: admitted}", "small: borowed}", "literal-error", 14, "did you mean `borrowed`?"),
        ("small: admitted}", "small: pending}", "one-domain", 14, "it has no nodes"),
        ("within: 40s", "within: 40", "duration", 15, "write days, hours"),
        ("      - finish: big\n", "      - finish: big\n        within: 5s\n", "step-option", 18, "belongs to an expectation"),
        ("- finish: big", "- {finish: big, delete: big}", "workload-gone", 17, "finished or deleted already"),
        ("- finish: big", "- {}", "step-actions", 17, "this one nothing"),
        ("add_nodes: {group: h100, count: 2}", "add_nodes: {group: h10, count: 2}", "instance-group-unknown", 18, "`h100`"),
        ("count: 6", "count: 7", "nodes-count", 19, "has 6 nodes here"),
        ("- delete: small", "- add_nodes: {group: cpu, count: 1}", "nodes-unused", 20, "ml.m5.4xlarge"),
        ("- delete: small", "- submitt: small", "unknown-key", 20, "did you mean `submit`?"),
        ("name: one", f"name: {'o' * 31}", "name-too-long", 3, "at most 30"),
    ],
)
def test_a_mistake_is_told_with_its_line(
    tmp_path: Path, cluster: ClusterPlan, old: str, new: str, kind: str, line: int, words: str
) -> None:
    assert GOOD.count(old) == 1 or kind.startswith("instance-type")
    found = findings(tmp_path, cluster, GOOD.replace(old, new))
    (told,) = [f for f in found if f.id == kind]
    assert (told.where.file, told.where.line) == ("workloads/demo.yaml", line)
    assert words in f"{told.message} {told.remedy}"
    assert told.remedy
    assert {f.id for f in found} - {kind} <= FOLLOW


def test_all_mistakes_are_told_at_once(tmp_path: Path, cluster: ClusterPlan) -> None:
    text = GOOD.replace("alpha", "nobody").replace("priority: high", "priority: none").replace("finish: big", "finish: bog")
    assert {f.id for f in findings(tmp_path, cluster, text)} == {"team-unknown", "priority-class-unknown", "workload-unknown"}


def test_a_workload_must_be_submitted_before_it_is_used(tmp_path: Path, cluster: ClusterPlan) -> None:
    text = GOOD.replace("submit: [big, small]", "submit: small")
    assert {(f.id, f.where.line) for f in findings(tmp_path, cluster, text)} == {
        ("workload-unused", 6),
        ("workload-early", 14),
        ("workload-early", 17),
    }


def test_case_names_are_unique_over_all_files(tmp_path: Path, cluster: ClusterPlan) -> None:
    write(tmp_path, GOOD, "zzz.yaml")
    (found,) = findings(tmp_path, cluster, GOOD)
    assert (found.id, found.where.file, found.where.line) == ("case-twice", "workloads/zzz.yaml", 3)
    assert "workloads/demo.yaml:3" in found.message


def test_files_of_another_ending_and_no_files_at_all_are_told(tmp_path: Path, cluster: ClusterPlan) -> None:
    with pytest.raises(ConfigError) as caught:
        load_cases(tmp_path, cluster)
    assert [f.id for f in caught.value.findings] == ["cases-none"]
    with pytest.raises(ConfigError) as caught:
        load_cases(write(tmp_path, GOOD, "demo.yml"), cluster)
    assert "file-ignored" in [f.id for f in caught.value.findings]


def test_only_the_named_cases_are_chosen(tmp_path: Path, cluster: ClusterPlan) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, GOOD.replace("name: one", "name: two"), "more.yaml")
    assert [case.name for case in load_cases(tmp_path, cluster, only=["two"])] == ["two"]
    assert [case.name for case in load_cases(tmp_path, cluster)] == ["one", "two"]
    with pytest.raises(ConfigError) as caught:
        load_cases(tmp_path, cluster, only=["tow"])
    assert [finding.id for finding in caught.value.findings] == ["case-unknown"]
    assert caught.value.findings[0].remedy == "did you mean `two`?"


def test_the_projects_own_cases_are_sound_and_cover_every_verdict() -> None:
    cluster = plan(Project(ROOT).load("local")).clusters["local"]
    cases = load_cases(ROOT, cluster)
    expected = {verdict for case in cases for step in case.steps for verdict in step.expect.values()}
    assert expected == {"admitted", "borrowed", "pending", "preempted", "finished"}
    assert all(case.title for case in cases)


def test_only_cases_that_share_nothing_run_side_by_side() -> None:
    cluster = plan(Project(ROOT).load("local")).clusters["local"]
    found = lanes(load_cases(ROOT, cluster))
    assert sorted([case.name for case in lane] for lane in found) == [
        ["ahead-of-nodes"],
        ["in-quota", "fine-grained"],
        ["priority", "over-quota"],
        ["small-models", "inference", "borrow-and-reclaim"],
        ["spaces"],
        ["topology", "elastic-256"],
    ]
    for lane in found:
        for other in found:
            if other is not lane:
                assert not {t for case in lane for t in case.teams} & {t for case in other for t in case.teams}
                assert not {t for case in lane for t in case.instance_types} & {t for case in other for t in case.instance_types}


def test_lanes_that_a_third_case_joins_are_one(tmp_path: Path, cluster: ClusterPlan) -> None:
    def case(name: str, *types: str) -> str:
        workloads = "".join(
            f"      w{i}: {{team: {'alpha' if 'p5' in kind else 'beta'}, instance_type: {kind}, per_pod: {{vcpu: 1}}}}\n"
            for i, kind in enumerate(types)
        )
        submits = ", ".join(f"w{i}" for i in range(len(types)))
        return f"  - name: {name}\n    workloads:\n{workloads}    steps:\n      - submit: [{submits}]\n"

    text = "apiVersion: hyperpod-platform/v1\ncases:\n" + case("a", "ml.p5.48xlarge") + case("b", "ml.g6.12xlarge")
    assert [[c.name for c in lane] for lane in lanes(load_cases(write(tmp_path, text), cluster))] == [["a"], ["b"]]
    joined = text + case("c", "ml.p5.48xlarge", "ml.g6.12xlarge")
    assert [[c.name for c in lane] for lane in lanes(load_cases(write(tmp_path, joined), cluster))] == [["a", "b", "c"]]


def test_the_page_of_scenarios_tells_of_every_case_in_the_files_own_lines() -> None:
    page = (ROOT / "docs/scenarios.md").read_text()
    cluster = plan(Project(ROOT).load("local")).clusters["local"]
    assert [case.name for case in load_cases(ROOT, cluster) if f"`{case.name}`" not in page] == []
    lines: set[str] = set()
    shown = 0
    for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("# "):
                lines = {one.strip() for one in (ROOT / line.removeprefix("# ")).read_text().splitlines()}
            else:
                assert line.strip() in lines, line
                shown += 1
    assert shown > 100
