"""`hpctl import`."""

from __future__ import annotations

import typer


def import_(context: typer.Context) -> int:  # noqa: ARG001
    """To come."""
    raise NotImplementedError
