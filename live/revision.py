"""The declarations of another revision, read from git into a private folder that is removed afterwards.

Files are read as git holds them: attributes that are meant for archives and working trees take none away and change none.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from live.connection import UnreachableError

_DECLARATIONS: Final = ("environments", "teams", "workloads", "lifecycle", "Pulumi.yaml", "Pulumi.*.yaml")
_FOLDER: Final = re.compile(r"""\bfolder:\s*["']?([^\s"',}#]+)""")
"""Where an environment's file names a folder of its project: a lifecycle script's."""
_SECONDS: Final = 120
MOST_MIB: Final = 128
"""All files of a revision together: a few hundred KiB are usual, and folders of lifecycle scripts may hold packages."""


_NOWHERE: Final = (b"symlink", b"dangling", b"loop", b"notdir")
"""How `git cat-file` says of a link that it leads to nothing in the repository; so many bytes of where it leads to follow."""


class RevisionError(ValueError):
    """There is no such revision, or it has no project here."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A project as a revision has it."""

    folder: Path
    day: date
    """When it was committed, UTC; today where the committer's clock was ahead."""


@contextmanager
def revision(root: Path, name: str) -> Iterator[Revision]:
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
        entries = list(_listed(top, tree))
        declared = [entry for entry in entries if any(fnmatchcase(entry.top, pattern) for pattern in _DECLARATIONS)]
        _extract(top, tree, declared, target)
        named = tuple(path for path in _named(target) if not (target / path).exists())
        _extract(top, tree, [entry for entry in entries if entry.is_in(named)], target)
        yield Revision(target, _day(top, commit))


def _commit(root: Path, name: str) -> str:
    inside = _run(root, "rev-parse", "--is-inside-work-tree")
    if inside.returncode:
        raise UnreachableError(f"git can't read a repository at {root}: {_last(inside.stderr)}")
    found = _run(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if found.returncode or not name:
        raise RevisionError(
            f"git knows no revision `{name}`; fetch it (`git fetch origin main`), or name a branch, tag or commit"
        )
    return os.fsdecode(found.stdout).strip()


def _day(root: Path, commit: str) -> date:
    seconds = _git(root, "show", "--no-patch", "--no-show-signature", "--format=%ct", commit)
    return min(datetime.fromtimestamp(int(seconds), UTC), datetime.now(UTC)).date()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file or link of a tree; folders are in its path alone."""

    path: str
    blob: str
    link: bool

    @property
    def top(self) -> str:
        return self.path.partition("/")[0]

    def is_in(self, folders: Iterable[str]) -> bool:
        return any(self.path == folder or self.path.startswith(f"{folder}/") for folder in folders)


def _listed(root: Path, tree: str) -> Iterator[_Entry]:
    """Files and links of a tree. Submodules are none, and neither is a path that leads out of the folder."""
    for line in _git(root, "ls-tree", "-r", "-z", tree).split("\0"):
        facts, _, path = line.partition("\t")
        mode, kind, blob = facts.split() if path else ("", "", "")
        if kind == "blob" and not {"", ".", ".."} & set(path.split("/")):
            yield _Entry(path, blob, link=mode == "120000")


def _named(target: Path) -> Iterator[str]:
    """Folders that environments name, as paths that lead nowhere else."""
    for file in sorted((target / "environments").glob("*.yaml")):
        for found in _FOLDER.findall(file.read_text(encoding="utf-8", errors="replace")):
            path = PurePosixPath(found)
            if not path.is_absolute() and ".." not in path.parts and path.parts:
                yield path.as_posix()


def _extract(root: Path, tree: str, entries: Sequence[_Entry], target: Path) -> None:
    """Write the files; a link becomes what it leads to, and nothing where that is out of the repository."""
    blobs = {entry.path: entry.blob for entry in entries if not entry.link}
    links = [entry.path for entry in entries if entry.link and "\n" not in entry.path]
    for path, answer in zip(links, _asked(root, [f"{tree}{path}" for path in links]), strict=True):
        if answer is not None and answer.kind == "blob":
            blobs[path] = answer.name
        elif answer is not None and answer.kind == "tree":
            blobs |= {f"{path}/{inner.path}": inner.blob for inner in _listed(root, answer.name) if not inner.link}
    for path, content in _contents(root, tree, blobs):
        try:
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            (target / path).write_bytes(content)
        except OSError as error:
            raise UnreachableError(f"the files of {tree} can't be written to {target}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Answer:
    """What git says of an object."""

    name: str
    kind: str
    size: int


def _asked(root: Path, names: Sequence[str]) -> Iterator[_Answer | None]:
    """One answer for each name, links followed; None where there is no such object in the repository."""
    said, place = _batch(root, "--batch-check", names, "--follow-symlinks"), 0
    for _ in names:
        end = said.index(b"\n", place)
        words = said[place:end].split(b" ")
        place = end + 1
        if words[-1] == b"missing":
            yield None
        elif words[0] in _NOWHERE:
            place += int(words[1]) + 1
            yield None
        else:
            yield _Answer(os.fsdecode(words[0]), os.fsdecode(words[1]), int(words[2]))


def _contents(root: Path, tree: str, blobs: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    sizes = []
    for path, answer in zip(blobs, _asked(root, list(blobs.values())), strict=True):
        if answer is None:
            raise UnreachableError(f"the repository lacks {path}: git says that {blobs[path]} of {tree} is missing")
        sizes.append(answer.size)
    if sum(sizes) > MOST_MIB << 20:
        raise UnreachableError(f"the declarations of {tree}, with what lies in their folders, are more than {MOST_MIB} MiB")
    found, place = _batch(root, "--batch", list(blobs.values())), 0
    for path, size in zip(blobs, sizes, strict=True):
        start = found.index(b"\n", place) + 1
        yield path, found[start : start + size]
        place = start + size + 1


def _batch(root: Path, what: str, names: Sequence[str], *options: str) -> bytes:
    """What `git cat-file` says of objects, one name a line."""
    if not names:
        return b""
    done = _run(root, "cat-file", what, *options, given=b"".join(os.fsencode(name) + b"\n" for name in names))
    if done.returncode:
        raise UnreachableError(f"`git cat-file` failed: {_last(done.stderr)}")
    return done.stdout


def _git(root: Path, *arguments: str) -> str:
    done = _run(root, *arguments)
    if done.returncode:
        raise UnreachableError(f"`git {arguments[0]}` failed: {_last(done.stderr)}")
    return os.fsdecode(done.stdout)


def _run(root: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = ["git", "-C", str(root), *arguments]
    try:
        return subprocess.run(command, input=given, capture_output=True, timeout=_SECONDS, check=False)
    except FileNotFoundError as error:
        raise UnreachableError("there is no `git` on PATH, which reads the revision; install it") from error
    except subprocess.TimeoutExpired as error:
        raise UnreachableError(f"`git {arguments[0]}` doesn't answer") from error


def _last(said: bytes) -> str:
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("fatal: ") if lines else "it gave no reason"
