"""The engine driver's pure parts: counts, errors, settings, events, what a run that was cut short has left; and its log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2  # type: ignore[import-untyped]
from pulumi.runtime.proto import engine_pb2_grpc, events_pb2, events_pb2_grpc, language_pb2

from live.connection import Answer, ApiError, Connection
from sandbox import engine_events, engine_plugins, engine_program
from sandbox.engine import Engine
from sandbox.engine_errors import Diagnostic, EngineError, from_diagnostics, resource_name
from sandbox.engine_events import Changes, EventServer, count, plain_text
from sandbox.engine_program import Program
from sandbox.engine_recovery import Owner, RunNote, heal
from sandbox.engine_settings import ConfigValue, EngineSettings, relative_backend
from sandbox.engine_workspace import Workspace
from sandbox.provider import deletion, operation
from sandbox.provider.conditions import READY, State
from sandbox.provider.discovery import Mapping
from sandbox.provider.host import Host
from sandbox.provider.names import Kind
from sandbox.provider.operation import Operation, ReadyWait

URN = "urn:pulumi:local::platform::platform:Queues$kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue::research"


def test_counts_are_pulumis_own() -> None:
    assert count({"create": 2, "same": 3, "delete": 1}) == Changes(create=2, same=3, delete=1)
    replaced = count({"replace": 1, "create-replacement": 1, "delete-replaced": 1, "same": 2})
    assert replaced == Changes(replace=1, same=2)
    assert replaced.total == 1
    assert count({"import": 1, "read": 1}) == Changes(create=1, same=1)


def test_resources_are_named_by_kind_and_name() -> None:
    assert resource_name(URN) == "ClusterQueue research"
    assert resource_name("urn:pulumi:local::platform::pulumi:pulumi:Stack::platform-local") == ""
    assert resource_name("") == ""


def test_errors_are_told_once_and_without_echoes() -> None:
    said = [
        Diagnostic("warning", URN, "mind the gap"),
        Diagnostic("error", URN, "it is  broken\n  for good"),
        Diagnostic("error", URN, "it is broken for good"),
        Diagnostic("error", "", "update failed"),
    ]
    error = from_diagnostics("up", said, "", Path("/x/up.log"))
    assert error.message == "ClusterQueue research: it is broken for good"
    assert str(error).splitlines() == [error.message, "Log: /x/up.log"]
    assert from_diagnostics("up", said[3:], "", None).message == "update failed"
    assert from_diagnostics("up", [], "warning: old\nerror: no stack\n", None).message == "no stack"
    assert from_diagnostics("up", [], "", None).message == "pulumi up failed without saying why."


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("resource x cannot be deleted\nbecause it is protected. To unprotect the resource, run `pulumi state`", "draining"),
        ("the stack is currently locked by 1 lock(s)", "pulumi cancel"),
        ("incorrect passphrase", "PULUMI_CONFIG_PASSPHRASE"),
        ("PULUMI_ACCESS_TOKEN must be set for login", "pulumi login"),
        ("no resource plugin 'pulumi-resource-aws' found", "pulumi plugin install"),
    ],
)
def test_remedies(message: str, remedy: str) -> None:
    error = from_diagnostics("up", [Diagnostic("error", URN, message)], "", None)
    assert remedy in error.remedy
    assert "pulumi state" not in error.message


def test_markup_is_taken_out() -> None:
    assert plain_text("<{%fg 1%}>error: <{%reset%}>\x1b[31mred\x1b[0m 5 < 6") == "error: red 5 < 6"


def send(server: EventServer, *events: dict[str, Any]) -> None:
    """Send a run's events, and wait for the answer, as pulumi does before it ends; it breaks off before an empty one."""

    def requests() -> Iterator[events_pb2.EventRequest]:
        for event in events:
            deadline = time.monotonic() + 60  # a call that ends before it is sent was never one
            while not event and not server.begun and time.monotonic() < deadline:
                time.sleep(0.01)
            assert event, "breaks off"
            yield events_pb2.EventRequest(event=json.dumps(event))

    with grpc.insecure_channel(server.address.removeprefix("tcp://")) as channel:
        events_pb2_grpc.EventsStub(channel).StreamEvents(requests())


SUMMARY = {"summaryEvent": {"resourceChanges": {"create": 2}}}


def test_counts_come_with_the_last_event() -> None:
    assert engine_events._WAIT_FOR_LAST > 30, "a busy machine takes more than five seconds"
    with EventServer(None) as server:
        assert not server.begun
        send(server, SUMMARY)
        assert server.begun
        assert server.wait_for_last()
        assert server.report.changes == Changes(create=2)


def test_events_that_break_off_are_not_waited_for() -> None:
    with EventServer(None) as server:
        with pytest.raises(grpc.RpcError):
            send(server, SUMMARY, {})
        server.wait_for_last()
        assert server._over.is_set()


def test_a_stream_that_breaks_off_does_not_count_as_whole() -> None:
    def breaking() -> Iterator[str]:
        yield json.dumps(SUMMARY)
        raise ConnectionError

    with EventServer(None) as server:
        with pytest.raises(ConnectionError):
            server._take(breaking())
        assert not server.wait_for_last()


def fake_engine(tmp_path: Path, script: str) -> Engine:
    """An engine that tells no events."""
    pulumi = tmp_path / "pulumi"
    pulumi.write_text(f"#!/bin/sh\n{script}\n")
    pulumi.chmod(0o755)
    (tmp_path / "Pulumi.yaml").write_text("name: x\nruntime: python\n")
    return Engine(EngineSettings(tmp_path, "dev", f"file://{tmp_path}/state", pulumi, "word", kubernetes_provider="plugin"))


def test_a_success_without_its_events_is_no_run_that_changed_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_events, "_WAIT_FOR_LAST", 0.1)
    with pytest.raises(EngineError, match="`destroy` succeeded, but pulumi did not tell all") as caught:
        fake_engine(tmp_path, "exit 0").destroy()
    assert caught.value.log is not None
    assert caught.value.remedy


def test_a_failure_before_the_first_event_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventServer, "wait_for_last", lambda _: pytest.fail("there is nothing to wait for"))
    with pytest.raises(EngineError, match="it is locked"):
        fake_engine(tmp_path, "echo 'error: it is locked' >&2; exit 255").destroy()


class Deaf(engine_pb2_grpc.EngineServicer):
    """An engine whose log does not hear the first word."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._first = True

    def Log(self, request: Any, context: Any) -> Any:  # noqa: N802 - the protocol's name
        if self._first:
            self._first = False
            context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "busy")
        self.heard.append(request.message)
        return empty_pb2.Empty()


@pytest.fixture
def deaf() -> Iterator[tuple[Deaf, Host]]:
    servicer, server = Deaf(), grpc.server(ThreadPoolExecutor(1))
    engine_pb2_grpc.add_EngineServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield servicer, Host(f"127.0.0.1:{port}")
    server.stop(grace=None).wait()


def test_a_warning_counts_as_given_once_it_was_heard(deaf: tuple[Deaf, Host]) -> None:
    engine, host = deaf
    for _ in range(3):
        host.warn(URN, "mind the gap")
    assert engine.heard == ["mind the gap"]


def test_what_is_waited_for_is_said_until_it_was_heard(deaf: tuple[Deaf, Host], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, host = deaf
    monkeypatch.setattr(operation, "QUIET_SECONDS", 0.0)
    looks = iter([State(False, "rain"), State(False, "rain"), State(False, "rain"), READY])
    wait = ReadyWait(dict, "Queue q")
    wait.run({}, lambda _: next(looks), 300, Operation("m", say=lambda message: host.status(URN, message)))
    assert engine.heard == ["waiting for rain", ""]


class Held(Connection):
    """A connection to a server that keeps an object for three looks after its deletion."""

    def __init__(self) -> None:
        self._looks = 0

    def request(self, method: str, path: str, *_: Any, **__: Any) -> Any:
        self._looks += method == "GET"
        if self._looks > 3:
            raise ApiError(404, "NotFound", "gone")
        return Answer({"metadata": {"uid": "1", "name": "q", "finalizers": ["hold"]}})


def test_what_a_deletion_waits_for_is_said_until_it_was_heard(deaf: tuple[Deaf, Host], monkeypatch: pytest.MonkeyPatch) -> None:
    engine, host = deaf
    monkeypatch.setattr(deletion, "QUIET_SECONDS", 0.0)
    kind = Mapping(Kind("", "v1", "ConfigMap"), "configmaps", namespaced=True)
    deletion.Deletion(Held(), kind, "/q").run({}, Operation("m", say=lambda message: host.status(URN, message)))
    assert engine.heard == ["waiting for the deletion: held by the finalizers hold", ""]


def deployment(*operations: dict[str, Any]) -> dict[str, Any]:
    known = {"urn": "known", "type": "kubernetes:core/v1:ConfigMap"}
    return {"version": 3, "deployment": {"resources": [known], "pending_operations": list(operations)}}


def pending(kind: str, urn: str, token: str, metadata: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "resource": {"urn": urn, "type": token, "inputs": {"metadata": metadata}}}


def test_pending_operations_are_settled() -> None:
    token = "kubernetes:core/v1:ConfigMap"
    found = heal(
        deployment(
            pending("creating", "a", token, {"name": "x", "namespace": "y"}),
            pending("creating", "b", "kubernetes:core/v1:Namespace", {"name": "z"}),
            pending("creating", "urn:pulumi:s::p::aws:s3/bucket:Bucket::c", "aws:s3/bucket:Bucket", {"name": "x"}),
            pending("creating", "known", token, {"name": "x"}),
            pending("updating", "d", token, {"name": "x"}),
            pending("deleting", "known", token, {"name": "x"}),
        )
    )
    assert found is not None
    assert found.created == ["a", "b"]
    assert found.unsettled == ["Bucket c"]
    body = found.deployment["deployment"]
    assert "pending_operations" not in body
    assert [(one["urn"], one.get("id")) for one in body["resources"]] == [("known", None), ("a", "y/x"), ("b", "z")]
    assert heal(deployment()) is None
    assert heal({}) is None


def test_note_of_a_run(tmp_path: Path) -> None:
    note = RunNote(tmp_path)
    assert not note.look()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    note.begin("up", ended.pid)
    ended.wait()
    note.end()
    assert not note.look()
    assert not note.cut_short
    note.begin("up", ended.pid)
    assert note.look(), "it ended without saying so"
    assert note.cut_short
    note.end()
    assert note.cut_short, "until an up has succeeded"
    note.settled()
    assert not note.cut_short


def test_note_of_a_run_that_goes_on(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = Owner.of(other.pid)
    (tmp_path / "run.json").write_text(json.dumps({"verb": "up", "owners": [[owner.pid, owner.started]] * 2}))
    with pytest.raises(EngineError, match=f"Another `up` of this stack is running .process {other.pid}"):
        RunNote(tmp_path).look()
    recycled = {"verb": "up", "owners": [[owner.pid, owner.started - 1000]] * 2}
    (tmp_path / "run.json").write_text(json.dumps(recycled))
    assert RunNote(tmp_path).look(), "another process has the id by now"
    other.communicate(b"\n")


def settings(tmp_path: Path, backend: str | None) -> EngineSettings:
    return EngineSettings(tmp_path, "dev", backend, Path("/opt/pulumi/bin/pulumi"), "word", kubernetes_provider="offline")


def test_environment_of_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PULUMI_DEBUG_PROVIDERS", "aws:1")
    monkeypatch.delenv("PULUMI_BACKEND_URL", raising=False)
    env = replace(settings(tmp_path, "file:///state"), env={"A": "b"}, skip_checkpoints=True).environment(99)
    assert env["PULUMI_DEBUG_PROVIDERS"] == "aws:1,kubernetes:99"
    assert env["PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION"] == "true"
    assert (env["PULUMI_BACKEND_URL"], env["PULUMI_CONFIG_PASSPHRASE"], env["A"]) == ("file:///state", "word", "b")
    assert env["PULUMI_SKIP_CHECKPOINTS"] == "true"
    assert env["PATH"].split(os.pathsep)[0] == "/opt/pulumi/bin"
    own = settings(tmp_path, None).environment(None)
    assert "PULUMI_BACKEND_URL" not in own
    assert "PULUMI_PARALLEL_DIFF" not in own
    assert own["PULUMI_DEBUG_PROVIDERS"] == "aws:1"


def test_relative_backend_stays_the_projects(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").write_text("name: x\nbackend:\n  url: file://./state\nruntime: python\n")
    assert relative_backend(tmp_path) == f"file://{tmp_path / 'state'}"
    (tmp_path / "Pulumi.yaml").write_text("name: x\nbackend:\n  url: s3://bucket\n")
    assert relative_backend(tmp_path) == ""


def test_workspace_is_beside_the_state(tmp_path: Path) -> None:
    found = settings(tmp_path, f"file://{tmp_path}/one/state")
    assert found.workspace_folder == tmp_path / "one" / "engine" / "dev"
    assert found.identity != settings(tmp_path, f"file://{tmp_path}/two/state").identity


def test_secret_configuration_is_not_shown(tmp_path: Path) -> None:
    assert "hunter2" not in repr(replace(settings(tmp_path, None), config={"a:b": ConfigValue("hunter2", secret=True)}))
    assert "open" in repr(ConfigValue("open"))


def test_copies_follow_the_project_and_keep_the_salt(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / "stacks").mkdir(parents=True)
    (project / "Pulumi.yaml").write_text("name: x\nmain: src\nstackConfigDir: stacks\nruntime: python\n")
    (project / "stacks" / "Pulumi.dev.yaml").write_text("config:\n  x:a: 1\n")
    workspace = Workspace(project, "dev", tmp_path / "work")
    workspace.refresh()
    assert (workspace.folder / "Pulumi.yaml").read_text() == "name: x\nruntime: python\n"
    config = {"x:b": ConfigValue("2")}
    assert not workspace.is_configured(config, "word")
    workspace.stack_file.write_text("encryptionsalt: v1:salt\n" + workspace.stack_file.read_text())
    workspace.configured(config, "word")
    workspace.refresh()
    assert workspace.is_configured(config, "word")
    assert not workspace.is_configured(config, "other")
    assert not workspace.is_configured({"x:b": ConfigValue("3")}, "word")
    (project / "stacks" / "Pulumi.dev.yaml").write_text("config:\n  x:a: 2\n")
    workspace.refresh()
    assert workspace.stack_file.read_text() == "encryptionsalt: v1:salt\nconfig:\n  x:a: 2\n"
    assert not workspace.is_configured(config, "word"), "ours must be set again"
    assert workspace.folder.stat().st_mode & 0o077 == 0


def test_old_logs_are_removed(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, "dev", tmp_path)
    for number in range(40):
        workspace.log("up", f"2026-{number:03d}").touch()
    assert len(list((tmp_path / "logs").iterdir())) <= 31
    assert (tmp_path / "logs" / "2026-039-up.log").exists()


def test_an_engine_that_does_not_list_its_plugins_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pulumi = tmp_path / "pulumi"
    pulumi.write_text("#!/bin/sh\nexec sleep 600\n")
    pulumi.chmod(0o755)
    assert engine_plugins._ANSWER_SECONDS > 100, "a busy machine takes more than half a minute"
    monkeypatch.setattr(engine_plugins, "_ANSWER_SECONDS", 0.5)
    with pytest.raises(EngineError, match="did not list its plugins within") as caught:
        engine_plugins.kubernetes_plugin_installed(pulumi)
    assert caught.value.remedy


def test_importing_the_driver_imports_neither_engine_nor_client() -> None:
    code = "import sys, sandbox.engine; print([m for m in ('pulumi', 'grpc', 'kubernetes', 'cryptography') if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert found.stdout.strip() == "[]"


def served(address: str = "127.0.0.1:0") -> tuple[grpc.Server, str]:
    """A gRPC server that knows no method, and its address."""
    server = grpc.server(ThreadPoolExecutor(2))
    port = server.add_insecure_port(address)
    server.start()
    return server, f"127.0.0.1:{port}"


def code(channel: grpc.Channel) -> grpc.StatusCode:
    """With what a call on a channel ends."""
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/any/Method")(b"", timeout=30)
    found: grpc.StatusCode = caught.value.code()
    return found


def test_an_engine_on_the_port_of_one_that_is_gone_is_reached() -> None:
    server, address = served()
    with engine_program._channel(address) as old:
        assert code(old) == grpc.StatusCode.UNIMPLEMENTED
        server.stop(None).wait()
        assert code(old) == grpc.StatusCode.UNAVAILABLE  # and will not be tried again for a second
        server, _ = served(address)
        with engine_program._channel(address) as new:
            assert code(new) == grpc.StatusCode.UNIMPLEMENTED
    server.stop(None).wait()


def test_a_host_on_the_port_of_one_that_is_gone_is_reached() -> None:
    server, address = served()
    old = Host(address)
    assert code(old._channel) == grpc.StatusCode.UNIMPLEMENTED
    server.stop(None).wait()
    assert code(old._channel) == grpc.StatusCode.UNAVAILABLE
    server, _ = served(address)
    assert code(Host(address)._channel) == grpc.StatusCode.UNIMPLEMENTED
    server.stop(None).wait()


def test_a_run_leaves_no_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server, address = served()
    opened: list[grpc.Channel] = []
    connect = engine_program._channel

    def channel(given: str) -> grpc.Channel:
        opened.append(connect(given))
        return opened[-1]

    monkeypatch.setattr(engine_program, "_channel", channel)
    (tmp_path / "__main__.py").write_text("")
    request = language_pb2.RunRequest(project="p", stack="s", monitor_address=address, args=[address])
    assert Program(tmp_path, {}).run(request)  # a server without methods is no engine
    assert len(opened) == 2
    for one in opened:
        with pytest.raises(ValueError, match="closed channel"):
            one.unary_unary("/any/Method")(b"")
    server.stop(None).wait()
