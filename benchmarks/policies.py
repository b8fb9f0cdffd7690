"""A preview of 100 teams with the policy pack against the same preview without it, in turn on the same sandbox.

Prints seconds and their ratio, which shall be 1.25 at most; and what the pack's process takes before it answers.
Arguments: number of teams, rounds.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from up import ROOT, Spoken, project

from config.load import Project
from governance.plan import plan
from sandbox import stacks
from sandbox.deploy import Deployment, prepare

PACK = ROOT / "policies/serve"


def _preview(deployment: Deployment, packs: list[Path]) -> tuple[float, float, int]:
    """Seconds, CPU seconds of this process and all that it starts, and creates of a preview."""
    with deployment.engine() as engine:
        before, started = os.times(), time.monotonic()
        changes = engine.preview(policy_packs=packs)
        taken, after = time.monotonic() - started, os.times()
    cpu = sum(getattr(after, name) - getattr(before, name) for name in ("user", "system", "children_user", "children_system"))
    return taken, cpu, changes.create


def _start() -> float:
    """Seconds until the pack's process says on which port it answers."""
    started = time.monotonic()
    with subprocess.Popen([PACK, "127.0.0.1:1"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip().isdigit()
        taken = time.monotonic() - started
        process.kill()
    return taken


def main(teams: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = project(Path(name) / "ours", teams)
        platform = Project(root).load("main")
        try:
            deployment = prepare(root, "main", platform, plan(platform), Spoken())
            _preview(deployment, [])  # the first one boots and fills caches
            without: list[float] = []
            judged: list[float] = []
            for _ in range(rounds):
                for packs, seconds in (([], without), ([PACK], judged)):
                    taken, cpu, created = _preview(deployment, packs)
                    seconds.append(taken)
                    print(f"{'with the pack' if packs else 'without'}: {created} creates in {taken:.1f} s ({cpu:.1f} s CPU)")
        finally:
            stacks.remove(root, "main")
    print(f"the pack answers after {statistics.median(_start() for _ in range(3)):.2f} s")
    with_pack, bare = statistics.median(judged), statistics.median(without)
    print(f"preview of {teams} teams: {with_pack:.1f} s with the pack, {bare:.1f} s without, ratio {with_pack / bare:.2f}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]) if len(sys.argv) == 3 else (100, 5))
