"""`hpctl job`: what it prints and where, its exit codes, and what becomes of a server's answers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import job as verb
from cli.main import run
from config.findings import Finding
from governance.jobs.kinds import KINDS
from live import clusters
from live import submit as submitting
from live.connection import Answer, ApiError, UnreachableError

ENVIRONMENT = """
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    kubeconfig: missing
    kueue: {external_frameworks: [HyperPodPytorchJob.v1.sagemaker.amazonaws.com]}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 8}
governance:
  priority_classes: {high: {weight: 90}, low: {weight: 10}}
"""
TEAM = """
apiVersion: hyperpod-platform/v1
owners: [a@example.com]
quota: {ml.p5.48xlarge: {instances: 4}}
default_priority: high
"""
ASKED = ("llama", "--team", "nlp", "-i", "ml.p5.48xlarge", "--image", "train:1", "-a", "8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    for folder, file, text in (("environments", "dev.yaml", ENVIRONMENT), ("teams", "nlp.yaml", TEAM)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(text)
    return tmp_path


def hpctl(project: Path, *arguments: str) -> int:
    return run(["--project", str(project), "job", *arguments, "--stack", "dev"])


def test_yaml_that_kubectl_takes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, *ASKED, "--pods", "2", "--command", "python train.py", "-e", "WORD=yes", "-e", "NUMBER=1") == 0
    out, err = capsys.readouterr()
    service, one = yaml.safe_load_all(out)
    assert (service["kind"], one["kind"]) == ("Service", "Job")
    assert "&" not in out  # no anchors
    env = {entry["name"]: entry["value"] for entry in one["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert (env["WORD"], env["NUMBER"]) == ("yes", "1")
    assert err.startswith("each pod: nvidia.com/gpu 8, cpu ")


def test_json_is_one_document(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, *ASKED, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "Job"
    assert hpctl(project, *ASKED, "--pods", "2", "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [document["kind"], *(one["kind"] for one in document["items"])] == ["List", "Service", "Job"]


def test_errors_print_nothing_but_themselves(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, *ASKED, "--pods", "99", "--priority", "hihg", "--required-topology", "layer-8") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "--priority: error: there is no priority class `hihg` [priority-class-unknown]" in err
    assert "--required-topology: error:" in err
    assert "[job-too-large]" in err
    assert err.rstrip().endswith("3 errors")


def test_advice_does_not_stand_in_the_way(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, *ASKED, "--preferred-topology", "layer-3", "--max-run-time", "2h") == 0
    out, _ = capsys.readouterr()
    assert "kueue.x-k8s.io/max-exec-time-seconds: '7200'" in out


def test_the_hyperpod_cli_s_command_is_one_that_a_shell_reads(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = (*ASKED, "--kind", "hyperpodpytorchjob", "--command", "python train.py", "-e", "A=b c")
    assert hpctl(project, *asked, "--hyperpod-cli") == 0
    words = shlex.split(capsys.readouterr().out)
    assert words[:3] == ["hyp", "create", "hyp-pytorch-job"]
    assert words[words.index("--environment") + 1] == '{"A": "b c"}'
    assert hpctl(project, *ASKED, "--hyperpod-cli") == 1
    assert "[job-hyperpod-cli]" in capsys.readouterr().err


def test_wrong_usage(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, *ASKED, "--submit", "--dry-run") == 2
    assert hpctl(project, "llama", "--team", "nlp") == 2
    assert hpctl(project, *ASKED, "--pods", "two") == 2
    assert "Traceback" not in capsys.readouterr().err


def test_numbers_that_are_none_are_findings(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for given in (("--vcpu", "nan"), ("--vcpu", "inf"), ("--vcpu", "1e400"), ("--memory-gib", "nan"), ("--vcpu", "0.0001")):
        assert hpctl(project, *ASKED, *given) == 1
        out, err = capsys.readouterr()
        assert out == ""
        assert f"{given[0]}: error: " in err
        assert "[job-amounts]" in err
    assert hpctl(project, *ASKED, "--min-replicas", "1", "--max-replicas", "300000000", "--increment", "1") == 1
    assert "[job-elastic]" in capsys.readouterr().err


def test_a_cluster_that_cannot_be_reached(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hpctl(project, *ASKED, "--submit") == 4
    assert "the kubeconfig " in capsys.readouterr().err
    assert hpctl(project, *ASKED, "--submit", "--kubeconfig", str(project / "none")) == 4
    assert "none cannot be read" in capsys.readouterr().err
    environment = project / "environments/dev.yaml"
    environment.write_text(
        ENVIRONMENT.replace("kubeconfig: missing\n    kueue: {", "sandbox: true\n    kueue: {install: false, ")
    )
    assert hpctl(project, *ASKED, "--dry-run") == 4
    assert "does not run; `hpctl up --stack dev` starts it" in capsys.readouterr().err


def test_kinds_are_completed() -> None:
    assert tuple(KINDS) == verb._KINDS
    assert verb.complete_kind("hyper") == ["hyperpodpytorchjob"]


class Server:
    """Answers by path and by whether it is asked without effect."""

    def __init__(self, *refusals: tuple[str, bool, Exception]) -> None:
        self.refusals = refusals
        self.created: list[str] = []

    def request(self, method: str, path: str, body: Any, query: Mapping[str, str]) -> Answer:
        assert method == "POST"
        assert query["fieldValidation"] == "Strict"
        dry = query.get("dryRun") == "All"
        for end, when_dry, error in self.refusals:
            if path.endswith(end) and dry == when_dry:
                raise error
        if not dry:
            self.created.append(f"{body['kind']}/{body['metadata']['name']}")
        return Answer({})


def submitted(project: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(clusters, "connection", lambda *_: server)
    return hpctl(project, *ASKED, "--pods", "2", "--submit")


def test_objects_are_tried_before_any_is_created(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    assert submitted(project, server, monkeypatch) == 0
    assert server.created == ["Service/llama", "Job/llama"]
    refusing = Server(("/jobs", True, ApiError(422, "Invalid", "no")))
    assert submitted(project, refusing, monkeypatch) == 1
    assert refusing.created == []


def test_what_is_there_already_stays(project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(("/jobs", True, ApiError(409, "AlreadyExists", 'jobs.batch "llama" already exists')))
    assert submitted(project, server, monkeypatch) == 1
    assert server.created == []
    err = capsys.readouterr().err
    assert "Job/llama: error: there is a Job `llama` in hyperpod-ns-nlp already; it stays as it is [job-exists]" in err
    assert "kubectl delete jobs llama -n hyperpod-ns-nlp" in err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ApiError(403, "Forbidden", "denied:\n  a label is missing"), "refuses it: denied: a label is missing"),
        (ApiError(404, "NotFound", 'namespaces "hyperpod-ns-nlp" not found'), "no namespace hyperpod-ns-nlp"),
        (ApiError(404, "NotFound", "the server could not find the requested resource"), "doesn't know Job (batch/v1)"),
    ],
)
def test_what_the_server_says_is_a_sentence(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: ApiError, words: str
) -> None:
    assert submitted(project, Server(("/jobs", True, error)), monkeypatch) == 1
    err = capsys.readouterr().err
    assert words in err
    assert "[job-refused]" in err


def test_what_was_created_before_a_refusal_is_told(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server(("/jobs", False, ApiError(403, "Forbidden", "too late")))
    assert submitted(project, server, monkeypatch) == 1
    err = capsys.readouterr().err
    assert server.created == ["Service/llama"]
    assert "Service/llama: error: was created before the refusal" in err


def test_a_repeated_request_that_had_been_served_is_no_conflict(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = ApiError(409, "AlreadyExists", "already exists", retried=True)
    assert submitted(project, Server(("/jobs", False, again)), monkeypatch) == 0


@pytest.mark.parametrize("error", [ApiError(500, "InternalError", "etcd is gone"), UnreachableError("it does not answer")])
def test_a_server_that_fails_is_no_finding(project: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    assert submitted(project, Server(("/jobs", True, error)), monkeypatch) == 4


def test_findings_of_a_refusal_are_findings() -> None:
    (found,) = submitting.submit(
        Server(("/jobs", True, ApiError(400, "BadRequest", "strict decoding error"))),  # type: ignore[arg-type]
        [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a", "namespace": "b"}}],
        dry=True,
    )
    assert isinstance(found, Finding)
    assert found.docs == "docs/checks/jobs.md#job-refused"
