"""The one comment on a pull request: made of parts, found again by a marker, updated in place.

comment.py fold --title TITLE FILE            a tool's output as a folded part, on standard output
comment.py body FOLDER                        the comment that the parts of a folder make, on standard output
comment.py post --pull NUMBER FOLDER          the same, on the pull request; GITHUB_REPOSITORY and GH_TOKEN say where and as whom
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARKER = "<!-- hyperpod-platform: what this pull request does -->"
LIMIT = 65_536
"""Characters of a comment (GitHub's limit for bodies of issues and comments)."""
_CUT = "\n\n_Cut here: the run's summary and artifacts have all of it._\n"
_FENCE = re.compile(r" {0,3}(`{3,})(.*)")
_NOTHING = "_No part of the run has said anything; see its log._"


def fold(title: str, text: str, limit: int = 20_000) -> str:
    """A tool's output as a folded block, its end where it is too long: that says how it went."""
    lines = text.strip().splitlines()
    kept = "\n".join(lines)
    if len(kept) > limit:
        kept = "…\n" + kept[-limit:].partition("\n")[2]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", kept)), default=0))
    summary = title.replace("&", "&amp;").replace("<", "&lt;")
    return f"<details><summary>{summary}</summary>\n\n{fence}text\n{kept}\n{fence}\n\n</details>\n"


def body(parts: Mapping[str, str], limit: int = LIMIT) -> str:
    """The comment: the marker and the parts by name, within the limit. Where they are too long, the longest are cut."""
    texts = [text.strip() for _, text in sorted(parts.items()) if text.strip()] or [_NOTHING]
    room = limit - len(MARKER) - 1 - 2 * (len(texts) - 1)
    share = _share([len(text) for text in texts], room)
    return "\n".join((MARKER, "\n\n".join(text if len(text) <= share else cut(text, share) for text in texts)))


def _share(lengths: list[int], room: int) -> int:
    """The most that one part may have, so that all together fit: short ones leave theirs to the long ones."""
    left, parts = room, len(lengths)
    for length in sorted(lengths):
        if length * parts > left:
            return left // parts
        left, parts = left - length, parts - 1
    return room


def cut(text: str, limit: int) -> str:
    """The text up to a line's end, with what was open closed again; at most `limit` characters."""
    kept = text[: max(0, limit - len(_CUT))].rpartition("\n")[0]
    while kept and len(kept) + len(closing(kept)) + len(_CUT) > limit:
        kept = kept.rpartition("\n")[0]
    return f"{kept}{closing(kept)}{_CUT}"


def closing(text: str) -> str:
    """What closes the fence and the folded blocks that the text leaves open. What a fence holds opens and closes nothing."""
    fence, blocks = "", 0
    for line in text.split("\n"):
        found = _FENCE.match(line)
        run, rest = found.groups() if found else ("", "")
        if not fence:
            fence = run if "`" not in rest else ""
            blocks = max(0, blocks + line.count("<details>") - line.count("</details>"))
        elif len(run) >= len(fence) and not rest.strip():
            fence = ""
    return (f"\n{fence}" if fence else "") + "\n\n</details>" * blocks


def existing(comments: list[dict[str, Any]]) -> int | None:
    """The id of our comment: one that a bot wrote and that begins with the marker. Anybody could paste the marker."""
    ours = [one["id"] for one in comments if one["body"].startswith(MARKER) and one["user"]["type"] == "Bot"]
    return ours[0] if ours else None


def post(repository: str, pull: int, text: str) -> None:
    """Update our comment, or write it."""
    from gh import api

    comments = api(f"repos/{repository}/issues/{pull}/comments?per_page=100")
    known = existing(comments)
    if known is None:
        api(f"repos/{repository}/issues/{pull}/comments", "POST", {"body": text})
    else:
        api(f"repos/{repository}/issues/comments/{known}", "PATCH", {"body": text})


def parts_of(folder: Path) -> dict[str, str]:
    """The parts by file name, also those in folders below."""
    return {path.name: path.read_text(encoding="utf-8") for path in folder.rglob("*.md")}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("fold")
    one.add_argument("--title", required=True)
    one.add_argument("file", type=Path)
    verbs.add_parser("body").add_argument("folder", type=Path)
    posting = verbs.add_parser("post")
    posting.add_argument("--pull", type=int, required=True)
    posting.add_argument("folder", type=Path)
    given = parser.parse_args(arguments)
    if given.verb == "fold":
        sys.stdout.write(fold(given.title, given.file.read_text(encoding="utf-8", errors="replace")))
    elif given.verb == "body":
        sys.stdout.write(body(parts_of(given.folder)))
    else:
        post(os.environ["GITHUB_REPOSITORY"], given.pull, body(parts_of(given.folder)))


if __name__ == "__main__":
    main(sys.argv[1:])
