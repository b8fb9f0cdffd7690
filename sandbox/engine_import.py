"""Driving an import: the providers first, which `pulumi import` must find in the state, then the resources that exist."""

from __future__ import annotations

import json
from pathlib import Path

from sandbox.engine import Changes, Engine, EngineError, OnEvent


def import_existing(engine: Engine, file: Path, on_event: OnEvent | None = None) -> Changes:
    """Take what an import file lists into the stack's state. Nothing on a cluster is touched.

    The same with Pulumi alone: `pulumi up --target <provider's URN>` for each entry of the file's `nameTable`, then
    `pulumi import --file <file> --generate-code=false --protect=false`. The next `up` sets protection and dependencies as the
    program declares them. Raises EngineError, as for a resource that the stack has already.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EngineError(f"{file} can't be read as an import file: {error}") from error
    providers = sorted(content["nameTable"].values())
    if providers:
        engine.up(target=providers, on_event=on_event)
    return engine.import_(file, on_event=on_event)
