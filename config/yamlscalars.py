"""What an unquoted YAML scalar means, and which spellings other readers take for something else.

The meaning is that of YAML 1.2's core schema. A spelling that YAML 1.1 reads differently is a trap: many editors, linters and
programs still follow 1.1.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Any

_WORDS: dict[str, Any] = {"": None, "~": None} | {
    spelling: value
    for word, value in (("null", None), ("true", True), ("false", False))
    for spelling in (word, word.capitalize(), word.upper())
}
_SPECIAL_FLOATS = {
    sign + spelling: float(f"{sign}{word}")
    for word, signs in (("inf", ("", "+", "-")), ("nan", ("",)))
    for sign in signs
    for spelling in (f".{word}", f".{'NaN' if word == 'nan' else 'Inf'}", f".{word.upper()}")
}
BOOLEAN_WORDS = frozenset(s for w in ("yes", "no", "on", "off", "y", "n") for s in (w, w.capitalize(), w.upper()))
"""Words that are truth values in YAML 1.1."""
_NUMBER_START = frozenset("0123456789+-.")
_MOST_DIGITS = 18
"""Digits that every reader holds exactly in an integer of 64 bits."""

_INT = re.compile(r"[-+]?[0-9]+\Z")
_BASED = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z|0b[01]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_SEXAGESIMAL = re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?\Z")
_UNDERSCORED = re.compile(r"[-+]?[0-9][0-9_]*\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t]|\Z)")

Trap = tuple[str, str]
"""What is wrong with a spelling, and what to write in its place."""


def meaning(text: str) -> tuple[Any, Trap | None]:
    """The value of an unquoted scalar; for a trap, its text and the trap."""
    if text in _WORDS:
        return _WORDS[text], None
    if text[0] not in _NUMBER_START:
        if text not in BOOLEAN_WORDS:
            return text, None
        value = "true" if text.lower() in ("yes", "on", "y") else "false"
        return text, (f"`{text}` is a word, not a truth value", f'write {value}, or "{text}" for the word')
    if _INT.match(text):
        return _integer(text)
    if text in _SPECIAL_FLOATS:
        return _SPECIAL_FLOATS[text], None
    if _FLOAT.match(text):
        return _fraction(text)
    trap = _other_number(text)
    return text, trap


def _integer(text: str) -> tuple[Any, Trap | None]:
    digits = text.lstrip("+-")
    if len(digits) > _MOST_DIGITS:
        return text, (f"a number of {len(digits)} digits is read exactly by few", "quote it if it is text")
    if len(digits) > 1 and digits[0] == "0":
        return text, (f"`{text}` is octal to some readers and decimal to others", f'write {int(text)}, or "{text}" for the text')
    return int(text), None


def _fraction(text: str) -> tuple[Any, Trap | None]:
    value = float(text)
    if "e" in text or "E" in text:
        return text, (
            f"`{_cut(text)}` is a number to some readers and text to others",
            "write it without an exponent, or quote it",
        )
    if "." in text and text[-1] == "0" and text[-2:] != ".0":
        return text, (
            f"`{_cut(text)}` is read as the number {value}",
            f'write "{_cut(text)}" for the text, or {value} for the number',
        )
    return value, None


def _other_number(text: str) -> Trap | None:
    """Spellings that are numbers or dates to readers of YAML 1.1, or to those of 1.2, but not to both."""
    shown = _cut(text)
    if _BASED.match(text):
        return f"`{shown}` is a number to some readers and text to others", "write it in decimal, or quote it"
    if "_" in text and _UNDERSCORED.match(text):
        return f"`{shown}` is a number to some readers and text to others", f"write {shown.replace('_', '')}, or quote it"
    if ":" in text and _SEXAGESIMAL.match(text):
        return f"`{shown}` is a number in base 60 to some readers", f'write "{shown}"'
    if _DATE.match(text) and not _is_day(text):
        return f"`{shown}` is a date to some readers and text to others", f'write "{shown}"'
    return None


def _is_day(text: str) -> bool:
    """A day in full, as 2026-12-31: whether a reader takes it for a date or for text, it says the same."""
    if len(text) != len("2026-12-31"):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
