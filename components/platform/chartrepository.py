"""A chart's git repository: one commit of it, fetched and read without ever being checked out.

Files are read out of git's objects and not from a working tree, so that the user's filters and line endings don't change them.
"""

import os
import posixpath
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath

FETCH_SECONDS = 300
"""Longest time that one git command may take."""
_SETTINGS = ("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", "-c", "gc.auto=0")
_SURROUNDINGS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES")
"""What a git hook or an alias sets when it runs us: it would point us at another repository."""
_ELSEWHERE = "or name another source under `hyperpod.chart`: `repository` (a mirror), `oci`, or `path` (a local copy)"
_LINK, _EXECUTABLE = "120000", "100755"


class ChartSourceError(Exception):
    """The chart can't be had as declared. `str()` is a sentence; `remedy` says what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    id: str


def fetch(folder: Path, repository: str, commit: str) -> None:
    """Make `folder` a bare repository with just this commit, and verify it. Raises ChartSourceError."""
    shown = _without_credentials(repository)
    try:
        _git(folder, "init", "--bare", "--quiet", "--template=")
        _git(folder, "fetch", "--quiet", "--no-tags", "--depth=1", "--", repository, commit)
    except subprocess.CalledProcessError as error:
        message = f"git can't fetch commit {commit[:12]} from {shown}: {_reason(error.stderr)}"
        raise ChartSourceError(message, f"check the network, git's proxy settings and `commit`, {_ELSEWHERE}") from None
    if not is_sound(folder, commit):
        raise ChartSourceError(f"what {shown} sent is not the content of commit {commit}", "use another mirror")


def is_sound(repository: Path, commit: str) -> bool:
    """Whether the repository is there and holds the commit, each object of which has the content that its hash says."""
    if not repository.is_dir():
        return False
    try:
        found = _git(repository, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").decode().strip()
        _git(repository, "fsck", "--full", "--no-dangling", "--no-progress", commit)
    except subprocess.SubprocessError:
        return False
    return found == commit


def extract(repository: Path, commit: str, folder: str, target: Path) -> None:
    """Write the files of a commit's folder to `target`; links become what they point to. Raises ChartSourceError."""
    entries = _entries(repository, commit, folder)
    blobs = _blobs(repository, sorted({entry.id for entry in entries.values()}))
    target.mkdir()
    for name in entries:
        entry = _followed(entries, blobs, name)
        file = target / PurePosixPath(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(blobs[entry.id])
        file.chmod(0o755 if entry.mode == _EXECUTABLE else 0o644)


def _entries(repository: Path, commit: str, folder: str) -> dict[str, _Entry]:
    """Files below the folder by their path from it; none where there is no such folder."""
    try:
        listed = _git(repository, "ls-tree", "-r", "-z", f"{commit}:{folder}")
    except subprocess.CalledProcessError:
        return {}
    entries = {}
    for line in filter(None, listed.decode().split("\0")):
        facts, name = line.split("\t", 1)
        mode, kind, id_ = facts.split()
        if kind != "blob" or ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            raise ChartSourceError(f"`{name}` of the chart at commit {commit[:12]} is no file", "name another commit")
        entries[name] = _Entry(mode, id_)
    return entries


def _followed(entries: Mapping[str, _Entry], blobs: Mapping[str, bytes], name: str) -> _Entry:
    """The file that a path stands for."""
    seen = {name}
    while (entry := entries[name]).mode == _LINK:
        target = blobs[entry.id].decode()
        name = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        if name in seen or name not in entries:
            raise ChartSourceError(f"the chart has a link to `{target}`, which is no file of it", "name another commit")
        seen.add(name)
    return entry


def _blobs(repository: Path, ids: Sequence[str]) -> dict[str, bytes]:
    """Content by object id, all in one call."""
    stream = BytesIO(_git(repository, "cat-file", "--batch", input="\n".join(ids).encode()))
    blobs = {}
    while header := stream.readline():
        id_, _, size = header.decode().split()
        blobs[id_] = stream.read(int(size))
        stream.readline()
    return blobs


def _git(folder: Path, *arguments: str, input: bytes = b"") -> bytes:  # noqa: A002 - as subprocess names it
    """Output of a git command. It asks nothing: there is nobody to answer.

    Raises ChartSourceError where there is no git or it doesn't end, CalledProcessError where it fails.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _SURROUNDINGS}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "LC_ALL": "C"}
    environment.setdefault("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
    command: Sequence[str] = ("git", *_SETTINGS, f"--git-dir={folder}", *arguments)
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, input=input, capture_output=True, check=True, timeout=FETCH_SECONDS
        )
    except FileNotFoundError:
        message = "git is not installed, and HyperPod's dependency chart comes out of a git repository"
        raise ChartSourceError(message, f"install git, {_ELSEWHERE}") from None
    except subprocess.TimeoutExpired:
        message = f"git took longer than {FETCH_SECONDS} seconds over HyperPod's dependency chart (`git {arguments[0]}`)"
        raise ChartSourceError(message, f"check the network and git's proxy settings, {_ELSEWHERE}") from None
    return done.stdout


def _reason(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))]
    return _without_credentials((fatal or lines or ["it says nothing"])[0])


def _without_credentials(text: str) -> str:
    return re.sub(r"//[^/@\s]*@", "//", text)
