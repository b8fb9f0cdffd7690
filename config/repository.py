"""Paths as a repository's host knows them: from the repository's root, which may lie above the project's folder."""

from __future__ import annotations

import os
from pathlib import Path


def repository_of(root: Path) -> Path:
    """The nearest folder at or above the project's that git works in; the project's own without git."""
    return next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), root)


def prefix_of(root: Path) -> str:
    """The project's folder below its repository, as `platform`; empty where they are the same."""
    below = root.relative_to(repository_of(root)).as_posix()
    return "" if below == "." else below


def in_repository(file: str, prefix: str) -> str:
    """A finding's file from the repository's root."""
    return Path(os.path.normpath(f"{prefix}/{file}")).as_posix() if prefix else file
