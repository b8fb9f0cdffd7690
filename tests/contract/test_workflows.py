"""The workflows: sound to actionlint, careful with credentials, and each step that needs no cloud runs as it is written."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from workflow_support import ACTIONS, WORKFLOWS, Runner, all_steps, checkout, jobs, load, shell_steps

from sandbox.toolchain import SilentProgress, ensure

RUN_HERE = {
    "pull-request.check",
    "pull-request.sarif",
    "pull-request.diff",
    "pull-request.summary",
    "pull-request.comment",
    "deploy.check",
    "deploy.deployed",
    "deploy.diff",
    "deploy.forward",
    "drift.issue",
    "vulnerabilities.export",
    "setup.path",
}
RUN_ON_THE_SANDBOX = {"pull-request.preview", "deploy.drift", "deploy.up", "drift.drift"}
"""By tests/engine/test_workflow_steps.py."""
NOT_RUN = {
    "pull-request.test-fast": "this suite, within itself",
    "pull-request.test": "this suite, within itself",
    "setup.packages": "installs the environment that runs this",
    "vulnerabilities.audit": "asks for advisories on the internet",
    "vulnerabilities.govulncheck": "asks for advisories on the internet",
}


# What they say ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def actionlint() -> Path:
    return ensure(["actionlint"], SilentProgress())["actionlint"]


def lint(actionlint: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(actionlint), "-no-color", *map(str, files)], capture_output=True, text=True, check=False)


def test_actionlint_finds_nothing(actionlint: Path) -> None:
    assert len(WORKFLOWS) == 5
    done = lint(actionlint, *WORKFLOWS)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("runs-on: ubuntu-24.04", "runs-on: ubuntu-24.40", "label"),
        ("needs: [check, preview]", "needs: [chekc, preview]", "chekc"),
        ("id-token: write", "id-token: wirte", "wirte"),
        ("BASE: origin/${{ github.base_ref }}", "BASE: ${{ github.base_rfe }}", "base_rfe"),
        ("run: make test-fast", "run: echo ${{ github.event.pull_request.title }}", "untrusted"),
    ],
)
def test_actionlint_finds_what_is_wrong(actionlint: Path, tmp_path: Path, old: str, new: str, words: str) -> None:
    (text,) = [path.read_text() for path in WORKFLOWS if path.stem == "pull-request"]
    assert old in text
    broken = tmp_path / "broken.yml"
    broken.write_text(text.replace(old, new, 1))
    done = lint(actionlint, broken)
    assert done.returncode == 1
    assert words in done.stdout


def test_actions_are_pinned_by_commit_with_their_version_beside() -> None:
    pinned = re.compile(r"uses: (\S+?)@([0-9a-f]{40}) # v\d+\.\d+\.\d+$")
    found: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, *ACTIONS):
        for line in path.read_text().splitlines():
            if "uses:" in line and "uses: ./" not in line:
                match = pinned.search(line)
                assert match, f"{path.name}: {line.strip()}"
                found.setdefault(match[1], set()).add(match[2])
    assert len(found) >= 9
    assert all(len(commits) == 1 for commits in found.values()), found


def test_nothing_is_granted_that_a_job_does_not_name() -> None:
    for path in WORKFLOWS:
        workflow = load(path)
        assert workflow["permissions"] == {}, path.name
        assert "pull_request_target" not in workflow["on"], path.name
        assert "secrets." not in path.read_text(), path.name
    for where, name, job in jobs():
        assert job["permissions"].get("contents") == "read", (where, name)
        writes = {what for what, level in job["permissions"].items() if level == "write"}
        assert writes <= {"id-token", "security-events", "pull-requests", "issues"}, (where, name)
        if "uses" not in job:
            assert int(job["timeout-minutes"]) <= 780, (where, name)


def test_who_gets_credentials_is_gated() -> None:
    """Requests of forks assume no role; whatever deploys waits for its environment's reviewers."""
    for where, name, job in jobs():
        if job["permissions"].get("id-token") != "write" or "uses" in job:
            continue
        assert "environment" in job, (where, name)
        if where == "pull-request":
            assert "head.repo.full_name == github.repository" in job["if"], name
    deploy = load(next(path for path in WORKFLOWS if path.stem == "deploy"))["jobs"]["deploy"]
    assert deploy["environment"] == "${{ inputs.stack }}"
    assert deploy["concurrency"] == {"group": "deploy-${{ inputs.stack }}", "cancel-in-progress": "false"}
    order = load(next(path for path in WORKFLOWS if path.stem == "promote"))["jobs"]
    assert {name: job.get("needs") for name, job in order.items()} == {
        "dev": None,
        "staging": "dev",
        "prod": "staging",
        "prod-platform": "staging",
        "prod-governance": "prod-platform",
    }
    assert all(job["with"]["stack"] == name for name, job in order.items())


def test_no_expression_gets_into_a_shell_and_no_checkout_keeps_its_token() -> None:
    for where, step, _ in all_steps():
        assert "${{" not in step.get("run", ""), (where, step)
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false", where


def test_every_module_of_tools_is_audited_and_updated() -> None:
    modules = {path.parent.name for path in Path("sandbox/tools").resolve().glob("*/go.mod")}
    audit = load(next(path for path in WORKFLOWS if path.stem == "vulnerabilities"))["jobs"]["go"]
    assert set(audit["strategy"]["matrix"]["module"]) == modules
    updates = load(WORKFLOWS[0].parents[1] / "dependabot.yml")["updates"]
    assert {one["package-ecosystem"] for one in updates} == {"github-actions", "uv", "gomod"}


# What they do ----------------------------------------------------------------------------------------------------------------


def test_each_step_is_run_by_a_test_or_says_why_not() -> None:
    assert set(shell_steps()) == RUN_HERE | RUN_ON_THE_SANDBOX | set(NOT_RUN)


@pytest.fixture(scope="module")
def change(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A checkout whose last commit gives a team more."""
    runner = checkout(tmp_path_factory.mktemp("workflows"))
    runner.env["PULUMI_BACKEND_URL"] = "s3://nowhere"
    nlp = runner.folder / "teams/nlp.yaml"
    nlp.write_text(nlp.read_text().replace("weight: 10", "weight: 30"))
    runner.git("commit", "--quiet", "--all", "--message", "second")
    return runner


def ran(runner: Runner, name: str, **values: str) -> subprocess.CompletedProcess[str]:
    return runner.run(shell_steps()[name], **values)


def ok(runner: Runner, name: str, **values: str) -> str:
    done = ran(runner, name, **values)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def gh(runner: Runner, answers: dict[str, Any]) -> None:
    """A stand-in for GitHub's API that keeps what it was sent in a file."""
    sent = runner.programs.parent / "sent"
    sent.unlink(missing_ok=True)
    runner.program(
        "gh",
        "import json, sys\n"
        f"answers = {answers!r}\n"
        "path, method = sys.argv[2], sys.argv[4]\n"
        "if method == 'GET':\n"
        "    print(json.dumps([answers[path]]))\n"
        "else:\n"
        f"    open({str(sent)!r}, 'a').write(json.dumps([method, path, json.load(sys.stdin)]) + '\\n')\n",
    )


def sent(runner: Runner) -> list[Any]:
    return [json.loads(line) for line in (runner.programs.parent / "sent").read_text().splitlines()]


def test_a_pull_request_is_checked_told_and_commented(change: Runner) -> None:
    ok(change, "pull-request.check")
    ok(change, "pull-request.sarif")
    assert json.loads((change.folder / "check.sarif").read_text())["version"] == "2.1.0"
    ok(change, "pull-request.diff", BASE="origin/main")
    ok(change, "pull-request.summary")
    assert "**dev**: 1 team changes" in change.file("GITHUB_STEP_SUMMARY")
    path = "repos/example/platform/issues/7/comments"
    gh(change, {f"{path}?per_page=100": []})
    ok(change, "pull-request.comment", GH_TOKEN="x", PULL="7", GITHUB_REPOSITORY="example/platform")
    ((method, where, data),) = sent(change)
    assert (method, where) == ("POST", path)
    assert "| main | nlp | weight | 10 | 30 |" in data["body"]


def test_findings_fail_the_check_and_still_reach_code_scanning(tmp_path: Path) -> None:
    runner = checkout(tmp_path)
    runner.env["PULUMI_BACKEND_URL"] = "s3://nowhere"
    (runner.folder / "teams/nlp.yaml").write_text("apiVersion: hyperpod-platform/v1\nowners: [a@example.com]\nwieght: 3\n")
    done = ran(runner, "pull-request.check")
    assert done.returncode == 1
    assert "\n::error file=teams/nlp.yaml,line=3,col=1,title=unknown-key::" in done.stdout
    ok(runner, "pull-request.sarif")
    results = json.loads((runner.folder / "check.sarif").read_text())["runs"][0]["results"]
    assert "unknown-key" in {result["ruleId"] for result in results}
    assert ran(runner, "deploy.check", STACK="dev").returncode == 1
    failed = ran(runner, "pull-request.diff", BASE="origin/main")
    assert failed.returncode == 1
    assert "unknown key" in (runner.folder / "comment/1-diff.md").read_text()


def test_a_deployment_says_what_changes_since_the_last_one(change: Runner) -> None:
    first, second = change.git("rev-parse", "HEAD~1"), change.git("rev-parse", "HEAD")
    where = "repos/example/platform/deployments"
    gh(
        change,
        {
            f"{where}?environment=prod&per_page=30": [{"id": 4, "sha": first, "created_at": "2026-01-01"}],
            f"{where}/4/statuses?per_page=100": [{"state": "success"}],
        },
    )
    ok(change, "deploy.check", STACK="prod")
    ok(change, "deploy.deployed", STACK="prod", BEFORE=second, GH_TOKEN="x", GITHUB_REPOSITORY="example/platform")
    assert change.file("GITHUB_OUTPUT").splitlines()[-1] == f"commit={first}"
    ok(change, "deploy.diff", STACK="prod", DEPLOYED=first)
    assert "**prod**: 1 team changes" in change.file("GITHUB_STEP_SUMMARY")
    ok(change, "deploy.forward", STACK="prod", DEPLOYED=first, GITHUB_SHA=second)
    ok(change, "deploy.forward", STACK="prod", DEPLOYED=second, GITHUB_SHA=second)
    back = ran(change, "deploy.forward", STACK="prod", DEPLOYED=second, GITHUB_SHA=first)
    assert back.returncode == 1
    assert "::error::prod runs" in back.stdout
    gh(change, {f"{where}?environment=prod&per_page=30": []})
    none = ran(change, "deploy.deployed", STACK="prod", BEFORE="0" * 40, GH_TOKEN="x", GITHUB_REPOSITORY="example/platform")
    assert none.returncode == 1
    assert "prod was never deployed" in none.stderr


def test_the_night_writes_one_issue(change: Runner) -> None:
    found = change.folder / "drift"
    found.mkdir()
    for stack, code in (("dev", 0), ("prod", 3)):
        (found / f"{stack}.md").write_text(f"### Drift of `{stack}`\n")
        (found / f"{stack}.code").write_text(f"{code}\n")
    gh(change, {"repos/example/platform/issues?state=open&labels=drift&per_page=100": []})
    ok(change, "drift.issue", GH_TOKEN="x", RUN_URL="https://example.com/1", GITHUB_REPOSITORY="example/platform")
    ((method, where, data),) = sent(change)
    assert (method, where, data["labels"]) == ("POST", "repos/example/platform/issues", ["drift"])
    assert "- `prod`: **differs**" in data["body"]


def test_what_is_audited_is_what_is_locked(change: Runner) -> None:
    ok(change, "vulnerabilities.export")
    text = (change.folder / "requirements.txt").read_text()
    assert re.search(r"^pulumi==[0-9.]+ \\$", text, re.MULTILINE)
    assert "--hash=sha256:" in text
    assert not re.search(r"^(-e|hyperpod-platform)", text, re.MULTILINE)


def test_the_programs_get_on_path(change: Runner) -> None:
    ok(change, "setup.path")
    assert change.file("GITHUB_PATH").split() == [f"{change.folder}/.venv/bin", f"{change.folder}/.uv/bin"]
