"""The declarations of another revision, read from git into a private folder that is removed afterwards."""

from __future__ import annotations

import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from live.connection import UnreachableError

_DECLARATIONS: Final = ("environments", "teams", "workloads", "lifecycle", "Pulumi.yaml", "Pulumi.*.yaml")
_FOLDER: Final = re.compile(r"""\bfolder:\s*["']?([^\s"',}#]+)""")
"""Where an environment's file names a folder of its project: a lifecycle script's."""
_SECONDS: Final = 120


class RevisionError(ValueError):
    """There is no such revision, or it has no project here."""


@contextmanager
def revision(root: Path, name: str) -> Iterator[Path]:
    """A folder with the declarations of the project in `root` as the revision `name` has them.

    Raises RevisionError for a name that is no revision, and UnreachableError where git can't be asked.
    """
    commit = _commit(root, name)
    below = _git(root, "rev-parse", "--show-prefix").removesuffix("\n")
    # From the repository's top: below it, git takes paths in the tree for paths below the current folder.
    top, tree = Path(_git(root, "rev-parse", "--show-toplevel").removesuffix("\n")), f"{commit}:{below}"
    if below and _run(top, "cat-file", "-e", tree).returncode:
        raise RevisionError(f"`{name}` has no folder {below.rstrip('/')}: the project wasn't there yet")
    with tempfile.TemporaryDirectory(prefix="hpctl-revision-") as folder:
        # Nothing above it, as another project's Pulumi.yaml, is to be taken for the project's.
        target = Path(folder) / "project"
        target.mkdir(mode=0o700)
        _extract(top, tree, _declarations(top, tree), target)
        further = sorted({path for path in _named(target) if not (target / path).exists()})
        _extract(top, tree, [path for path in further if not _run(top, "cat-file", "-e", f"{tree}{path}").returncode], target)
        yield target


def _commit(root: Path, name: str) -> str:
    inside = _run(root, "rev-parse", "--is-inside-work-tree")
    if inside.returncode:
        raise UnreachableError(f"git can't read a repository at {root}: {_last(inside.stderr)}")
    found = _run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if found.returncode or not name:
        raise RevisionError(
            f"git knows no revision `{name}`; fetch it (`git fetch origin main`), or name a branch, tag or commit"
        )
    return found.stdout.strip()


def _declarations(root: Path, tree: str) -> list[str]:
    """What of the declarations the tree has; `git archive` fails for the rest."""
    entries = [entry for entry in _git(root, "ls-tree", "-z", "--name-only", tree).split("\0") if entry]
    return [entry for entry in entries if any(fnmatchcase(entry, pattern) for pattern in _DECLARATIONS)]


def _named(target: Path) -> Iterator[str]:
    """Folders that environments name, as paths that lead nowhere else."""
    for file in sorted((target / "environments").glob("*.yaml")):
        for found in _FOLDER.findall(file.read_text(encoding="utf-8", errors="replace")):
            path = Path(found)
            if not path.is_absolute() and ".." not in path.parts and path.parts:
                yield path.as_posix()


def _extract(root: Path, tree: str, paths: list[str], target: Path) -> None:
    if not paths:
        return
    command = ["git", "-C", str(root), "archive", "--format=tar", tree, "--", *(f":(literal){path}" for path in paths)]
    broken: Exception | None = None
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        try:
            assert process.stdout is not None  # noqa: S101 - asked for above
            with process.stdout as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
                archive.extractall(target, filter=_inside)  # noqa: S202 - filtered
        except (tarfile.TarError, OSError) as error:
            broken = error
            process.kill()  # leaves the code of one that has ended already
        code = process.wait(timeout=_SECONDS)
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    if code > 0:
        raise UnreachableError(f"`git archive` failed: {_last(said)}")
    if broken is not None or code:
        raise UnreachableError(f"the files of {tree} can't be written to {target}: {broken or 'git was killed'}")


def _inside(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
    """Members that stay in the folder; a link that leads out of it is left out, and so no declaration is read through it."""
    try:
        return tarfile.data_filter(member, path)
    except tarfile.FilterError:
        return None


def _git(root: Path, *arguments: str) -> str:
    done = _run(root, *arguments)
    if done.returncode:
        raise UnreachableError(f"`git {arguments[0]}` failed: {_last(done.stderr)}")
    return done.stdout


def _run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", "-C", str(root), *arguments]
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise UnreachableError("there is no `git` on PATH, which reads the revision; install it") from error
    except subprocess.TimeoutExpired as error:
        raise UnreachableError(f"`git {arguments[0]}` doesn't answer") from error


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("fatal: ") if lines else "it gave no reason"
