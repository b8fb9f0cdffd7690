"""How long work tells that it is alive."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Who wants to know how far a boot or a build is."""

    def step(self, text: str) -> None:
        """A new piece of work begins."""

    def update(self, done: int, total: int) -> None:
        """`done` of `total` parts of the current piece are finished."""


class SilentProgress:
    """Nobody wants to know."""

    def step(self, text: str) -> None:
        """Say nothing."""

    def update(self, done: int, total: int) -> None:
        """Say nothing."""
