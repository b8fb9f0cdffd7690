"""What a stack's own file says: which environment it deploys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from config.findings import ConfigError, Finding, Severity, Where

PROJECT = "hyperpod-platform"
"""The Pulumi project's name, and the namespace of its settings."""


def project_root(start: Path) -> Path:
    """The nearest folder at or above `start` with a Pulumi.yaml. Raises ConfigError if there is none."""
    for folder in (start, *start.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    where = Where(str(start / "Pulumi.yaml"))
    raise ConfigError(
        [Finding("project-missing", Severity.ERROR, where, "no project here or above", "change to the project's folder, or use --project")]
    )


def stack_settings(root: Path, stack: str) -> dict[str, Any]:
    """The plain settings of Pulumi.<stack>.yaml, without their namespace; empty where the file is missing.

    Secrets and nested values are returned as they stand. Raises ConfigError where the file is not YAML.
    """
    path = root / f"Pulumi.{stack}.yaml"
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - a safe loader
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        message = f"cannot read the stack's settings: {str(error).splitlines()[0]}"
        raise ConfigError([Finding("stack-file", Severity.ERROR, Where(path.name), message)]) from None
    settings = data.get("config") if isinstance(data, dict) else None
    if not isinstance(settings, dict):
        return {}
    return {key.removeprefix(f"{PROJECT}:"): value for key, value in settings.items() if str(key).startswith(f"{PROJECT}:")}


def environment_of(root: Path, stack: str) -> str:
    """The environment that a stack deploys: its setting `environment`, or the one of its own name."""
    return str(stack_settings(root, stack).get("environment") or stack)
