"""The commit that an environment runs, as GitHub's deployments record it: on standard output; an empty line for none.

last_deployed.py ENVIRONMENT       GITHUB_REPOSITORY and GH_TOKEN say where and as whom
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from gh import api

_COMMIT = re.compile(r"[0-9a-f]{40}\Z")


def last_deployed(deployments: list[dict[str, Any]], statuses: Callable[[int], list[dict[str, Any]]]) -> str | None:
    """The commit of the newest deployment that succeeded; None where there is none. Statuses come newest first.

    One that a later one has superseded is `inactive`, so any success in its history counts.
    """
    for one in sorted(deployments, key=lambda deployment: deployment["created_at"], reverse=True):
        if any(status["state"] == "success" for status in statuses(one["id"])):
            return str(one["sha"])
    return None


def main(environment: str) -> None:
    where = f"repos/{os.environ['GITHUB_REPOSITORY']}/deployments"
    # A page is enough: thirty runs without a success are a standstill, whose last good commit is of no use.
    deployments = api(f"{where}?environment={quote(environment, safe='')}&per_page=30", pages=False)
    commit = last_deployed(deployments, lambda number: list(api(f"{where}/{number}/statuses?per_page=100")))
    if commit is not None and not _COMMIT.match(commit):
        sys.exit(f"{environment} is said to run {commit!r}, which is no commit")
    sys.stdout.write(f"{commit or ''}\n")


if __name__ == "__main__":
    main(sys.argv[1])
