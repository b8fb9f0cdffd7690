"""The lifecycle script's files, as they lie in a folder of the project."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

from config.findings import Finding, Where, problem_at, quoted
from config.groups import Lifecycle

PREFIX = "lifecycle"
"""Folder of the bucket that holds the files."""


def scripts(folder: Path) -> dict[str, Path]:
    """All files below a folder, by their path in it, sorted."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def digest(file: Path) -> str:
    """SHA-256 of a file's content."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def lifecycle_findings(lifecycle: Lifecycle | None, root: Path, where: Where) -> list[Finding]:
    """What is wrong with the local folder of a lifecycle script. `root` is the project's folder."""
    if lifecycle is None or lifecycle.folder is None:
        return []
    folder = root / lifecycle.folder
    if not is_there(Path.is_dir, folder):
        return [problem_at("lifecycle-missing", where, f"there is no folder {quoted(lifecycle.folder)}", "create or correct it")]
    if not is_there(Path.is_file, folder / lifecycle.script):
        message = f"there is no file {quoted(str(Path(lifecycle.folder) / lifecycle.script))}, which instances are to run"
        return [problem_at("lifecycle-missing", where, message, "add it, or name another `script`")]
    return []


def is_there(what: Callable[[Path], bool], path: Path) -> bool:
    """What a path is; a name that no file system takes is nothing."""
    try:
        return what(path)
    except (OSError, ValueError):
        return False
