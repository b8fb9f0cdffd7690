"""`hpctl drift`."""

from __future__ import annotations

import typer


def drift(context: typer.Context) -> int:  # noqa: ARG001
    """To come."""
    raise NotImplementedError
