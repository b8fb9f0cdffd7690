"""What a new team would change, before its file is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from config.codeowners import unreachable_owners
from config.findings import Finding, by_place, has_errors
from config.load import Project
from governance.model import Plan
from governance.plan import plan
from governance.summary import TypeRow, type_rows
from governance.units import CPU, is_device, shown


@dataclass(frozen=True, slots=True)
class Left:
    """What no team owns of a type that the new team has quota of, in base units; below 0 where guarantees are above capacity."""

    environment: str
    cluster: str
    instance_type: str
    resource: str
    capacity: int
    before: int
    after: int

    def __str__(self) -> str:
        before, after, capacity = (shown(self.resource, abs(n)) for n in (self.before, self.after, self.capacity))
        if self.after >= 0:
            change = f"{before} → {after} of {capacity} {self.resource} without an owner"
        else:
            unowned = " without an owner" if self.before >= 0 else ""
            change = f"{before}{unowned} → {after} above the capacity of {capacity} {self.resource}"
        return f"{self.environment}, cluster {self.cluster}: {self.instance_type}: {change}"


@dataclass(frozen=True, slots=True)
class Trial:
    """What a new team would change."""

    environments: tuple[str, ...]
    """Where it would exist."""
    findings: tuple[Finding, ...]
    """Those that there are not without it."""
    earlier: tuple[Finding, ...]
    """Errors that there are without it where it would exist: what they leave out of the plan may take what the team needs."""
    left: tuple[Left, ...]


def trial(project: Project, name: str, text: str) -> Trial:
    """The checks of every environment with and without the team. The project has the team afterwards; nothing is written.

    Raises ConfigError where CODEOWNERS can't be read.
    """
    before = {environment: _resolved(project, environment) for environment in project.environments()}
    project.add_team(name, text)
    findings = list(unreachable_owners(project, name))
    earlier: list[Finding] = []
    environments: list[str] = []
    left: list[Left] = []
    for environment, (old, known) in before.items():
        new, found = _resolved(project, environment)
        fresh = [finding for finding in found if finding not in known]
        findings.extend(fresh)
        planned = new is not None and any(name in cluster.teams for cluster in new.clusters.values())
        if new is not None and planned:
            environments.append(environment)
            left.extend(_left(environment, name, new, type_rows(old) if old is not None else []))
        # Without a plan, or with errors that keep the team out of it, the team's file alone tells.
        if planned or ((new is None or has_errors(fresh)) and _selects(project, name, environment)):
            earlier.extend(_first(finding) for finding in found if finding in known and has_errors([finding]))
    return Trial(tuple(environments), tuple(by_place(findings)), tuple(by_place(earlier)), tuple(left))


def _resolved(project: Project, environment: str) -> tuple[Plan | None, list[Finding]]:
    platform, findings = project.declared(environment)
    if platform is None:
        return None, findings
    made = plan(platform)
    return made, list(made.findings)


def _selects(project: Project, team: str, environment: str) -> bool:
    """Whether a team's file leaves the environment open, whatever else is wrong with it."""
    data = project.team_files()[team].data
    only = data.get("only") if isinstance(data, dict) else None
    return not isinstance(only, list) or environment in only


def _first(finding: Finding) -> Finding:
    return replace(finding, remedy=f"mend this first: {finding.remedy}" if finding.remedy else "mend this first")


def _left(environment: str, team: str, made: Plan, rows: Iterable[TypeRow]) -> Iterator[Left]:
    old = {(row.cluster, row.instance_type): row for row in rows}
    for row in type_rows(made):
        queue = made.clusters[row.cluster].teams.get(team)
        nominal = next((f.nominal() for f in queue.flavors if f.instance_type == row.instance_type), {}) if queue else {}
        counted = [resource for resource, amount in nominal.items() if amount and is_device(resource)]
        for resource in counted or [resource for resource, amount in nominal.items() if amount and resource == CPU]:
            capacity = row.capacity.get(resource, 0)
            earlier = old.get((row.cluster, row.instance_type))
            guaranteed = earlier.guaranteed.get(resource, 0) if earlier else 0
            after = capacity - row.guaranteed.get(resource, 0)
            yield Left(environment, row.cluster, row.instance_type, resource, capacity, capacity - guaranteed, after)
