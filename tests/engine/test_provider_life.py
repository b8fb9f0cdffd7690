# ruff: noqa: F401, F811 - fixtures are imported by name
"""The offline Kubernetes provider under the real engine, on a real API server: waiting, deleting, refreshing, many clusters."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from engine_support import Project, cluster, later, project, provider, widgets

from live.connection import ApiError
from sandbox.engine import EngineError, Progress

pytestmark = pytest.mark.engine

WIDGETS = "/apis/test.example.com/v1"
WAITING = """
    add("one", "test.example.com/v1", "Widget", spec={"size": step}, meta={
        "name": f"{mark}-one", "annotations": {"pulumi.com/waitFor": WAIT, "pulumi.com/timeoutSeconds": "TIME"}})
"""
ACTIVE = {"type": "Active", "status": "True", "reason": "Ready", "message": "all is well"}
INACTIVE = {"type": "Active", "status": "False", "reason": "FlavorNotFound", "message": "no flavor"}


def waiting(wait: str, seconds: int) -> str:
    return WAITING.replace("WAIT", json.dumps(wait)).replace("TIME", str(seconds))


def set_status(project: Project, status: dict[str, Any]) -> None:
    """What a controller would report, as soon as the object is there."""
    path = project.path("widgets", "one", WIDGETS)
    deadline = time.monotonic() + 120
    while True:
        try:
            project.api.request("PATCH", f"{path}/status", {"status": status}, None, "application/merge-patch+json")
            return
        except ApiError as error:
            if error.status != 404 or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("wait", "status"),
    [
        ("condition=Active", {"conditions": [ACTIVE]}),
        ("condition=Active=False", {"conditions": [INACTIVE]}),
        ("jsonpath={.status.phase}=Ready", {"phase": "Ready"}),
        ('["condition=Active", "jsonpath={.status.phase}"]', {"phase": "any", "conditions": [ACTIVE]}),
    ],
)
def test_create_waits_for_what_the_annotation_says(project: Project, widgets: str, wait: str, status: dict[str, Any]) -> None:
    began = time.monotonic()
    with later(1.5, lambda: set_status(project, status)):
        result = project.up(waiting(wait, 30))
    assert result.changes.create == 3
    assert time.monotonic() - began > 1.5


def test_the_user_is_told_what_is_waited_for(project: Project, widgets: str) -> None:
    seen: list[Progress] = []
    told = threading.Event()

    def look(one: Progress) -> None:
        seen.append(one)
        if (one.what, one.message) == ("status", "waiting for condition Active=True (is False, FlavorNotFound: no flavor)"):
            told.set()

    def report() -> None:
        set_status(project, {"conditions": [INACTIVE]})
        assert told.wait(120)
        set_status(project, {"conditions": [ACTIVE]})

    with later(0, report):
        project.up(waiting("condition=Active", 120), on_event=look)
    assert {(one.what, one.op) for one in seen if one.urn.endswith("::one")} >= {("started", "create"), ("done", "create")}


def test_time_out_tells_the_conditions_and_the_next_run_waits_again(project: Project, widgets: str) -> None:
    with later(0, lambda: set_status(project, {"conditions": [INACTIVE]})):
        message = project.refused(lambda: project.up(waiting("condition=Active", 5)))
    assert "Widget one" in message
    assert "not ready after 5 s" in message
    assert "Active=False (FlavorNotFound: no flavor)" in message
    with later(1, lambda: set_status(project, {"conditions": [ACTIVE]})):
        again = project.up(waiting("condition=Active", 20))
    assert (again.changes.create, again.changes.update) == (0, 1), "the object is in the state, and waited for once more"
    assert project.up().changes.total == 0


def test_waiting_can_be_skipped_and_bad_expressions_are_refused(project: Project, widgets: str) -> None:
    skipped = waiting("condition=Active", 1).replace('"annotations": {', '"annotations": {"pulumi.com/skipAwait": "true", ')
    assert project.up(skipped).changes.create == 3
    assert "jsonpath=" in project.refused(lambda: project.preview(waiting("status=Active", 1)))


def test_custom_timeouts_come_before_the_annotation(project: Project, widgets: str) -> None:
    text = waiting("condition=Active", 300).rstrip().removesuffix(")")
    text += ', options=pulumi.ResourceOptions(custom_timeouts=pulumi.CustomTimeouts(create="1s")))\n'
    assert "not ready after 1 s" in project.refused(lambda: project.up(text))


def test_deletion_waits_for_finalizers_and_names_them(project: Project, widgets: str) -> None:
    text = """
        add("one", "test.example.com/v1", "Widget", spec={}, meta={
            "name": f"{mark}-one", "finalizers": ["test.example.com/hold"],
            "annotations": {"pulumi.com/timeoutSeconds": "10"}})
    """
    project.up(text)
    message = project.refused(lambda: project.up(""))
    assert "still there after 10 s" in message
    assert "test.example.com/hold" in message
    path = project.path("widgets", "one", WIDGETS)

    def release() -> None:
        patch = {"metadata": {"finalizers": None}}
        project.api.request("PATCH", path, patch, None, "application/merge-patch+json")

    began = time.monotonic()
    with later(1, release):
        assert project.up("").changes.delete == 1
    assert time.monotonic() - began > 1
    assert project.get(path) is None


def test_deleting_what_is_gone_is_fine(project: Project) -> None:
    project.up('add("map", "v1", "ConfigMap")')
    project.api.request("DELETE", project.path("configmaps", "map"))
    assert project.up("").changes.delete == 1


def test_refresh_sees_changes_and_deletions_but_no_defaults(project: Project, widgets: str) -> None:
    text = """
        add("map", "v1", "ConfigMap", data={"a": "1"})
        add("gone", "v1", "ConfigMap", data={"a": "1"})
        add("one", "test.example.com/v1", "Widget", spec={
            "size": 1, "memory": "1024Mi", "parts": [{"name": "x"}]})
        add("deployment", "apps/v1", "Deployment", meta={
            "name": f"{mark}-deployment", "annotations": {"pulumi.com/skipAwait": "true"}}, spec={
            "replicas": 0, "selector": {"matchLabels": {"app": mark}}, "template": {
                "metadata": {"labels": {"app": mark}},
                "spec": {"containers": [{"name": "c", "image": "none", "resources": {"limits": {"memory": "1024Mi"}}}]}}})
    """
    project.up(text)
    with project.engine() as engine:
        assert engine.refresh().total == 0, "defaults and rewritten quantities are no drift"
        assert engine.preview().total == 0
    merge = "application/merge-patch+json"
    project.api.request(
        "PATCH", project.path("configmaps", "map"), {"data": {"a": "2", "b": "3"}}, {"fieldManager": "kubectl-edit"}, merge
    )
    project.api.request("DELETE", project.path("configmaps", "gone"))
    added = {"spec": {"memory": "1Gi", "parts": [{"name": "x"}, {"name": "y"}]}}
    by_hand = {"fieldManager": "kubectl-edit"}
    project.api.request("PATCH", project.path("widgets", "one", WIDGETS), added, by_hand, merge)
    with project.engine() as engine:
        seen = engine.refresh(preview_only=True)
        assert (seen.update, seen.delete) == (2, 1)
        assert engine.preview().total == 0, "without a refresh nothing is looked at"
        found = engine.preview(refresh=True)
        assert (found.create, found.update + found.replace) == (1, 2)
        engine.up(refresh=True)
        assert engine.preview(refresh=True).total == 0
    live = project.config_map("map")
    assert live is not None
    assert live["data"]["a"] == "1"
    widget = project.get(project.path("widgets", "one", WIDGETS))
    assert widget is not None
    assert widget["spec"]["parts"] == [{"name": "x"}]
    assert project.config_map("gone") is not None


def test_update_of_a_deleted_object_says_what_to_do(project: Project) -> None:
    text = (
        'add("role", "rbac.authorization.k8s.io/v1", "Role", rules=[], meta={"name": f"{mark}-role", "labels": {"a": str(step)}})'
    )
    project.up(text)
    project.api.request("DELETE", project.path("roles", "role", "/apis/rbac.authorization.k8s.io/v1"))
    project.configure(step="1")
    message = project.refused(project.up)
    assert "was deleted outside of Pulumi" in message
    assert "refresh" in message
    assert project.up(refresh=True).changes.create == 1


@contextmanager
def second_server(project: Project) -> Iterator[tuple[str, list[str]]]:
    """Another address for the API server: its URL, and the requests that came by it."""
    seen: list[str] = []

    class Proxy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen.append(f"{self.command} {self.path}")
            try:
                content = self.headers.get("Content-Type") or "application/json"
                answer = project.api.request(self.command, self.path, json.loads(body) if body else None, None, content)
                self.reply(200, answer.body)
            except ApiError as error:
                status = {"kind": "Status", "message": error.message, "reason": error.reason}
                self.reply(error.status, status)

        def reply(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()


def kubeconfig(server: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": server}}],
            "contexts": [{"name": "c", "context": {"cluster": "c"}}],
            "current-context": "c",
        }
    )


def test_each_cluster_of_a_stack_gets_its_own_objects(project: Project) -> None:
    text = """
        second = k8s.Provider("second", kubeconfig=config.require("second"), cluster_identifier="second")
        for i in range(5):
            add(f"here{i}", "v1", "ConfigMap")
            add(f"there{i}", "v1", "ConfigMap", via=second)
    """
    with second_server(project) as (url, seen):
        project.configure(second=kubeconfig(url))
        assert project.up(text).changes.create == 13
        written = [line for line in seen if line.startswith("POST")]
        assert len(written) == 5
        assert not [line for line in seen if "here0" in line.replace("there0", "")]
        seen.clear()
        project.up("")
        assert len([line for line in seen if line.startswith("DELETE") and "there" in line]) == 5
        assert not [line for line in seen if line.startswith("DELETE") and "there" not in line]


def test_new_address_of_the_same_cluster_is_an_update_of_the_provider(project: Project) -> None:
    text = 'add("map", "v1", "ConfigMap", data={"a": "1"})'
    project.up(text)
    before = project.config_map("map")
    with second_server(project) as (url, seen):
        project.configure(kubeconfig=kubeconfig(url))
        changed = project.up(text)
        assert (changed.changes.update, changed.changes.total) == (1, 1), "the provider alone"
        assert project.config_map("map") == before
        project.program(text.replace('"a": "1"', '"a": "2"'))
        assert project.up().changes.replace == 1
        assert [line for line in seen if line.startswith("POST")], "what follows goes to the new address"
        project.configure()
        project.program(text.replace('"a": "1"', '"a": "2"'))
        assert project.up().changes.total == 1


def test_another_cluster_identifier_replaces_everything(project: Project) -> None:
    project.up('add("map", "v1", "ConfigMap", data={"a": "1"})')
    header = (project.folder / "__main__.py").read_text()
    (project.folder / "__main__.py").write_text(header.replace('cluster_identifier="test"', 'cluster_identifier="other"'))
    assert project.preview().replace == 2


def test_interrupting_a_wait_keeps_the_object_in_the_state(project: Project, widgets: str) -> None:
    with pytest.raises(EngineError):
        project.up(waiting("condition=Active", 1))
    with project.engine() as engine:
        state = engine.state()["deployment"]["resources"]
        assert [one["id"] for one in state if one["type"].endswith(":Widget")] == [f"default/{project.name('one')}"]
