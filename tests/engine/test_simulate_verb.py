"""`hpctl simulate`: a change of quotas before and after on a real Kueue, the page, and an interruption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.main import run
from sandbox.local import sandboxes

pytestmark = [pytest.mark.engine, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
ENVIRONMENT = """\
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    kubeconfig: kubeconfig
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 6}
"""
TRACE = """\
apiVersion: hyperpod-platform/v1
until: 6h
defaults: {instance_type: ml.p5.48xlarge, per_pod: whole_node, runs_for: 2h}
jobs:
  - {name: tune, team: nlp, arrives: 0s, count: 4}
  - {name: train, team: vision, arrives: 0s, count: 4}
  - {name: wide, team: nlp, arrives: 1h, pods: 3}
"""


def team(nodes: int) -> str:
    quota = f"quota: {{ml.p5.48xlarge: {{instances: {nodes}}}}}"
    return f"apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\n{quota}\nsharing: {{strategy: lend}}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository in which 16 GPUs move from vision to nlp, not committed yet."""
    root = tmp_path / "repository"
    for folder in ("environments", "teams"):
        (root / folder).mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    (root / "environments/dev.yaml").write_text(ENVIRONMENT)
    (root / "trace.yaml").write_text(TRACE)
    for name, nodes in (("nlp", 2), ("vision", 4)):
        (root / f"teams/{name}.yaml").write_text(team(nodes))
    identity = {f"GIT_{who}_{what}": "somebody@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "first")):
        subprocess.run(["git", "-C", str(root), *command], env={**os.environ, **identity}, check=True)  # noqa: S607
    for name, nodes in (("nlp", 4), ("vision", 2)):
        (root / f"teams/{name}.yaml").write_text(team(nodes))
    return root


def replaying(pid: int) -> list[str]:
    """Sandboxes of a process's replays; other processes of this machine may have theirs."""
    return [one.name for one in sandboxes() if one.name.startswith("replay-side") and one.name.endswith(f"-{pid}")]


def test_16_gpus_move_from_vision_to_nlp(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = project / "page.html"
    arguments = ["simulate", str(project / "trace.yaml"), "--stack", "dev", "--base", "HEAD", "--runs", "1"]
    code = run(["--project", str(project), *arguments, "--html", str(page), "--json"])
    told = capsys.readouterr()
    assert code == 0, told.err
    found: dict[str, Any] = json.loads(told.out)
    old, new = (found[side]["teams"] for side in ("before", "after"))

    def waits(teams: Any, name: str) -> tuple[int, int]:
        return teams[name]["wait"]["admitted_at_once"], teams[name]["wait"]["max_s"]

    assert waits(old, "nlp") == (2, 2 * 3600)  # two by two
    assert waits(new, "nlp") == (4, 3600)  # all at once; the wide one when they have ended
    assert waits(old, "vision") == (4, 0)
    assert waits(new, "vision") == (2, 2 * 3600)
    assert (old["nlp"]["can_never_run"], new["nlp"]["can_never_run"]) == (1, 0)
    assert [line for line in found["in_words"] if "nlp" in line], found["in_words"]
    assert [line for line in found["in_words"] if "vision" in line]
    assert found["model"] == "same"
    assert any("Kueue 0.16.6 decided" in line for line in found["about"])
    assert "vision" in page.read_text()
    assert replaying(os.getpid()) == []


def test_what_an_interruption_leaves(project: Path) -> None:
    slow = "".join(f"  - {{name: j{number}, team: nlp, arrives: {number}m, runs_for: 1m}}\n" for number in range(40))
    (project / "trace.yaml").write_text(TRACE + slow)
    command = [
        sys.executable,
        "-m",
        "cli",
        "--project",
        str(project),
        "simulate",
        str(project / "trace.yaml"),
        "-s",
        "dev",
        "--json",
    ]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        seen = next(line for line in running.stderr if "replaying" in line and "/" in line and ": 0/" not in line)
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=150)
    assert running.returncode == 130, (seen, errors)
    assert "interrupted: the result is partial" in errors
    assert "Traceback" not in errors
    found = json.loads(out)
    assert any("partial" in line for line in found["about"])
    assert found["overall"]["jobs"] == 49
    assert found["overall"]["finished"] < 49
    assert replaying(running.pid) == []
