"""`hpctl onboard`: a new team's file, what refuses it, and CODEOWNERS in step with the teams' owners."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TYPES, dns_labels

from cli.main import run
from config.codeowners import block, owners_of, reachable, rewritten
from config.load import Project
from config.writing import new_file, replace_file
from config.yamlsource import parse
from governance.onboarding import NewTeam, amounts_of, team_text, usual_weight
from governance.plan import plan
from governance.trial import trial

ROOT = Path(__file__).parents[3]
ENVIRONMENT = """\
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    kubeconfig: kubeconfig
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 4}
      cpu: {instance_type: ml.m5.4xlarge, count: 2}
governance:
  overcommit: forbid
  priority_classes:
    training: {weight: 70}
    inference: {weight: 90}
"""
TEAM = 'apiVersion: hyperpod-platform/v1\nowners: ["@example/nlp"]\nquota:\n  ml.p5.48xlarge: {instances: 1}\nweight: 30\n'
HAND = "# by hand\r\n* @example/platform\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    for folder, file, text in (
        ("environments", "dev.yaml", ENVIRONMENT),
        ("environments", "prod.yaml", ENVIRONMENT.replace("count: 4", "count: 8")),
        ("teams", "nlp.yaml", TEAM),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / file).write_text(text)
    return tmp_path


def onboard(project: Path, *arguments: str) -> int:
    return run(["--project", str(project), "onboard", *arguments])


def file(project: Path, name: str = "vision") -> Path:
    return project / "teams" / f"{name}.yaml"


def said(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().err


OWNER = ("--owner", "@example/vision")
ASKED = (*OWNER, "--quota", "ml.p5.48xlarge=1", "--weight", "20")


def test_a_team_is_written_and_passes_the_checks(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onboard(project, "vision", *ASKED, "--quota", "ml.m5.4xlarge=vcpu:8", "--priority", "training") == 0
    err = said(capsys)
    assert "in dev, prod: nothing found" in err
    assert "dev, cluster main: ml.p5.48xlarge: 24 → 16 of 32 nvidia.com/gpu without an owner" in err
    assert "prod, cluster main: ml.p5.48xlarge: 56 → 48 of 64 nvidia.com/gpu without an owner" in err
    assert "dev, cluster main: ml.m5.4xlarge: 32 → 24 of 32 cpu without an owner" in err
    assert "git add teams/vision.yaml" in err
    assert run(["--project", str(project), "check"]) == 0
    team = Project(project).load("dev").teams["vision"]
    assert (team.owners, team.weight, team.default_priority) == (("@example/vision",), 20, "training")
    assert team.quota["ml.p5.48xlarge"].instances == 1
    assert plan(Project(project).load("prod")).clusters["main"].teams["vision"].weight == 20
    assert [path.name for path in (project / "teams").iterdir() if path.name.startswith(".")] == []


def test_what_would_fail_the_checks_is_refused_and_nothing_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(project.rglob("*"))
    assert onboard(project, "vision", *OWNER, "-q", "ml.p5.48xlarge=4", "-q", "ml.p5.48xlrge=1", "--department", "none") == 1
    err = said(capsys)
    assert "did you mean `ml.p5.48xlarge`?" in err
    assert " |   ml.p5.48xlrge: {instances: 1}" in err, "the line that would have been written"
    assert "nothing was written" in err
    assert onboard(project, "vision", *OWNER, "-q", "ml.p5.48xlarge=4") == 1
    err = said(capsys)
    assert "environments/dev.yaml" in err
    assert "40 of nvidia.com/gpu are guaranteed" in err
    assert "environments/prod.yaml" not in err, "there it fits"
    assert sorted(project.rglob("*")) == before


def test_where_the_team_is_not_nothing_refuses_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onboard(project, "vision", *OWNER, "-q", "ml.p5.48xlarge=4", "--weight", "5", "--only", "prod") == 0
    assert "in prod: nothing found" in said(capsys)


def test_an_error_that_was_there_before_refuses_and_is_not_the_teams(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sibling with an error is out of the plan: what fits beside it now may not once it is mended."""
    file(project, "nlp").write_text(TEAM.replace("weight: 30", "weight: 999"))
    asked = (*OWNER, "-q", "ml.p5.48xlarge=8", "--weight", "5", "--only", "prod")
    assert onboard(project, "vision", *asked) == 1
    err = said(capsys)
    assert "teams/nlp.yaml:5:9: error: weight: `999` is out of range" in err
    assert "mend this first: at most 100" in err
    assert "teams/vision.yaml: nothing found, and 1 error without the team; nothing was written" in err
    assert not file(project).exists()
    file(project, "nlp").write_text(TEAM)
    assert onboard(project, "vision", *asked) == 1
    assert "72 of nvidia.com/gpu are guaranteed" in said(capsys)
    file(project, "nlp").write_text(TEAM.replace("instances: 1", "instances: 0"))
    assert onboard(project, "vision", *asked) == 0
    assert run(["--project", str(project), "check"]) == 0


def test_new_errors_and_earlier_ones_are_told_together(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file(project, "nlp").write_text(TEAM + "wieght: 3\n")
    assert onboard(project, "vision", *OWNER, "-q", "ml.p5.48xlrge=1") == 1
    err = said(capsys)
    assert "mend this first: did you mean `weight`?" in err
    assert "\n    did you mean `ml.p5.48xlarge`?" in err, "what the team brings along needs no mending first"
    assert "teams/vision.yaml: 1 error, and 1 error without the team; nothing was written" in err


@pytest.mark.parametrize("mistake", ["governence: {}\n", "  nonsense: [\n"])
def test_an_error_refuses_only_where_the_team_would_be(mistake: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whether the environment can't be read at all, or has an error in its plan."""
    (project / "environments" / "prod.yaml").write_text(ENVIRONMENT + mistake)
    assert onboard(project, "vision", *ASKED, "--only", "dev") == 0
    assert "in dev: nothing found" in said(capsys)
    assert run(["--project", str(project), "check", "--stack", "dev"]) == 0
    assert onboard(project, "robots", *ASKED, "--only", "prod") == 1
    assert "teams/robots.yaml: nothing found, and 1 error without the team" in said(capsys)


def test_an_overcommitted_environment_without_the_team_refuses_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "environments" / "prod.yaml").write_text(ENVIRONMENT.replace("count: 4", "count: 0"))
    assert run(["--project", str(project), "check", "--stack", "prod"]) == 1
    capsys.readouterr()
    assert onboard(project, "vision", *ASKED, "--only", "dev") == 0
    assert "in dev: nothing found" in said(capsys)
    assert onboard(project, "robots", *OWNER, "-q", "ml.m5.4xlarge=1") == 1
    assert "mend this first" in said(capsys)


def test_an_error_that_is_waived_refuses_nobody(project: Path) -> None:
    waiver = "waivers: {overcommit: {reason: nodes come next week, until: 2099-01-01}}\n"
    for name in ("dev", "prod"):
        (project / "environments" / f"{name}.yaml").write_text(ENVIRONMENT.replace("count: 4", "count: 0") + waiver)
    assert run(["--project", str(project), "check"]) == 0
    assert onboard(project, "robots", *OWNER, "-q", "ml.m5.4xlarge=1") == 0


def test_warnings_only_inform(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onboard(project, "vision", *OWNER, "-q", "ml.p5.48xlarge=1", "--weight", "0") == 0
    assert "warning" in said(capsys)
    assert file(project).is_file()


def test_guarantees_above_capacity_are_said_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("dev", "prod"):
        (project / "environments" / f"{name}.yaml").write_text(ENVIRONMENT.replace("overcommit: forbid", "overcommit: allow"))
    assert onboard(project, "vision", *OWNER, "-q", "ml.p5.48xlarge=accelerators:25", "--weight", "5") == 0
    place = "dev, cluster main: ml.p5.48xlarge"
    assert f"{place}: 24 without an owner → 1 above the capacity of 32 nvidia.com/gpu" in said(capsys)
    assert onboard(project, "robots", *OWNER, "-q", "ml.p5.48xlarge=accelerators:2", "--weight", "5") == 0
    assert f"{place}: 1 → 3 above the capacity of 32 nvidia.com/gpu" in said(capsys)


def test_an_owner_who_cannot_be_asked_is_told_at_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--owner", "nobody", "-q", "ml.p5.48xlarge=1", "--weight", "5")
    assert onboard(project, "robots", *asked) == 0
    assert "owners-unreachable" not in said(capsys), "without a block, no file leaves anybody out"
    assert onboard(project, "--codeowners") == 0
    file(project, "robots").unlink()
    assert onboard(project, "robots", *asked) == 0
    err = said(capsys)
    assert "teams/robots.yaml:3:10: advice: owners: `nobody` is neither a handle nor an e-mail address" in err
    assert "in dev, prod: 1 piece of advice" in err


@pytest.mark.parametrize("name", ["../escaped", "Vision", "a/b", "a" * 41, ""])
def test_a_name_that_no_team_can_have_is_refused(name: str, project: Path) -> None:
    before = sorted(project.parent.rglob("*"))
    assert onboard(project, name, *ASKED) in (1, 2)
    assert sorted(project.parent.rglob("*")) == before


def test_a_file_that_is_there_is_never_touched(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onboard(project, "nlp", *ASKED) == 1
    err = said(capsys)
    assert "[team-exists]" in err
    assert "choose another name" in err
    assert file(project, "nlp").read_text() == TEAM


def test_a_dry_run_prints_the_file_and_writes_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(project.rglob("*"))
    assert onboard(project, "vision", *ASKED, "--dry-run") == 0
    out, err = capsys.readouterr()
    document, findings = parse(out, "teams/vision.yaml")
    assert not findings
    assert document.data["quota"] == {"ml.p5.48xlarge": {"instances": 1}}
    assert "24 → 16" in err
    assert sorted(project.rglob("*")) == before
    assert onboard(project, "vision", *OWNER, "-q", "ml.p5.48xlarge=9", "--dry-run") == 1


def test_nobody_is_asked_where_nobody_answers(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert onboard(project, "vision", "--weight", "3") == 2
    assert "--owner, --quota are missing" in said(capsys)
    assert onboard(project) == 2
    assert "TEAM, --owner, --quota" in said(capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        ("-q", "ml.p5.48xlarge"),
        ("-q", "ml.p5.48xlarge=two"),
        ("-q", "ml.p5.48xlarge=gpus:2"),
        ("-q", "ml.p5.48xlarge=1", "-q", "ml.p5.48xlarge=2"),
        ("-q", "ml.p5.48xlarge=1", "--description", "a\x1b[31mb"),
        ("-q", "ml.p5.48xlarge=1", "--weight", "much"),
        ("-q", "ml.p5.48xlarge=1", "--codeowners"),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...], project: Path) -> None:
    assert onboard(project, "vision", *OWNER, *arguments) == 2
    assert not file(project).exists()


def test_a_terminal_is_asked_for_what_is_missing(project: Path) -> None:
    """On a real terminal: quota and what else isn't given; an empty answer takes the default, or leaves a setting out."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cli", "--project", str(project), "onboard", "vision", *OWNER, "--sharing", "lend"]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, text=True) as process:
        os.close(theirs)
        os.write(ours, b"ml.p5.48xlarge=1 ml.m5.4xlarge=vcpu:2.5\nSees: things\n\ntraining\n")
        out, err = process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0, err
    assert out == ""
    assert "Priority class of jobs (inference, training)" in err
    assert "Sharing" not in err
    document, _ = parse(file(project).read_text(), "teams/vision.yaml")
    assert document.data == {
        "apiVersion": "hyperpod-platform/v1",
        "owners": ["@example/vision"],
        "description": "Sees: things",
        "quota": {"ml.p5.48xlarge": {"instances": 1}, "ml.m5.4xlarge": {"vcpu": 2.5}},
        "weight": 30,
        "sharing": "lend",
        "default_priority": "training",
    }


def test_the_weight_that_is_proposed_is_the_usual_one(project: Path) -> None:
    for name, weight in (("a", "5"), ("b", "true"), ("c", "90")):
        file(project, name).write_text(TEAM.replace("30", weight))
    assert usual_weight(Project(project)) == 30


def test_the_schema_is_named_where_there_is_one(project: Path) -> None:
    (project / "schemas").mkdir()
    (project / "schemas" / "team.json").write_text("{}")
    assert onboard(project, "vision", *ASKED) == 0
    assert file(project).read_text().startswith("# yaml-language-server: $schema=../schemas/team.json\n")


@pytest.mark.parametrize(
    ("text", "kind", "amounts"),
    [
        ("ml.p5.48xlarge=2", "ml.p5.48xlarge", {"instances": 2}),
        ("p5=instances:2", "p5", {"instances": 2}),
        ("nvidia=accelerators:8, vcpu:1.5", "nvidia", {"accelerators": 8, "vcpu": 1.5}),
        ("a=mig-1g.10gb:4,memory_gib:3", "a", {"partitions": {"mig-1g.10gb": 4}, "memory_gib": 3}),
    ],
)
def test_quotas_as_options_give_them(text: str, kind: str, amounts: dict[str, Any]) -> None:
    assert amounts_of(text) == (kind, amounts)


@pytest.mark.parametrize("text", ["", "=", "a", "a=", "=2", "a=1.5", "a=-1", "a=x:1", "a=1,2", "a=vcpu:1e3", "a=vcpu:", "a=:1"])
def test_other_quotas_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        amounts_of(text)


words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12) | st.sampled_from(
    ["yes", "null", "1.30", "0x1", "- a", "a: b", "a #b", "@org/team", "", "'", '"', "a, b", "2026-12-31", "é ü", "日本"]
)
requests = st.builds(
    NewTeam,
    name=dns_labels(),
    owners=st.lists(words, min_size=1, max_size=3).map(tuple),
    quota=st.dictionaries(
        st.sampled_from(TYPES) | words,
        st.one_of(
            st.fixed_dictionaries({"instances": st.integers(0, 99)}),
            st.fixed_dictionaries({"vcpu": st.integers(1, 4000).map(lambda n: n / 8), "partitions": st.just({"mig-1g.10gb": 2})}),
        ),
        max_size=3,
    ),
    description=st.none() | words,
    weight=st.none() | st.integers(0, 100),
    sharing=st.none() | st.sampled_from(["lend", "dont_lend", "lend_and_borrow"]),
    borrow_limit=st.none() | st.integers(0, 500),
    priority=st.none() | words,
    department=st.none() | words,
    groups=st.lists(words, max_size=2).map(tuple),
    iam_roles=st.dictionaries(st.just("") | dns_labels(), st.lists(words, min_size=1, max_size=2).map(tuple), max_size=2),
    only=st.lists(dns_labels(), max_size=2).map(tuple),
)


@given(requests, st.sampled_from(["", "../schemas/team.json"]))
def test_the_text_says_what_is_asked_for_whatever_the_words(team: NewTeam, schema: str) -> None:
    document, findings = parse(team_text(team, schema), "teams/a.yaml")
    assert findings == []
    assert document.data == team.data()


def test_every_setting_that_is_left_out_stands_as_a_comment_that_would_be_right(project: Path) -> None:
    bare = team_text(NewTeam("vision", ("a@example.com",)))
    lines = [
        line.removeprefix("# ") if line.startswith("# ") and ": " in line.split("#")[1] else line for line in bare.splitlines()
    ]
    text = "\n".join(line for line in lines if not line.startswith(("department", "Changes")))
    found = trial(Project(project), "vision", text.replace("[prod]", "[dev, prod]") + "\n")
    assert [finding.message for finding in found.findings if finding.severity == "error"] == []
    assert found.environments == ("dev", "prod")
    assert len(parse(text, "a")[0].data) == 10


def test_codeowners_follows_a_new_team_and_leaves_what_people_wrote(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / ".github" / "CODEOWNERS"
    assert onboard(project, "--codeowners", "--dry-run") == 0
    assert "/teams/nlp.yaml @example/nlp\n" in capsys.readouterr().out
    assert not path.exists()
    path.parent.mkdir()
    path.write_bytes(HAND.encode())
    assert run(["--project", str(project), "check"]) == 0
    assert "codeowners" not in said(capsys), "without a block, the file is nobody's business"
    assert onboard(project, "--codeowners") == 0
    assert path.read_bytes().startswith(HAND.encode().rstrip())
    path.write_bytes(path.read_bytes() + b"/docs @example/writers\n")
    assert onboard(project, "vision", *ASKED) == 0
    assert "git add teams/vision.yaml .github/CODEOWNERS" in said(capsys)
    text = path.read_bytes().decode()
    assert text.startswith(HAND.rstrip())
    assert text.endswith("/docs @example/writers\n")
    assert "/teams/nlp.yaml @example/nlp\n/teams/vision.yaml @example/vision\n" in text
    assert run(["--project", str(project), "check"]) == 0
    assert "codeowners-stale" not in said(capsys)


def test_codeowners_out_of_step_is_a_warning_at_its_block(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = project / ".github" / "CODEOWNERS"
    replace_file(path, HAND)
    assert onboard(project, "--codeowners") == 0
    file(project, "nlp").write_text(TEAM.replace("[", "[someone, ops@example.com, "))
    capsys.readouterr()
    assert run(["--project", str(project), "check", "--json"]) == 0
    stale, advice = json.loads(capsys.readouterr().out)["findings"]
    assert (stale["id"], stale["severity"], stale["file"], stale["line"]) == (
        "codeowners-stale",
        "warning",
        ".github/CODEOWNERS",
        4,
    )
    assert stale["docs"]
    assert (advice["id"], advice["severity"], advice["file"]) == ("owners-unreachable", "advice", "teams/nlp.yaml")
    assert (advice["line"], advice["column"]) == (2, 10)
    assert onboard(project, "--codeowners") == 0
    assert "/teams/nlp.yaml ops@example.com @example/nlp\n" in path.read_text()


def test_codeowners_of_a_project_inside_a_repository_stands_at_its_root(project: Path) -> None:
    inner = project / "ml platform"
    inner.mkdir()
    for name in ("Pulumi.yaml", "environments", "teams"):
        (project / name).rename(inner / name)
    (project / ".git").mkdir()
    assert onboard(inner, "--codeowners") == 0
    assert "/ml\\ platform/teams/nlp.yaml @example/nlp\n" in (project / ".github" / "CODEOWNERS").read_text()


def test_a_codeowners_that_cannot_be_read_is_a_finding(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / ".github").mkdir()
    (project / ".github" / "CODEOWNERS").write_bytes(b"\xff\xfe")
    assert run(["--project", str(project), "check"]) == 1
    assert ".github/CODEOWNERS:1:1: error: cannot read the file" in said(capsys)
    assert onboard(project, "vision", *ASKED) == 1
    assert not file(project).exists()


def test_the_projects_own_codeowners_is_in_step() -> None:
    text = (ROOT / ".github" / "CODEOWNERS").read_text()
    teams = {path.stem: owners_of(parse(path.read_text(), path.name)[0].data) for path in ROOT.glob("teams/*.yaml")}
    assert len(teams) == 8
    assert text == rewritten(text, block(teams))


@pytest.mark.parametrize("owner", ["@example", "@example/team", "@a-b/c.d_e", "a.b+c@example.com"])
def test_owners_whom_a_code_host_can_ask(owner: str) -> None:
    assert reachable(owner)


@pytest.mark.parametrize(
    "owner", ["example", "@", "@a/b/c", "@-a", "a@b", "a b@example.com", "@a b", "a@example.com\n", "# a", ""]
)
def test_owners_whom_it_cannot(owner: str) -> None:
    assert not reachable(owner)


def test_owners_of_an_environments_part_count_too() -> None:
    data = {"owners": ["@a", "b@c.d"], "environments": {"prod": {"owners": ["@e", "@a"]}, "dev": None}}
    assert owners_of(data) == ["@a", "b@c.d", "@e"]
    assert owners_of([]) == owners_of({"owners": "x", "environments": []}) == []


lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="<"), max_size=60)


@given(
    lines,
    lines,
    st.dictionaries(dns_labels(), st.just(["@a"]), max_size=3),
    st.dictionaries(dns_labels(), st.just(["@b"]), max_size=3),
)
def test_what_stands_outside_of_the_block_stays(
    before: str, after: str, one: dict[str, list[str]], two: dict[str, list[str]]
) -> None:
    text = f"{before}\n{block(one)}{after}"
    assert rewritten(text, block(two)) == f"{before}\n{block(two)}{after}"
    first = rewritten(before, block(one))
    assert first.startswith(before.rstrip())
    assert rewritten(first, block(two)) == rewritten(before, block(two))


def test_a_disk_that_takes_nothing_is_told(
    project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("config.writing.tempfile.mkstemp", full)
    assert onboard(project, "vision", *ASKED) == 4
    assert "cannot write teams/vision.yaml: no space left on device" in said(capsys)
    assert onboard(project, "--codeowners") == 4


def test_files_are_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a" / "b.yaml"
    new_file(path, "one\n")
    with pytest.raises(FileExistsError):
        new_file(path, "two\n")
    with monkeypatch.context() as patched:  # a file system without links
        patched.setattr("config.writing.os.link", lambda *_: (_ for _ in ()).throw(OSError(1, "Operation not permitted")))
        new_file(path.with_name("c.yaml"), "other\n")
        with pytest.raises(FileExistsError):
            new_file(path, "two\n")
    assert path.with_name("c.yaml").read_text() == "other\n"
    path.with_name("c.yaml").unlink()
    path.chmod(0o600)

    def fails(self: Path, target: Path) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", fails)
        with pytest.raises(OSError, match="no room"):
            replace_file(path, "three\n")
    assert (path.read_text(), [p.name for p in path.parent.iterdir()]) == ("one\n", ["b.yaml"])
    replace_file(path, "four\n")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("four\n", 0o600)
