"""`hpctl import` and what an API server answers it: options, refusals, and files that are written once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from cli.main import run

GROUP = "/apis/kueue.x-k8s.io"
QUEUE = {
    "metadata": {"name": "research"},
    "spec": {
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": ["cpu", "memory"],
                "flavors": [
                    {
                        "name": "general",
                        "resources": [{"name": "cpu", "nominalQuota": "16"}, {"name": "memory", "nominalQuota": "64Gi"}],
                    }
                ],
            }
        ],
    },
}
FLAVOR = {
    "metadata": {"name": "general"},
    "spec": {"nodeLabels": {"node.kubernetes.io/instance-type": "ml.m5.4xlarge"}},
}
ANSWERS: dict[str, Any] = {
    f"{GROUP}/v1beta2": {
        "resources": [{"kind": "ClusterQueue", "name": "clusterqueues"}, {"kind": "ResourceFlavor", "name": "resourceflavors"}]
    },
    f"{GROUP}/v1beta2/clusterqueues": {"items": [QUEUE]},
    f"{GROUP}/v1beta2/resourceflavors": {"items": [FLAVOR]},
}


class Server(ThreadingHTTPServer):
    """An API server with one ClusterQueue; `status` other than 200 is its answer to everything."""

    status = 200


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        found = ANSWERS.get(self.path.partition("?")[0])
        status = self.server.status if self.server.status != 200 or found else 404
        refusal = {"kind": "Status", "reason": "Forbidden", "message": "clusterqueues is forbidden: you may not list"}
        body = json.dumps(found if status == 200 else refusal).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as found:
        Thread(target=found.serve_forever, args=(0.01,), daemon=True).start()
        yield found
        found.shutdown()


@pytest.fixture
def project(tmp_path: Path, server: Server) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "Pulumi.yaml").write_text("name: hyperpod-platform\nruntime: python\n")
    kubeconfig = {
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "main", "user": "main"}}],
        "clusters": [{"name": "main", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
        "users": [{"name": "main", "user": {}}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    return root


def take(project: Path, *arguments: str) -> int:
    kubeconfig = str(project.parent / "kubeconfig")
    given = ["--from-cluster", "--kubeconfig", kubeconfig, "-e", "lab", "--owner", "ops@example.com", *arguments]
    return run(["--project", str(project), "import", *given])


def files(project: Path) -> set[str]:
    return {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()} - {"Pulumi.yaml"}


@pytest.mark.parametrize("status", [401, 403, 500])
def test_a_refusal_of_the_api_server_is_a_sentence(
    status: int, project: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    server.status = status
    assert take(project) == 4
    err = capsys.readouterr().err
    assert f"hpctl: the API server answers {status}: clusterqueues is forbidden: you may not list" in err
    assert "Traceback" not in err
    assert files(project) == set()


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--stack", "../x"),
        ("--stack", "/tmp/x"),
        ("--stack", "organization/project/x"),
        ("--stack", ".."),
        ("--stack", ""),
        ("--environment", "../x"),
        ("--environment", "a/b"),
        ("--environment", "Lab\n"),
        ("--cluster", "Main Cluster"),
        ("--cluster", ""),
    ],
)
def test_a_name_that_is_none_is_wrong_usage(option: str, name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert take(project, option, name) == 2
    assert option in capsys.readouterr().err
    assert files(project) == set()
    assert {path.name for path in project.parent.iterdir()} == {"project", "kubeconfig"}


def test_what_an_earlier_run_wrote_is_taken(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = take(project)
    assert code in {0, 3}
    assert "wrote environments/lab.yaml" in capsys.readouterr().err
    written = files(project)
    assert written == {"environments/lab.yaml", "teams/research.yaml", "imports/lab.json", "Pulumi.lab.yaml"}
    assert take(project) == code
    err = capsys.readouterr().err
    assert "wrote" not in err
    assert "environments/lab.yaml is there already, and says the same" in err
    assert files(project) == written


def test_a_file_that_says_something_else_stays(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    take(project)
    (project / "teams/research.yaml").write_text("mine")
    assert take(project) == 1
    assert "teams/research.yaml: error: the file is there already, and says something else" in capsys.readouterr().err
    assert (project / "teams/research.yaml").read_text() == "mine"


def test_a_folder_that_can_not_be_written_to_is_a_sentence(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "imports").write_text("a file in the place of the folder")
    assert take(project) == 4
    err = capsys.readouterr().err
    assert "hpctl: cannot write" in err
    assert "Traceback" not in err
    assert files(project) == {"imports"}
