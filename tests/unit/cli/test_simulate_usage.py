"""`hpctl simulate` without a sandbox: what it takes, what it refuses before anything starts, what it prints and writes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from typer.main import get_command

from cli.main import app, run
from governance.model import ClusterPlan
from simulation.replay.model import Event, Fidelity, Replay, Settings
from simulation.traces.model import Job

KIND = "ml.p5.48xlarge"
HEAD = "apiVersion: hyperpod-platform/v1\n"
GROUPS = f"instance_groups: {{h100: {{instance_type: {KIND}, count: 4, availability_zone: us-west-2a}}}}"
OWN = f"{HEAD}clusters:\n  main: {{kind: existing, kubeconfig: kubeconfig, {GROUPS}}}\n"
MANAGED = f"""\
{HEAD}
clusters:
  main:
    kind: hyperpod
    account: "123456789012"
    region: us-west-2
    network: {{availability_zones: [us-west-2a, us-west-2b, us-west-2c]}}
    eks: {{admins: ["arn:aws:iam::123456789012:role/admin"]}}
    {GROUPS}
governance: {{backend: managed}}
"""
TEAM = f"{HEAD}owners: [a@example.com]\nquota: {{{KIND}: {{instances: 2}}}}\n"
TRACE = f"""\
{HEAD}
defaults: {{instance_type: {KIND}, per_pod: whole_node, runs_for: 1h}}
jobs:
  - {{name: first, team: nlp, arrives: 0s}}
  - {{name: later, team: nlp, arrives: 1h}}
"""
TABLE = f"name,team,arrives,runs_for,whole_node,instance_type\nfirst,nlp,0,3600,true,{KIND}\n"
Hpctl = Callable[..., int]


class Forbidden:
    """A sandbox that nobody may start."""

    def __init__(self, *_: Any) -> None:
        raise AssertionError("nothing may be started")


class Instant:
    """A sandbox on which each job runs from its arrival."""

    seen: list[tuple[tuple[str, ...], Settings, Fidelity]]

    def __init__(self, plan: ClusterPlan, _name: str, fidelity: Fidelity, *_: Any) -> None:
        self._plan = plan
        self._fidelity = fidelity

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def run(self, jobs: Sequence[Job], settings: Settings, *_: Any) -> Replay:
        Instant.seen.append((tuple(job.name for job in jobs), settings, self._fidelity))
        events = [
            event
            for job in jobs
            for event in (
                Event(job.arrives, "arrived", job.name),
                Event(job.arrives, "admitted", job.name, {(KIND, name): amount for name, amount in job.requests().items()}),
                Event(job.arrives + (job.runs_for or 0), "finished", job.name),
            )
        ]
        ordered = tuple(sorted(events, key=lambda event: event.at))
        return Replay(self._plan.name, ordered, ordered[-1].at, settings.tick, self._fidelity, "0.16.6")


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simulation.simulating.Stage", Forbidden)


@pytest.fixture
def instant(monkeypatch: pytest.MonkeyPatch) -> type[Instant]:
    monkeypatch.setattr("simulation.simulating.Stage", Instant)
    Instant.seen = []
    return Instant


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("environments", "teams"):
        (tmp_path / folder).mkdir()
    (tmp_path / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    (tmp_path / "environments/own.yaml").write_text(OWN)
    (tmp_path / "environments/managed.yaml").write_text(MANAGED)
    (tmp_path / "teams/nlp.yaml").write_text(TEAM)
    (tmp_path / "trace.yaml").write_text(TRACE)
    (tmp_path / "trace.csv").write_text(TABLE)
    return tmp_path


@pytest.fixture
def hpctl(project: Path, monkeypatch: pytest.MonkeyPatch) -> Hpctl:
    monkeypatch.chdir(project)
    return lambda *arguments, stack="own": run(["--project", str(project), "simulate", "--stack", stack, *arguments])


@pytest.mark.parametrize(
    "arguments", [(), ("trace.yaml", "--generate"), ("--generate", "--from-cluster"), ("trace.yaml", "--from-cluster")]
)
def test_there_is_exactly_one_source(hpctl: Hpctl, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(*arguments) == 2
    assert "one of the three" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["trace.yaml", "trace.csv", "--from-cluster"])
@pytest.mark.parametrize("option", [("--for", "1h"), ("--load", "1"), ("--team", "nlp"), ("--daily",)])
def test_options_of_a_drawn_load_are_refused_elsewhere(
    hpctl: Hpctl, source: str, option: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert hpctl(source, *option) == 2
    assert f"{option[0]}: goes with --generate" in capsys.readouterr().err


@pytest.mark.parametrize("source", ["trace.yaml", "trace.csv", "--from-cluster"])
def test_a_seed_is_refused_where_nothing_is_drawn(hpctl: Hpctl, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(source, "--seed", "2") == 2
    assert "--seed: goes with --generate, or a file that says `generate:`" in capsys.readouterr().err


@pytest.mark.parametrize(
    "option",
    [
        ("--runs", "0"),
        ("--runs", "101"),
        ("--fidelity", "exact"),
        ("--tick", "0s"),
        ("--until", "-1h"),
    ],
)
def test_wrong_usage(hpctl: Hpctl, option: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl("trace.yaml", *option) == 2
    err = capsys.readouterr().err
    assert option[0] in err
    assert "Traceback" not in err


def test_a_file_that_isnt_there(hpctl: Hpctl, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl("none.yaml") == 2
    assert "none.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("base", ["HEAD", "gone", "--all", "HEAD:teams"])
def test_a_base_that_isnt_there(hpctl: Hpctl, project: Path, base: str, capsys: pytest.CaptureFixture[str]) -> None:
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)  # noqa: S607
    assert hpctl("trace.yaml", "--base", base) == 2
    assert "--base" in (err := capsys.readouterr().err)
    assert base in err


def test_an_interrupted_comparison_names_the_side_that_is_left(
    hpctl: Hpctl, project: Path, instant: type[Instant], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "first"]
    for arguments in (["init", "--quiet"], ["add", "."], commit):
        subprocess.run(["git", "-C", str(project), *arguments], check=True)  # noqa: S607
    both = ("trace.yaml", "--base", "HEAD", "--runs", "1", "--json")
    assert hpctl(*both) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["before"]["side"], found["after"]["side"], found["interrupted"]) == ("HEAD", "the working tree", False)
    replayed = instant.run

    def once(self: Instant, *arguments: Any) -> Replay:
        if len(instant.seen) > 2:
            raise KeyboardInterrupt
        return replayed(self, *arguments)

    monkeypatch.setattr(instant, "run", once)
    assert hpctl(*both) == 130
    found = json.loads(capsys.readouterr().out)
    assert (found["side"], found["interrupted"], found["complete"], "before" in found) == ("HEAD", True, True, False)


BAD = """\
  - {name: whose, team: npl, arrives: 0s}
  - {name: before, team: nlp, arrives: -5m}
  - {name: giant, team: nlp, arrives: 0s, per_pod: {accelerators: 9}}
"""


def test_all_that_is_wrong_with_a_file_is_told_with_its_lines(
    hpctl: Hpctl, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "bad.yaml").write_text(TRACE + BAD)
    line = TRACE.count("\n") + 1
    assert hpctl("bad.yaml", "--json") == 1
    out, err = capsys.readouterr()
    assert out == ""
    for place, words in ((f"{line}:25", "npl"), (f"{line + 1}:40", "before the beginning"), (f"{line + 2}:52", "nvidia.com/gpu")):
        assert any(f"bad.yaml:{place}" in told and words in told for told in err.splitlines()), (place, err)
    assert "did you mean `nlp`?" in err


def test_all_that_is_wrong_with_a_table_is_told_with_its_lines(
    hpctl: Hpctl, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header = "team,arrives,accelerators,instance_type,pods"
    rows = (f"npl,0,8,{KIND},1", f"nlp,-5,8,{KIND},1", f"nlp,0,9,{KIND},1", f"nlp,0,8,{KIND},--5", f'n"lp,0,8,{KIND},zz')
    (project / "bad.csv").write_text("\n".join((header, *rows)) + "\n")
    assert hpctl("bad.csv") == 1
    err = capsys.readouterr().err
    for line in range(2, 7):
        assert f"bad.csv:{line}:" in err, (line, err)
    assert "Traceback" not in err


def test_a_team_that_isnt_there_draws_nothing(hpctl: Hpctl, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl("--generate", "--team", "npl") == 1
    assert "--team" in (err := capsys.readouterr().err)
    assert "did you mean `nlp`?" in err


def test_teams_are_completed(project: Path) -> None:
    command = get_command(app).commands["simulate"]  # type: ignore[attr-defined]
    parent = type(command).context_class(get_command(app), obj=project)
    (team,) = [one for one in command.params if one.name == "team"]
    for begun, wanted in (("n", ["nlp"]), ("x", [])):
        context = type(command).context_class(command, parent=parent)
        assert [str(one.value) for one in team.shell_complete(context, begun)] == wanted


def test_nothing_before_the_end(hpctl: Hpctl, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "late.yaml").write_text(TRACE.replace("arrives: 0s", "arrives: 1h"))
    assert hpctl("late.yaml", "--until", "1h") == 1
    assert "--until" in (err := capsys.readouterr().err)
    assert "no job arrives before the trace's end" in err
    (project / "late.yaml").write_text(TRACE.replace("arrives: 0s", "arrives: 1h") + "until: 1h\n")
    assert hpctl("late.yaml") == 1
    assert "late.yaml" in capsys.readouterr().err


@pytest.mark.parametrize("in_file", [True, False])
def test_who_arrives_at_the_end_is_left_out_wherever_the_end_is_said(
    hpctl: Hpctl, project: Path, instant: type[Instant], capsys: pytest.CaptureFixture[str], in_file: bool
) -> None:
    (project / "short.yaml").write_text(TRACE + ("until: 1h\n" if in_file else ""))
    assert hpctl("short.yaml", "--json", "--runs", "1", *(() if in_file else ("--until", "1h"))) == 0
    assert instant.seen == [(("first",), Settings(1, 3600), "workloads")]
    found = json.loads(capsys.readouterr().out)
    assert (found["trace"]["jobs"], found["trace"]["until_s"], found["overall"]["jobs"]) == (1, 3600, 1)
    assert found["trace"]["notes"] == ["1 jobs arrive when the trace has ended, and are left out"]


def test_a_drawn_load_has_its_defaults(hpctl: Hpctl, instant: type[Instant], capsys: pytest.CaptureFixture[str]) -> None:
    def names(*options: str) -> tuple[str, ...]:
        instant.seen = []
        assert hpctl("--generate", "--runs", "1", "--json", *options) == 0
        capsys.readouterr()
        return instant.seen[0][0]

    whole = names()
    assert whole == names("--seed", "1", "--for", "24h", "--load", "1", "--team", "nlp")
    assert len(names("--for", "2h")) < len(whole) < len(names("--load", "3"))


def test_json_is_data_alone(hpctl: Hpctl, instant: type[Instant], capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl("trace.csv", "--json", "--runs", "2", "--fidelity", "pods", "--tick", "5m") == 0
    assert [how for _, *how in instant.seen] == [[Settings(300, None), "pods"]] * 2
    found = json.loads(capsys.readouterr().out)
    assert {"trace", "backend", "model", "about", "overall", "teams", "compute", "runs", "tick_s", "until_s"} <= set(found)
    assert (found["backend"], found["model"], found["runs"]) == ("kueue", "same", 2)
    named = {"environment": "own", "cluster": "main", "side": "the working tree", "interrupted": False}
    assert named.items() <= {key: found[key] for key in named}.items()
    assert found["teams"]["nlp"]["finished"] == 1


def test_under_task_governance_it_is_the_nearest_model(
    hpctl: Hpctl, instant: type[Instant], capsys: pytest.CaptureFixture[str]
) -> None:
    assert hpctl("trace.yaml", "--runs", "1", stack="managed") == 0
    assert "nearest model" in " ".join(capsys.readouterr().out.split())
    assert hpctl("trace.yaml", "--runs", "1", "--json", stack="managed") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["backend"], found["model"], len(instant.seen)) == ("managed", "nearest", 2)


def test_a_page_that_cant_be_written_is_told_before_the_replay(hpctl: Hpctl, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl("trace.yaml", "--html", "trace.csv/page.html") == 4
    assert "cannot write trace.csv/page.html" in capsys.readouterr().err


def test_a_page_is_written_and_an_old_one_kept_until_then(
    hpctl: Hpctl, project: Path, instant: type[Instant], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = project / "out/page.html"
    page.parent.mkdir()
    page.write_text("old")
    monkeypatch.setattr("simulation.simulating.Stage", Forbidden)
    with pytest.raises(AssertionError, match="nothing may be started"):
        hpctl("trace.yaml", "--html", str(page))
    assert page.read_text() == "old"
    monkeypatch.setattr("simulation.simulating.Stage", instant)
    assert hpctl("trace.yaml", "--html", str(page), "--runs", "1") == 0
    assert f"wrote {page}" in capsys.readouterr().err
    assert "nlp" in page.read_text()
    assert [file.name for file in page.parent.iterdir()] == ["page.html"]


def test_a_cluster_without_kueue_is_told(
    hpctl: Hpctl, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Bare:
        def __init__(self, *_: Any) -> None: ...

        def get(self, path: str) -> None:
            return None

        def pages(self, path: str) -> None:
            raise AssertionError(path)

    monkeypatch.setattr("live.clusters.connection", lambda *_: None)
    monkeypatch.setattr("live.kube.Reader", Bare)
    assert hpctl("--from-cluster") == 4
    assert "main: the cluster serves none of Kueue's API versions" in capsys.readouterr().err
