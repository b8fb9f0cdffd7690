"""Finding and building the sandbox's tools, with a stand-in for Go that leaves a record of its calls."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from sandbox import gobuild, pins, toolchain
from sandbox.errors import SandboxError
from sandbox.pins import CONTROL_PLANE, ENGINE, HELM, KWOK, MODULES

FAKE_GO = """#!/bin/sh
# env GOVERSION | list -deps ... packages | build ... -o DIR/ packages | list -m ... module
[ "$1" = env ] && { cat "$FAKE/version"; exit 0; }
echo "$PWD: $GOTOOLCHAIN|$GOFLAGS|$GOWORK|$CGO_ENABLED|$GOARCH: $*" >> "$FAKE/calls"
case "$1 $2" in
"list -deps") [ -f "$FAKE/offline" ] && { echo "dial tcp: lookup proxy: no such host"; exit 1; }
  echo "go: downloading example.com/a v1.0.0"; echo "package a"; echo "package b"; echo "package c";;
"list -m") echo "$FAKE/source";;
"build -v") [ -f "$FAKE/slow" ] && { echo a; sleep 600; }
  [ -f "$FAKE/broken" ] && { echo "# example.com/a"; echo "a.go:1: no space left on device"; exit 1; }
  while [ -f "$FAKE/pause" ] && [ $((looks += 1)) -lt 1200 ]; do sleep 0.05; done
  echo a; echo b
  while [ "$1" != -o ]; do shift; done
  out=$2; shift 2
  for package in "$@"; do name=${package##*/}; [ "$name" = v3 ] && name=server; echo "$package" > "$out$name"; done;;
esac
"""


class Steps:
    """What the progress was told."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.updates: list[tuple[int, int]] = []

    def step(self, text: str) -> None:
        self.steps.append(text)

    def update(self, done: int, total: int) -> None:
        self.updates.append((done, total))


class Fake:
    """The stand-in's folder: switches are files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def switch(self, name: str, content: str = "") -> None:
        (self.folder / name).write_text(content)

    def builds(self) -> list[str]:
        """Which modules were built, in order."""
        calls = self.folder / "calls"
        lines = calls.read_text().splitlines() if calls.is_file() else []
        return [Path(line.split(":")[0]).name for line in lines if ": build " in line]


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    fake = Fake(tmp_path / "fake")
    programs = fake.folder / "bin"
    programs.mkdir(parents=True)
    (programs / "go").write_text(FAKE_GO)
    (programs / "go").chmod(0o755)
    fake.switch("version", "go1.26.8\n")
    for _, _, files in gobuild.RUNTIME_FILES.values():
        for origin, name in files.items():
            path = fake.folder / "source" / origin / ("" if "." in name else "inside.yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(origin)
            path.chmod(0o444)
    monkeypatch.setenv("FAKE", str(fake.folder))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("HPCTL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GOARCH", "mips")
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    return fake


def test_versions_are_those_of_the_pins() -> None:
    text = (pins.MODULES_ROOT / "controlplane" / "go.mod").read_text()
    assert f"sigs.k8s.io/kueue v{pins.versions()['kueue']}" in text
    assert set(pins.versions()) == set(toolchain.TOOLS)
    assert "gitVersion=v1.35.4 " in CONTROL_PLANE.ldflags()
    assert "gitMajor=1 " in CONTROL_PLANE.ldflags()
    assert "gitMinor=35 " in CONTROL_PLANE.ldflags()
    assert ENGINE.ldflags().endswith(f"version.Version=v{pins.versions()['pulumi']}")


def test_replacements_win_over_requirements(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text(
        "module x\n\nrequire (\n\ta.b/c v0.0.0\n\td.e/f v1.2.3 // indirect\n)\nreplace a.b/c => a.b/c v0.35.4\n"
    )
    assert pins.pinned(tmp_path) == {"a.b/c": "v0.35.4", "d.e/f": "v1.2.3"}


def test_every_tool_is_a_tool_of_its_go_mod() -> None:
    for module in MODULES:
        text = (module.folder / "go.mod").read_text()
        assert all(tool.package in text and module.version(tool.module) in text for tool in module.tools)
        assert (module.folder / "go.sum").is_file()


def test_builds_what_is_needed_once(go: Fake) -> None:
    steps = Steps()
    found = toolchain.ensure(["etcd", "kwok"], steps)
    assert go.builds() == ["controlplane", "kwok"]
    assert found["etcd"].read_text() == "go.etcd.io/etcd/server/v3\n"
    assert found["etcd"].name == "etcd"
    assert {path.name for path in found["etcd"].parent.iterdir()} == {tool.name for tool in CONTROL_PLANE.tools}
    assert any("building Kubernetes control plane" in step for step in steps.steps)
    assert steps.updates[:3] == [(1, 3), (2, 3), (3, 3)]
    again = Steps()
    assert toolchain.ensure(["kwok", "kueue"], again)["kueue"].is_file()
    assert (go.builds(), again.steps) == (["controlplane", "kwok"], [])


def test_go_runs_with_our_settings(go: Fake) -> None:
    toolchain.ensure(["helm"], Steps())
    calls = (go.folder / "calls").read_text().splitlines()
    assert all(": local|-mod=readonly -buildvcs=false|off|0|: " in call for call in calls)
    assert f"-trimpath -ldflags {HELM.ldflags()} -o" in calls[-1]


def test_files_read_at_run_time_lie_beside_the_programs(go: Fake) -> None:
    files = toolchain.kueue_files(Steps())
    assert (files / "crds" / "inside.yaml").read_text() == "config/components/crd/bases"
    assert (files / "webhooks.yaml").read_text() == "config/components/webhook/manifests.yaml"
    assert toolchain.kueue_chart(Steps()) == files / "chart"
    stages = toolchain.ensure(["kwok"], Steps())["kwok"].parents[1] / "share" / "kwok"
    assert len(list(stages.iterdir())) == 4
    shutil.rmtree(files.parents[1])  # copied modes would forbid it


def test_another_go_builds_anew_and_without_go_the_build_is_used(go: Fake) -> None:
    first = toolchain.ensure(["kwok"], Steps())["kwok"]
    go.switch("version", "go1.26.9\n")
    second = toolchain.ensure(["kwok"], Steps())["kwok"]
    assert first != second
    (go.folder / "bin" / "go").unlink()
    assert toolchain.ensure(["kwok"], Steps())["kwok"] in (first, second)
    assert go.builds() == ["kwok", "kwok"]


def test_changed_pins_build_anew(go: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    toolchain.ensure(["kwok"], Steps())
    shutil.copytree(pins.MODULES_ROOT, tmp_path / "tools")
    monkeypatch.setattr(pins, "MODULES_ROOT", tmp_path / "tools")
    with (tmp_path / "tools" / "kwok" / "go.sum").open("a") as sums:
        sums.write("\n")
    toolchain.ensure(["kwok"], Steps())
    assert go.builds() == ["kwok", "kwok"]


def test_an_incomplete_build_is_none(go: Fake) -> None:
    kueue = toolchain.ensure(["kueue"], Steps())["kueue"]
    kueue.unlink()
    assert toolchain.ensure(["etcd"], Steps())["etcd"].with_name("kueue") == kueue
    assert kueue.is_file()


def test_missing_go(go: Fake) -> None:
    (go.folder / "bin" / "go").unlink()
    with pytest.raises(SandboxError, match=r"no `go` on PATH.*install Go 1\.26 or newer"):
        toolchain.ensure(["kwok"], Steps())
    with pytest.raises(SandboxError, match="or install Pulumi"):
        toolchain.pulumi_binary(Steps())


@pytest.mark.parametrize(
    ("version", "good"), [("go1.25.9", False), ("go1.26", True), ("go1.27rc1", True), ("go2.0", True), ("devel +abc", True)]
)
def test_old_go_is_refused(go: Fake, version: str, good: bool) -> None:
    go.switch("version", version)
    if good:
        assert toolchain.ensure(["kwok"], Steps())["kwok"].is_file()
        return
    with pytest.raises(SandboxError, match=r"Go 1\.25\.9 is too old to build kwok"):
        toolchain.ensure(["kwok"], Steps())
    assert go.builds() == []


@pytest.mark.parametrize(
    ("switch", "words"), [("offline", "could not be fetched.*no such host"), ("broken", "did not build.*no space left")]
)
def test_a_failure_names_its_log_and_leaves_nothing_half_made(go: Fake, switch: str, words: str) -> None:
    go.switch(switch)
    with pytest.raises(SandboxError, match=words) as caught:
        toolchain.ensure(["kwok"], Steps())
    assert caught.value.log is not None
    assert "no s" in caught.value.log.read_text()
    assert str(caught.value.log) in str(caught.value)
    tools = gobuild.tools_root()
    assert [path for path in tools.iterdir() if path.is_dir()] == [tools / "logs"]
    (go.folder / switch).unlink()
    assert toolchain.ensure(["kwok"], Steps())["kwok"].is_file()


def test_an_interrupted_build_ends_go(go: Fake) -> None:
    go.switch("slow")

    class Impatient(Steps):
        def update(self, done: int, total: int) -> None:  # go runs, and its output is read
            threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        toolchain.ensure(["kwok"], Impatient())
    deadline = time.monotonic() + 60
    while found := working_in(KWOK.folder):  # a killed process that isn't our child goes a moment later
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def working_in(folder: Path) -> list[list[str]]:
    """Command lines of the processes in a folder."""
    return [p.info["cmdline"] for p in psutil.process_iter(["cmdline", "cwd"]) if p.info["cwd"] == str(folder)]


def test_two_at_once_build_once(go: Fake) -> None:
    """The first is held up until the second has said that it waits."""
    go.switch("pause")

    class Releasing(Steps):
        def step(self, text: str) -> None:
            super().step(text)
            if text.startswith("waiting for another process"):
                (go.folder / "pause").unlink()

    found: list[Path] = []
    steps = [Releasing(), Releasing()]
    threads = [threading.Thread(target=lambda one=one: found.append(toolchain.ensure(["kwok"], one)["kwok"])) for one in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert go.builds() == ["kwok"]
    assert found[0] == found[1]
    assert any("waiting for another process that builds kwok" in text for one in steps for text in one.steps)


def test_unknown_tool(go: Fake) -> None:
    with pytest.raises(SandboxError, match="there is no tool `docker`"):
        toolchain.ensure(["docker"], Steps())


@pytest.mark.parametrize(
    ("answer", "used"),
    [("v3.231.0", True), ("v4.0.0", True), ("3.260.1", True), ("v3.230.9", False), ("nonsense", False), ("", False)],
)
def test_an_installed_pulumi_is_preferred_where_it_is_new_enough(go: Fake, answer: str, used: bool) -> None:
    installed = go.folder / "bin" / "pulumi"
    installed.write_text(f"#!/bin/sh\necho {answer}\n")
    installed.chmod(0o755)
    assert (toolchain.pulumi_binary(Steps()) == installed) is used
    assert go.builds() == ([] if used else ["engine"])


def test_an_installed_pulumi_that_takes_its_time_is_waited_for(go: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a busy machine, where it has taken more than half a minute."""
    installed = go.folder / "bin" / "pulumi"
    installed.write_text("#!/bin/sh\necho v3.231.0\n")
    installed.chmod(0o755)
    run = subprocess.run

    def slow(command: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        if command[0] == str(installed) and more["timeout"] < 100:
            raise subprocess.TimeoutExpired(command, more["timeout"])
        return run(command, **more)

    monkeypatch.setattr(subprocess, "run", slow)
    assert toolchain.pulumi_binary(Steps()) == installed
    assert go.builds() == []


def test_all_tools(go: Fake) -> None:
    found = toolchain.ensure_all(Steps())
    assert set(found) == set(toolchain.TOOLS)
    assert all(path.is_file() for path in found.values())
    assert json.loads((found["helm"].parents[1] / "build.json").read_text())["go"] == "go1.26.8"
    assert KWOK.name in go.builds()
