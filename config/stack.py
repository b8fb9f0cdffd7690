"""What a stack's own file says: which environment it deploys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from config.findings import ConfigError, Where, problem_at, quoted
from config.yamlsource import Document, read

PROJECT = "hyperpod-platform"
"""The Pulumi project's name, and the namespace of its settings."""


def project_root(start: Path) -> Path:
    """The nearest folder at or above `start` with a Pulumi.yaml. Raises ConfigError if there is none."""
    for folder in (start, *start.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder
    where = Where(str(start / "Pulumi.yaml"))
    remedy = "change to the project's folder, or use --project"
    raise ConfigError([problem_at("project-missing", where, "no project here or above", remedy)])


def stack_settings(root: Path, stack: str) -> dict[str, Any]:
    """The plain settings of Pulumi.<stack>.yaml, without their namespace; empty where the file is missing.

    Secrets and nested values are returned as they stand. Raises ConfigError where the file is not YAML.
    """
    settings = _settings(_document(root, stack))
    return {key.removeprefix(f"{PROJECT}:"): value for key, value in settings.items() if key.startswith(f"{PROJECT}:")}


def environment_of(root: Path, stack: str) -> str:
    """The environment that a stack deploys: its setting `environment`, or the one of its own name.

    Raises ConfigError where the setting is no text, or the file is not YAML.
    """
    document = _document(root, stack)
    setting = _settings(document).get(f"{PROJECT}:environment")
    if setting is None:
        return _own_name(stack)
    if not isinstance(setting, str):
        where = document.where(("config", f"{PROJECT}:environment")) or Where(document.file, 1, 1)
        message = f"{PROJECT}:environment: {quoted(setting)} is not the name of an environment"
        raise ConfigError([problem_at("stack-environment", where, message, "write its name, as text")])
    return setting


def _own_name(stack: str) -> str:
    """`organization/project/dev` → `dev`, as in the file's name."""
    return stack.rpartition("/")[2]


def _document(root: Path, stack: str) -> Document:
    """The file, without data where it is missing. Pulumi writes it, so only what can't be read at all is refused."""
    path = root / f"Pulumi.{_own_name(stack)}.yaml"
    if not path.exists():
        return Document(path.name)
    document, findings = read(path, path.name)
    if document.data is None and any(finding.id != "yaml-empty" for finding in findings):
        raise ConfigError(findings)
    return document


def _settings(document: Document) -> dict[str, Any]:
    settings = document.data.get("config") if isinstance(document.data, dict) else None
    return settings if isinstance(settings, dict) else {}
