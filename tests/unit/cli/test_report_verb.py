"""`hpctl report`: what it writes, where, and with which exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from html_support import project as small
from simulated import alone, compared

from cli.main import run
from config.findings import printable


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small(tmp_path)


def hpctl(project: Path, *arguments: str) -> int:
    return run(["--project", str(project), "report", "--stack", "main", *arguments])


def test_the_plan_alone_needs_no_cluster(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = project / "out/page.html"
    assert hpctl(project, "--plan-only", "--output", str(page)) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert f"wrote {page}, from the plan alone" in err
    assert "Capacity by instance type" in page.read_text()


def test_a_cluster_that_doesnt_answer_is_told_and_the_page_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = project / "page.html"
    page.write_text("what an earlier run wrote")
    assert hpctl(project, "--output", str(page)) == 4
    assert "main: the sandbox of cluster `main` does not run" in capsys.readouterr().err
    assert "does not run. Its figures are from the plan alone." in page.read_text()


def test_json_is_data_alone(project: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert hpctl(project, "--plan-only", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["live"] is False
    assert found["environment"] == "main"
    assert not (project / "report.html").exists()


def test_a_simulation_is_taken_in(project: Path) -> None:
    figures, page = project / "figures.json", project / "page.html"
    figures.write_text(json.dumps(compared()))
    assert hpctl(project, "--plan-only", "--simulation", str(figures), "--output", str(page)) == 0
    assert "Simulation of cluster main: before and after" in page.read_text()


@pytest.mark.parametrize(
    ("environment", "cluster", "said"),
    [
        ("main", "main", ""),
        ("staging", "main", "the simulation is of environment staging, cluster main; this report is on main."),
        ("sta\x1bging", "main", r"the simulation is of environment sta\x1bging, cluster main; this report is on main."),
        ("main", "west", "the simulation is of cluster west; this report is on main: main."),
    ],
)
@pytest.mark.parametrize("sides", [alone, compared])
def test_a_simulation_of_something_else_is_said(
    project: Path, sides: Any, environment: str, cluster: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, page = project / "figures.json", project / "page.html"
    data = sides() | {"environment": environment}
    data.get("after", data)["cluster"] = cluster
    figures.write_text(json.dumps(data))
    assert hpctl(project, "--plan-only", "--simulation", str(figures), "--output", str(page)) == 0
    told, shown = capsys.readouterr().err, page.read_text()
    assert f"<h2>Simulation of {printable(environment)}, cluster {cluster}" in shown
    assert (f"{figures}: {said}" in told) if said else (str(figures) not in told)
    assert (f"<b>Of something else:</b> {said}" in shown) if said else ("Of something else" not in shown)


@pytest.mark.parametrize(
    ("text", "words"), [("{", "can't be read as JSON"), ("{}", "is not what `hpctl simulate --json` prints")]
)
def test_another_file_is_refused_before_anything_is_written(
    project: Path, text: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, page = project / "figures.json", project / "page.html"
    figures.write_text(text)
    assert hpctl(project, "--plan-only", "--simulation", str(figures), "--output", str(page)) == 2
    assert words in capsys.readouterr().err
    assert not page.exists()


def test_an_unknown_cluster_and_a_place_that_cant_be_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "--cluster", "mian") == 1
    assert "did you mean `main`?" in capsys.readouterr().err
    (project / "file").write_text("")
    assert hpctl(project, "--plan-only", "--output", str(project / "file/page.html")) == 4
    assert "cannot write" in capsys.readouterr().err
