"""CODEOWNERS: who approves changes to a team's file, by the rules of code hosts.

One block of the file, between two marks, is made from the teams' owners; what stands outside of it is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from config.files import SUFFIX, TEAMS
from config.findings import ConfigError, Finding, Severity, Where, printable, problem_at, quoted
from config.load import Project
from config.repository import prefix_of, repository_of
from config.yamlsource import Document

CODEOWNERS = ".github/CODEOWNERS"
BEGIN = "# <teams> made by `hpctl onboard --codeowners` from the owners in teams/"
END = "# </teams>"
_BEGIN, _END = re.compile(r"(?m)^# <teams>.*$"), re.compile(r"(?m)^# </teams>.*$\n?")
_HANDLE = re.compile(r"@[A-Za-z0-9](-?[A-Za-z0-9])*(/[A-Za-z0-9_.-]+)?\Z")
_EMAIL = re.compile(r"[^\s@#\"<>,;:()\[\]\\]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+\Z")
_TEAM = re.compile(r"[a-z0-9-]{1,63}\Z")
"""File names that may be a team's; others are findings already."""
_MOST_CHARACTERS = 3 << 20
"""GitHub reads no CODEOWNERS above 3 MB."""


def reachable(owner: str) -> bool:
    """Whether a code host can ask the owner: a handle as `@org/team`, or an e-mail address."""
    return bool(_HANDLE.match(owner) or _EMAIL.match(owner))


def owners_of(data: Any) -> list[str]:
    """Owners in a team's file, those of all environments first; nothing for a file that is no team's."""
    if not isinstance(data, dict):
        return []
    overrides = data.get("environments")
    layers = [data, *(overrides.values() if isinstance(overrides, dict) else ())]
    stated = [layer.get("owners") for layer in layers if isinstance(layer, dict)]
    found = (owner for owners in stated if isinstance(owners, list) for owner in owners)
    return list(dict.fromkeys(owner for owner in found if isinstance(owner, str)))


def block(teams: Mapping[str, list[str]], prefix: str = "") -> str:
    """The lines between the marks and the marks: a line for each team that has an owner who can be asked.

    `prefix`: the project's folder in its repository.
    """
    folder = f"/{_spaces(prefix)}/{TEAMS}" if prefix else f"/{TEAMS}"
    lines = [
        f"{folder}/{team}{SUFFIX} {' '.join(owners)}"
        for team, stated in sorted(teams.items())
        if _TEAM.match(team) and (owners := [owner for owner in stated if reachable(owner)])
    ]
    return "\n".join([BEGIN, *lines, END, ""])


def _spaces(path: str) -> str:
    """A path in a pattern: a space would end it."""
    return path.replace(" ", "\\ ")


def rewritten(text: str, made: str) -> str:
    """The file with its block replaced; with the block at its end where it has none yet."""
    begin = _BEGIN.search(text)
    end = _END.search(text, begin.end()) if begin else None
    if begin is None or end is None:
        return f"{text.rstrip()}\n\n{made}" if text.strip() else made
    return text[: begin.start()] + made + text[end.end() :]


def codeowners_file(root: Path) -> Path:
    """Where the file lies, or would: in the repository that the project is part of."""
    return repository_of(root) / CODEOWNERS


def made_for(project: Project) -> str:
    """The block as the project's teams want it."""
    teams = {name: owners_of(document.data) for name, document in project.team_files().items()}
    return block(teams, prefix_of(project.root))


def written(root: Path) -> str:
    """What the file says; nothing where there is none. Raises ConfigError where it can't be read."""
    path, where = codeowners_file(root), Where(shown_codeowners(root), 1, 1)
    try:
        with path.open(encoding="utf-8", newline="") as stream:  # hand-written lines keep their ends
            text = stream.read(_MOST_CHARACTERS + 1)
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "it is not UTF-8") or "unknown reason"
        message = f"cannot read the file: {reason.lower()}"
        raise ConfigError([problem_at("file-unreadable", where, message, "make it readable, or remove it")]) from None
    if len(text) > _MOST_CHARACTERS:
        raise ConfigError([problem_at("file-too-large", where, "code hosts read no such large file", "shorten it")])
    return text


def has_block(text: str) -> bool:
    """Whether a block in the file is ours to keep."""
    begin = _BEGIN.search(text)
    return begin is not None and _END.search(text, begin.end()) is not None


def shown_codeowners(root: Path) -> str:
    """The file from the project's folder, as findings name files."""
    return "/".join([*(".." for _ in Path(prefix_of(root)).parts), CODEOWNERS])


def ownership_findings(project: Project) -> Iterator[Finding]:
    """Where CODEOWNERS is kept: whether it says what the teams' files say, and owners whom no code host can ask."""
    text = written(project.root)
    if not has_block(text):
        return
    if text != rewritten(text, made_for(project)):
        line = text.count("\n", 0, text.index("# <teams>")) + 1
        message = "the block of teams doesn't say what the owners in teams/ are"
        remedy = "run `hpctl onboard --codeowners`, and commit what it writes"
        yield Finding("codeowners-stale", Severity.WARNING, Where(shown_codeowners(project.root), line, 1), message, remedy)
    for document in project.team_files().values():
        yield from _unreachable(document)


def unreachable_owners(project: Project, team: str) -> Iterator[Finding]:
    """A team's owners whom CODEOWNERS leaves out, where it is kept. Raises ConfigError where it can't be read."""
    if has_block(written(project.root)):
        yield from _unreachable(project.team_files()[team])


def _unreachable(document: Document) -> Iterator[Finding]:
    for owner in owners_of(document.data):
        if not reachable(owner):
            where = _place(document, owner)
            message = f"owners: {quoted(printable(owner))} is neither a handle nor an e-mail address; CODEOWNERS leaves it out"
            yield Finding("owners-unreachable", Severity.ADVICE, where, message, "write `@organization/team`, or an address")


def _place(document: Document, owner: str) -> Where:
    """The owner's place in the file; the file's first line where only an environment's part names it."""
    stated = document.data.get("owners")
    path = ("owners", stated.index(owner)) if isinstance(stated, list) and owner in stated else ()
    return document.where(path) or Where(document.file, 1, 1)
