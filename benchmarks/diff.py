"""Comparing two sides of 1,000 team files with 4 quota entries each, against libyaml parsing both sides and comparing the data.

Of the second side, every tenth team has another quota. Prints CPU seconds (user and system), each the median of some fresh
processes, git's included. Arguments: number of teams, rounds.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from check import cpu, project

PEER = """
import json, sys
from pathlib import Path
import yaml
def side(root):
    return {path.name: yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader) for path in Path(root).glob("*/*.yaml")}
old, new = side(sys.argv[1]), side(sys.argv[2])
print(json.dumps({name: [old.get(name), new.get(name)] for name in old.keys() | new.keys() if old.get(name) != new.get(name)}))
"""


def repository(root: Path, teams: int) -> Path:
    """A project whose last commit has the teams, and whose working tree has every tenth of them otherwise."""
    project(root, teams)
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"]
    for arguments in (["init", "--quiet"], ["add", "--all"], [*identity, "commit", "--quiet", "--message", "all"]):
        subprocess.run(["git", "-C", str(root), *arguments], check=True)  # noqa: S607
    (root / "environments/next.yaml").write_text("apiVersion: hyperpod-platform/v1\nbase: dev\n")
    for number in range(0, teams, 10):
        path = root / f"teams/team-{number:04d}.yaml"
        path.write_text(path.read_text().replace("instances: 1", "instances: 2"))
    return root


def main(teams: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        new, old = repository(Path(folder) / "new", teams), project(Path(folder) / "old", teams)
        commands: dict[str, list[str | Path]] = {
            "libyaml parses both sides and compares the data": ["-c", PEER, old, new],
            "hpctl diff --base HEAD --stack dev": ["-m", "cli", "-C", new, "diff", "--base", "HEAD", "--stack", "dev"],
            "the same, as Markdown": ["-m", "cli", "-C", new, "diff", "--base", "HEAD", "--stack", "dev", "--markdown"],
            "the same, as JSON": ["-m", "cli", "-C", new, "diff", "--base", "HEAD", "--stack", "dev", "--json"],
            "hpctl diff dev next": ["-m", "cli", "-C", new, "diff", "dev", "next"],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, arguments in commands.items():
                seconds[name].append(cpu(arguments, expected=0)[0])
    print(f"{teams} teams × 4 quota entries on both sides, CPU seconds, median of {rounds}")
    bare = statistics.median(next(iter(seconds.values())))
    for name, values in seconds.items():
        used = statistics.median(values)
        print(f"  {used:6.2f}  {used / bare:5.1f} ×  {name}")


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    main(*(numbers + [1000, 5][len(numbers) :]))
