"""`hpctl diff`."""

from __future__ import annotations

import typer


def diff(context: typer.Context) -> int:  # noqa: ARG001
    """To come."""
    raise NotImplementedError
