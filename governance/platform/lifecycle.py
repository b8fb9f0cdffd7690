"""The lifecycle script's files, as they lie in a folder of the project."""

from __future__ import annotations

import hashlib
from pathlib import Path

from config.findings import Finding, Where, problem_at
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
    if not folder.is_dir():
        message = f"there is no folder {lifecycle.folder} with the lifecycle script"
        return [problem_at("lifecycle-folder", where, message, "write its path from the project's folder, or make it")]
    if not (folder / lifecycle.script).is_file():
        message = f"the folder {lifecycle.folder} has no file {lifecycle.script}, which instances are to run"
        return [problem_at("lifecycle-script", where, message, "add the script, or name another one in `script`")]
    return []
