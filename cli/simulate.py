"""`hpctl simulate`."""

from __future__ import annotations

import typer


def simulate(context: typer.Context) -> int:
    """(being built)"""
    raise NotImplementedError
