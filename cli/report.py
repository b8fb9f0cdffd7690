"""`hpctl report`."""

from __future__ import annotations

import typer


def report(context: typer.Context) -> int:
    """(being built)"""
    raise NotImplementedError
