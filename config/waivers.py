"""What is allowed for a while: waivers of findings, and quota on top."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from config.findings import quoted
from config.vocabulary import Model, problem


def _day(value: Any) -> Any:
    if isinstance(value, date):
        return value
    try:
        if not isinstance(value, str) or len(value) != len("2026-12-31"):
            raise ValueError
        return date.fromisoformat(value)
    except ValueError:
        raise problem("date", f"{quoted(value)} is not a date", "write year, month and day, as in 2026-12-31") from None


Day = Annotated[date, BeforeValidator(_day)]
"""A calendar day, written `2026-12-31`; it ends at midnight UTC."""
Reason = Annotated[str, Field(min_length=10, max_length=512)]
"""Why, in 10–512 characters: somebody reads it when the date has come."""


class Waiver(Model):
    """Findings of one rule that are set aside until a date."""

    reason: Reason
    until: Day
    """The last day on which it holds."""
