"""Verbs on an environment whose manager hands jobs to workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import run

_CLUSTER = "kind: existing, sandbox: true, kueue: {install: false}, instance_groups:"
ENVIRONMENT = f"""
apiVersion: hyperpod-platform/v1
clusters:
  hub: {{{_CLUSTER} {{}}}}
  east: {{{_CLUSTER} {{h100: {{instance_type: ml.p5.48xlarge, count: 2}}}}}}
  west: {{{_CLUSTER} {{h100: {{instance_type: ml.p5.48xlarge, count: 4}}}}}}
governance: {{multi_kueue: {{manager: hub, workers: [east, west]}}}}
"""
TEAM = "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nquota: {ml.p5.48xlarge: {instances: 1}}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    for file, text in (("environments/main.yaml", ENVIRONMENT), ("teams/nlp.yaml", TEAM)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    return tmp_path


def hpctl(project: Path, verb: str, *arguments: str) -> int:
    return run(["--project", str(project), verb, "--stack", "main", *arguments])


def test_topology_leaves_the_manager_out_and_says_so(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "topology", "--plan", "--json") == 0
    out, err = capsys.readouterr()
    assert [one["cluster"] for one in json.loads(out)["clusters"]] == ["east", "west"]
    assert "hub runs no jobs, it hands them to east, west: it is left out" in err


def test_topology_of_the_manager_says_what_it_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "topology", "--plan", "--cluster", "hub") == 0
    assert "hub runs no jobs, it hands them to east, west" in capsys.readouterr().err


def test_a_running_manager_isnt_asked_for_nodes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "topology") == 4
    assert "the sandbox of cluster `east` does not run" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["--generate", "--from-cluster"])
def test_a_manager_isnt_simulated(project: Path, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "simulate", source, "--cluster", "hub") == 1
    err = capsys.readouterr().err
    assert "the manager `hub` runs no jobs" in err
    assert "name one: east, west" in err
    assert hpctl(project, "simulate", source) == 1
    assert "name one: east, west" in capsys.readouterr().err


def test_the_report_counts_accelerators_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, "report", "--plan-only", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["accelerators"]["capacity"], found["accelerators"]["guaranteed"]) == (48, 16)
    assert {one["name"]: one["workers"] for one in found["clusters"]} == {"hub": ["east", "west"], "east": [], "west": []}
    assert [(one["cluster"], one["capacity"]) for one in found["capacity"]] == [("east", "16"), ("hub", "48"), ("west", "32")]
