"""Where files of this machine lie: a cache folder of the user, never the project's tree."""

from __future__ import annotations

import os
from pathlib import Path


def cache_root() -> Path:
    """`$HPCTL_CACHE`, else `$XDG_CACHE_HOME/hyperpod-platform`, else `~/.cache/hyperpod-platform`."""
    own = os.environ.get("HPCTL_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    base = Path(shared).expanduser() if shared else Path.home() / ".cache"
    return (base / "hyperpod-platform").absolute()
