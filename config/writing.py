"""Writing files of the project: whole, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_MODE = 0o644


def replace_file(path: Path, text: str) -> None:
    """Put the text in the place of what the file holds; its folder is made where it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = _beside(path, text)
    try:
        made.chmod(path.stat().st_mode & 0o777 if path.exists() else _MODE)
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def new_file(path: Path, text: str) -> None:
    """The same for a file that must not be there. Raises FileExistsError where it is, and leaves it alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = _beside(path, text)
    try:
        made.chmod(_MODE)
        os.link(made, path)  # unlike a rename, never over another file
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        with path.open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
    finally:
        made.unlink()


def check_place(path: Path) -> None:
    """Make the file's folder, and see that a file can be put there; what the file holds stays. Raises OSError where it can't."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _beside(path, "").unlink()


def _beside(path: Path, text: str) -> Path:
    """A file in the same folder, hidden, so that a run at the same moment doesn't read it."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
        stream.write(text)
    return Path(name)
