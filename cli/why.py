"""`hpctl why`."""

from __future__ import annotations

import typer


def why(context: typer.Context) -> int:
    """(being built)"""
    raise NotImplementedError
