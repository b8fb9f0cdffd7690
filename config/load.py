"""Reading a project's declarations: environments/*.yaml and teams/*.yaml, merged and validated for one environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from config.consistency import environment_findings
from config.environment import Environment
from config.files import ENVIRONMENTS, SUFFIX, TEAMS, listing, merge, no_environment, not_a_map, validated
from config.findings import ConfigError, Finding, Where, by_place, has_errors, printable, problem_at
from config.team import Team
from config.teamfile import environment_names, team_of
from config.yamlsource import Document, Layered, Path_, parse, read

__all__ = ["ENVIRONMENTS", "TEAMS", "Platform", "Project", "merge"]


@dataclass(frozen=True, slots=True)
class Platform:
    """An environment and its teams, validated; plain values throughout."""

    name: str
    environment: Environment
    teams: Mapping[str, Team]
    """In the order of their names."""
    sources: Mapping[str, Layered] = field(repr=False, compare=False)
    """Where things stand: the environment under "", each team under its name."""
    findings: tuple[Finding, ...] = field(default=(), repr=False, compare=False)
    """What was found while the files were read; the plan repeats it."""
    root: Path | None = field(default=None, repr=False, compare=False)
    """The project's folder, where the declarations come from files."""
    today: date = field(default_factory=lambda: datetime.now(UTC).date(), repr=False, compare=False)
    """The day that dates of waivers and extra quota are held against, UTC."""

    def where(self, team: str = "", path: Path_ = (), *, key: bool = False) -> Where:
        """The place of a setting, for a finding."""
        return self.sources[team].where(path, key=key)


class Project:
    """The declarations below one folder, each file read once. `today`: the day to check dates against; default UTC's."""

    def __init__(self, root: Path, today: date | None = None) -> None:
        self.root = root
        self.today = today or datetime.now(UTC).date()
        self._documents: dict[Path, tuple[Document, list[Finding]]] = {}
        self._folders: dict[str, tuple[dict[str, Path], list[Finding]]] = {}

    def environments(self) -> list[str]:
        """Names of the declared environments, sorted."""
        return list(self._folder(ENVIRONMENTS)[0])

    def team_files(self) -> dict[str, Document]:
        """Every team's file by the team's name, sorted; those too that hold something else."""
        return {name: self._read(path)[0] for name, path in self._folder(TEAMS)[0].items()}

    def add_team(self, name: str, text: str) -> None:
        """Take a text for the file of a team, whether there is one or not. Nothing is written."""
        files, problems = self._folder(TEAMS)
        path = self.root / TEAMS / f"{name}{SUFFIX}"
        self._documents[path] = parse(text, printable(f"{TEAMS}/{name}{SUFFIX}"))
        self._folders[TEAMS] = (dict(sorted({**files, name: path}.items())), problems)

    def environment(self, name: str) -> Environment | None:
        """An environment without its teams; None where its files have errors."""
        return self._environment(name, [])[0]

    def load(self, environment: str) -> Platform:
        """One environment with its teams.

        Raises ConfigError with every finding of every file, if any is an error.
        """
        platform, findings = self.declared(environment)
        if platform is None or has_errors(findings):
            raise ConfigError(findings)
        return platform

    def declared(self, environment: str) -> tuple[Platform | None, list[Finding]]:
        """What could be read of an environment, and every finding of its files in reading order.

        Teams with errors are left out; None where the environment itself has errors. Never raises for what the files say.
        """
        findings: list[Finding] = []
        declared, source = self._environment(environment, findings)
        teams, sources = self._teams(environment, declared, findings)
        findings = by_place(findings)
        if declared is None or source is None:
            return None, findings
        return Platform(environment, declared, teams, {"": source, **sources}, tuple(findings), self.root, self.today), findings

    def _folder(self, name: str) -> tuple[dict[str, Path], list[Finding]]:
        if name not in self._folders:
            self._folders[name] = listing(self.root / name, name)
        return self._folders[name]

    def _read(self, path: Path) -> tuple[Document, list[Finding]]:
        if path not in self._documents:
            self._documents[path] = read(path, printable(f"{path.parent.name}/{path.name}"))
        return self._documents[path]

    def _environment(self, name: str, findings: list[Finding]) -> tuple[Environment | None, Layered | None]:
        chain = self._base_chain(name, findings)
        if not chain:
            return None, None
        source = Layered(tuple((document, ()) for document in chain))
        merged: dict[str, Any] = {}
        for document in reversed(chain):
            merged = merge(merged, document.data)
        environment, found = validated(Environment, merged, source, findings)
        if environment is not None:
            found = list(environment_findings(environment, source))
        findings.extend(found)
        return (None if has_errors(found) else environment), source

    def _base_chain(self, name: str, findings: list[Finding]) -> list[Document]:
        """The environment's document and its bases', nearest first; empty, with findings, where the chain breaks."""
        known, problems = self._folder(ENVIRONMENTS)
        findings.extend(problems)
        chain: dict[str, Document] = {}
        place = Where(printable(f"{ENVIRONMENTS}/{name}{SUFFIX}"))
        following: object = name
        while isinstance(following, str):
            if following in chain:
                circle = " → ".join([*chain, following])
                findings.append(
                    problem_at("base-cycle", place, f"`base` leads in a circle: {circle}", "remove `base` from one of them")
                )
                return []
            if following not in known:
                findings.append(no_environment(place, following, list(known)))
                return []
            document, problems = self._read(known[following])
            findings.extend(problems)
            if not isinstance(document.data, dict):
                findings.extend(not_a_map(document, problems))
                return []
            chain[following] = document
            following = document.data.get("base")
            if following is not None:
                place = document.where(("base",)) or place
        return list(chain.values())

    def _teams(
        self, environment: str, declared: Environment | None, findings: list[Finding]
    ) -> tuple[dict[str, Team], dict[str, Layered]]:
        teams: dict[str, Team] = {}
        sources: dict[str, Layered] = {}
        environments = self.environments()
        files, problems = self._folder(TEAMS)
        findings.extend(problems)
        for name, path in files.items():
            document, problems = self._read(path)
            findings.extend(problems)
            if not isinstance(document.data, dict):
                findings.extend(not_a_map(document, problems))
                continue
            findings.extend(environment_names(document, environments))
            team, source = team_of(name, document, environment, problems, findings)
            if team is not None and _selected(team, environment, declared):
                teams[team.name] = team
                sources[team.name] = source
        return teams, sources


def _selected(team: Team, environment: str, declared: Environment | None) -> bool:
    if team.only is not None and environment not in team.only:
        return False
    wanted = declared.teams.select if declared is not None else {}
    return all(team.labels.get(key) == value for key, value in wanted.items())
