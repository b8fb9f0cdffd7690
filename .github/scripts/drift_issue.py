"""The one issue on drift: opened when a stack differs from its declaration, updated every night, closed when nothing differs.

drift_issue.py FOLDER       with <stack>.md, what `hpctl drift --markdown` said, and <stack>.code, its exit code

GITHUB_REPOSITORY and GH_TOKEN say where and as whom; RUN_URL is named in the issue.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comment import LIMIT, body
from gh import api

MARKER = "<!-- hyperpod-platform: drift -->"
LABEL = "drift"
TITLE = "Stacks differ from their declaration"
FINE, DIFFERENT = 0, 3


def issue_body(found: Mapping[str, tuple[int, str]], run: str) -> str:
    """The issue's text: a line on each stack, then what the reports say of those that differ or couldn't be read."""
    words = {FINE: "no drift", DIFFERENT: "**differs**"}
    lines = [
        f"- `{stack}`: {words.get(code, f'**could not be read** (exit code {code})')}"
        for stack, (code, _) in sorted(found.items())
    ]
    reports = {stack: text for stack, (code, text) in found.items() if code != FINE}
    head = "\n".join((MARKER, f"Looked at by {run}", "", *lines, "", ""))
    return head + body(reports, LIMIT - len(head)).partition("\n")[2]


def decide(found: Mapping[str, tuple[int, str]], issues: list[dict[str, Any]]) -> tuple[str, int | None]:
    """What to do, and with which issue: `open`, `update`, `close` or `nothing`. A stack that couldn't be read closes nothing."""
    known = next(
        (one["number"] for one in issues if (one["body"] or "").startswith(MARKER) and one["user"]["type"] == "Bot"), None
    )
    if any(code != FINE for code, _ in found.values()):
        return ("open", None) if known is None else ("update", known)
    return ("nothing", None) if known is None or not found else ("close", known)


def read(folder: Path) -> dict[str, tuple[int, str]]:
    """Code and report by stack."""
    return {
        path.stem: (int(path.read_text()), path.with_suffix(".md").read_text(encoding="utf-8"))
        for path in sorted(folder.rglob("*.code"))
    }


def main(folder: Path) -> None:
    repository, run = os.environ["GITHUB_REPOSITORY"], os.environ["RUN_URL"]
    found = read(folder)
    what, number = decide(found, api(f"repos/{repository}/issues?state=open&labels={LABEL}&per_page=100"))
    text = issue_body(found, run)
    if what == "open":
        api(f"repos/{repository}/issues", "POST", {"title": TITLE, "body": text, "labels": [LABEL]})
    elif what == "update":
        api(f"repos/{repository}/issues/{number}", "PATCH", {"body": text})
    elif what == "close":
        api(f"repos/{repository}/issues/{number}", "PATCH", {"body": text, "state": "closed", "state_reason": "completed"})
    sys.stdout.write(f"{what}{f' #{number}' if number else ''}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
