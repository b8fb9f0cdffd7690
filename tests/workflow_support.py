"""The workflows of .github as data, and a shell for their steps that looks to them like GitHub's runner."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONS = sorted((ROOT / ".github/actions").glob("*/action.yml"))
_EXPRESSION = re.compile(r"\$\{\{.*?\}\}")
_DATA = ("environments", "teams", "workloads", "lifecycle", "schemas", ".github", "policies")


@dataclass(frozen=True)
class Step:
    """A step with a shell text."""

    name: str
    """`<workflow or action>.<id>`."""
    text: str
    env: Mapping[str, str] = field(default_factory=dict)
    """Of workflow, job and step together; expressions as they stand."""


def load(path: Path) -> dict[str, Any]:
    """A file's data. `on` is a key, not a truth value."""
    found: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506 - makes text alone
    return found


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every job: its workflow, its name, itself."""
    for path in WORKFLOWS:
        for name, job in load(path)["jobs"].items():
            yield path.stem, name, job


def all_steps() -> Iterator[tuple[str, dict[str, Any], dict[str, str]]]:
    """Every step of workflows and composite actions: where it stands, itself, and its environment."""
    for path in WORKFLOWS:
        workflow = load(path)
        for job in workflow["jobs"].values():
            for step in job.get("steps", ()):
                yield path.stem, step, {**workflow.get("env", {}), **job.get("env", {}), **step.get("env", {})}
    for path in ACTIONS:
        for step in load(path)["runs"]["steps"]:
            yield path.parent.name, step, step.get("env", {})


def shell_steps() -> dict[str, Step]:
    """Every step that runs a shell text, by name. Raises KeyError for one without an id."""
    found: dict[str, Step] = {}
    for where, step, env in all_steps():
        if "run" in step:
            name = f"{where}.{step['id']}"
            assert name not in found, f"two steps are named {name}"
            found[name] = Step(name, step["run"], env)
    return found


@dataclass
class Runner:
    """A checkout of the project's data in a folder, with an environment like that of GitHub's runner."""

    folder: Path
    programs: Path
    """Stand-ins that come first on PATH."""
    env: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.programs.mkdir(parents=True, exist_ok=True)
        for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "GITHUB_PATH"):
            file = self.programs.parent / name.lower()
            file.touch()
            self.env[name] = str(file)

    def file(self, name: str) -> str:
        """What steps have written to one of GitHub's files."""
        return Path(self.env[name]).read_text(encoding="utf-8")

    def run(self, step: Step, **values: str) -> subprocess.CompletedProcess[str]:
        """Run the step's text as it stands. Every expression in its environment has to be given a value."""
        given = {**self.env, **values}
        unset = [name for name, value in step.env.items() if _EXPRESSION.search(value) and name not in given]
        assert not unset, f"{step.name} needs {unset}"
        uv = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
        path = os.pathsep.join((str(self.programs), str(Path(sys.executable).parent), str(Path(uv).parent), "/usr/bin:/bin"))
        env = {**os.environ, "PATH": path, "CI": "true", "GITHUB_ACTIONS": "true", **step.env, **given}
        script = self.programs.parent / "step.sh"
        script.write_text(step.text, encoding="utf-8")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]  # what `shell: bash` means to the runner
        return subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False, timeout=120)

    def program(self, name: str, text: str) -> None:
        """A stand-in for a program that isn't here, in Python."""
        file = self.programs / name
        file.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
        file.chmod(0o755)

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
        command = ["git", *identity, *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()


def checkout(folder: Path) -> Runner:
    """A repository with the project's data; `origin/main` is its first commit."""
    clone = folder / "clone"
    clone.mkdir()
    for name in _DATA:
        shutil.copytree(ROOT / name, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (*ROOT.glob("Pulumi*.yaml"), ROOT / "uv.lock", ROOT / "pyproject.toml", ROOT / "__main__.py"):
        shutil.copy(file, clone / file.name)
    runner = Runner(clone, folder / "runner/programs")
    runner.git("init", "--quiet", "--initial-branch", "main")
    runner.git("add", "--all")
    runner.git("commit", "--quiet", "--message", "first")
    runner.git("update-ref", "refs/remotes/origin/main", "HEAD")
    return runner
