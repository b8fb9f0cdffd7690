"""Admissions a second of a replay, against a bare driver that has the same Kueue admit and finish the same Workloads.

Both run on one lean sandbox, in turn, and the medians are compared. A tenth of the jobs arrive with each of ten ticks and end
with the next; quota is there for all of them. The bare driver knows no ticks: it creates what arrives, marks as finished what
Kueue admits, and goes on when a tenth is through.
Arguments: number of teams, number of jobs, rounds.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from config.load import Project
from governance.model import ClusterPlan
from governance.plan import plan
from simulation.replay import workloads
from simulation.replay.model import Settings
from simulation.replay.server import JSON_PATCH, Server, Watch
from simulation.replay.stage import Stage
from simulation.traces.model import Job

TICKS = 10
TICK = 60
TYPE = "ml.p5.48xlarge"
ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    instance_groups:
      h100: {{instance_type: ml.p5.48xlarge, count: {nodes}}}
governance:
  priority_classes: {{high: {{weight: 90}}, low: {{weight: 10}}}}
  topology: {{enabled: false}}
"""
TEAM = """
apiVersion: hyperpod-platform/v1
owners: [someone@example.com]
quota:
  ml.p5.48xlarge: {{accelerators: {each}}}
"""


class Spoken:
    def step(self, text: str) -> None:
        print(text, file=sys.stderr)

    def update(self, done: int, total: int) -> None:
        pass


def cluster(teams: int, jobs: int) -> ClusterPlan:
    """Guarantees for a tenth of the jobs, one accelerator each."""
    each = -(-jobs // TICKS // teams)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "environments").mkdir()
        (root / "teams").mkdir()
        (root / "environments" / "main.yaml").write_text(ENVIRONMENT.format(nodes=-(-each * teams // 8)))
        for number in range(teams):
            (root / "teams" / f"team-{number:04d}.yaml").write_text(TEAM.format(each=each))
        return plan(Project(root).load("main")).clusters["main"]


def drawn(teams: int, jobs: int) -> list[Job]:
    size = jobs // TICKS
    request = {"nvidia.com/gpu": 1}
    return [Job(f"job-{n}", f"team-{n % teams:04d}", n // size * TICK, TICK, 1, request, TYPE) for n in range(size * TICKS)]


def bare(server: Server, declared: ClusterPlan, jobs: Sequence[Job]) -> float:
    """Seconds in which Kueue admits all jobs, tenth by tenth, and they are marked as finished."""
    watch = Watch(server, f"{workloads.GROUP}/workloads")
    watch.start()
    started = time.monotonic()
    size = len(jobs) // TICKS
    for first in range(0, len(jobs), size):
        made = [workloads.manifest(job, declared) for job in jobs[first : first + size]]
        server.each(lambda one: server.request("POST", workloads.collection(one["metadata"]["namespace"]), one), made)
        open_ = {one["metadata"]["name"] for one in made}
        while open_:
            _, seen = watch.changes.get(timeout=60)
            if seen["metadata"]["name"] in open_ and workloads.state(seen) == "running":
                open_.remove(seen["metadata"]["name"])
        server.each(lambda one: server.request("PATCH", f"{workloads.path(one)}/status", workloads.finished(), JSON_PATCH), made)
    taken = time.monotonic() - started
    watch.stop()
    return taken


def main(teams: int, jobs: int, rounds: int) -> None:
    declared, trace = cluster(teams, jobs), drawn(teams, jobs)
    ours: list[float] = []
    theirs: list[float] = []
    with Stage(declared, "benchmark", "workloads", Spoken()) as stage:
        for _ in range(rounds):
            theirs.append(len(trace) / bare(stage.server, declared, trace))
            stage.clear()
            replay = stage.run(trace, Settings(TICK))
            ours.append(replay.admissions / replay.seconds)
            print(f"bare driver {theirs[-1]:.1f}, replay {ours[-1]:.1f} admissions a second")
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(
        f"replay of {len(trace)} jobs of {teams} teams: {statistics.median(ours):.1f} admissions a second, "
        f"bare driver {statistics.median(theirs):.1f}, ratio {ratio:.2f}"
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]) if len(sys.argv) == 4 else (100, 2000, 3))
