"""What went wrong in the environment: a tool, a server, the network."""

from __future__ import annotations

from pathlib import Path


class SandboxError(Exception):
    """The sandbox can't do what was asked. `str()` is what the user reads: what failed, the log, and what to do."""

    def __init__(self, message: str, *, log: Path | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.log = log
        self.remedy = remedy

    def __str__(self) -> str:
        parts = [self.message]
        if self.log is not None:
            parts.append(f"log: {self.log}")
        if self.remedy:
            parts.append(self.remedy)
        return "; ".join(parts)
