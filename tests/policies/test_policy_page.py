"""The documentation of the policies is the rules themselves."""

from __future__ import annotations

from pathlib import Path

from policies.page import MARK, lines
from policies.rules import RULES

PAGE = Path(__file__).parents[2] / "docs/policies.md"


def test_the_page_is_as_the_rules_are() -> None:
    written = PAGE.read_text(encoding="utf-8")
    assert written[written.index(MARK) :] == "\n".join(lines()) + "\n", "print it anew: python -m policies.page"


def test_every_rule_has_its_place_on_the_page() -> None:
    headings = {
        line.removeprefix("### ").strip("`") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("### ")
    }
    assert headings == set(RULES)
