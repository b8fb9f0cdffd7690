# ruff: noqa: F401, F811 - fixtures are imported by name
"""The engine driver on a real engine and a real API server: errors, interruptions, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from engine_support import Project, cluster, later, own_project, project, provider, widgets
from sandbox_support import runs

from live.connection import ApiError
from sandbox.engine import Changes, Engine, EngineError, Progress, kubernetes_plugin_installed, try_install_kubernetes_plugin
from sandbox.engine_plugins import kubernetes_plugin_version

pytestmark = pytest.mark.engine

WIDGETS = "/apis/test.example.com/v1"
MAP = 'add("map", "v1", "ConfigMap", data={"a": "1"})'
SLOW = """
    for i in range(6):
        add(f"map{i}", "v1", "ConfigMap", data={"a": "1"})
    slow = add("slow", "test.example.com/v1", "Widget", spec={"size": 1}, meta={
        "name": f"{mark}-slow", "annotations": {"pulumi.com/waitFor": "condition=Active"}})
    add("after", "v1", "ConfigMap", options=pulumi.ResourceOptions(depends_on=[slow]))
    pulumi.export("done", True)
"""


def activate(project: Project) -> None:
    """What makes the slow widget ready, as soon as it is there."""
    path = f"{project.path('widgets', 'slow', WIDGETS)}/status"
    status = {"status": {"conditions": [{"type": "Active", "status": "True"}]}}
    until(lambda: attempt(lambda: project.api.request("PATCH", path, status, None, "application/merge-patch+json")))


def attempt(call: Callable[[], Any]) -> bool:
    try:
        call()
    except (ApiError, OSError, ValueError, KeyError):
        return False
    return True


def until(condition: Callable[[], Any], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.05)


def owners(project: Project) -> list[int]:
    """Process ids of the run under way: the driver's and the engine's."""
    note = project.settings.workspace_folder / "run.json"
    return [int(pid) for pid, _started in json.loads(note.read_text())["owners"]]


def slow_is_there(project: Project) -> bool:
    """The slow widget exists and its create is still under way."""
    return project.get(project.path("widgets", "slow", WIDGETS)) is not None and attempt(lambda: owners(project))


def start_driver(project: Project) -> subprocess.Popen[str]:
    """The same ``up`` in a process of its own."""
    settings = project.settings
    code = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[2])!r})
        from pathlib import Path
        from sandbox.engine import ConfigValue, Engine, EngineSettings
        if __name__ == "__main__":
            settings = EngineSettings(Path({str(settings.project_dir)!r}), "test", {settings.backend_url!r},
                Path({str(settings.pulumi)!r}), "test", config={{
                    key: ConfigValue(value) for key, value in { ({k: v.value for k, v in settings.config.items()})!r}.items()}},
                kubernetes_provider="offline", skip_checkpoints={settings.skip_checkpoints},
                pulumi_home=Path({str(settings.pulumi_home)!r}))
            try:
                with Engine(settings) as engine:
                    # One piece a line: several threads tell, and print writes its arguments one by one.
                    engine.up(on_event=lambda event: print(f"{{event.what}} {{event.message}}\\n", end="", flush=True))
            except KeyboardInterrupt as stopped:
                print("stopped:", stopped, flush=True)
                sys.exit(130)
    """
    script = project.folder.parent / "driver.py"
    script.write_text(textwrap.dedent(code))
    return subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def assert_complete(project: Project) -> None:
    """All of the slow program's resources are in the cluster and in the state, and nothing is pending."""
    for name in [*(f"map{i}" for i in range(6)), "after"]:
        assert project.config_map(name) is not None, name
    with project.engine() as engine:
        deployment = engine.state()["deployment"]
        assert not deployment.get("pending_operations")
        assert len(deployment["resources"]) == 10
        assert engine.outputs() == {"done": True}
        assert engine.preview().total == 0


@pytest.mark.parametrize("everybody", [True, False], ids=["ctrl-c", "kill-int"])
def test_first_interrupt_ends_properly_and_the_next_run_continues(own_project: Project, widgets: str, everybody: bool) -> None:
    own_project.program(SLOW)
    driver = start_driver(own_project)
    until(lambda: slow_is_there(own_project))
    began = time.monotonic()
    if everybody:
        os.killpg(driver.pid, signal.SIGINT)  # as a terminal does
    else:
        driver.send_signal(signal.SIGINT)
    out, _ = driver.communicate(timeout=120)
    assert driver.returncode == 130, out
    assert "interrupted finishing what is under way" in out
    assert "the same command continues it" in out
    assert time.monotonic() - began < 120, "the wait is given up"
    with own_project.engine() as engine:
        assert not engine.state()["deployment"].get("pending_operations")
    with later(0.5, lambda: activate(own_project)):
        own_project.up()
    assert_complete(own_project)


@pytest.mark.parametrize("skip", [True, False], ids=["skip-checkpoints", "checkpoints"])
def test_killed_engine_is_continued(own_project: Project, widgets: str, skip: bool) -> None:
    own_project.settings = replace(own_project.settings, skip_checkpoints=skip)
    own_project.program(SLOW)

    def kill() -> None:
        until(lambda: slow_is_there(own_project))
        os.kill(owners(own_project)[1], signal.SIGKILL)

    with later(0, kill):
        message = own_project.refused(own_project.up)
    assert "killed" in message
    with own_project.engine() as engine:
        pending = engine.state()["deployment"].get("pending_operations") or []
    assert bool(pending) is not skip
    activate(own_project)
    result = own_project.up()
    assert not [text for text in result.warnings if "pending" in text]
    assert_complete(own_project)


def test_killed_driver_is_continued(own_project: Project, widgets: str) -> None:
    own_project.program(SLOW)
    driver = start_driver(own_project)
    until(lambda: slow_is_there(own_project))
    engine_pid = owners(own_project)[1]
    driver.kill()
    driver.wait()
    activate(own_project)
    own_project.up()
    assert_complete(own_project)
    assert not runs(engine_pid)


def test_what_others_made_is_not_adopted_after_a_kill(own_project: Project, widgets: str) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": own_project.name("after")}, "data": {"whose": "theirs"}}
    own_project.api.request("POST", own_project.path("configmaps"), body)
    own_project.program(SLOW)

    def kill() -> None:
        until(lambda: slow_is_there(own_project))
        os.kill(owners(own_project)[1], signal.SIGKILL)

    with later(0, kill):
        own_project.refused(own_project.up)
    activate(own_project)
    assert "AlreadyExists" in own_project.refused(own_project.up)
    theirs = own_project.config_map("after")
    assert theirs is not None
    assert theirs["data"] == {"whose": "theirs"}
    assert "killed before it had saved" in own_project.refused(lambda: Engine(own_project.settings).destroy())
    own_project.api.request("DELETE", own_project.path("configmaps", "after"))
    own_project.up()
    assert_complete(own_project)


def test_two_runs_of_a_stack_at_once_are_refused(own_project: Project, widgets: str) -> None:
    own_project.program(SLOW)
    driver = start_driver(own_project)
    until(lambda: slow_is_there(own_project))
    assert f"Another `up` of this stack is running (process {driver.pid})" in own_project.refused(own_project.up)
    elsewhere = replace(own_project.settings, work_dir=own_project.folder.parent / "elsewhere")
    with pytest.raises(EngineError) as caught, Engine(elsewhere) as engine:
        engine.up()
    assert "the stack is currently locked by" in caught.value.message
    assert "pulumi cancel" in caught.value.remedy
    activate(own_project)
    driver.communicate(timeout=120)
    assert driver.returncode == 0
    assert_complete(own_project)


class FindingsError(Exception):
    """Stands for the project's own findings."""


@pytest.mark.parametrize("place", ["raise error", "pulumi.Output.from_input(1).apply(lambda _: exec('raise error'))"])
def test_exception_of_the_program_surfaces_as_itself(project: Project, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = FindingsError("teams/x.yaml:3: no such instance type")
    monkeypatch.setitem(sys.modules, "findings", type("findings", (), {"error": error}))
    project.program(f"from findings import error\n{MAP}\n{place}")
    with pytest.raises(FindingsError) as caught:
        project.preview()
    assert caught.value is error
    with pytest.raises(FindingsError):
        project.up()


def test_exit_of_the_program_is_an_error(project: Project) -> None:
    assert project.refused(lambda: project.preview('raise SystemExit("no environment of that name")')).startswith(
        "no environment of that name"
    )


def test_errors_name_the_resource_and_the_log(project: Project) -> None:
    project.program("""
        add("one", "rbac.authorization.k8s.io/v1", "RoleBinding", roleRef={"apiGroup": "x", "kind": "Role", "name": "y"})
        add("two", "v1", "ConfigMap", meta={"name": "Not A Name"})
    """)
    with pytest.raises(EngineError) as caught:
        project.up()
    error = caught.value
    lines = error.message.splitlines()
    assert any(line.startswith(("RoleBinding one: ", "ConfigMap two: ")) for line in lines)
    assert "Traceback" not in str(error)
    assert "update failed" not in error.message
    assert error.log is not None
    assert error.log.stat().st_size > 0


def test_protected_resource_is_refused_with_the_remedy(project: Project) -> None:
    project.up(MAP.replace("data=", "options=pulumi.ResourceOptions(protect=True), data="))
    with pytest.raises(EngineError) as caught, project.engine() as engine:
        engine.destroy()
    assert "map" in caught.value.message
    assert "protected" in caught.value.message
    assert "pulumi state" not in caught.value.message
    assert "draining" in caught.value.remedy
    assert "protected" in project.refused(lambda: project.up(""))
    assert project.config_map("map") is not None
    project.up(MAP)
    assert project.up("").changes.delete == 1


def test_warnings_and_progress(project: Project) -> None:
    seen: list[Progress] = []
    result = project.up(
        f'pulumi.log.warn("mind the gap")\n{MAP}\npulumi.export("secret", pulumi.Output.secret("s"))', on_event=seen.append
    )
    assert any("mind the gap" in text for text in result.warnings)
    assert [one.op for one in seen if one.what == "done" and one.urn.endswith("::map")] == ["create"]
    assert result.outputs == {"secret": "s"}
    assert result.log is not None
    assert result.duration > 0


def test_nothing_is_written_into_the_project(project: Project) -> None:
    project.program(MAP)
    before = {path.relative_to(project.folder): path.read_bytes() for path in project.folder.rglob("*") if path.is_file()}
    project.up()
    project.preview()
    after = {
        path.relative_to(project.folder): path.read_bytes()
        for path in project.folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert after == before
    for path in project.settings.workspace_folder.glob("Pulumi*"):
        assert path.stat().st_mode & 0o077 == 0


def test_settings_of_the_project_are_used_and_ours_win(project: Project) -> None:
    (project.folder / "Pulumi.test.yaml").write_text('config:\n  small:mine: "yes"\n  small:step: "1"\n')
    project.program('pulumi.export("found", [config.get("mine"), step])')
    assert project.up().outputs == {"found": ["yes", 1]}
    project.configure(step="2")
    assert project.up().outputs == {"found": ["yes", 2]}
    (project.folder / "Pulumi.test.yaml").write_text('config:\n  small:mine: "no"\n  small:step: "1"\n')
    assert project.up().outputs == {"found": ["no", 2]}


def test_no_stack_yet(project: Project) -> None:
    with project.engine() as engine:
        assert engine.outputs() == {}
        assert engine.state() == {}
        assert engine.destroy() == Changes()
        engine.cancel()


def test_own_backend_is_not_given_a_stack_behind_its_back(project: Project, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    own = {"PULUMI_BACKEND_URL": f"file://{tmp_path / 'own'}"}
    settings = replace(project.settings, backend_url=None, env=own, work_dir=tmp_path / "work", config={})
    project.program("")
    with pytest.raises(EngineError) as caught, Engine(settings) as engine:
        engine.preview()
    assert "no stack 'test'" in caught.value.message
    assert caught.value.remedy == "Create it once: `pulumi stack init test`."


def test_wrong_passphrase_says_so(project: Project) -> None:
    project.up(MAP)
    wrong = replace(project.settings, passphrase="other")
    with pytest.raises(EngineError) as caught, Engine(wrong) as engine:
        engine.up()
    assert "passphrase" in caught.value.message
    assert "PULUMI_CONFIG_PASSPHRASE" in caught.value.remedy


def test_missing_engine_says_so(project: Project) -> None:
    missing = replace(project.settings, pulumi=Path("/nowhere/pulumi"))
    with pytest.raises(EngineError, match="/nowhere/pulumi cannot be run"), Engine(missing) as engine:
        engine.preview()


def test_no_process_is_left(own_project: Project) -> None:
    before = psutil.Process().children(recursive=True)
    with own_project.engine() as engine:
        own_project.program(MAP)
        engine.up()
        children = [one for one in psutil.Process().children(recursive=True) if one not in before]
        assert any("sandbox.provider" in " ".join(child.cmdline()) for child in children)
    until(lambda: not [one for one in children if runs(one.pid)])


def fake_pulumi(folder: Path, install: str) -> Path:
    """An engine that knows plugins only."""
    script = folder / "pulumi"
    plugins = folder / "plugins.json"
    script.write_text(f"""#!/bin/sh
echo "$@" >> {folder}/calls
case "$2" in
  ls) cat {plugins} ;;
  install) {install} ;;
esac
""")
    script.chmod(0o755)
    plugins.write_text("[]")
    return script


def test_plugin_of_another_version_does_not_count(tmp_path: Path) -> None:
    pulumi = fake_pulumi(tmp_path, "exit 1")
    for version, expected in (("1.0.0", False), (kubernetes_plugin_version(), True)):
        (tmp_path / "plugins.json").write_text(json.dumps([{"name": "kubernetes", "kind": "resource", "version": version}]))
        assert kubernetes_plugin_installed(pulumi) is expected


def test_failed_download_is_remembered_for_a_day(tmp_path: Path) -> None:
    pulumi, cache = fake_pulumi(tmp_path, "exec sleep 600"), tmp_path / "cache"
    began = time.monotonic()
    assert not try_install_kubernetes_plugin(pulumi, cache, timeout=5)
    assert time.monotonic() - began < 120
    assert not try_install_kubernetes_plugin(pulumi, cache, timeout=5)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len([line for line in calls if "install" in line]) == 1
    note = cache / "kubernetes-plugin.json"
    found = json.loads(note.read_text())
    note.write_text(json.dumps({**found, "failed": found["failed"] - 25 * 3600}))
    (tmp_path / "pulumi").write_text((tmp_path / "pulumi").read_text().replace("exec sleep 600", "exit 0"))
    assert try_install_kubernetes_plugin(pulumi, cache, timeout=60)
