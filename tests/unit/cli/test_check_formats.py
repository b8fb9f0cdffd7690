"""How `hpctl check` tells what it found: for people with the line itself, for programs, for code hosts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cli.main import run
from config.findings import Finding, Severity, Where, by_place
from config.repository import in_repository, prefix_of
from config.rules import rules
from reports.annotations import commands
from reports.excerpt import Sources, excerpt
from reports.sarif import log

ROOT = Path(__file__).parents[3]
ENVIRONMENT = """\
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    kubeconfig: kubeconfig
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 2}
"""
WAIVER = "waivers: {weight-zero: {reason: takes what nobody wants, until: '2999-01-01'}}\n"
TEAM = "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nquota:\n  ml.p5.48xlarge: {instances: 2}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    for folder, file, text in (("environments", "dev.yaml", ENVIRONMENT), ("teams", "nlp.yaml", TEAM)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(text)
    return tmp_path


def team(project: Path, text: str) -> None:
    (project / "teams" / "nlp.yaml").write_text(text)


def check(project: Path, *arguments: str) -> int:
    return run(["--project", str(project), "check", *arguments])


def test_a_finding_shows_its_line_with_a_mark_below_the_word(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    team(project, TEAM.replace("48xlarge", "48xlrge"))
    assert check(project) == 1
    lines = capsys.readouterr().err.splitlines()
    at = lines.index("     4 |   ml.p5.48xlrge: {instances: 2}")
    assert lines[at - 1].startswith("teams/nlp.yaml:4:3: error: ")
    assert lines[at - 1].endswith("[instance-type-unknown]")
    assert lines[at + 1] == "       |   ^^^^^^^^^^^^^"
    assert lines[at + 2].strip() == "did you mean `ml.p5.48xlarge`?"


@pytest.mark.parametrize(
    ("line", "column", "text", "mark"),
    [
        ("weight: 300", 9, "weight: 300", "        ^^^"),
        ("\tweight: x", 2, "    weight: x", "    ^^^^^^"),
        ("日本語: x", 6, "日本語: x", "        ^"),
        ("a: 日本 b", 4, "a: 日本 b", "   ^^^^"),
        ('a: "two words" b', 4, 'a: "two words" b', "   ^^^^^^^^^^^"),
        ("a: {b: 1}", 4, "a: {b: 1}", "   ^"),
        ("a: arn:aws:x, b", 4, "a: arn:aws:x, b", "   ^^^^^^^^^"),
        ("a\x1b[31m: b", 9, r"a\x1b[31m: b", "           ^"),
        ("a: b", 40, "a: b", "    ^"),
        ("", 1, "", "^"),
    ],
)
def test_the_mark_stands_below_the_place(line: str, column: int, text: str, mark: str) -> None:
    shown = excerpt(line, Where("teams/a.yaml", 1, column), 80)
    assert (shown.text, shown.mark) == (text, mark)


@given(
    st.text(
        st.one_of(st.characters(exclude_characters="\n\r\x85\u2028\u2029"), st.sampled_from("a: \t日\x1b{}'\"")), max_size=200
    ),
    st.integers(0, 220),
    st.integers(0, 100),
)
def test_any_line_fits_its_width_and_carries_nothing_that_a_terminal_acts_on(line: str, column: int, width: int) -> None:
    shown = excerpt(line, Where("teams/a.yaml", 1, column), width)
    assert shown.text.isprintable()
    assert cell_len(shown.text) <= max(width, 20)
    assert set(shown.mark) <= {" ", "^"}
    assert shown.mark.count("^") >= 1
    if line[column - 1 : column].isalpha() and column > 0:  # the mark stands below the character itself
        before = shown.mark.index("^")
        fitting = [at for at in range(len(shown.text) + 1) if cell_len(shown.text[:at]) == before]
        assert any(shown.text[at:].startswith(line[column - 1]) for at in fitting)


def test_a_long_line_is_cut_around_the_mark() -> None:
    line = "a: {" + ", ".join(f"key{n}: value{n}" for n in range(50)) + "}"
    shown = excerpt(line, Where("teams/a.yaml", 1, line.index("key30") + 1), 60)
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    at = shown.mark.index("^")
    assert shown.text[at : at + 5] == "key30"


def test_only_data_files_below_the_project_are_shown(project: Path) -> None:
    (project / "Pulumi.dev.yaml").write_text("config: {secret: hidden}\n")
    (project / "kubeconfig").write_text("token: hidden\n")
    (project.parent / "outside.yaml").write_text("token: hidden\n")
    (project / "teams" / "link.yaml").symlink_to(project.parent / "outside.yaml")
    (project / "teams" / "folder.yaml").mkdir()
    sources = Sources(project)
    files = (
        "Pulumi.dev.yaml",
        "kubeconfig",
        "teams/../../outside.yaml",
        "teams/link.yaml",
        "teams/folder.yaml",
        "teams/none.yaml",
    )
    assert [sources.excerpt(Where(file, 1, 1)) for file in files] == [None] * len(files)
    assert sources.excerpt(Where("teams/nlp.yaml", 99, 1)) is None
    assert sources.excerpt(Where("teams/nlp.yaml", 2, 1)) is not None


def test_a_file_that_is_gone_is_told_without_its_line(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(project, "--stack", "prod") == 1
    err = capsys.readouterr().err
    assert "there is no environment `prod`" in err
    assert " | " not in err


def test_a_rules_page_is_named_once_for_its_findings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expired = WAIVER.replace("2999", "2020")
    (project / "environments" / "dev.yaml").write_text(ENVIRONMENT + expired)
    team(project, TEAM + expired)
    assert check(project) == 0
    err = capsys.readouterr().err
    assert err.count("[waiver-expired]") == 2
    assert err.count("see docs/checks/waivers.md#waiver-expired") == 1


def test_waived_findings_are_counted_apart_and_shown_on_demand(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "environments" / "dev.yaml").write_text(ENVIRONMENT + WAIVER)
    team(project, TEAM.replace("instances: 2", "instances: 1"))
    (project / "teams" / "other.yaml").write_text(TEAM.replace("instances: 2", "instances: 1") + "weight: 10\n")
    assert check(project) == 0
    err = capsys.readouterr().err
    assert "checked dev: 1 waived" in err
    assert "[weight-zero]" not in err
    assert check(project, "--show-waived") == 0
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "[weight-zero]" in line]
    assert line.startswith("teams/nlp.yaml:")
    assert ": waived: " in line
    assert line.endswith("(takes what nobody wants)")
    assert check(project, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["counts"] == {"error": 0, "warning": 0, "advice": 0, "waived": 1}


def test_json_has_the_environments_the_counts_and_every_finding(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    team(project, TEAM + "wieght: 3\n")
    assert check(project, "--format", "json") == 1
    long = capsys.readouterr().out
    assert check(project, "--json") == 1
    assert capsys.readouterr().out == long
    document = json.loads(long)
    assert document["environments"] == ["dev"]
    assert document["counts"] == {"error": 1, "warning": 0, "advice": 0, "waived": 0}
    (finding,) = document["findings"]
    assert (finding["file"], finding["line"], finding["column"], finding["waived"]) == ("teams/nlp.yaml", 5, 1, "")


def test_a_stack_file_that_cannot_be_read_is_a_finding_in_every_format(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "Pulumi.dev.yaml").write_text("config: [")
    assert check(project, "--stack", "dev", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["counts"]["error"] == 1
    assert document["findings"][0]["file"] == "Pulumi.dev.yaml"


def test_an_unknown_format_is_wrong_usage(project: Path) -> None:
    assert check(project, "--format", "xml") == 2


def test_annotations_stand_at_the_lines(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    team(project, TEAM + "wieght: 3\n")
    assert check(project, "--format", "github") == 1
    out, err = capsys.readouterr()
    assert out == ("::error file=teams/nlp.yaml,line=5,col=1,title=unknown-key::unknown key `wieght`%0Adid you mean `weight`?\n")
    assert "checked dev: 1 error" in err


def test_annotations_escape_what_the_runner_reads_and_leave_out_what_is_waived() -> None:
    found = [
        Finding("one", Severity.WARNING, Where("teams/a,b:c%.yaml", 2, 3), "50 % of all: a, b"),
        Finding("two", Severity.ADVICE, Where("environments/"), "none", "write one"),
        Finding("three", Severity.ERROR, Where("teams/a.yaml", 1, 1), "set aside", waived="a reason"),
    ]
    assert list(commands(found)) == [
        "::warning file=teams/a%2Cb%3Ac%25.yaml,line=2,col=3,title=one::50 %25 of all: a, b",
        "::notice file=environments/,title=two::none%0Awrite one",
    ]


def test_paths_are_told_from_the_repositorys_root(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = project / "platform"
    inner.mkdir()
    for name in ("Pulumi.yaml", "environments", "teams"):
        (project / name).rename(inner / name)
    (project / ".git").mkdir()
    assert prefix_of(inner) == "platform"
    assert in_repository("../.github/CODEOWNERS", "platform") == ".github/CODEOWNERS"
    team(inner, TEAM + "wieght: 3\n")
    assert check(inner, "--format", "github") == 1
    assert capsys.readouterr().out.startswith("::error file=platform/teams/nlp.yaml,line=5,")
    assert check(inner, "--format", "sarif") == 1
    (result,) = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "platform/teams/nlp.yaml"


def sarif(project: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    check(project, "--format", "sarif")
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert document["version"] == "2.1.0"
    (made,) = document["runs"]
    return dict(made)


def test_sarif_has_a_result_for_each_finding_and_a_rule_for_each_result(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    team(project, TEAM.replace("instances: 2", "instances: 3") + "weihgt: 1\nwaivers: {overcomit: {reason: x, until: y}}\n")
    made = sarif(project, capsys)
    stated = made["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in stated} >= set(rules())
    assert len({rule["id"] for rule in stated}) == len(stated)
    described = next(rule for rule in stated if rule["id"] == "waiver-expired")
    known = rules()["waiver-expired"]
    assert described["shortDescription"]["text"] == known.title
    assert described["fullDescription"]["text"] == known.why
    assert known.remedy in described["help"]["markdown"]
    assert described["defaultConfiguration"] == {"level": "warning"}
    assert len(made["results"]) >= 3
    for result in made["results"]:
        assert stated[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == "error"
        place = result["locations"][0]["physicalLocation"]
        assert unquote(place["artifactLocation"]["uri"]) == "teams/nlp.yaml"
        assert place["region"]["startLine"] >= 4
        assert place["region"]["startColumn"] >= 1


def test_sarif_tells_what_is_waived_and_why() -> None:
    where = Where("teams/a b.yaml", 3, 1)
    found = [
        Finding("codeowners-stale", Severity.WARNING, where, "one", "do it", waived="it is a test"),
        Finding("no-such-rule", Severity.ADVICE, Where("environments/"), "two"),
    ]
    made = log(found, "1.2.3")["runs"][0]
    one, two = made["results"]
    assert one["suppressions"] == [{"kind": "external", "status": "accepted", "justification": "it is a test"}]
    assert one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "teams/a%20b.yaml"
    assert one["message"] == {"text": "one. Do it."}
    assert "suppressions" not in two
    assert "region" not in two["locations"][0]["physicalLocation"]
    assert (two["level"], made["tool"]["driver"]["rules"][two["ruleIndex"]]) == ("note", {"id": "no-such-rule"})


def test_fingerprints_stay_when_lines_move_and_differ_otherwise() -> None:
    def prints(*found: Finding) -> list[str]:
        return [r["partialFingerprints"]["finding/v1"] for r in log(by_place(found), "1")["runs"][0]["results"]]

    def at(line: int, text: str = "wrong", file: str = "teams/a.yaml") -> Finding:
        return Finding("unknown-key", Severity.ERROR, Where(file, line, 1), text)

    assert prints(at(3), at(9)) == prints(at(4), at(20))
    different = prints(at(3), at(9), at(5, "bad"), at(3, file="teams/b.yaml"))
    assert len(set(different)) == len(different)


def test_a_rule_is_explained_and_a_misspelt_one_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--explain", "waiver-expired"]) == 0
    out = capsys.readouterr().out
    assert rules()["waiver-expired"].why.split(".")[0] in " ".join(out.split())
    assert run(["check", "--explain", "waiver-expird"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "did you mean `waiver-expired`?" in err
    assert run(["check", "--explain", "does-not-exist"]) == 2
    err = capsys.readouterr().err
    assert "did you mean" not in err
    assert "findings name their rule in brackets" in " ".join(err.split())


def test_excerpts_have_no_colours_where_nobody_looks(project: Path) -> None:
    team(project, TEAM + "wieght: 3\n")
    command = [sys.executable, "-m", "cli", "--project", str(project), "check"]
    for environment, coloured in (({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False), ({}, False)):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": "", **environment}, cwd=ROOT)
        assert done.returncode == 1
        assert ("\x1b[31m" in done.stderr or "\x1b[1;31m" in done.stderr) is coloured, environment
        assert "wieght" in done.stderr
