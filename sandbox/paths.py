"""Where tools and sandboxes live: a cache folder of the user, never the project's tree."""

from __future__ import annotations

import os
import re
from pathlib import Path

from config.places import cache_root
from sandbox.errors import SandboxError

__all__ = ["cache_root", "private_dir", "sandbox_dir", "sandboxes_root", "tools_root", "write_private"]

_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]{0,98}[a-z0-9])?")


def tools_root() -> Path:
    """Folder of the built tools, one folder a build."""
    return cache_root() / "tools"


def sandboxes_root() -> Path:
    """Folder of the sandboxes, one folder each."""
    return cache_root() / "sandboxes"


def sandbox_dir(name: str) -> Path:
    """Folder of one sandbox. Raises SandboxError where the name could not be a folder's."""
    if not _NAME.fullmatch(name) or ".." in name:
        raise SandboxError(
            f"`{name}` can't be a sandbox's name",
            remedy="use at most 100 lower-case letters, digits, `-`, `_` and `.`, with a letter or digit at both ends",
        )
    return sandboxes_root() / name


def private_dir(path: Path) -> Path:
    """Make a folder that only its owner may enter."""
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o700)
    return path


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file of mode 0600 at once: readers see the old content or the new, never a part."""
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    temporary.replace(path)
