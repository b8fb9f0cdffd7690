"""The rules as the second half of docs/policies.md: `python -m policies.page` prints it."""

from __future__ import annotations

from collections.abc import Iterator

from policies.rules import DOMAINS

MARK = "<!-- All below is printed by `python -m policies.page`. -->"


def lines() -> Iterator[str]:
    """The page's lines from the mark on."""
    yield MARK
    for domain in DOMAINS:
        yield f"\n## {domain.title}"
        for rule in domain.rules:
            anchors = ", ".join(anchor for anchor in rule.anchors if anchor != "own")
            yield f"\n### `{rule.id}`\n"
            yield f"{rule.title} ({rule.level}; {rule.severity}{f'; {anchors}' if anchors else ''})."
            yield rule.remedy


if __name__ == "__main__":
    print("\n".join(lines()))  # noqa: T201
