"""Checking 1,000 team files with 4 quota entries each, against only parsing the same files with libyaml.

Prints CPU seconds (user and system), each the median of some fresh interpreters. Arguments: number of teams, rounds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENVIRONMENT = """\
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 6000}
      l4: {instance_type: ml.g6.12xlarge, count: 6000}
      a10g: {instance_type: ml.g5.12xlarge, count: 6000}
      cpu: {instance_type: ml.m5.4xlarge, count: 6000}
governance:
  priority_classes:
    inference: {weight: 90}
    training: {weight: 70}
"""
TEAM = """\
apiVersion: hyperpod-platform/v1
owners: [team-%d@example.com]
description: Team number %d.
quota:
  ml.p5.48xlarge: {instances: 1}
  ml.g6.12xlarge: {accelerators: 2, vcpu: 48}
  ml.g5.12xlarge: {accelerators: 6}
  ml.m5.4xlarge: {vcpu: 8}
weight: 10
sharing: {strategy: lend_and_borrow, borrow_limit: 50}
default_priority: training
"""
MISTAKE = "wieght: 5\n"

CHECK = """
import json, sys, time
from pathlib import Path
start = time.process_time()
from config.load import Project
from governance.plan import plan
imported = time.process_time()
project = Project(Path(sys.argv[1]))
platform, findings = project.declared("dev")
loaded = time.process_time()
found = plan(platform).findings
planned = time.process_time()
print(json.dumps({"imports": imported - start, "load": loaded - imported, "plan": planned - loaded, "findings": len(found)}))
"""
PEER = """
import sys
from pathlib import Path
import yaml
for path in Path(sys.argv[1]).glob("teams/*.yaml"):
    yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
"""


def project(root: Path, teams: int, mistake: str = "") -> Path:
    """A project of that many teams below `root`."""
    for folder in ("environments", "teams"):
        (root / folder).mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    (root / "environments/dev.yaml").write_text(ENVIRONMENT)
    for number in range(teams):
        (root / f"teams/team-{number:04d}.yaml").write_text(TEAM % (number, number) + mistake)
    return root


def cpu(arguments: Sequence[str | Path], expected: int) -> tuple[float, str]:
    """CPU seconds of a Python process that ends with the expected code, and its standard output."""
    before = os.times()
    run = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    after = os.times()
    if run.returncode != expected:
        sys.exit(f"{' '.join(map(str, arguments))}: exit code {run.returncode}")
    return after.children_user + after.children_system - before.children_user - before.children_system, run.stdout


def main(teams: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        good = project(Path(folder) / "good", teams)
        wrong = project(Path(folder) / "wrong", teams, MISTAKE)
        commands: dict[str, list[str | Path]] = {
            "an interpreter that does nothing": ["-c", "pass"],
            "libyaml parses the files, nothing else": ["-c", PEER, good],
            "load and plan": ["-c", CHECK, good],
            "load and plan, a mistake in every file": ["-c", CHECK, wrong],
            "hpctl check": ["-m", "cli", "--project", good, "check"],
            "hpctl check, a mistake in every file": ["-m", "cli", "--project", wrong, "check"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        parts: list[dict[str, float]] = []
        for _ in range(rounds):
            for name, arguments in commands.items():
                used, output = cpu(arguments, expected=int("check" in arguments and wrong in arguments))
                seconds[name].append(used)
                if name == "load and plan":
                    parts.append(json.loads(output))
    print(f"{teams} teams × 4 quota entries, CPU seconds, median of {rounds}")
    for name, values in seconds.items():
        print(f"  {statistics.median(values):6.2f}  {name}")
    print("of `load and plan`:")
    for part in ("imports", "load", "plan"):
        print(f"  {statistics.median(found[part] for found in parts):6.2f}  {part}")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [1000, 5][len(numbers) :]))
