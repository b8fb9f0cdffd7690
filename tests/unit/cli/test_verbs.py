"""The command line: what it prints, where, and with which exit code. Nothing here needs an engine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli.main import run

ROOT = Path(__file__).parents[3]
ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    kubeconfig: kubeconfig
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 2}
"""
TEAM = "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nquota:\n  ml.p5.48xlarge: {accelerators: 2}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    for folder, file, text in (("environments", "dev.yaml", ENVIRONMENT), ("teams", "nlp.yaml", TEAM)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(text)
    return tmp_path


def hpctl(project: Path, *arguments: str) -> int:
    return run(["--project", str(project), *arguments])


def test_a_right_declaration_passes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "check") == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "checked dev: nothing found" in err


def test_every_finding_of_every_file_is_shown_with_its_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "teams" / "nlp.yaml").write_text(TEAM.replace("48xlarge", "48xlrge") + "wieght: 3\n")
    (project / "teams" / "bad.yaml").write_text("a: [")
    (project / "environments" / "dev.yaml").write_text(ENVIRONMENT.replace("count: 2", "count: two"))
    assert hpctl(project, "check") == 1
    err = capsys.readouterr().err
    for expected in (
        "environments/dev.yaml:9:",
        "teams/bad.yaml:",
        "teams/nlp.yaml:4:3: error:",
        "did you mean `ml.p5.48xlarge`?",
        "teams/nlp.yaml:5:1: error: unknown key `wieght`",
        "did you mean `weight`?",
    ):
        assert expected in err
    assert "Traceback" not in err


def test_findings_as_json_are_one_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "teams" / "nlp.yaml").write_text(TEAM + "wieght: 3\n")
    assert hpctl(project, "check", "--json") == 1
    document = json.loads(capsys.readouterr().out)
    (finding,) = document["findings"]
    assert document["environments"] == ["dev"]
    assert set(finding) == {"id", "severity", "file", "line", "column", "message", "remedy", "waived", "docs"}
    assert (finding["file"], finding["line"], finding["severity"]) == ("teams/nlp.yaml", 5, "error")


def test_warnings_alone_pass(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "teams" / "nlp.yaml").write_text(TEAM.replace("accelerators: 2", "instances: 3"))
    assert hpctl(project, "check", "--stack", "dev") == 0
    assert "overcommit" in capsys.readouterr().err


def test_an_unknown_stack_is_a_finding_with_the_known_ones(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "check", "--stack", "dve") == 1
    assert "did you mean `dev`?" in capsys.readouterr().err


def test_no_environment_is_a_finding(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "environments" / "dev.yaml").unlink()
    assert hpctl(project, "check") == 1
    assert "there is no environment [environments-none]" in capsys.readouterr().err


def test_a_folder_without_a_project_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(tmp_path, "check") == 1
    assert "no project here or above" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["chekc"], ["check", "--jsno"], ["up", "surplus"], ["local", "upp"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str], project: Path) -> None:
    assert hpctl(project, *arguments) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from-sagemaker", "main"], "needs --region"),
        (["--from-cluster", "--type", "h100=none"], "write <flavor>=<instance type>"),
    ],
)
def test_wrong_usage_of_import_is_told_before_anything_is_read(
    arguments: list[str], message: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hpctl(project, "import", "-e", "prod", "--owner", "a@example.com", *arguments) == 2
    err = capsys.readouterr().err
    assert message in " ".join(err.split())
    assert "reading" not in err


@pytest.mark.parametrize("verb", ["check", "quotas", "render", "up", "down", "demo", "local"])
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([verb, "--help"]) == 0
    assert len(capsys.readouterr().out.splitlines()) > 5


def test_render_prints_the_objects_and_only_v1beta2(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "render", "--stack", "dev") == 0
    objects = list(yaml.safe_load_all(capsys.readouterr().out))
    kinds = [item["kind"] for item in objects]
    assert kinds.count("ClusterQueue") == kinds.count("LocalQueue") == 1
    assert {item["apiVersion"] for item in objects if "kueue" in item["apiVersion"]} == {"kueue.x-k8s.io/v1beta2"}


def test_quotas_show_the_largest_job(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "quotas", "--stack", "dev", "--json") == 0
    text = capsys.readouterr().out
    json.loads(text)
    assert hpctl(project, "quotas", "--stack", "dev") == 0
    out = capsys.readouterr().out
    assert "nlp" in out
    assert "ml.p5.48xlarge" in out


def test_colours_switch_off(project: Path) -> None:
    (project / "teams" / "nlp.yaml").write_text(TEAM + "wieght: 3\n")
    command = [sys.executable, "-m", "cli", "--project", str(project), "--no-color", "check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"FORCE_COLOR": "1", "PATH": ""}, cwd=ROOT)
    assert done.returncode == 1
    assert "\x1b[3" not in done.stderr


def test_check_imports_neither_pulumi_nor_a_client() -> None:
    code = (
        "import sys; from cli.main import run; run(['check']);"
        "print([m for m in ('pulumi', 'kubernetes', 'grpc', 'cryptography') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
