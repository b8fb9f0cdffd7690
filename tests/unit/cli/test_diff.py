"""`hpctl diff`: two environments, and a git revision against the working tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from declarations import hyperpod

from cli.main import run
from live.connection import UnreachableError
from live.revision import RevisionError, revision

ROOT = Path(__file__).parents[3]
ENVIRONMENT = """\
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    kubeconfig: kubeconfig
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 8}
"""
TEAM = "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nquota:\n  ml.p5.48xlarge: {instances: 2}\nweight: 10\n"


DAY = "2026-11-01"
"""When everything is committed, in UTC; in Kiritimati it is the day after."""
AS_OF = f"The base main is as of {DAY}, the day of its commit: what has ended since then counts as a change.\n"


def git(folder: Path, *arguments: str, when: str = "2026-11-02T06:00:00+14:00") -> str:
    named = {f"GIT_{who}_{what}": f"{what.lower()}@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    named["GIT_COMMITTER_DATE"] = when
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, env={**os.environ, **named}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with two environments and two teams, everything committed as `first`."""
    root = tmp_path / "repository"
    for folder in ("environments", "teams"):
        (root / folder).mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    (root / "Pulumi.live.yaml").write_text("config: {hyperpod-platform:environment: prod}\n")
    (root / "environments/dev.yaml").write_text(ENVIRONMENT.replace("count: 8", "count: 4"))
    (root / "environments/prod.yaml").write_text(ENVIRONMENT)
    for name in ("nlp", "vision"):
        (root / f"teams/{name}.yaml").write_text(TEAM)
    git(root, "init", "--quiet", "--initial-branch", "main")
    commit(root)
    git(root, "tag", "first")
    return root


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "change")


def hpctl(project: Path, *arguments: str) -> int:
    return run(["--project", str(project), "diff", *arguments])


def as_json(project: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert hpctl(project, *arguments, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_two_environments_side_by_side(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "dev", "live", "--exit-code") == 3
    out, err = capsys.readouterr()
    assert out.startswith("dev and prod: 1 instance group differs\n")
    assert "4 → 8" in out
    assert err == ""
    assert hpctl(project, "prod", "live", "--exit-code") == 0
    assert capsys.readouterr().out == "prod and prod: nothing differs\n"


def test_the_working_tree_counts_with_what_is_not_committed(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "--base", "main", "--exit-code") == 0
    assert capsys.readouterr().out == AS_OF + "dev: nothing differs\nprod: nothing differs\n"
    (project / "teams/nlp.yaml").write_text(TEAM.replace("instances: 2", "instances: 4"))
    (project / "teams/new.yaml").write_text(TEAM)
    (project / "teams/vision.yaml").unlink()
    found = as_json(project, capsys, "--base", "main", "--stack", "live")
    assert (found["before"], found["after"], found["differs"]) == ("main", "working tree", True)
    assert found["before_as_of"] == DAY
    (live,) = found["environments"]
    assert {(team["team"], team["what"]) for team in live["teams"]} == {("nlp", "changed"), ("new", "new"), ("vision", "removed")}
    guaranteed = {
        team["team"]: (amount["before"], amount["after"])
        for team in live["teams"]
        for amount in team["amounts"]
        if (amount["resource"], amount["measure"]) == ("nvidia.com/gpu", "guaranteed")
    }
    assert guaranteed == {"nlp": ("16", "32"), "new": ("0", "16"), "vision": ("16", "0")}
    assert [loss["what"] for loss in live["replaced_or_lost"]] == [
        "team vision: namespace hyperpod-ns-vision, queue hyperpod-ns-vision-clusterqueue"
    ]
    assert hpctl(project, "--base", "main", "--exit-code") == 3


def test_who_gains_stands_above_who_loses_with_the_totals_below(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "teams/nlp.yaml").write_text(TEAM.replace("instances: 2", "instances: 4"))
    (project / "teams/vision.yaml").write_text(TEAM.replace("instances: 2", "instances: 1"))
    assert hpctl(project, "--base", "first", "--stack", "prod") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    nlp = lines.index(["main", "ml.p5.48xlarge", "nvidia.com/gpu", "nlp", "16", "32", "+16", "24", "→", "40"])
    assert lines[nlp + 1] == ["nvidia.com/gpu", "vision", "16", "8", "−8", "24", "→", "12"]
    assert lines[nlp + 2] == ["nvidia.com/gpu", "all", "teams", "32", "40", "+8"]


def test_an_environment_of_one_side_only_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "environments/staging.yaml").write_text(ENVIRONMENT)
    (project / "environments/dev.yaml").unlink()
    assert hpctl(project, "--base", "main", "--exit-code") == 3
    _, *out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("dev: the environment is removed, with 1 cluster, 2 teams, 4 instances; what it has deployed stays")
    assert out[1:] == ["prod: nothing differs", "staging: the environment is new, with 1 cluster, 2 teams, 8 instances"]


def test_errors_of_a_side_are_its_findings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "teams/nlp.yaml").write_text(TEAM + "wieght: 3\n")
    assert hpctl(project, "--base", "main") == 1
    out, err = capsys.readouterr()
    assert out == AS_OF + "".join(f"{name}: can't be compared, for a side has errors\n" for name in ("dev", "prod"))
    assert "teams/nlp.yaml:6:1: error: unknown key `wieght`" in err
    assert err.rstrip().endswith("1 error")
    commit(project)
    (project / "teams/nlp.yaml").write_text(TEAM)
    assert hpctl(project, "--base", "main", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    (finding,) = document["environments"][0]["findings"]
    assert (finding["file"], document["environments"][0]["status"]) == ("main: teams/nlp.yaml", "errors")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "give two environments, or --base"),
        (("dev",), "give two environments"),
        (("dev", "prod", "--base", "main"), "give two environments"),
        (("dev", "prod", "--stack", "dev"), "--stack goes with --base"),
        (("dev", "prod", "--json", "--markdown"), "not both"),
        (("--base", "nowhere"), "git knows no revision `nowhere`; fetch it"),
        (("--base", "--output=/tmp/x"), "git knows no revision `--output=/tmp/x`"),
        (("--base", ""), "git knows no revision"),
    ],
)
def test_wrong_usage(project: Path, arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err


def test_an_unknown_environment_is_a_finding(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "dev", "prdo") == 1
    assert "there is no environment `prdo`" in capsys.readouterr().err


def test_without_git_or_a_repository(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (project / ".git").rename(project / ".not-git")
    assert hpctl(project, "--base", "main") == 4
    assert "git can't read a repository at" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(project))
    assert hpctl(project, "--base", "main") == 4
    assert "there is no `git` on PATH" in capsys.readouterr().err


def test_markdown_is_one_line_an_environment_with_tables_folded(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trap = 'description: "<img src=x> | `@everyone` **bold**"\n'
    (project / "teams/nlp.yaml").write_text(TEAM + trap)
    (project / "teams/vision.yaml").unlink()
    assert hpctl(project, "--base", "main", "--stack", "prod", "--markdown") == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == "### What changes: main → working tree"
    assert lines[2] == AS_OF.rstrip()
    assert lines[4].startswith("**prod**: 1 thing is replaced or lost, 1 team is removed")
    assert out.count("<details>") == out.count("</details>") >= 3
    assert lines.index("> [!WARNING]") < lines.index("<details><summary>Capacity (1)</summary>")
    (row,) = [line for line in lines if "teams.nlp.description" in line]
    assert row == "| teams.nlp.description |  | `<img src=x> \\| '@everyone' **bold**` |".replace("|  |", '| `""` |')
    assert hpctl(project, "--base", "main", "--markdown", "--stack", "dev") == 0
    git(project, "stash", "--quiet", "--include-untracked")
    assert hpctl(project, "--base", "main", "--markdown") == 0
    assert capsys.readouterr().out.splitlines()[-1] == "Nothing differs in dev, prod."


MANAGED = hyperpod("governance: {backend: managed}\n", settings="task_governance: {version: v1.6.0-eksbuild.1}")


def test_a_version_step_that_cannot_be_made_stands_open_and_in_the_headline(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "environments/prod.yaml").write_text(MANAGED)
    commit(project)
    (project / "environments/prod.yaml").write_text(MANAGED.replace("v1.6.0", "v1.3.0"))
    assert hpctl(project, "--base", "main", "--stack", "prod") == 0
    out = capsys.readouterr().out
    assert out.splitlines()[1].startswith("prod: 1 version step can't be made, ")
    assert "Version steps that can't be made" in out
    assert hpctl(project, "--base", "main", "--stack", "prod", "--markdown") == 0
    lines = capsys.readouterr().out.splitlines()
    warned = lines.index("> **Version steps that can't be made**")
    assert warned < next(index for index, line in enumerate(lines) if line.startswith("<details>"))
    (row,) = [line for line in lines if "is a downgrade" in line]
    assert lines.index(row) > warned
    assert "v1.6.0-eksbuild.1 | v1.3.0-eksbuild.1" in row
    (folded,) = [index for index, line in enumerate(lines) if line.startswith("<details><summary>Versions")]
    assert not any("downgrade" in line for line in lines[folded:])


def test_a_project_below_its_repository(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    below = project / "platform"
    below.mkdir()
    for name in ("environments", "teams", "Pulumi.yaml"):
        (project / name).rename(below / name)
    assert hpctl(below, "--base", "main") == 2
    assert "has no folder platform: the project wasn't there yet" in capsys.readouterr().err
    commit(project)
    (below / "teams/nlp.yaml").write_text(TEAM.replace("weight: 10", "weight: 20"))
    found = as_json(below, capsys, "--base", "HEAD", "--stack", "prod")
    assert found["environments"][0]["teams"][0]["values"][0] == {"field": "weight", "before": 10, "after": 20}


def test_a_revision_is_a_private_folder_of_declarations_and_is_removed(project: Path) -> None:
    (project / "boot scripts").mkdir()
    for file in ("boot scripts/on_create.sh", "other.txt"):
        (project / file).write_text("x")
    (project / "environments/dev.yaml").write_text(ENVIRONMENT + '# hyperpod: {lifecycle: {folder: "boot"}}\n# folder: ../..\n')
    (project / "boot").mkdir()
    (project / "boot/on_create.sh").write_text("x")
    commit(project)
    with revision(project, "HEAD") as found:
        folder = found.folder
        assert sorted(path.name for path in folder.iterdir()) == [
            "Pulumi.live.yaml",
            "Pulumi.yaml",
            "boot",
            "environments",
            "teams",
        ]
        assert (folder / "boot/on_create.sh").is_file()
        assert folder.stat().st_mode & 0o077 == 0
        assert folder.parent.stat().st_mode & 0o077 == 0
    assert not folder.parent.exists()
    with pytest.raises(RevisionError), revision(project, "HEAD:teams"):
        pass


@pytest.mark.parametrize("attributes", ["teams/nlp.yaml export-ignore", "teams export-ignore", "*.yaml export-subst"])
def test_attributes_for_archives_take_no_declaration_away_and_change_none(project: Path, attributes: str) -> None:
    """A team that the base lacks would count as new."""
    (project / ".gitattributes").write_text(f"{attributes}\n")
    text = TEAM + 'description: "$Format:%H$"\n'
    (project / "teams/nlp.yaml").write_text(text)
    commit(project)
    with revision(project, "HEAD") as found:
        assert sorted(path.name for path in (found.folder / "teams").iterdir()) == ["nlp.yaml", "vision.yaml"]
        assert (found.folder / "teams/nlp.yaml").read_text() == text


def test_names_that_are_no_plain_words_are_read_too(project: Path) -> None:
    for name in ("two words.yaml", ":(glob)*.yaml", "größe.yaml", "new\nline.yaml", "-n.yaml"):
        (project / "teams" / name).write_text(name)
    commit(project)
    with revision(project, "HEAD") as found:
        here = {path.name: path.read_bytes() for path in (project / "teams").iterdir()}
        assert {path.name: path.read_bytes() for path in (found.folder / "teams").iterdir()} == here


def test_a_tree_that_leads_out_of_the_folder_writes_nothing_there(project: Path) -> None:
    """Git makes no such tree itself, and reads one that somebody has made."""
    blob = git(project, "rev-parse", "HEAD:teams/nlp.yaml")

    def tree(*entries: tuple[str, str, str]) -> str:
        data = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(oid) for mode, name, oid in entries)
        command = ["git", "-C", str(project), "hash-object", "-t", "tree", "-w", "--literally", "--stdin"]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().strip()

    up = tree(("100644", "out.yaml", blob))
    top = tree(("40000", "teams", tree(("40000", "..", tree(("40000", "..", up))), ("100644", "nlp.yaml", blob))))
    with revision(project, git(project, "commit-tree", "-m", "trap", top)) as found:
        assert [path.name for path in found.folder.parent.rglob("*.yaml")] == ["nlp.yaml"]


def test_what_is_too_much_is_refused_before_it_is_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("live.revision.MOST_MIB", 1)
    (project / "lifecycle").mkdir()
    (project / "lifecycle/wheel").write_bytes(b"0" * (1 << 20))
    commit(project)
    with pytest.raises(UnreachableError, match="more than 1 MiB"), revision(project, "HEAD"):
        pass


def test_the_base_is_of_the_day_of_its_commit(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What has ended between the two goes with the change, whatever the change is about."""
    entry = "extra_quota: {paper: {quota: {ml.p5.48xlarge: {instances: 1}}, until: %s, reason: a paper is due}}\n"
    for until, gone in (("2026-11-01", True), ("2026-10-31", False), ("2999-01-01", False)):
        (project / "teams/nlp.yaml").write_text(TEAM + entry % until)
        commit(project)
        found = as_json(project, capsys, "--base", "main", "--stack", "prod")
        assert found["differs"] is gone
        told = [
            (team["team"], amount["before"], amount["after"])
            for team in found["environments"][0]["teams"]
            for amount in team["amounts"]
            if (amount["resource"], amount["measure"]) == ("nvidia.com/gpu", "guaranteed")
        ]
        assert told == ([("nlp", "24", "16")] if gone else [])
        assert hpctl(project, "dev", "prod") == 0
        assert "as of" not in capsys.readouterr().out


def test_a_commit_of_tomorrow_is_as_of_today(project: Path) -> None:
    git(project, "commit", "--quiet", "--allow-empty", "--message", "late", when="@4000000000 +0000")
    with revision(project, "HEAD") as found:
        assert found.day <= datetime.now(UTC).date()


def test_links_that_lead_out_of_the_repository_are_left_out(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(TEAM)
    (project / "teams/out.yaml").symlink_to(tmp_path / "secret.yaml")
    (project / "teams/up.yaml").symlink_to("../../secret.yaml")
    (project / "teams/same.yaml").symlink_to("nlp.yaml")
    (project / "teams/round.yaml").symlink_to("round.yaml")
    (project / "teams/none.yaml").symlink_to("no\nsuch\nfile blob 3")
    (project / "teams/far.yaml").symlink_to("/a\nb missing")
    commit(project)
    with revision(project, "HEAD") as found:
        assert sorted(path.name for path in (found.folder / "teams").iterdir()) == ["nlp.yaml", "same.yaml", "vision.yaml"]
        assert (found.folder / "teams/same.yaml").read_text() == TEAM
        assert not any(path.is_symlink() for path in found.folder.rglob("*"))


def test_declarations_that_are_links_to_others_of_the_repository(project: Path) -> None:
    (project / "shared").mkdir()
    (project / "teams").rename(project / "shared/teams")
    (project / "teams").symlink_to("shared/teams")
    commit(project)
    assert hpctl(project, "--base", "HEAD", "--exit-code") == 0
    with revision(project, "HEAD") as found:
        assert sorted(path.name for path in (found.folder / "teams").iterdir()) == ["nlp.yaml", "vision.yaml"]


def test_a_failure_of_git_is_no_half_of_the_declarations(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Teams that were not read would count as new."""
    (blob,) = [line.split()[2] for line in git(project, "ls-tree", "HEAD:teams").splitlines() if line.endswith("nlp.yaml")]
    loose = project / ".git/objects" / blob[:2] / blob[2:]
    content = loose.read_bytes()
    loose.unlink()
    with pytest.raises(UnreachableError, match=r"lacks teams/nlp.yaml: .* missing"), revision(project, "main"):
        pass
    loose.write_bytes(content)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UnreachableError, match="No space left"), revision(project, "main"):
        pass


def test_colours_can_be_switched_off_and_nothing_heavy_is_imported(project: Path) -> None:
    code = (
        "import sys; from cli.main import run;"
        f"code = run(['--no-color', '-C', {str(project)!r}, 'diff', 'dev', 'prod', '--exit-code']);"
        "assert code == 3, code;"
        "heavy = {'pulumi', 'kubernetes', 'boto3', 'grpc'} & sys.modules.keys(); assert not heavy, heavy"
    )
    environment = {**os.environ, "FORCE_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "\x1b[3" not in done.stdout
