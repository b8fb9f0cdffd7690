"""What a comparison says. Amounts are in base units; `before` and `after` are None where there is nothing on that side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from config.findings import Finding
from config.load import Platform
from governance.model import Plan
from governance.units import quantity

Mode = Literal["change", "environments"]
"""`change`: the second takes the place of the first. `environments`: both exist side by side, so nothing is replaced."""
What = Literal["new", "removed", "changed", "affected"]
"""`affected`: nothing of it was declared otherwise, yet its numbers change because others' do."""
Measure = Literal["guaranteed", "borrowable", "lendable", "largest job"]
FAIR_SHARE = "fair share"
"""Field of a value: percent of the idle compute that teams compete for."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two."""

    name: str
    """As people say it: an environment, `origin/main`, `working tree`."""
    platform: Platform
    plan: Plan


@dataclass(frozen=True, slots=True)
class Value:
    """A setting that differs; JSON-ready."""

    field: str
    """Words for a team's, the dotted path for a setting of a file."""
    before: Any
    after: Any

    def as_dict(self) -> dict[str, Any]:
        return {"field": self.field, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount that differs."""

    instance_type: str
    resource: str
    measure: Measure
    before: int
    after: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "instance_type": self.instance_type,
            "resource": self.resource,
            "measure": self.measure.replace(" ", "_"),
            "before": quantity(self.resource, self.before),
            "after": quantity(self.resource, self.after),
        }


@dataclass(frozen=True, slots=True)
class TeamChange:
    """A team on one cluster."""

    cluster: str
    team: str
    what: What
    values: tuple[Value, ...] = ()
    amounts: tuple[Amount, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "team": self.team,
            "what": self.what,
            "values": [value.as_dict() for value in self.values],
            "amounts": [amount.as_dict() for amount in self.amounts],
        }


@dataclass(frozen=True, slots=True)
class TypeChange:
    """One resource of an instance type: what the nodes hold, and what teams are guaranteed of it."""

    cluster: str
    instance_type: str
    resource: str
    nodes: tuple[int, int]
    capacity: tuple[int, int]
    guaranteed: tuple[int, int]

    @property
    def over(self) -> tuple[int, int]:
        """Guarantees above capacity."""
        return max(0, self.guaranteed[0] - self.capacity[0]), max(0, self.guaranteed[1] - self.capacity[1])

    def as_dict(self) -> dict[str, Any]:
        pairs = {"capacity": self.capacity, "guaranteed": self.guaranteed, "overcommitted": self.over}
        return {
            "cluster": self.cluster,
            "instance_type": self.instance_type,
            "resource": self.resource,
            "nodes": {"before": self.nodes[0], "after": self.nodes[1]},
            **{
                name: {"before": quantity(self.resource, old), "after": quantity(self.resource, new)}
                for name, (old, new) in pairs.items()
            },
        }


@dataclass(frozen=True, slots=True)
class GroupChange:
    """An instance group."""

    cluster: str
    group: str
    what: What
    instance_type: str
    count: tuple[int, int]
    values: tuple[Value, ...] = ()
    """Other settings than the count."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "group": self.group,
            "what": self.what,
            "instance_type": self.instance_type,
            "count": {"before": self.count[0], "after": self.count[1]},
            "values": [value.as_dict() for value in self.values],
        }


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A version of what runs on a cluster."""

    cluster: str
    what: str
    before: str | None
    after: str | None
    warning: str = ""
    """Why the step can't be made as it stands."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "warning": self.warning,
        }


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that is destroyed: it can't change in place, or it is declared no more."""

    cluster: str
    what: str
    why: str
    lost: str
    """What goes with it."""
    again: bool
    """Whether it is made again, empty."""
    protected: bool = False
    """Whether a deployment refuses it as things stand."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "cluster": self.cluster,
            "what": self.what,
            "why": self.why,
            "lost": self.lost,
            "made_again": self.again,
            "protected": self.protected,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that differs between two sides; clusters are named as on the second one."""

    before: str
    after: str
    mode: Mode
    clusters: tuple[tuple[str, What], ...] = ()
    """Clusters that are on one side only."""
    losses: tuple[Loss, ...] = ()
    teams: tuple[TeamChange, ...] = ()
    types: tuple[TypeChange, ...] = ()
    groups: tuple[GroupChange, ...] = ()
    classes: tuple[Value, ...] = ()
    """Priority classes by name, with their values."""
    versions: tuple[VersionChange, ...] = ()
    settings: tuple[Value, ...] = ()
    """All other settings of the merged declarations."""
    come: tuple[Finding, ...] = ()
    """Findings that only the second side has."""
    gone: tuple[Finding, ...] = ()

    @property
    def unsafe(self) -> tuple[VersionChange, ...]:
        """Versions of which the step can't be made as it stands."""
        return tuple(version for version in self.versions if version.warning)

    @property
    def differs(self) -> bool:
        """Findings don't count: they follow from the rest, or from the date."""
        lists = (self.clusters, self.losses, self.teams, self.types, self.groups, self.classes, self.versions, self.settings)
        return any(lists)

    def as_dict(self) -> dict[str, Any]:
        return {
            "before": self.before,
            "after": self.after,
            "differs": self.differs,
            "clusters": [{"cluster": name, "what": what} for name, what in self.clusters],
            "replaced_or_lost": [loss.as_dict() for loss in self.losses],
            "teams": [team.as_dict() for team in self.teams],
            "types": [one.as_dict() for one in self.types],
            "instance_groups": [group.as_dict() for group in self.groups],
            "priority_classes": [value.as_dict() for value in self.classes],
            "versions": [version.as_dict() for version in self.versions],
            "settings": [value.as_dict() for value in self.settings],
            "findings": {
                "new": [finding.as_dict() for finding in self.come],
                "gone": [finding.as_dict() for finding in self.gone],
            },
        }
