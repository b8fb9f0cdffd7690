"""The one issue on drift: opened when a stack differs from its declaration, updated every night, closed when nothing differs.

drift_issue.py FOLDER       with <stack>.md, what `hpctl drift --markdown` said, and <stack>.code, its exit code

STACKS are those that were to be looked at, as a JSON list: one without files could not be read. GITHUB_REPOSITORY and GH_TOKEN
say where and as whom; RUN_URL is named in the issue.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comment import LIMIT, body
from gh import api

MARKER = "<!-- hyperpod-platform: drift -->"
LABEL = "drift"
TITLE = "Stacks differ from their declaration"
FINE, DIFFERENT = 0, 3
_FIRST_SENTENCE = 2
"""The report's line that sums up, below its heading and an empty one."""


@dataclass(frozen=True, slots=True)
class Look:
    """What became of the look at one stack."""

    code: int | None
    """The exit code of `hpctl drift`; None where the job ended before it."""
    report: str = ""

    @property
    def deployed(self) -> bool:
        """Whether the backend holds the stack. `hpctl drift` says so in words: without a deployment nothing can have drifted."""
        return not re.search(r": not deployed\b", "".join(self.report.split("\n")[_FIRST_SENTENCE:][:1]))

    @property
    def fine(self) -> bool:
        """Whether the stack was seen, and nothing differs."""
        return self.code == FINE and self.deployed

    @property
    def words(self) -> str:
        if self.code is None:
            return "**could not be read** (the job ended before it looked)"
        if self.code == FINE:
            return "no drift" if self.deployed else "**not deployed**: the backend holds nothing of it"
        return "**differs**" if self.code == DIFFERENT else f"**could not be read** (exit code {self.code})"


def issue_body(found: Mapping[str, Look], run: str) -> str:
    """The issue's text: a line on each stack, then what the reports say of those that differ or couldn't be read."""
    lines = [f"- `{stack}`: {look.words}" for stack, look in sorted(found.items())]
    reports = {stack: look.report for stack, look in found.items() if not look.fine}
    head = "\n".join((MARKER, f"Looked at by {run}", "", *lines, "", ""))
    return head + body(reports, LIMIT - len(head)).partition("\n")[2]


def decide(found: Mapping[str, Look], issues: list[dict[str, Any]]) -> tuple[str, int | None]:
    """What to do, and with which issue: `open`, `update`, `close` or `nothing`.

    A stack that couldn't be read closes nothing. One that isn't deployed opens none either: it may be still to come.
    """
    known = next(
        (one["number"] for one in issues if (one["body"] or "").startswith(MARKER) and one["user"]["type"] == "Bot"), None
    )
    if known is None:
        return ("open" if any(look.code != FINE for look in found.values()) else "nothing", None)
    if not found:
        return ("nothing", None)
    return ("close" if all(look.fine for look in found.values()) else "update", known)


def read(folder: Path, stacks: Iterable[str]) -> dict[str, Look]:
    """What became of each stack."""
    return {stack: _look(folder / f"{stack}.code", folder / f"{stack}.md") for stack in stacks}


def _look(code: Path, report: Path) -> Look:
    said = report.read_text(encoding="utf-8") if report.exists() else ""
    number = code.read_text(encoding="utf-8").strip() if code.exists() else ""
    return Look(int(number) if number.isdecimal() else None, said)


def main(folder: Path, stacks: Iterable[str]) -> None:
    repository, run = os.environ["GITHUB_REPOSITORY"], os.environ["RUN_URL"]
    found = read(folder, stacks)
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
    main(Path(sys.argv[1]), json.loads(os.environ["STACKS"]))
