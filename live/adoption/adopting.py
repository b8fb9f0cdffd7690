"""An adoption from end to end: declare what was read, plan it in memory, compare, and write files when all is fine."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from config.files import ENVIRONMENTS, SUFFIX, TEAMS
from config.findings import ConfigError, Finding, Severity, Where, has_errors, problem_at
from config.load import Project
from config.stack import PROJECT
from config.writing import new_file, replace_file
from governance.adoption.model import Declaration, Note
from governance.adoption.text import written
from governance.model import Plan
from governance.plan import plan
from governance.waivers import set_aside
from live.adoption.comparing import Comparison, Difference

IMPORTS: Final = "imports"
"""The folder of Pulumi's import files."""
_COMMENT: Final = "Adopted by `hpctl import`. Change it as you would any other: it is the declaration from now on."
_ERRORS: Final = frozenset({"import-type-unknown", "import-type-twice", "import-empty"})
_REMEDIES: Final = {
    "import-type-unknown": "say it with --type <flavor>=<instance type>",
    "import-type-twice": "say with --type what it stands for, or make the two one",
    "import-empty": "name another cluster or context",
}


@dataclass(frozen=True, slots=True)
class Target:
    """Where an adoption goes."""

    root: Path
    environment: str
    stack: str


@dataclass(frozen=True, slots=True)
class Adoption:
    """What an adoption has found, and the files that it writes."""

    target: Target
    plan: Plan
    files: Mapping[str, str]
    findings: tuple[Finding, ...]
    differences: tuple[Difference, ...]
    made: tuple[str, ...]
    """Objects that the first `up` adds."""
    adopted: int
    """Resources in the import file."""

    @property
    def import_file(self) -> Path:
        return self.target.root / IMPORTS / f"{self.target.stack}.json"

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "environment": self.target.environment,
            "stack": self.target.stack,
            "files": list(self.files),
            "adopted": self.adopted,
            "created_by_up": list(self.made),
            "differences": [
                {"object": one.subject, "field": one.field, "live": one.live, "declared": one.declared}
                for one in self.differences
            ],
            "findings": [finding.as_dict() for finding in self.findings],
        }


def declared_files(declaration: Declaration, target: Target) -> dict[str, str]:
    """The environment's and the teams' files."""
    environment = {f"{ENVIRONMENTS}/{target.environment}{SUFFIX}": written(declaration.environment, _COMMENT)}
    return environment | {f"{TEAMS}/{name}{SUFFIX}": written(data, _COMMENT) for name, data in declaration.teams.items()}


def refuse(candidates: Sequence[Declaration], target: Target) -> None:
    """Raises ConfigError where files are there that say something else than each candidate, or the first would lose something."""
    texts: dict[str, list[str]] = {}
    for candidate in candidates:
        for name, text in declared_files(candidate, target).items():
            texts.setdefault(name, []).append(text)
    problems = conflicts(texts, target)
    problems += [finding for finding in note_findings(candidates[0].notes, target) if finding.severity is Severity.ERROR]
    if problems:
        raise ConfigError(problems)


def conflicts(texts: Mapping[str, Collection[str]], target: Target) -> list[Finding]:
    """Files that are there with none of their texts. A file that says the same is an earlier run's, and taken as it is."""
    return [
        problem_at(
            "import-conflict",
            Where(name),
            "the file is there already, and says something else",
            "use --to, or another --environment; nothing was written",
        )
        for name, wanted in texts.items()
        if (path := target.root / name).exists()
        and not (path.is_file() and path.read_bytes() in {text.encode() for text in wanted})
    ]


def planned(files: Mapping[str, str], target: Target) -> Plan:
    """The plan of the files beside those of the project, without writing there. Raises ConfigError with every finding."""
    with tempfile.TemporaryDirectory() as folder:
        staged = Path(folder)
        for name in (ENVIRONMENTS, TEAMS):
            if (target.root / name).is_dir():
                shutil.copytree(target.root / name, staged / name)
        for name, text in files.items():
            replace_file(staged / name, text)
        platform = Project(staged).load(target.environment)
        found = plan(platform)
    if has_errors(found.findings):
        raise ConfigError(set_aside(platform, found.findings))
    return found


def finished(
    declaration: Declaration,
    found: Plan,
    target: Target,
    comparison: Comparison,
    content: Mapping[str, Any],
    facts: Mapping[str, Mapping[str, str]] | None = None,
) -> Adoption:
    """The adoption, with its import file and the stack's settings where they are missing.

    `facts` are names and ARNs of HyperPod clusters that no stack has built. Raises ConfigError where one of the files is there
    and says something else.
    """
    listed = json.dumps(content, indent=2, sort_keys=True) + "\n"  # sorted: another run is to write the same
    files = declared_files(declaration, target) | {f"{IMPORTS}/{target.stack}.json": listed}
    if problems := conflicts({name: [text] for name, text in files.items()}, target):
        raise ConfigError(problems)
    settings = f"Pulumi.{target.stack}.yaml"
    if not (target.root / settings).exists():
        files[settings] = _stack_settings(target, facts or {})
    findings = [*found.findings, *note_findings(declaration.notes, target), *_difference_findings(comparison, found, target)]
    adopted = sum(not one.get("component") for one in content["resources"])
    return Adoption(target, found, files, tuple(findings), comparison.differences, comparison.made, adopted)


def write(files: Mapping[str, str], root: Path) -> tuple[str, ...]:
    """Write the files, all or none; those that are there say the same. The names of those that weren't.

    Raises OSError where one can't be written, and FileExistsError where one has appeared since it was looked for.
    """
    made: list[str] = []
    try:
        for name in [name for name in files if not (root / name).exists()]:
            new_file(root / name, files[name])
            made.append(name)
    except BaseException:
        for name in made:
            (root / name).unlink(missing_ok=True)
        raise
    return tuple(made)


def note_findings(notes: Iterable[Note], target: Target) -> Iterator[Finding]:
    """Notes as findings on the environment's file."""
    where = Where(f"{ENVIRONMENTS}/{target.environment}{SUFFIX}")
    for note in notes:
        severity = Severity.ERROR if note.id in _ERRORS else Severity.ADVICE
        yield Finding(note.id, severity, where, f"{note.subject}: {note.message}", _REMEDIES.get(note.id, ""))


def best(
    candidates: Iterable[Declaration], judge: Callable[[Declaration], tuple[Plan, Comparison]]
) -> tuple[Declaration, Plan, Comparison]:
    """The first declaration with the fewest differences from what is there."""
    judged = [(declaration, *judge(declaration)) for declaration in candidates]
    return min(judged, key=lambda one: len(one[2].differences))


def _difference_findings(comparison: Comparison, found: Plan, target: Target) -> Iterator[Finding]:
    owners = {
        name: team.name
        for cluster in found.clusters.values()
        for team in cluster.teams.values()
        for name in (f"ClusterQueue {team.cluster_queue}", f"Namespace {team.namespace}", f"ComputeQuota {team.quota_name}")
    }
    for one in comparison.differences:
        team = owners.get(one.subject) or owners.get(f"Namespace {one.subject.partition(' ')[2].partition('/')[0]}")
        file = f"{TEAMS}/{team}{SUFFIX}" if team else f"{ENVIRONMENTS}/{target.environment}{SUFFIX}"
        message = f"{one.subject}: {one.field} is {one.live}; `up` would make it {one.declared}"
        remedy = "accept the change, or make it by hand first and import again"
        yield Finding("import-differs", Severity.WARNING, Where(file), message, remedy)


def _stack_settings(target: Target, facts: Mapping[str, Mapping[str, str]]) -> str:
    given = ""
    if facts:
        given = f"  {PROJECT}:layers: [governance]\n  {PROJECT}:platform_facts:\n"
        for cluster, of_cluster in facts.items():
            given += f"    {cluster}:\n" + "".join(f"      {key}: {json.dumps(value)}\n" for key, value in of_cluster.items())
    return (
        f"# What `hpctl import` has adopted: {ENVIRONMENTS}/{target.environment}{SUFFIX}.\n"
        f'config:\n  {PROJECT}:environment: {target.environment}\n{given}  pulumi:disable-default-providers: ["*"]\n'
    )
