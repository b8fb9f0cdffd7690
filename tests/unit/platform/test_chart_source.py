"""Getting the dependency chart: out of a git repository made here, with a stand-in chart in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from components.platform import chartrepository
from components.platform.chartrepository import ChartSourceError
from components.platform.chartsource import chart_path, folder_digest, lacks_dependencies, working_copy
from config.chart import ChartSource

FOLDER = "helm/Chart"
GIT, BASH = (shutil.which(name) or name for name in ("git", "bash"))
CHART = """\
apiVersion: v2
name: stand-in
version: 0.1.0
dependencies:
  - {name: inside, version: 0.1.0, repository: "file://charts/inside"}
  - {name: outside, version: v1.2.3, repository: "https://charts.example.com"}
"""
FILES = {"Chart.yaml": CHART, "values.yaml": "a: 1\r\n", "charts/inside/Chart.yaml": "name: inside\nversion: 0.1.0\n"}


def git(folder: Path, *arguments: str) -> str:
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    person = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    done = subprocess.run(
        [GIT, *person, *arguments], cwd=folder, env=os.environ | own, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def commit(repository: Path) -> str:
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "change")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose second commit has the chart, and a file besides."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "README.md").write_text("first\n")
    commit(folder)
    for name, text in FILES.items():
        path = folder / FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    commit(folder)
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def source_of(repository: Path, **changed: Any) -> ChartSource:
    head = git(repository, "rev-parse", "HEAD")
    return ChartSource.model_validate({"repository": f"file://{repository}", "commit": head, "folder": FOLDER, **changed})


def found(source: ChartSource, cache: Path, root: Path = Path("/nowhere")) -> Path:
    return Path(chart_path(source, root, cache))


def refused(source: ChartSource, cache: Path, root: Path = Path("/nowhere")) -> ChartSourceError:
    with pytest.raises(ChartSourceError) as caught:
        chart_path(source, root, cache)
    assert caught.value.remedy
    assert str(caught.value).isprintable()
    return caught.value


def contents(folder: Path) -> dict[str, str]:
    return {str(f.relative_to(folder)): f.read_bytes().decode() for f in folder.rglob("*") if f.is_file()}


def leftovers(cache: Path) -> list[Path]:
    """Temporary folders of broken runs."""
    return [path for path in cache.rglob("*") if path.name.startswith((".new-", "tmp"))]


# -- a repository --------------------------------------------------------------------------------------------------------------


def test_the_chart_of_the_commit_exactly(repository: Path, cache: Path) -> None:
    source = source_of(repository)
    (repository / FOLDER / "values.yaml").write_text("a: 2\n")
    commit(repository)
    chart = found(source, cache)
    assert contents(chart) == FILES, "line endings too, and nothing of the later commit"
    assert chart.is_relative_to(cache / "charts" / source.commit)
    assert leftovers(cache) == []


def test_it_is_fetched_once(repository: Path, cache: Path) -> None:
    source = source_of(repository)
    chart = found(source, cache)
    stamp = (chart / "Chart.yaml").stat().st_mtime_ns
    repository.rename(repository.with_name("gone"))
    assert found(source, cache) == chart
    assert (chart / "Chart.yaml").stat().st_mtime_ns == stamp


def test_only_that_commit_is_fetched(repository: Path, cache: Path) -> None:
    source = source_of(repository)
    found(source, cache)
    kept = cache / "charts" / source.commit / "repository.git"
    assert git(kept, "rev-list", "--count", source.commit) == "1"


def test_a_commit_that_is_no_branch_is_had_too(repository: Path, cache: Path) -> None:
    source = source_of(repository)
    (repository / "more").write_text("x")
    commit(repository)
    assert contents(found(source, cache)) == FILES


@pytest.mark.parametrize("damage", ["change", "add", "remove", "link"])
def test_a_tampered_file_is_put_right(repository: Path, cache: Path, tmp_path: Path, damage: str) -> None:
    source = source_of(repository)
    chart = found(source, cache)
    values = chart / "values.yaml"
    if damage == "change":
        values.write_text("a: 666\n")
    elif damage == "add":
        (chart / "templates").mkdir()
        (chart / "templates" / "evil.yaml").write_text("kind: Pod\n")
    elif damage == "remove":
        values.unlink()
    else:
        (tmp_path / "other").write_text("a: 666\n")
        values.unlink()
        values.symlink_to(tmp_path / "other")
    repository.rename(repository.with_name("gone"))
    assert contents(found(source, cache)) == FILES
    assert leftovers(cache) == []


def test_a_tampered_repository_is_noticed(repository: Path, cache: Path) -> None:
    """An object whose content is not what its hash says: fetched anew, or refused where that can't be."""
    source = source_of(repository)
    found(source, cache)
    kept = cache / "charts" / source.commit / "repository.git"
    packs = list((kept / "objects").rglob("*.pack"))
    loose = [path for path in (kept / "objects").glob("??/*") if path.is_file()]
    for path in packs or loose:
        path.chmod(0o644)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
    assert packs or loose
    hidden = repository.rename(repository.with_name("gone"))
    assert "can't fetch commit" in str(refused(source, cache))
    hidden.rename(repository)
    assert contents(found(source, cache)) == FILES


def test_an_interrupted_fetch_leaves_nothing(repository: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(repository)

    def interrupted(*_: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(chartrepository, "is_sound", interrupted)
        with pytest.raises(KeyboardInterrupt):
            found(source, cache)
    assert not (cache / "charts" / source.commit / "repository.git").exists()
    assert leftovers(cache) == []
    assert contents(found(source, cache)) == FILES


def test_runs_at_the_same_time_agree(repository: Path, cache: Path) -> None:
    source = source_of(repository)
    seen: list[Any] = []
    threads = [threading.Thread(target=lambda: seen.append(contents(found(source, cache)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [FILES] * 4


def test_the_users_git_settings_change_no_file(
    repository: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither filters nor line endings, nor a git hook's surroundings."""
    settings = tmp_path / "gitconfig"
    settings.write_text('[core]\nautocrlf = input\n[filter "upper"]\nsmudge = tr a-z A-Z\n')
    (repository / ".gitattributes").write_text("* filter=upper text eol=lf\n")
    source = source_of(repository, commit=commit(repository))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert contents(found(source, cache))["Chart.yaml"] == CHART


def test_links_become_files(repository: Path, cache: Path) -> None:
    (repository / FOLDER / "charts" / "again.yaml").symlink_to("../values.yaml")
    assert contents(found(source_of(repository, commit=commit(repository)), cache))["charts/again.yaml"] == "a: 1\r\n"


@pytest.mark.parametrize("target", ["../../../README.md", "/etc/hostname", "missing", "again.yaml"])
def test_a_link_out_of_the_chart_is_refused(repository: Path, cache: Path, target: str) -> None:
    (repository / FOLDER / "again.yaml").symlink_to(target)
    assert f"link to `{target}`" in str(refused(source_of(repository, commit=commit(repository)), cache))


def test_executables_stay_so(repository: Path, cache: Path) -> None:
    (repository / FOLDER / "run.sh").write_text("true\n")
    (repository / FOLDER / "run.sh").chmod(0o755)
    chart = found(source_of(repository, commit=commit(repository)), cache)
    assert os.access(chart / "run.sh", os.X_OK)
    assert not os.access(chart / "values.yaml", os.X_OK)


# -- what goes wrong -----------------------------------------------------------------------------------------------------------


def test_no_such_repository(cache: Path, tmp_path: Path) -> None:
    source = ChartSource.model_validate({"repository": f"file://{tmp_path}/nothing", "folder": FOLDER})
    error = refused(source, cache)
    assert f"can't fetch commit {source.commit[:12]} from file://{tmp_path}/nothing" in str(error)
    assert "`repository` (a mirror), `oci`, or `path` (a local copy)" in error.remedy
    assert leftovers(cache) == []


def test_no_such_commit(repository: Path, cache: Path) -> None:
    error = refused(source_of(repository, commit="0" * 39 + "1"), cache)
    assert "can't fetch commit 000000000000" in str(error)
    assert "`commit`" in error.remedy


def test_no_chart_in_the_folder(repository: Path, cache: Path) -> None:
    for folder in ("nothing", "helm"):
        error = refused(source_of(repository, folder=folder), cache)
        assert f"has no chart in its folder `{folder}`" in str(error)
        assert "`folder`" in error.remedy


def test_no_git(repository: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(repository)
    monkeypatch.setenv("PATH", str(tmp_path))
    error = refused(source, cache)
    assert "git is not installed" in str(error)
    assert "`path`" in error.remedy


def test_a_fetch_that_takes_too_long(repository: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(repository)
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text('#!/bin/sh\ncase "$*" in *" fetch "*) exec sleep 600;; esac\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    git_command = chartrepository._git

    def impatient(folder: Path, *arguments: str, **more: Any) -> bytes:
        """Nothing but the fetch is hurried."""
        monkeypatch.setattr(chartrepository, "FETCH_SECONDS", 0.3 if arguments[0] == "fetch" else 300)
        return git_command(folder, *arguments, **more)

    monkeypatch.setattr(chartrepository, "_git", impatient)
    assert "took longer than 0.3 seconds over HyperPod's dependency chart (`git fetch`)" in str(refused(source, cache))
    assert leftovers(cache) == []


def test_git_asks_nobody(repository: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(repository)
    log = tmp_path / "log"
    spy = tmp_path / "bin" / "git"
    spy.parent.mkdir()
    seen = "prompt=$GIT_TERMINAL_PROMPT askpass=[$GIT_ASKPASS] ssh=$GIT_SSH_COMMAND $*"
    spy.write_text(f'#!/bin/sh\necho "{seen}" >> {log}\nexec {GIT} "$@"\n')
    spy.chmod(0o755)
    monkeypatch.setenv("PATH", f"{spy.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("GIT_SSH_COMMAND", raising=False)
    found(source, cache)
    lines = log.read_text().splitlines()
    assert lines
    assert all(line.startswith("prompt=0 askpass=[] ssh=ssh -o BatchMode=yes") for line in lines)
    (fetched,) = [line for line in lines if " fetch " in line]
    assert "--depth=1" in fetched
    assert fetched.endswith(f"-- file://{repository} {source.commit}")


def test_credentials_in_an_address_are_not_told(cache: Path) -> None:
    source = ChartSource.model_validate({"repository": "https://me:secret@127.0.0.1:1/x.git", "folder": FOLDER})
    error = refused(source, cache)
    assert "secret" not in f"{error} {error.remedy}"
    assert "https://127.0.0.1:1/x.git" in str(error)


# -- digests -------------------------------------------------------------------------------------------------------------------


def test_a_digest_is_checked_and_told(repository: Path, cache: Path) -> None:
    digest = folder_digest(found(source_of(repository), cache))
    assert found(source_of(repository, sha256=digest), cache)
    wrong = "0" * 64
    error = refused(source_of(repository, sha256=wrong), cache)
    assert f"expected digest {wrong}, found {digest}" in str(error)
    assert "`sha256`" in error.remedy


def test_the_digest_is_what_plain_tools_print(repository: Path, cache: Path) -> None:
    """The command of the docstring, on names whose order depends on the language's rules."""
    for name in ("b", "B", "a-b", "a_b", "a b", "ä"):
        (repository / FOLDER / name).write_text(name)
    chart = found(source_of(repository, commit=commit(repository)), cache)
    (command,) = [line.strip() for line in (folder_digest.__doc__ or "").splitlines() if line.strip().startswith("`find")]
    printed = subprocess.run([BASH, "-c", command.strip("`")], cwd=chart, capture_output=True, text=True, check=True).stdout
    assert printed.split()[0] == folder_digest(chart)


def test_a_digest_sees_names_and_contents(tmp_path: Path) -> None:
    digests = set()
    for number, files in enumerate(({"a": "x"}, {"a": "y"}, {"b": "x"}, {"a": "x", "b": ""}, {"d/a": "x"})):
        folder = tmp_path / str(number)
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        digests.add(folder_digest(folder))
    assert len(digests) == 5


# -- other sources -------------------------------------------------------------------------------------------------------------


def test_an_oci_reference_is_handed_on(cache: Path) -> None:
    source = ChartSource(oci="oci://registry.example.com/charts/hyperpod", version="0.1.0")
    assert chart_path(source, Path("/nowhere"), cache) == "oci://registry.example.com/charts/hyperpod"
    assert not cache.exists()


def test_a_local_folder_or_archive(tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "Chart.yaml").write_text("name: x\n")
    archive = tmp_path / "mine.tgz"
    archive.write_bytes(b"packed")
    assert found(ChartSource(path="mine"), cache, tmp_path) == folder
    assert found(ChartSource(path="mine.tgz", sha256=folder_digest(archive)), cache, tmp_path) == archive
    assert found(ChartSource(path=str(folder)), cache, Path("/elsewhere")) == folder
    assert "found" in str(refused(ChartSource(path="mine", sha256="0" * 64), cache, tmp_path))
    assert f"there is no chart at {tmp_path}/other" in str(refused(ChartSource(path="other"), cache, tmp_path))
    (folder / "Chart.yaml").unlink()
    assert "there is no chart" in str(refused(ChartSource(path="mine"), cache, tmp_path))
    assert not cache.exists()


# -- dependencies --------------------------------------------------------------------------------------------------------------


def test_dependencies_that_are_not_there(repository: Path, cache: Path, tmp_path: Path) -> None:
    chart = working_copy(found(source_of(repository), cache), "dev-main", cache)
    assert lacks_dependencies(chart)
    (chart / "charts" / "outside-1.2.3.tgz").write_bytes(b"")
    assert not lacks_dependencies(chart)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "Chart.yaml").write_text("name: plain\n")
    assert not lacks_dependencies(tmp_path / "plain")
    (tmp_path / "packed.tgz").write_bytes(b"")
    assert not lacks_dependencies(tmp_path / "packed.tgz")


def test_a_working_copy_keeps_what_helm_fetched(repository: Path, cache: Path) -> None:
    chart = found(source_of(repository), cache)
    copy = working_copy(chart, "dev-main", cache)
    assert contents(copy) == FILES
    (copy / "Chart.lock").write_text("digest: x\n")
    (copy / "charts" / "outside-1.2.3.tgz").write_text("fetched")
    assert working_copy(chart, "dev-main", cache) == copy
    assert (copy / "charts" / "outside-1.2.3.tgz").read_text() == "fetched"
    assert contents(chart) == FILES, "the verified chart is never written to"


def test_a_tampered_working_copy_is_made_anew(repository: Path, cache: Path) -> None:
    chart = found(source_of(repository), cache)
    copy = working_copy(chart, "dev-main", cache)
    (copy / "values.yaml").write_text("a: 666\n")
    assert contents(working_copy(chart, "dev-main", cache)) == FILES
    (copy / "templates").mkdir()
    (copy / "templates" / "evil.yaml").write_text("kind: Pod\n")
    assert contents(working_copy(chart, "dev-main", cache)) == FILES


def test_every_release_has_a_copy_of_its_own(repository: Path, cache: Path) -> None:
    chart = found(source_of(repository), cache)
    assert working_copy(chart, "dev-main", cache) != working_copy(chart, "dev-other", cache)
