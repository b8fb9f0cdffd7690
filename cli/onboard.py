"""`hpctl onboard`."""

from __future__ import annotations

import typer


def onboard(context: typer.Context) -> int:  # noqa: ARG001
    """To come."""
    raise NotImplementedError
