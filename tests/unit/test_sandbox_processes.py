"""Watching processes: liveness, deaths, order, retries and leftovers, with harmless stand-ins for the servers."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any

import psutil
import pytest
from sandbox_support import runs

from sandbox import local, state
from sandbox.apiserver import ApiServer
from sandbox.children import Children, tail
from sandbox.errors import SandboxError
from sandbox.layout import Layout
from sandbox.local import Sandbox, sandboxes
from sandbox.paths import private_dir, tools_root
from sandbox.progress import SilentProgress
from sandbox.state import identity, is_alive, status_of, write_json
from sandbox.toolchain import CLUSTER_TOOLS


def eventually(check: Callable[[], Any], seconds: float = 60) -> Any:
    """The first true result of `check`."""
    deadline = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < deadline, f"not so within {seconds} s"
        time.sleep(0.02)
    return found


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["/bin/sleep", "300"])
    yield process
    process.kill()
    process.wait()


def test_a_process_is_alive_until_it_ends(sleeper: subprocess.Popen[bytes]) -> None:
    known = identity(sleeper.pid)
    assert is_alive(known)
    sleeper.kill()
    eventually(lambda: psutil.Process(sleeper.pid).status() == psutil.STATUS_ZOMBIE)
    assert not is_alive(known)
    sleeper.wait()
    assert not is_alive(known)


def test_another_process_with_the_same_id_is_another(sleeper: subprocess.Popen[bytes]) -> None:
    known = identity(sleeper.pid)
    assert not is_alive(known | {"started": known["started"] - 3600})
    assert is_alive(known | {"started": known["started"] + 0.5})  # the clock was adjusted


@pytest.mark.parametrize("nothing", [None, {}, {"pid": "x", "started": 0}, {"pid": 1}, {"started": 1.0}])
def test_what_is_not_known_is_not_alive(nothing: Any) -> None:
    assert not is_alive(nothing)


def test_status_of_a_sandbox_whose_supervisor_is_gone(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    content = {
        "supervisor": identity(sleeper.pid),
        "phase": "running",
        "message": "",
        "ports": {"apiserver": 5},
        "since": 1.0,
        "processes": {"etcd": {"pid": 7}},
    }
    running = status_of("x", tmp_path, content)
    assert (running.phase, running.server, dict(running.pids)) == (
        "running",
        "https://127.0.0.1:5",
        {"supervisor": sleeper.pid, "etcd": 7},
    )
    assert "at https://127.0.0.1:5" in running.describe()
    stale = status_of("x", tmp_path, content | {"supervisor": {"pid": sleeper.pid, "started": 1.0}})
    assert (stale.phase, stale.pids, stale.ports) == ("stopped", {}, {})
    assert "its supervisor is gone" in stale.describe()
    failed = status_of("x", tmp_path, {"phase": "failed", "message": "etcd ended", "log": "/l", "tail": ["a"]})
    assert failed.describe() == "x: failed: etcd ended; log: /l"
    assert status_of("x", tmp_path, {}).phase == "stopped"
    assert status_of("x", tmp_path, {"phase": "stopped"}).phase == "stopped"


@pytest.fixture
def children(tmp_path: Path) -> Iterator[Children]:
    found = Children(tmp_path)
    yield found
    found.stop([list(found._running)], grace=0)


def test_a_death_is_told_with_the_last_words(children: Children) -> None:
    children.start("good", ("sleep", "300"))
    children.start("bad", ("sh", "-c", "echo one; echo two >&2; exit 3"))
    death = eventually(children.dead)
    assert death.sentence() == "bad ended with exit status 3: two"
    assert (death.tail, death.log.name, death.port_taken()) == (("one", "two"), "bad.log", False)


def test_a_kill_is_told_as_one(children: Children) -> None:
    os.kill(children.start("etcd", ("sleep", "300")), signal.SIGKILL)
    assert eventually(children.dead).sentence() == "etcd was killed by signal 9 and logged nothing"


def test_children_see_none_of_our_settings(children: Children, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ETCD_NAME", "other")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    children.start("env", ("env",))
    eventually(children.dead)
    names = {line.partition("=")[0] for line in (tmp_path / "env.log").read_text().splitlines()}
    assert "PATH" in names
    assert not names & {"ETCD_NAME", "HTTPS_PROXY", "PYTEST_CURRENT_TEST"}


def ends_with(last: str) -> tuple[str, ...]:
    """A child that leaves `<name>.up` in its folder when it listens, and runs the shell's `last` when it is asked to end."""
    return ("sh", "-c", f"trap '{last}' TERM; touch $0.up; while :; do sleep 0.05; done")


def start(children: Children, folder: Path, **each: str) -> dict[str, int]:
    """Start children by name with what they do at the end; return their ids when they all listen."""
    found = {name: children.start(name, (*ends_with(last), name)) for name, last in each.items()}
    eventually(lambda: all((folder / f"{name}.up").exists() for name in each))
    return found


def test_groups_stop_in_order(children: Children, tmp_path: Path) -> None:
    start(children, tmp_path, early="sleep 0.5; touch ended; exit 0", late="[ -f ended ] && touch later; exit 0")
    children.stop([["early", "never-started"], ["late"]], grace=60)
    assert (tmp_path / "later").exists()
    assert children.dead() is None


def test_the_stubborn_are_killed_before_the_next_group_is_asked(children: Children, tmp_path: Path) -> None:
    stubborn = start(children, tmp_path, stubborn="")["stubborn"]
    # Its grace is as short: it tells only if it is asked too early, since a slow machine leaves it no time for more.
    start(children, tmp_path, late=f"kill -0 {stubborn} && touch too-early; exit 0")
    started = time.monotonic()
    children.stop([["stubborn"], ["late"]], grace=0.5)
    assert time.monotonic() - started >= 0.5
    assert not psutil.pid_exists(stubborn)
    assert not (tmp_path / "too-early").exists()
    assert children.dead() is None


def test_tail_of_a_long_log(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("\n".join(str(number) for number in range(100_000)) + "\n\n")
    assert tail(tmp_path / "log", 2) == ("99998", "99999")
    assert tail(tmp_path / "none") == ()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the death signal of a parent exists on Linux only")
def test_children_die_with_a_killed_parent(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from sandbox.children import Children\n"
        "print(Children(Path(sys.argv[1])).start('child', ('sleep', '300')), flush=True); time.sleep(300)"
    )
    root = Path(local.__file__).parents[1]
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True, cwd=root)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    eventually(lambda: not runs(child))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache; whatever a test starts there is ended."""
    monkeypatch.setenv("HPCTL_CACHE", str(tmp_path))
    yield tmp_path
    for process in psutil.process_iter(["cmdline"]):
        if any(str(tmp_path) in one for one in process.info["cmdline"] or []):
            with suppress(psutil.NoSuchProcess):
                process.kill()


@pytest.fixture
def tools(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand-ins for the servers: shell scripts that sleep, unless a test writes others."""
    folder = tools_root() / "controlplane-fake" / "bin"
    (folder.parent / "share" / "kueue" / "crds").mkdir(parents=True)
    (folder.parent / "share" / "kwok").mkdir()
    folder.mkdir()
    for name in CLUSTER_TOOLS:
        script(folder / name, "exec sleep 300")
    monkeypatch.setattr(local, "ensure", lambda *_: {name: folder / name for name in CLUSTER_TOOLS})
    return folder


def working_below(folder: Path) -> list[psutil.Process]:
    """The supervisor and the stand-ins: all work in the sandbox's folder."""
    return [p for p in psutil.process_iter(["cwd"]) if (p.info["cwd"] or "").startswith(str(folder))]


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_a_server_that_dies_in_the_boot_is_named(tools: Path) -> None:
    script(tools / "kube-apiserver", "echo 'no such flag'; exit 2")
    box = Sandbox("a")
    with pytest.raises(SandboxError, match="the sandbox failed: kube-apiserver ended with exit status 2: no such flag") as caught:
        box.up({}, [], SilentProgress())
    assert caught.value.log == box.logs / "kube-apiserver.log"
    status = box.status()
    assert (status.phase, status.tail) == ("failed", ("no such flag",))
    # `up` hears of the failure before the supervisor has stopped the others: they die with it, a moment later.
    eventually(lambda: not working_below(box.dir))
    assert box.down() is False
    assert not box.dir.exists()


@pytest.mark.parametrize(
    ("times", "words"), [(1, "kube-apiserver ended with exit status 1: second"), (2, "etcd ended.*address already in use")]
)
def test_a_lost_port_is_tried_once_more_with_others(tools: Path, times: int, words: str) -> None:
    script(
        tools / "etcd",
        f'echo "$@" >> {tools}/etcd.calls\n[ $(wc -l < {tools}/etcd.calls) -le {times} ] || exec sleep 300\n'
        "echo 'listen tcp 127.0.0.1:5: bind: address already in use'; exit 1",
    )
    if times == 1:  # the second boot fails too, for another reason
        script(
            tools / "kube-apiserver",
            f"until [ $(cat {tools}/etcd.calls | wc -l) = 2 ]; do sleep 0.1; done\necho second; exit 1",
        )
    with pytest.raises(SandboxError, match=words):
        Sandbox("a").up({}, [], SilentProgress())
    first, second = (tools / "etcd.calls").read_text().splitlines()
    assert first != second


def test_a_supervisor_that_can_not_start_is_told(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sandbox, "_request", lambda *_: {"name": "a", "tools": {}, "manager": {}})
    with pytest.raises(SandboxError, match=r"the sandbox's supervisor did not start: KeyError: 'versions'") as caught:
        Sandbox("a").up({}, [], SilentProgress())
    assert caught.value.log == Sandbox("a").logs / "supervisor.log"


def test_a_supervisor_without_a_command_line_yet_is_not_taken_for_gone(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the kernel shows a process for a moment after it was started."""
    script(tools / "kube-apiserver", "echo 'no such flag'; exit 2")
    monkeypatch.setattr(local, "leftovers", lambda *_: [])
    with pytest.raises(SandboxError, match="kube-apiserver ended with exit status 2: no such flag"):
        Sandbox("a").up({}, [], SilentProgress())


def test_a_boot_that_is_stopped_by_somebody_else_says_so(tools: Path) -> None:
    box = Sandbox("a")

    def stop() -> None:
        os.kill(eventually(lambda: box.status().pids)["supervisor"], signal.SIGTERM)

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(SandboxError, match="stopped while it booted"):
        box.up({}, [], SilentProgress())
    stopper.join()
    assert not working_below(box.dir)


def test_a_supervisor_ends_when_its_folder_is_gone(tools: Path) -> None:
    box = Sandbox("a")

    def up() -> None:
        with suppress(SandboxError):
            box.up({}, [], SilentProgress())

    threading.Thread(target=up, daemon=True).start()
    eventually(lambda: "etcd" in box.status().pids)
    assert len(working_below(box.dir)) == 3
    moved = box.dir.rename(box.dir.with_name("moved"))
    eventually(lambda: not working_below(moved))


def test_down_of_a_stale_folder_touches_no_strangers(tools: Path, sleeper: subprocess.Popen[bytes]) -> None:
    box = Sandbox("a")
    private_dir(box.dir)
    stranger = {"pid": sleeper.pid, "started": 1.0}
    write_json(
        Layout(box.dir).status, {"phase": "running", "message": "", "supervisor": stranger, "processes": {"etcd": stranger}}
    )
    assert box.down() is False
    assert not box.dir.exists()
    assert sleeper.poll() is None


def test_down_ends_processes_that_no_supervisor_knows(tools: Path) -> None:
    box, other = Sandbox("a"), Sandbox("a-other")
    wait = ["-c", "import time; time.sleep(300)"]
    lost = subprocess.Popen([str(tools / "etcd"), *wait, f"--data-dir={box.dir}/etcd"], executable=sys.executable)
    theirs = subprocess.Popen([str(tools / "etcd"), *wait, f"--data-dir={other.dir}/etcd"], executable=sys.executable)
    reader = subprocess.Popen([sys.executable, *wait, f"{box.dir}/logs/etcd.log"])
    try:
        # They are found by their command lines, which the kernel doesn't show in the first moment.
        eventually(lambda: all(psutil.Process(one.pid).cmdline() for one in (lost, theirs, reader)))
        assert box.down() is True
        lost.wait(60)
        assert (theirs.poll(), reader.poll()) == (None, None)
    finally:
        for one in (lost, theirs, reader):
            one.kill()
            one.wait()


def test_who_waits_for_a_removed_folder_makes_a_new_one(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box, order = Sandbox("a"), []
    asked, flock = threading.Event(), fcntl.flock

    def second() -> None:
        with box._lock():
            order.append((box.dir / ".lock").exists())

    waiting = threading.Thread(target=second)
    with box._lock():
        monkeypatch.setattr(fcntl, "flock", lambda *arguments: (asked.set(), flock(*arguments)))
        waiting.start()
        assert asked.wait(60), "it has opened the lock of this folder"
        shutil.rmtree(box.dir)
    waiting.join(60)
    assert order == [True]


def test_a_file_that_is_missing_under_the_lock_is_told(cache: Path) -> None:
    box = Sandbox("x")
    with pytest.raises(FileNotFoundError, match="no-such-tool"), box._lock():
        raise FileNotFoundError("no-such-tool")
    with box._lock():  # it has been given back
        pass


def test_sandboxes_are_the_folders(cache: Path) -> None:
    assert sandboxes() == []
    for name in ("b", "a.c"):
        private_dir(Sandbox(name).dir)
    assert [box.name for box in sandboxes()] == ["a.c", "b"]
    assert [box.status().phase for box in sandboxes()] == ["stopped", "stopped"]


def test_status_as_data(tmp_path: Path) -> None:
    assert json.loads(json.dumps(state.status_of("x", tmp_path, {}).as_dict()))["phase"] == "stopped"


class Busy(ApiServer):
    """An API server that hangs up on some requests, after it has done what they ask for."""

    def __init__(self, drops: int) -> None:
        self.drops = drops
        self.there: set[str] = set()

    def request(self, method: str, path: str, body: Any = None, *, timeout: float = 0) -> tuple[int, bytes]:
        exists = bool(body) and body["metadata"]["name"] in self.there
        if body:
            self.there.add(body["metadata"]["name"])
        if self.drops:
            self.drops -= 1
            raise RemoteDisconnected("hung up")
        return (409 if exists and method == "POST" else 200), b'{"metadata": {"resourceVersion": "1"}}'


def test_a_request_on_which_the_server_hung_up_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.apiserver._PAUSE", 0)
    for replace in (True, False):
        api = Busy(drops=3)
        api.put("/api/v1/namespaces", {"metadata": {"name": "a"}}, replace=replace)
        assert (api.there, api.drops) == ({"a"}, 0)
    with pytest.raises(SandboxError, match="does not answer GET /readyz: hung up"):
        Busy(drops=4).get("/readyz")
