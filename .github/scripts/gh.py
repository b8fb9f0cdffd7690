"""GitHub's API through the `gh` command, which brings the token and the host."""

from __future__ import annotations

import json
import subprocess
from typing import Any


def api(path: str, method: str = "GET", data: dict[str, Any] | None = None, *, pages: bool = True) -> Any:
    """The answer as JSON, all pages of a list in one unless one is enough; None for an empty one.

    Raises CalledProcessError as `gh` fails.
    """
    command = ["gh", "api", path, "--method", method]
    command += ["--input", "-"] if data is not None else ["--paginate", "--slurp"] if method == "GET" and pages else []
    done = subprocess.run(
        command, input=json.dumps(data) if data is not None else None, stdout=subprocess.PIPE, text=True, check=True
    )
    found: Any = json.loads(done.stdout) if done.stdout.strip() else None
    if "--slurp" not in command:
        return found
    if all(isinstance(page, list) for page in found):
        return [item for page in found for item in page]
    return found[0]
