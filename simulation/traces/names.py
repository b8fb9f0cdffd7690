"""Names that nobody else has."""

from __future__ import annotations

from collections.abc import Container


class Fresh:
    """Numbers names that are taken, and goes on where it stopped: many that are alike take no longer than others."""

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def name(self, wanted: str, taken: Container[str]) -> str:
        """The wanted name, or with the first number from 1 that makes it free."""
        if wanted not in taken:
            return wanted
        number = self._next.get(wanted, 1)
        while (name := f"{wanted}-{number}") in taken:
            number += 1
        self._next[wanted] = number + 1
        return name
