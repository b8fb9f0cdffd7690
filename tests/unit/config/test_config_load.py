"""Environments, bases, overrides, selection; folders that are not as they should be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from declarations import ENVIRONMENT, TEAM, assert_well_formed, environment, findings, ids, platform, project, team
from hypothesis import given
from hypothesis import strategies as st
from strategies import ProjectData, loaded, projects, write

from config.findings import ConfigError, Severity
from config.load import Project, merge

BASE = environment("governance: {overcommit: forbid, priority_classes: {low: {weight: 1}, high: {weight: 9}}}\n")


def load(root: Path, environments: dict[str, Any], teams: dict[str, Any] | None = None, name: str = "dev") -> Any:
    return project(root, teams or {}, environments).load(name)


def test_a_base_is_inherited_map_by_map(tmp_path: Path) -> None:
    dev = "base: base\ngovernance:\n  overcommit: allow\n  priority_classes: {high: {weight: 8}}\n"
    loaded_ = load(tmp_path, {"base": BASE, "dev": dev})
    governance = loaded_.environment.governance
    assert governance.overcommit == "allow"
    assert {name: found.weight for name, found in governance.priority_classes.items()} == {"low": 1, "high": 8}
    assert list(loaded_.environment.clusters) == ["main"]
    assert loaded_.environment.base == "base"


def test_a_list_of_the_base_is_replaced_and_null_takes_away(tmp_path: Path) -> None:
    base = BASE.replace("overcommit: forbid", "topology: {levels: [a, b]}, gang: {timeout: 1m}")
    dev = "base: base\ngovernance: {topology: {levels: [c]}, gang: null}\n"
    governance = load(tmp_path, {"base": base, "dev": dev}).environment.governance
    assert governance.topology.levels == ("c",)
    assert governance.gang is None


def test_bases_form_a_chain(tmp_path: Path) -> None:
    middle = "base: base\ngovernance: {overcommit: warn, idle_sharing: true}\n"
    dev = "base: middle\ngovernance: {overcommit: allow}\n"
    governance = load(tmp_path, {"base": BASE, "middle": middle, "dev": dev}).environment.governance
    assert (governance.overcommit, governance.idle_sharing, len(governance.priority_classes)) == ("allow", True, 2)


def test_an_error_is_told_in_the_file_that_makes_it(tmp_path: Path) -> None:
    base = BASE.replace("overcommit: forbid", "overcommit: perhaps")
    _, found = project(tmp_path, {}, {"base": base, "dev": "base: base\ngovernance: {backend: cloud}\n"}).declared("dev")
    assert [(f.where.file, f.where.line, f.id) for f in found] == [
        ("environments/base.yaml", 7, "literal-error"),
        ("environments/dev.yaml", 2, "literal-error"),
    ]


def test_bases_in_a_circle(tmp_path: Path) -> None:
    made = {"a": "base: b\n", "b": "base: c\n", "c": "base: a\n"}
    platform_, found = project(tmp_path, {}, made).declared("a")
    assert platform_ is None
    assert [(f.id, f.where.file, f.where.line) for f in found] == [("base-cycle", "environments/c.yaml", 1)]
    assert "a → b → c → a" in found[0].message


def test_a_base_that_is_broken_or_missing(tmp_path: Path) -> None:
    made = project(tmp_path, {}, {"dev": "base: base\n", "base": "[", "qa": "base: bse\n", "list": "base: l\n", "l": "- 1\n"})
    assert ids(made.declared("dev")[1]) == ["yaml-syntax"]
    assert [(f.id, f.remedy) for f in made.declared("qa")[1]] == [("environment-unknown", "did you mean `base`?")]
    assert [(f.id, f.where.file) for f in made.declared("list")[1]] == [("file-shape", "environments/l.yaml")]


@pytest.mark.parametrize("name", ["nope", "", ".", "..", "../teams/alpha", "/etc/hosts", "a\0b", "dev.yaml", "x" * 300, "\ud800"])
def test_an_environment_that_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError) as raised:
        project(tmp_path).load(name)
    (finding,) = raised.value.findings
    assert finding.id == "environment-unknown"
    assert_well_formed(finding, placed=False)


def test_merging_leaves_its_arguments_alone() -> None:
    base, over = {"a": {"x": 1}, "b": [1]}, {"a": {"y": 2}, "b": [2]}
    assert merge(base, over) == {"a": {"x": 1, "y": 2}, "b": [2]}
    assert (base, over) == ({"a": {"x": 1}, "b": [1]}, {"a": {"y": 2}, "b": [2]})


plain = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=3)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from("abc"), inner, max_size=3)),
    max_leaves=8,
)
maps = st.dictionaries(st.sampled_from("abc"), plain, max_size=3)


@given(maps, maps, maps)
def test_merging_is_the_same_in_any_grouping(one: dict[str, Any], two: dict[str, Any], three: dict[str, Any]) -> None:
    """Holds where no scalar stands between two maps of one key: then which map it hides depends on the grouping."""

    def shape(*layers: dict[str, Any]) -> bool:
        for key in set().union(*layers):
            values = [layer[key] for layer in layers if key in layer]
            if 0 < sum(isinstance(value, dict) for value in values) < len(values):
                return False
            if values and isinstance(values[0], dict) and not shape(*values):
                return False
        return True

    assert merge(one, {}) == one
    assert merge({}, one) == one
    assert merge(one, one) == one
    if shape(one, two, three):
        assert merge(merge(one, two), three) == merge(one, merge(two, three))


def test_an_override_applies_in_its_environment_alone(tmp_path: Path) -> None:
    text = (
        TEAM
        + "environments:\n  prod:\n    weight: 90\n"
        + "    quota: {ml.p5.48xlarge: {accelerators: 16}, ml.m5.4xlarge: {instances: 1}}\n"
    )
    made = project(tmp_path, {"alpha": text}, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    dev, prod = made.load("dev").teams["alpha"], made.load("prod").teams["alpha"]
    assert (dev.weight, prod.weight) == (10, 90)
    assert (dev.quota["ml.p5.48xlarge"].accelerators, prod.quota["ml.p5.48xlarge"].accelerators) == (8, 16)
    assert (list(dev.quota), list(prod.quota)) == (["ml.p5.48xlarge"], ["ml.p5.48xlarge", "ml.m5.4xlarge"])


@pytest.mark.parametrize(
    ("declared", "override", "strategy", "borrow_limit"),
    [
        ("lend", "{borrow_limit: null}", "lend", None),
        ("dont_lend", "{strategy: lend_and_borrow, borrow_limit: 20}", "lend_and_borrow", 20),
        ("{strategy: lend_and_borrow, borrow_limit: 20}", "lend", "lend", None),
        ("{strategy: lend_and_borrow, borrow_limit: 20}", "{borrow_limit: 30}", "lend_and_borrow", 30),
        ("{strategy: lend_and_borrow, borrow_limit: 20}", "{strategy: lend, borrow_limit: null}", "lend", None),
    ],
)
def test_the_short_form_of_sharing_merges_like_the_long_one(
    declared: str, override: str, strategy: str, borrow_limit: Any
) -> None:
    text = TEAM + f"sharing: {declared}\nenvironments: {{dev: {{sharing: {override}}}}}\n"
    sharing = platform({"alpha": text}).teams["alpha"].sharing
    assert (sharing.strategy, sharing.borrow_limit) == (strategy, borrow_limit)


def test_an_override_keeps_the_short_form_of_sharing() -> None:
    found = findings({"alpha": TEAM + "sharing: lend\nenvironments: {dev: {sharing: {borrow_limit: 10}}}\n"})
    assert [(f.id, f.where.line, f.where.column) for f in found] == [("borrow-without-strategy", 7, 32)]


@pytest.mark.parametrize(
    ("override", "warned"),
    [
        ("{instances: 1}", True),
        ("{instances: 1, accelerators: null}", False),
        ("{accelerators: 4}", False),
        ("{vcpu: 4}", False),
        ("{instances: 1, vcpu: 8, accelerators: null}", False),
    ],
)
def test_an_override_whose_amounts_add_up_with_the_files(override: str, warned: bool) -> None:
    found = findings({"alpha": TEAM + f"environments: {{dev: {{quota: {{ml.p5.48xlarge: {override}}}}}}}\n"})
    assert [f.severity for f in found if f.id == "quota-adds-up"] == [Severity.WARNING] * warned
    if warned:
        assert "accelerators: null" in found[0].remedy
        assert found[0].where.line == 6


def test_teams_of_one_environment_and_selected_ones(tmp_path: Path) -> None:
    teams = {
        "here": TEAM + "only: [dev]\n",
        "there": TEAM + "only: [prod]\n",
        "both": TEAM + "only: [dev, prod]\nlabels: {tier: gold}\n",
        "any": TEAM + "labels: {tier: gold, kind: x}\n",
    }
    made = project(tmp_path, teams, {"dev": ENVIRONMENT, "prod": ENVIRONMENT + "teams: {select: {tier: gold}}\n"})
    assert list(made.load("dev").teams) == ["any", "both", "here"]
    assert list(made.load("prod").teams) == ["any", "both"]


def test_teams_stand_in_the_order_of_their_names(tmp_path: Path) -> None:
    assert list(project(tmp_path, dict.fromkeys(("b", "a-b", "a", "ab"), TEAM)).load("dev").teams) == ["a", "a-b", "ab", "b"]


def test_a_team_with_errors_is_left_out_and_the_others_are_looked_at() -> None:
    found = findings(
        {"alpha": team("weight: 101\n"), "beta": team("default_priority: trainin\nquota: {ml.p5.48xlarge: {instances: 1}}\n")}
    )
    assert [(f.where.file, f.id) for f in found] == [
        ("teams/alpha.yaml", "less-than-equal"),
        ("teams/beta.yaml", "priority-class-unknown"),
    ]
    assert found[1].remedy == "did you mean `training`?"


def test_load_raises_what_declared_tells(tmp_path: Path) -> None:
    made = project(tmp_path, {"alpha": team("weight: 101\n"), "beta": TEAM})
    known, found = made.declared("dev")
    assert known is not None
    assert list(known.teams) == ["beta"]
    with pytest.raises(ConfigError) as raised:
        made.load("dev")
    assert list(raised.value.findings) == found
    assert "teams/alpha.yaml:3:9" in str(raised.value)


def test_files_that_would_be_passed_over_are_findings(tmp_path: Path) -> None:
    made = project(tmp_path)
    for name in ("teams/beta.yml", "teams/gamma.YAML", "teams/delta.json", "environments/prod.yml"):
        (tmp_path / name).write_text(TEAM)
    for name in ("teams/.hidden.yaml", "teams/README.md", "teams/alpha.yaml.bak", "teams/.#alpha.yaml"):
        (tmp_path / name).write_text("[")
    (tmp_path / "teams/more").mkdir()
    (tmp_path / "teams/.git").mkdir()
    (tmp_path / "teams/epsilon.yaml").mkdir()
    (tmp_path / "teams/loop.yaml").symlink_to("loop.yaml")
    _, found = made.declared("dev")
    assert [(f.where.file, f.id) for f in found] == [
        ("environments/prod.yml", "file-ignored"),
        ("teams/beta.yml", "file-ignored"),
        ("teams/delta.json", "file-ignored"),
        ("teams/epsilon.yaml", "file-unreadable"),
        ("teams/gamma.YAML", "file-ignored"),
        ("teams/loop.yaml", "file-unreadable"),
        ("teams/more", "folder-ignored"),
    ]
    for finding in found:
        assert_well_formed(finding)


def test_an_empty_project(tmp_path: Path) -> None:
    made = Project(tmp_path)
    assert made.environments() == []
    (finding,) = made.declared("dev")[1]
    assert (finding.id, finding.remedy) == ("environment-unknown", "write environments/<name>.yaml")


def test_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "environments").write_text("x")
    (tmp_path / "teams").symlink_to("teams")
    _, found = Project(tmp_path).declared("dev")
    assert ids(found) == ["folder-unreadable", "environment-unknown", "folder-unreadable"]
    for finding in found:
        assert_well_formed(finding, placed=False)


def test_an_environment_without_teams(tmp_path: Path) -> None:
    assert project(tmp_path, {}).load("dev").teams == {}


def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    made = project(tmp_path, {})
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/teams/\xff\x1b.yaml")).write_text(TEAM)
    except OSError:
        pytest.skip("the file system refuses such names")
    _, found = made.declared("dev")
    assert ids(found) == ["name-syntax"]
    assert_well_formed(found[0])


def test_places_are_looked_up_for_findings_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Composing a file a second time for its places would cost more than reading it."""
    from governance.plan import plan

    composed: list[str] = []
    compose = yaml.compose
    monkeypatch.setattr(yaml, "compose", lambda text, **options: composed.append(text) or compose(text, **options))
    teams = {f"team-{n}": TEAM.replace("accelerators: 8", "accelerators: 2") for n in range(20)}
    result = plan(project(tmp_path, teams).load("dev"))
    assert not result.findings
    assert len(composed) == 21


@given(projects())
def test_a_project_without_errors_is_read_whole(made: ProjectData) -> None:
    platform_ = loaded(made)
    assert list(platform_.teams) == sorted(made.teams)
    assert list(platform_.environment.clusters) == list(made.environment["clusters"])
    for name, data in made.teams.items():
        declared = platform_.teams[name]
        assert list(declared.quota) == list(data["quota"])
        assert declared.weight == data["weight"]
        assert declared.labels == data["labels"]


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys, pathlib, config.stack, governance.contract, governance.nodes, governance.plan, governance.summary\n"
        "from config.load import Project\n"
        "governance.plan.plan(Project(pathlib.Path('.')).load('local'))\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    root = Path(__file__).parents[3]
    run = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    imported = set(json.loads(run.stdout.replace("'", '"')))
    assert "pydantic" in imported
    assert not imported & {"pulumi", "pulumi_kubernetes", "kubernetes", "grpc", "cryptography", "boto3", "rich", "typer"}


def test_many_teams_cost_their_number(tmp_path: Path) -> None:
    """Twice the teams, about twice the calls: counted, not timed."""

    def calls(count: int) -> int:
        import cProfile

        from governance.plan import review

        root = tmp_path / str(count)
        teams = {f"team-{n}": TEAM.replace("weight: 10", f"weight: {n % 3}\nwrong: 1") for n in range(count // 2)}
        teams |= {f"good-{n}": TEAM.replace("weight: 10", f"weight: {n % 3}") for n in range(count // 2)}
        made = write(root, {"dev": ENVIRONMENT}, teams)
        profile = cProfile.Profile()
        profile.enable()
        found = review(made, "dev")
        profile.disable()
        assert len([f for f in found if f.id == "unknown-key"]) == count // 2
        profile.create_stats()
        return sum(entry[1] for entry in profile.stats.values())  # type: ignore[attr-defined]

    few, many = calls(100), calls(400)
    assert many < 4.6 * few
