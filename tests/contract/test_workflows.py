"""The workflows: sound to actionlint, careful with credentials, and each step that needs no cloud runs as it is written."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from workflow_support import ACTIONS, ROOT, WORKFLOWS, Runner, all_steps, checkout, jobs, load, shell_steps

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
RUN_ON_THE_SANDBOX = {"pull-request.preview", "deploy.drift", "deploy.guards", "deploy.up", "drift.drift"}
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


def stand_in(folder: Path, name: str, text: str) -> Runner:
    """An empty folder to run steps in, where one program is another."""
    (folder / "clone").mkdir(exist_ok=True)
    runner = Runner(folder / "clone", folder / "runner/programs")
    runner.program(name, text)
    return runner


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
        "    print(json.dumps([answers[path]] if '--slurp' in sys.argv else answers[path]))\n"
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
    ok(change, "deploy.deployed", STACK="prod", GH_TOKEN="x", GITHUB_REPOSITORY="example/platform")
    assert change.file("GITHUB_OUTPUT").splitlines()[-1] == f"commit={first}"
    ok(change, "deploy.diff", STACK="prod", DEPLOYED=first)
    assert "**prod**: 1 team changes" in change.file("GITHUB_STEP_SUMMARY")
    ok(change, "deploy.forward", STACK="prod", DEPLOYED=first, GITHUB_SHA=second)
    ok(change, "deploy.forward", STACK="prod", DEPLOYED=second, GITHUB_SHA=second)
    back = ran(change, "deploy.forward", STACK="prod", DEPLOYED=second, GITHUB_SHA=first)
    assert back.returncode == 1
    assert "::error::prod runs" in back.stdout
    gh(change, {f"{where}?environment=prod&per_page=30": []})
    ok(change, "deploy.deployed", STACK="prod", GH_TOKEN="x", GITHUB_REPOSITORY="example/platform")
    assert change.file("GITHUB_OUTPUT").splitlines()[-1] == "commit="
    ok(change, "deploy.diff", STACK="prod", DEPLOYED="")
    assert change.file("GITHUB_STEP_SUMMARY").splitlines()[-1].startswith("**prod**: first deployment")
    ok(change, "deploy.forward", STACK="prod", DEPLOYED="", GITHUB_SHA=second)


@pytest.mark.parametrize(
    ("code", "refresh", "ends"), [(0, "", 0), (3, "", 3), (3, "--refresh", 0), (4, "--refresh", 4), (1, "--refresh", 1)]
)
def test_drift_stops_a_deployment_unless_it_is_to_be_put_right(tmp_path: Path, code: int, refresh: str, ends: int) -> None:
    runner = stand_in(tmp_path, "hpctl", f"print('the report')\nraise SystemExit({code})\n")
    done = ran(runner, "deploy.drift", STACK="prod", REFRESH=refresh, PULUMI_BACKEND_URL="")
    assert done.returncode == ends
    assert runner.file("GITHUB_STEP_SUMMARY") == "the report\n"
    assert ("::notice::prod differs" in done.stdout) == (code == 3 and ends == 0)


def test_the_output_of_a_preview_gives_the_runner_no_commands(tmp_path: Path) -> None:
    shutil.copytree(ROOT / ".github/scripts", tmp_path / "clone/.github/scripts")
    runner = stand_in(tmp_path, "pulumi", "print('::add-mask::e\\n::stop-commands::x\\n::x::\\nall is well', end='')\n")
    tokens = set()
    for _ in range(2):
        done = ran(runner, "pull-request.preview", STACK="prod", PULUMI_BACKEND_URL="")
        assert done.returncode == 0, done.stderr
        stop, *lines, resume = done.stdout.splitlines()
        token = stop.removeprefix("::stop-commands::")
        assert re.fullmatch(r"[0-9a-f]{32}", token)
        assert (lines, resume) == (["::add-mask::e", "::stop-commands::x", "::x::", "all is well"], f"::{token}::")
        tokens.add(token)
    assert len(tokens) == 2
    text = (runner.folder / "comment/2-preview-prod.md").read_text()
    assert text.startswith("<details><summary>Preview of prod</summary>")


def test_what_deploys_asks_the_clusters_first_and_lasts_as_long_as_it_may() -> None:
    steps = load(next(path for path in WORKFLOWS if path.stem == "deploy"))["jobs"]["deploy"]["steps"]
    order = [step.get("id") or step["uses"].partition("@")[0] for step in steps]
    credentials = order.index("aws-actions/configure-aws-credentials")
    assert credentials < order.index("drift") < order.index("guards") < order.index("up")
    assert steps[credentials]["with"]["role-duration-seconds"] == "43200"


def test_the_night_writes_one_issue(change: Runner) -> None:
    found = change.folder / "drift"
    found.mkdir()
    for stack, code in (("dev", 0), ("prod", 3)):
        (found / f"{stack}.md").write_text(f"### Drift of `{stack}`\n")
        (found / f"{stack}.code").write_text(f"{code}\n")
    gh(change, {"repos/example/platform/issues?state=open&labels=drift&per_page=100": []})
    stacks = json.dumps(["dev", "staging", "prod"])
    ok(change, "drift.issue", GH_TOKEN="x", STACKS=stacks, RUN_URL="https://example.com/1", GITHUB_REPOSITORY="example/platform")
    ((method, where, data),) = sent(change)
    assert (method, where, data["labels"]) == ("POST", "repos/example/platform/issues", ["drift"])
    assert "- `prod`: **differs**" in data["body"]
    assert "- `staging`: **could not be read**" in data["body"]


def test_what_is_audited_is_what_is_locked(change: Runner) -> None:
    ok(change, "vulnerabilities.export")
    text = (change.folder / "requirements.txt").read_text()
    assert re.search(r"^pulumi==[0-9.]+ \\$", text, re.MULTILINE)
    assert "--hash=sha256:" in text
    assert not re.search(r"^(-e|hyperpod-platform)", text, re.MULTILINE)


def test_the_programs_get_on_path(change: Runner) -> None:
    ok(change, "setup.path")
    assert change.file("GITHUB_PATH").split() == [f"{change.folder}/.venv/bin", f"{change.folder}/.uv/bin"]
