"""`hpctl job`."""

from __future__ import annotations

import typer


def job(context: typer.Context) -> int:
    """(being built)"""
    raise NotImplementedError
