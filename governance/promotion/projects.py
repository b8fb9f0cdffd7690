"""Whole projects on two sides: two environments of one, or each environment before and after a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from config.findings import ConfigError, Finding, Where, has_errors
from config.load import Project
from governance.plan import plan, review
from governance.promotion.compare import compare
from governance.promotion.model import Comparison, Mode, Side

Status = Literal["compared", "new", "removed", "errors"]


@dataclass(frozen=True, slots=True)
class EnvironmentDiff:
    """One environment of a change, or the one pair of two environments."""

    environment: str
    status: Status
    comparison: Comparison | None = None
    holds: Mapping[str, int] = field(default_factory=dict)
    """Of an environment on one side only: how many clusters, teams and instances it has."""
    findings: tuple[Finding, ...] = ()
    """Errors, and what stands beside them, where a side can't be read."""

    @property
    def differs(self) -> bool:
        return self.status in ("new", "removed") or (self.comparison is not None and self.comparison.differs)

    def as_dict(self) -> dict[str, Any]:
        return {
            "environment": self.environment,
            "status": self.status,
            "differs": self.differs,
            **(self.comparison.as_dict() if self.comparison else {}),
            **({"holds": dict(self.holds)} if self.holds else {}),
            **({"findings": [finding.as_dict() for finding in self.findings]} if self.status == "errors" else {}),
        }


def compared_environments(project: Project, before: str, after: str) -> EnvironmentDiff:
    """Two environments of one project, side by side."""
    return _compared(f"{before} and {after}", _side(project, before, before), _side(project, after, after), "environments")


def compared_change(environment: str, before: tuple[str, Project, str], after: tuple[str, Project, str]) -> EnvironmentDiff:
    """One environment before and after; each side is its name for people, its project, and the environment's name there."""
    there = [name in project.environments() for _, project, name in (before, after)]
    if all(there):
        sides = [
            _side(project, name, label, prefix=f"{label}: " if which == 0 else "")
            for which, (label, project, name) in enumerate((before, after))
        ]
        return _compared(environment, sides[0], sides[1], "change")
    label, project, name = after if there[1] else before
    side = _side(project, name, label, prefix="" if there[1] else f"{label}: ")
    if isinstance(side, tuple):
        return EnvironmentDiff(environment, "errors", findings=side)
    holds = {
        "clusters": len(side.plan.clusters),
        "teams": len(side.platform.teams),
        "instances": sum(group.count for cluster in side.plan.clusters.values() for group in cluster.groups.values()),
    }
    return EnvironmentDiff(environment, "new" if there[1] else "removed", holds=holds)


def _compared(
    environment: str, before: Side | tuple[Finding, ...], after: Side | tuple[Finding, ...], mode: Mode
) -> EnvironmentDiff:
    if isinstance(before, Side) and isinstance(after, Side):
        return EnvironmentDiff(environment, "compared", compare(before, after, mode))
    findings = [finding for side in (before, after) if not isinstance(side, Side) for finding in side]
    return EnvironmentDiff(environment, "errors", findings=tuple(dict.fromkeys(findings)))


def _side(project: Project, environment: str, name: str, prefix: str = "") -> Side | tuple[Finding, ...]:
    """The side, or its findings where it has errors; `prefix` tells their files from those that lie here."""
    try:
        platform = project.load(environment)
        resolved = plan(platform)
        if not has_errors(resolved.findings):
            return Side(name, platform, resolved)
        found: Iterable[Finding] = resolved.findings
    except ConfigError:
        found = review(project, environment)
    return tuple(_elsewhere(finding, prefix) if prefix else finding for finding in found)


def _elsewhere(finding: Finding, prefix: str) -> Finding:
    where = Where(f"{prefix}{finding.where.file}", finding.where.line, finding.where.column)
    return Finding(finding.id, finding.severity, where, finding.message, finding.remedy, finding.waived)
