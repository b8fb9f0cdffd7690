"""`hpctl schema`."""

from __future__ import annotations

import typer


def schema(context: typer.Context) -> int:  # noqa: ARG001
    """To come."""
    raise NotImplementedError
