"""The steps of the workflows that run Pulumi, as they are written, on a sandboxed stack in place of a cloud's.

The engine, the policies, the API server and Kueue are real. `pulumi` itself is a stand-in that reads the command line and hands
the run to the engine's driver, for a sandbox needs its own state and provider.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from workflow_support import ROOT, Runner, checkout, shell_steps

from live.connection import MERGE_PATCH, connect
from sandbox import stacks

pytestmark = pytest.mark.engine

ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    sandbox: true
    kueue: {install: false}
    instance_groups: {l4: {instance_type: ml.g6.12xlarge, count: 2}}
governance:
  priority_classes: {high: {weight: 90}, low: {weight: 10}}
"""
TEAM = "apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nquota: {ml.g6.12xlarge: {accelerators: 4}}\nweight: 10\n"
QUEUE = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/hyperpod-ns-alpha-clusterqueue"
PULUMI = f"""
import argparse, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from cli.console import progress
from cli.context import planned
from sandbox.deploy import prepare
from sandbox.engine import EngineError

parser = argparse.ArgumentParser()
parser.add_argument("verb", choices=["preview", "up"])
parser.add_argument("--stack", required=True)
parser.add_argument("--policy-pack", type=Path, required=True)
for flag in ("--yes", "--non-interactive", "--refresh"):
    parser.add_argument(flag, action="store_true")
parser.add_argument("--color", choices=["never"])
given = parser.parse_args()
root = Path.cwd()
platform, plan = planned(root, given.stack)
with progress() as shown:
    deployment = prepare(root, given.stack, platform, plan, shown)
packs = [root / given.policy_pack]
try:
    with deployment.engine() as engine:
        if given.verb == "preview":
            changes = engine.preview(policy_packs=packs, refresh=given.refresh)
        else:
            assert given.yes
            changes = engine.up(policy_packs=packs, refresh=given.refresh).changes
except EngineError as error:
    sys.exit(str(error))
print(changes)
"""


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    found = checkout(tmp_path_factory.mktemp("steps"))
    for folder in ("teams", "environments"):
        for file in (found.folder / folder).iterdir():
            file.unlink()
    declare(found)
    found.program("pulumi", PULUMI)
    # The real pack's entry for engines without Pulumi's Python plugin; it finds the project's packages where they are installed.
    found.env |= {
        "STACK": "main",
        "POLICY_PACK": str(ROOT / "policies/serve"),
        "PULUMI_BACKEND_URL": "",
        "REFRESH": "",
    }
    yield found
    stacks.remove(found.folder, "main")


def declare(runner: Runner) -> None:
    (runner.folder / "environments/main.yaml").write_text(ENVIRONMENT)
    (runner.folder / "teams/alpha.yaml").write_text(TEAM)


def run(runner: Runner, name: str) -> subprocess.CompletedProcess[str]:
    return runner.run(shell_steps()[name])


def comment(runner: Runner) -> str:
    return (runner.folder / "comment/2-preview-main.md").read_text()


def ok(runner: Runner, name: str) -> str:
    done = run(runner, name)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_the_policies_refuse_fails_the_preview_and_is_told(runner: Runner) -> None:
    (runner.folder / "teams/alpha.yaml").write_text(TEAM + "sharing: {borrow_unlimited: true}\n")
    done = run(runner, "pull-request.preview")
    assert done.returncode != 0
    told = (runner.folder / "comment/2-preview-main.md").read_text()
    assert told.startswith("<details><summary>Preview of main failed</summary>")
    assert "[quota-cohort-limits]" in told
    declare(runner)


def test_a_stack_is_deployed_watched_and_guarded(runner: Runner) -> None:
    ok(runner, "deploy.up")
    api = connect(str(stacks.sandbox_of(runner.folder, "main", "main").kubeconfig), "", "")
    assert api.request("GET", QUEUE).body["spec"]["fairSharing"]["weight"] == "10"
    ok(runner, "deploy.drift")

    api.request("PATCH", QUEUE, {"spec": {"fairSharing": {"weight": "77"}}}, content_type=MERGE_PATCH)
    ok(runner, "drift.drift")
    assert (runner.folder / "drift/main.code").read_text() == "3\n"
    report = (runner.folder / "drift/main.md").read_text()
    assert "77" in report
    assert "; platform: " in report, "all of the stack is looked at"
    assert runner.file("GITHUB_STEP_SUMMARY").endswith(report)

    (runner.folder / "teams/alpha.yaml").rename(runner.folder / "teams/beta.yaml")
    refused = run(runner, "deploy.guards")
    assert refused.returncode == 1
    assert [line.partition("title=")[2].partition("::")[0] for line in refused.stdout.splitlines() if "::error" in line] == [
        "team-not-drained"
    ]
