"""`up` of 100 teams against a bare Pulumi program that registers the same objects, in turn on the same sandbox.

Prints seconds and their ratio. Each program runs three times on an empty stack; the medians are compared.
Arguments: number of teams, rounds.
"""

from __future__ import annotations

import json
import shutil
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from components.render import render
from config.load import Project
from governance.plan import plan
from sandbox import stacks
from sandbox.deploy import Deployment, prepare
from sandbox.engine import Engine

ROOT = Path(__file__).parents[1]
ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 4}
      l4: {instance_type: ml.g6.12xlarge, count: 4}
governance:
  overcommit: allow
  priority_classes: {high: {weight: 90}, low: {weight: 10}}
"""
TEAM = """
apiVersion: hyperpod-platform/v1
owners: [someone@example.com]
quota:
  ml.p5.48xlarge: {accelerators: 2}
  ml.g6.12xlarge: {accelerators: 1}
"""
BARE = """
import json
from pathlib import Path

import pulumi
from pulumi_kubernetes import Provider

NEEDS = {
    "ResourceFlavor": ("Topology",),
    "ClusterQueue": ("ResourceFlavor", "Cohort"),
    "LocalQueue": ("ClusterQueue", "Namespace"),
    "RoleBinding": ("Namespace",),
}
provider = Provider("main", kubeconfig=pulumi.Config().require_secret("kubeconfig-main"), cluster_identifier="bare")
made = {}


def needs(manifest):
    team = manifest["metadata"].get("namespace")
    for kind in NEEDS.get(manifest["kind"], ()):
        for name, resource in made.get(kind, {}).items():
            if team is None or name.startswith(team):
                yield resource


for manifest in json.loads(Path(__file__).with_name("objects.json").read_text()):
    kind, metadata = manifest["kind"], manifest["metadata"]
    group, _, version = manifest["apiVersion"].rpartition("/")
    resource = pulumi.CustomResource(
        f"kubernetes:{group or 'core'}/{version}:{kind}",
        f"{kind}-{metadata.get('namespace', '')}-{metadata['name']}",
        manifest,
        pulumi.ResourceOptions(provider=provider, depends_on=list(needs(manifest))),
    )
    made.setdefault(kind, {})[metadata["name"]] = resource
"""


class Spoken:
    def step(self, text: str) -> None:
        print(text, file=sys.stderr)

    def update(self, done: int, total: int) -> None:
        pass


def project(folder: Path, teams: int) -> Path:
    for name in ("environments", "teams"):
        (folder / name).mkdir(parents=True)
    for name in ("Pulumi.yaml", "__main__.py"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "environments" / "main.yaml").write_text(ENVIRONMENT)
    for number in range(teams):
        (folder / "teams" / f"team-{number:04d}.yaml").write_text(TEAM)
    return folder


def _bare(folder: Path, deployment: Deployment) -> Engine:
    folder.mkdir()
    shutil.copy(ROOT / "Pulumi.yaml", folder / "Pulumi.yaml")
    (folder / "__main__.py").write_text(BARE)
    (folder / "objects.json").write_text(json.dumps(render(deployment.plan.clusters["main"])))
    return Engine(
        replace(deployment.settings, project_dir=folder, backend_url=f"file://{folder}/state", work_dir=folder / "work")
    )


def _once(engine: Engine) -> tuple[float, int]:
    """Seconds of an `up` on an empty stack and its creates; the stack is emptied again."""
    with engine:
        result = engine.up()
        engine.unprotect()
        engine.destroy()
    return result.duration, result.changes.create


def main(teams: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = project(Path(name) / "ours", teams)
        platform = Project(root).load("main")
        try:
            deployment = prepare(root, "main", platform, plan(platform), Spoken())
            bare = _bare(Path(name) / "bare", deployment)
            ours: list[float] = []
            theirs: list[float] = []
            for _ in range(rounds):
                for engine, seconds in ((deployment.engine(), ours), (bare, theirs)):
                    taken, created = _once(engine)
                    seconds.append(taken)
                    print(f"{'ours' if seconds is ours else 'bare'}: {created} creates in {taken:.1f} s")
        finally:
            stacks.remove(root, "main")
    ratio = statistics.median(ours) / statistics.median(theirs)
    print(
        f"up of {teams} teams: {statistics.median(ours):.1f} s, bare program {statistics.median(theirs):.1f} s, ratio {ratio:.2f}"
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]) if len(sys.argv) == 3 else (100, 3))
