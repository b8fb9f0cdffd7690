"""What can go wrong with the engine, in sentences with a remedy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final


class EngineError(Exception):
    """The engine refused, failed, or could not be run.

    ``message`` has one line for each diagnostic, with the resource's name in front; ``log`` is the full output, ``remedy`` what
    to do about it (empty where the message says it).
    """

    def __init__(self, message: str, log: Path | None = None, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.log = log
        self.remedy = remedy

    def __str__(self) -> str:
        return "\n".join(
            [self.message, *([f"Remedy: {self.remedy}"] if self.remedy else []), *([f"Log: {self.log}"] if self.log else [])]
        )


class EngineInterrupted(KeyboardInterrupt):
    """Ctrl-C: the engine has finished what was under way and saved its state, so the same command continues where it stopped."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that the engine said: ``severity`` is ``error``, ``warning`` or ``info``; ``urn`` is empty for the whole run."""

    severity: str
    urn: str
    message: str

    def line(self) -> str:
        """In one line, with the resource's type and name in front."""
        name = resource_name(self.urn)
        return f"{name}: {self.message}" if name else self.message


def resource_name(urn: str) -> str:
    """``ClusterQueue research`` for the URN of a cluster queue; empty for the stack's own and for no URN."""
    parts = urn.split("::")
    if len(parts) < 4 or parts[2] == "pulumi:pulumi:Stack":
        return ""
    kind = parts[2].rpartition("$")[2].rpartition(":")[2]
    return f"{kind} {'::'.join(parts[3:])}"


# What follows from the real causes, said once more for the run or for a parent, or telling how to use pulumi's own commands.
_ECHOES: Final = (
    re.compile(r"^(update|preview|refresh|destroy|deletion) failed$"),
    re.compile(r"^resource registration failed"),
    re.compile(r"^\d+ errors? occurred:$"),
)
_PROTECTED: Final = "because it is protected"
_LOCKED: Final = "the stack is currently locked by"
_REMEDIES: Final = (
    (
        re.compile(_PROTECTED),
        "Take the protection off in the program (for a team: `state: draining`), run `up`, and repeat the command.",
    ),
    (
        re.compile(_LOCKED),
        "Wait until the other run has ended. If there is none (it was killed), take its lock away: `pulumi cancel`.",
    ),
    (
        re.compile("incorrect passphrase|passphrase must be set|decrypting secret"),
        "Set PULUMI_CONFIG_PASSPHRASE (or PULUMI_CONFIG_PASSPHRASE_FILE) to the passphrase that the stack was made with.",
    ),
    (
        re.compile("PULUMI_ACCESS_TOKEN must be set|not logged in|please log in", re.IGNORECASE),
        "Log in to the project's backend (`pulumi login`), or give its URL in PULUMI_BACKEND_URL.",
    ),
    (
        re.compile(r"no (resource )?plugin|could not load plugin|failed to load plugin", re.IGNORECASE),
        "Install the plugin that is named (`pulumi plugin install`); this needs the network once.",
    ),
)


def from_diagnostics(verb: str, diagnostics: Sequence[Diagnostic], stderr: str, log: Path | None) -> EngineError:
    """The failure of a run, from the errors that its engine reported; from its standard error if it reported none."""
    errors = [one for one in diagnostics if one.severity == "error"]
    lines = list(dict.fromkeys(_tidied(one.line()) for one in errors if not _is_echo(one.message)))
    if not lines:
        lines = _stderr_lines(stderr) or [_tidied(one.line()) for one in errors] or [f"pulumi {verb} failed without saying why."]
    message = "\n".join(lines)
    remedy = next((text for pattern, text in _REMEDIES if pattern.search(message)), "")
    return EngineError(message, log, remedy)


def _is_echo(message: str) -> bool:
    return any(pattern.search(message.strip()) for pattern in _ECHOES)


def _tidied(text: str) -> str:
    """Without what only makes sense in pulumi's own command line."""
    text = text.partition("To unprotect the resource")[0] if _PROTECTED in text else text
    text = text.replace("an unhandled error occurred: ", "").partition("please set a value using the command")[0]
    return " ".join(text.split())


def _stderr_lines(stderr: str) -> list[str]:
    lines = [line.strip() for line in stderr.splitlines() if line.strip() and not line.lstrip().startswith("warning:")]
    return [line.removeprefix("error: ") for line in lines]
