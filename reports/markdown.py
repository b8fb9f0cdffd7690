"""Text in Markdown that shows what it says: values that anybody may have written mean nothing to Markdown, HTML or GitHub."""

from __future__ import annotations

import re

from config.findings import printable

_PLAIN = re.compile(r"[A-Za-z0-9 .,:;/%+()×–−→'-]*\Z")
"""Text in which Markdown and HTML see nothing of theirs."""
_LINKED = re.compile(r"://|www\.|\bGH-\d", re.IGNORECASE)
"""What GitHub makes a link of all the same."""


def code(text: str) -> str:
    """The text as code, on one line: no link, no image, no mention; empty for none. In a table, escape its bars besides."""
    text = printable(text)
    if not text:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    # One space on either side belongs to the fence, where the text begins or ends with what could be taken for it.
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def shown(text: str) -> str:
    """The text as it is, or as code where it could mean something or call somebody by name."""
    return text if _PLAIN.match(text) and not _LINKED.search(text) else code(text)


def row(cells: list[str]) -> str:
    """A row of a table of such texts."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
