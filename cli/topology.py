"""`hpctl topology`."""

from __future__ import annotations

import typer


def topology(context: typer.Context) -> int:
    """(being built)"""
    raise NotImplementedError
