"""The pages' colours: one role, one colour a theme. Safe for the common kinds of colour blindness (blue, orange, purple, grey).

Text has a contrast of 4.5 and more to what it stands on, bars and lines of 3 and more (WCAG 2.2, 1.4.3 and 1.4.11).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ROLES: Final[Mapping[str, tuple[str, str]]] = {
    "page": ("#f3f5f8", "#101318"),
    "card": ("#ffffff", "#191e25"),
    "raised": ("#f3f5f8", "#222933"),
    "ink": ("#15191e", "#e9ecf0"),
    "muted": ("#545c68", "#a8b0bc"),
    "line": ("#dde2e9", "#313945"),
    "edge": ("#7c8694", "#7f8a99"),
    "accent": ("#0a5a9c", "#7cbcf0"),
    "own": ("#0b66ad", "#4f9fdf"),
    "borrowed": ("#c75b00", "#f2a24e"),
    "idle": ("#e3e8ef", "#2b333e"),
    "pending": ("#7a3fa3", "#c39be6"),
    "warn": ("#9c4600", "#f2a24e"),
    "over": ("#b3261e", "#ff8a80"),
    "good": ("#1a7340", "#5fcf8c"),
    "before": ("#6c7683", "#9aa4b2"),
    "after": ("#0b66ad", "#4f9fdf"),
}
"""By role: in the light and in the dark theme."""

INKS: Final[Mapping[str, str]] = {f"#0101{number:02x}": role for number, role in enumerate(ROLES, 1)}
"""Colours that stand for roles while a chart is drawn; no theme is known then."""
DRAWN: Final[Mapping[str, str]] = {role: ink for ink, role in INKS.items()}


def variables() -> str:
    """The colours as CSS variables; `color-scheme` chooses the theme."""
    return "".join(f"--{role}:light-dark({light},{dark});" for role, (light, dark) in ROLES.items())


def contrast(one: str, other: str) -> float:
    """WCAG's contrast ratio of two colours, 1–21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
