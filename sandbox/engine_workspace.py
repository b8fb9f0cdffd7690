"""The folder that the engine runs in: a copy of the project's settings, so that a run never writes into the project's tree.

``pulumi stack init`` and ``pulumi config set`` write to ``Pulumi.<stack>.yaml``. They do so in a folder beside the stack's state
(or in the cache, for a stack in the project's own backend), which also holds the logs and the note of the run under way.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox.engine_errors import EngineError
from sandbox.engine_settings import ConfigValue

_LOGS_KEPT: Final = 30


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folder, and how it is derived from the project."""

    project: Path
    stack: str
    folder: Path

    @property
    def stack_file(self) -> Path:
        """The stack's settings in the workspace."""
        return self.folder / f"Pulumi.{self.stack}.yaml"

    def log(self, verb: str, stamp: str) -> Path:
        """A new log's path; the oldest logs are removed."""
        logs = self.folder / "logs"
        logs.mkdir(parents=True, exist_ok=True, mode=0o700)
        for old in sorted(logs.glob("*.log"))[: -_LOGS_KEPT or None]:
            old.unlink(missing_ok=True)
        return logs / f"{stamp}-{verb}.log"

    def refresh(self) -> None:
        """Bring the copies of the project's settings up to date; where the stack's are copied anew, ours must be set again."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        source = self.project / "Pulumi.yaml"
        try:
            project = source.read_text(encoding="utf-8")
        except OSError as error:
            raise EngineError(f"{source} cannot be read: {error.strerror}.") from error
        _write(self.folder / "Pulumi.yaml", _without_keys(project, ("stackConfigDir", "main")))
        settings = _stack_settings(self.project, project, self.stack)
        digest, seen = hashlib.sha256(settings.encode()).hexdigest(), self.folder / "stack.sha256"
        if self.stack_file.exists() and seen.exists() and seen.read_text(encoding="utf-8") == digest:
            return
        (self.folder / "config.hmac").unlink(missing_ok=True)
        _write(self.stack_file, _with_salt(settings, self.stack_file))
        _write(seen, digest)

    def hosted_by(self, address: str) -> None:
        """Until the next refresh, have the project's language served at ``address``."""
        import yaml

        settings = self.folder / "Pulumi.yaml"
        project = yaml.safe_load(settings.read_text(encoding="utf-8"))
        _write(settings, yaml.safe_dump({**project, "runtime": {"name": "client", "options": {"address": address}}}))

    def is_configured(self, config: Mapping[str, ConfigValue], passphrase: str) -> bool:
        """Whether exactly ``config`` was set here last."""
        seen = self.folder / "config.hmac"
        return self.stack_file.exists() and seen.exists() and seen.read_text(encoding="utf-8") == _digest(config, passphrase)

    def configured(self, config: Mapping[str, ConfigValue], passphrase: str) -> None:
        """Remember that ``config`` is set."""
        _write(self.folder / "config.hmac", _digest(config, passphrase))

    def forget(self) -> None:
        """Start from the project's settings again: the stack is gone."""
        for name in (self.stack_file.name, "stack.sha256", "config.hmac"):
            (self.folder / name).unlink(missing_ok=True)


def _digest(config: Mapping[str, ConfigValue], passphrase: str) -> str:
    text = json.dumps({key: [one.value, one.secret] for key, one in sorted(config.items())})
    return hmac.new(passphrase.encode() or b"-", text.encode(), hashlib.sha256).hexdigest()


def _stack_settings(folder: Path, project: str, stack: str) -> str:
    match = re.search(r"^stackConfigDir:\s*[\"']?([^\s\"']+)", project, re.MULTILINE)
    path = folder / (match.group(1) if match else "") / f"Pulumi.{stack}.yaml"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _without_keys(text: str, keys: tuple[str, ...]) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(tuple(f"{key}:" for key in keys)))


def _with_salt(settings: str, before: Path) -> str:
    """Keep the encryption salt that ``pulumi stack init`` wrote, unless the project's file has one."""
    if re.search(r"^(encryptionsalt|secretsprovider|encryptedkey):", settings, re.MULTILINE) or not before.exists():
        return settings
    match = re.search(r"^encryptionsalt:.*$", before.read_text(encoding="utf-8"), re.MULTILINE)
    return f"{match.group(0)}\n{settings}" if match else settings


def _write(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    draft = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)
