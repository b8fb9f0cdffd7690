"""Reading a project's declarations: environments/*.yaml and teams/*.yaml, merged and validated for one environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from config.environment import Environment
from config.errors import findings_of
from config.findings import ConfigError, Finding, Severity, Where, by_place, did_you_mean, has_errors
from config.team import Team
from config.yamlsource import Document, Layered, Path_, read

ENVIRONMENTS = "environments"
TEAMS = "teams"
_IDENTITY = ("apiVersion", "name", "only", "environments")


@dataclass(frozen=True, slots=True)
class Platform:
    """An environment and its teams, validated; plain values throughout."""

    name: str
    environment: Environment
    teams: Mapping[str, Team]
    """In the order of their names."""
    sources: Mapping[str, Layered] = field(repr=False, compare=False)
    """Where things stand: the environment under "", each team under its name."""

    def where(self, team: str = "", path: Path_ = (), *, key: bool = False) -> Where:
        """The place of a setting, for a finding."""
        return self.sources[team].where(path, key=key)


class Project:
    """The declarations below one folder, each file read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._documents: dict[Path, tuple[Document, list[Finding]]] = {}

    def environments(self) -> list[str]:
        """Names of the declared environments, sorted."""
        return sorted(path.stem for path in (self.root / ENVIRONMENTS).glob("*.yaml"))

    def load(self, environment: str) -> Platform:
        """One environment with its teams.

        Raises ConfigError with every finding of every file, if any is an error.
        """
        findings: list[Finding] = []
        declared, source = self._environment(environment, findings)
        teams, sources = self._teams(environment, declared, findings)
        if declared is None or source is None or has_errors(findings):
            raise ConfigError(by_place(findings))
        return Platform(environment, declared, teams, {"": source, **sources})

    def _read(self, path: Path) -> tuple[Document, list[Finding]]:
        if path not in self._documents:
            self._documents[path] = read(path, path.relative_to(self.root).as_posix())
        return self._documents[path]

    def _environment(self, name: str, findings: list[Finding]) -> tuple[Environment | None, Layered | None]:
        layers = self._base_chain(name, findings)
        if not layers:
            return None, None
        source = Layered(tuple((document, ()) for document in layers))
        merged: dict[str, Any] = {}
        for document in reversed(layers):
            if not isinstance(document.data, dict):
                return None, None
            merged = merge(merged, document.data)
        try:
            return Environment.model_validate(merged), source
        except ValidationError as error:
            findings.extend(findings_of(error, Environment, source))
            return None, source

    def _base_chain(self, name: str, findings: list[Finding]) -> list[Document]:
        """The environment's document and its bases', nearest first; findings where the chain breaks."""
        chain: list[Document] = []
        visited: list[str] = []
        place = Where(f"{ENVIRONMENTS}/{name}.yaml")
        while name:
            path = self.root / ENVIRONMENTS / f"{name}.yaml"
            if name in visited:
                findings.append(
                    _error("base-cycle", place, f"`base` leads in a circle: {' → '.join([*visited, name])}", "break it")
                )
                return []
            if not path.is_file():
                remedy = did_you_mean(name, self.environments()) or f"write {ENVIRONMENTS}/{name}.yaml"
                findings.append(_error("environment-unknown", place, f"there is no environment `{name}`", remedy))
                return []
            visited.append(name)
            document, problems = self._read(path)
            findings.extend(problems)
            if not isinstance(document.data, dict):
                if not problems:
                    findings.append(_error("environment-shape", Where(document.file, 1, 1), "the file is not a map"))
                return []
            chain.append(document)
            base = document.data.get("base")
            place = document.where(("base",)) or place
            name = base if isinstance(base, str) else ""
        return chain

    def _teams(
        self, environment: str, declared: Environment | None, findings: list[Finding]
    ) -> tuple[dict[str, Team], dict[str, Layered]]:
        teams: dict[str, Team] = {}
        sources: dict[str, Layered] = {}
        environments = self.environments()
        for path in sorted((self.root / TEAMS).glob("*.y*ml")):
            document, problems = self._read(path)
            findings.extend(problems)
            if path.suffix != ".yaml":
                findings.append(_error("team-file", Where(document.file), "the file would not be read", "name it .yaml"))
            if not isinstance(document.data, dict):
                if not problems:
                    findings.append(_error("team-shape", Where(document.file, 1, 1), "the file is not a map"))
                continue
            findings.extend(_environment_names(document, environments))
            team, source = _team(path.stem, document, environment, findings)
            if team is not None and _selected(team, environment, declared):
                teams[team.name] = team
                sources[team.name] = source
        return teams, sources


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Maps merge by key; scalars and lists replace."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return result


def _team(name: str, document: Document, environment: str, findings: list[Finding]) -> tuple[Team | None, Layered]:
    data = {key: value for key, value in document.data.items() if key != "environments"}
    overrides = document.data.get("environments")
    layers: list[tuple[Document, Path_]] = [(document, ())]
    if isinstance(overrides, dict) and isinstance(over := overrides.get(environment), dict):
        findings.extend(_identity_overridden(document, environment, over))
        data = merge(data, {key: value for key, value in over.items() if key not in _IDENTITY})
        layers.insert(0, (document, ("environments", environment)))
    source = Layered(tuple(layers))
    stated = data.setdefault("name", name)
    if isinstance(stated, str) and stated != name:
        where = source.where(("name",))
        findings.append(
            _error("team-name", where, f"the file is {name}.yaml, the name in it `{stated}`", "rename one of the two")
        )
    try:
        return Team.model_validate(data), source
    except ValidationError as error:
        findings.extend(findings_of(error, Team, source))
        return None, source


def _identity_overridden(document: Document, environment: str, over: Mapping[str, Any]) -> Iterable[Finding]:
    for key in _IDENTITY:
        if key in over:
            where = document.where(("environments", environment, key), key=True) or Where(document.file)
            yield _error("override-identity", where, f"`{key}` can't differ by environment", "remove it")


def _environment_names(document: Document, environments: list[str]) -> Iterable[Finding]:
    """Environments that a team file names must exist: a typo would silently leave a team out."""
    overrides = document.data.get("environments")
    if overrides is not None and not isinstance(overrides, dict):
        where = document.where(("environments",)) or Where(document.file)
        yield _error("dict-type", where, "environments: not a map", "write a map of environment names")
        return
    for name, over in (overrides or {}).items():
        where = document.where(("environments", name), key=True) or Where(document.file)
        if name not in environments:
            yield _error("environment-unknown", where, f"there is no environment `{name}`", did_you_mean(name, environments))
        if not isinstance(over, dict):
            yield _error("dict-type", where, f"environments.{name}: not a map", "write the fields that differ")
    only = document.data.get("only")
    for index, name in enumerate(only if isinstance(only, list) else []):
        if isinstance(name, str) and name not in environments:
            where = document.where(("only", index)) or Where(document.file)
            yield _error("environment-unknown", where, f"there is no environment `{name}`", did_you_mean(name, environments))


def _selected(team: Team, environment: str, declared: Environment | None) -> bool:
    if team.only is not None and environment not in team.only:
        return False
    wanted = declared.teams.select if declared is not None else {}
    return all(team.labels.get(key) == value for key, value in wanted.items())


def _error(id_: str, where: Where, message: str, remedy: str = "") -> Finding:
    return Finding(id_, Severity.ERROR, where, message, remedy)
