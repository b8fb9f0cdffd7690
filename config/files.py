"""What environments and teams have in common: folders of data files, merging, validation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from config.errors import findings_of
from config.findings import Finding, Where, did_you_mean, printable, problem_at, quoted
from config.yamlsource import Document, Places

ENVIRONMENTS = "environments"
TEAMS = "teams"
SUFFIX = ".yaml"
_OTHER_SUFFIXES = frozenset((SUFFIX, ".yml", ".json"))
_M = TypeVar("_M", bound=BaseModel)


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Maps merge by key; scalars and lists replace."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def listing(folder: Path, shown: str, apart: str = "") -> tuple[dict[str, Path], list[Finding]]:
    """A folder's data files by name, sorted, and findings for what looks like one but would not be read.

    `apart`: a folder in it that holds files of another kind.
    """
    files: dict[str, Path] = {}
    findings: list[Finding] = []
    try:
        paths = sorted(folder.iterdir())
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        return {}, [
            problem_at("folder-unreadable", Where(shown), f"cannot read the folder: {reason}", "make it a readable folder")
        ]
    for path in paths:
        name = path.name
        where = Where(printable(f"{shown}/{name}"), 1, 1)
        if name.startswith(".") or name == apart:
            continue
        if path.suffix == SUFFIX:
            files[path.stem] = path
        elif path.suffix.lower() in _OTHER_SUFFIXES:
            findings.append(
                problem_at("file-ignored", where, "a file of this ending is not read", f"let its name end in {SUFFIX}")
            )
        elif "." not in name and path.is_dir():
            findings.append(problem_at("folder-ignored", where, "folders in here are not read", f"move its files to {shown}/"))
    return {name: files[name] for name in sorted(files)}, findings


def validated(
    model: type[_M], data: Any, source: Places, problems: list[Finding], also: tuple[str, ...] = ()
) -> tuple[_M | None, list[Finding]]:
    """The model, or None and what is wrong; not where `problems` of the same file's YAML have told it already."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        told = {problem.where for problem in problems}
        return None, [finding for finding in findings_of(error, model, source, also) if finding.where not in told]


def no_environment(where: Where, name: str, known: list[str]) -> Finding:
    """An error for an environment that no file declares."""
    remedy = did_you_mean(name, known) or f"write {ENVIRONMENTS}/<name>{SUFFIX}"
    return problem_at("environment-unknown", where, f"there is no environment {quoted(name)}", remedy)


def not_a_map(document: Document, problems: list[Finding]) -> Iterator[Finding]:
    """An error for a file that holds something else; none where `problems` have told what is wrong already."""
    if not problems:
        message = f"the file is not a map but {quoted(document.data)}"
        yield problem_at("file-shape", Where(document.file, 1, 1), message, "write `key: value` lines")
