"""Ctrl-C and sudden death of `hpctl up`: the next one continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sandbox import stacks
from sandbox.local import Sandbox

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false}
    instance_groups: {l4: {instance_type: ml.g6.12xlarge, count: 2}}
governance: {overcommit: allow}
"""
TEAM = "apiVersion: hyperpod-platform/v1\nowners: [someone@example.com]\nquota: {ml.g6.12xlarge: {accelerators: 1}}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("interrupted")
    for folder in ("environments", "teams"):
        (root / folder).mkdir()
    for name in ("Pulumi.yaml", "__main__.py"):
        (root / name).write_text((ROOT / name).read_text())
    (root / "environments" / "main.yaml").write_text(ENVIRONMENT)
    for number in range(12):
        (root / "teams" / f"team-{number:02d}.yaml").write_text(TEAM)
    yield root
    stacks.remove(root, "main")


def start(root: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cli", "--project", str(root), "up", "--stack", "main", "--yes"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=env, start_new_session=True)


def until(process: subprocess.Popen[str], text: str) -> str:
    """Read what the process says up to a line with the text."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if text in line:
            return said
    pytest.fail(f"never said {text!r}, but:\n{said}")


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=120)
    return process.returncode, said


def sandbox(root: Path) -> Sandbox:
    return stacks.sandbox_of(root, "main", "main")


def test_ctrl_c_during_the_boot_leaves_no_process(project: Path) -> None:
    process = start(project)
    until(process, "starting")
    os.killpg(process.pid, signal.SIGINT)
    code, said = finish(process)
    assert code == 130, said
    folder = str(sandbox(project).dir)
    deadline = time.monotonic() + 60
    while left := [p.pid for p in psutil.process_iter(["cmdline"]) if any(folder in part for part in p.info["cmdline"] or ())]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def test_an_up_after_ctrl_c_continues(project: Path) -> None:
    for attempt in range(3):
        process = start(project)
        until(process, "declaring main: ")
        os.killpg(process.pid, signal.SIGINT)
        code, said = finish(process)
        if code != 0:
            break
        # It was done before the signal: the next one gets something to do.
        for number in range(8):
            (project / "teams" / f"more-{attempt}-{number}.yaml").write_text(TEAM)
    assert code == 130, said
    assert "Traceback" not in said
    assert "continues" in said
    _continue(project)


def test_an_up_after_a_kill_continues(project: Path) -> None:
    for path in sorted((project / "teams").glob("*.yaml")):
        path.write_text(TEAM.replace("accelerators: 1", "accelerators: 2"))
    for number in range(12, 20):
        (project / "teams" / f"team-{number:02d}.yaml").write_text(TEAM)
    process = start(project)
    until(process, "declaring main: ")
    os.killpg(process.pid, signal.SIGKILL)
    finish(process)
    _continue(project)


def _continue(project: Path) -> None:
    """The next `up` succeeds, and the one after it finds nothing to do."""
    code, said = finish(start(project))
    assert code == 0, said
    code, said = finish(start(project))
    assert code == 0, said
    assert "nothing has changed" in said
