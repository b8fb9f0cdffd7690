"""What a rule is, and what it judges: plain data, nothing of Pulumi."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Properties = Mapping[str, Any]
"""A resource's properties. Reading one that is not known yet raises; asking by `has` whether it is set never does."""
Severity = Literal["critical", "high", "medium", "low"]
Level = Literal["mandatory", "advisory", "disabled"]
LEVELS: tuple[Level, ...] = ("mandatory", "advisory", "disabled")
PAGE = "docs/policies.md"

Check = Callable[[Properties], Iterable[str]]
"""Sentences on what is wrong with one resource, without its name."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of a stack, as it is declared, with what is known of it beside."""

    type: str
    """Pulumi's type token."""
    urn: str
    name: str
    properties: Properties
    protect: bool = False
    refers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """URNs that a property was made of, known even where its value isn't yet."""

    @property
    def cluster(self) -> str:
        """The cluster that it belongs to: the first part of its logical name, as this project names what it declares."""
        return self.name.partition("/")[0] if "/" in self.name else ""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Facts that no resource tells."""

    tags: tuple[str, ...] = ()
    """Keys of tags that everything taggable carries."""
    instances: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    """What one instance has, by type and resource, as Kubernetes writes quantities."""
    capacity: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    """What all nodes of a flavor have together; for clusters that are not in the stack."""
    lifecycle_buckets: tuple[str, ...] = ()
    """Own, encrypted buckets of other stacks that may hold lifecycle scripts."""


@dataclass(frozen=True, slots=True)
class Stack:
    """All resources of a stack."""

    resources: Sequence[Resource]
    parameters: Parameters = Parameters()

    def of(self, *types: str) -> Iterator[Resource]:
        """Resources of these types."""
        return (resource for resource in self.resources if resource.type in types)

    def clusters(self) -> Iterator[Stack]:
        """The resources of each cluster, as a stack of its own."""
        for name in sorted({resource.cluster for resource in self.resources}):
            yield Stack([one for one in self.resources if one.cluster == name], self.parameters)

    def about(self, target: Resource, types: Sequence[str], key: str, identity: str = "id") -> list[Resource]:
        """Resources whose property `key` names the target: by the reference, or by the value of its property `identity`."""
        return [one for one in self.of(*types) if _names(one, key, target, identity)]


def _names(one: Resource, key: str, target: Resource, identity: str) -> bool:
    references = one.refers.get(key, ())
    if references:
        return target.urn in references
    return has(one.properties, key) and has(target.properties, identity) and one.properties[key] == target.properties[identity]


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with one resource of a stack, or with the stack as a whole (None)."""

    resource: Resource | None
    text: str


@dataclass(frozen=True, slots=True)
class Undecided:
    """What can't be told, and why: a fact that neither the stack nor the settings state."""

    text: str


StackCheck = Callable[[Stack], Iterable[Violation | Undecided]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule. Its id is for good: settings, waivers and pages name it."""

    id: str
    title: str
    """What must be so, as a heading."""
    domain: str
    severity: Severity
    level: Level
    """Whether a violation refuses the run, unless the settings say otherwise."""
    anchors: tuple[str, ...]
    """The same demand elsewhere: checkov (CKV_…), AWS FSBP (EKS.1), CIS EKS Benchmark (CIS 5.4.1); `own` where there is none."""
    remedy: str
    types: tuple[str, ...] = ()
    """Type tokens that `check` judges, as shell patterns; none where only the whole stack shows it."""
    check: Check | None = None
    whole: StackCheck | None = None

    @property
    def url(self) -> str:
        """The rule's place in the documentation."""
        return f"{PAGE}#{self.id}"


class Domain:
    """Rules that belong together, each registered by a decorator over its check, which stays a plain function."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.rules: list[Rule] = []

    def rule(  # noqa: PLR0913 - a rule's facts, all named
        self,
        id_: str,
        title: str,
        *,
        types: Sequence[str],
        severity: Severity,
        anchors: Sequence[str],
        remedy: str,
        level: Level = "mandatory",
        whole: StackCheck | None = None,
    ) -> Callable[[Check], Check]:
        """A rule on single resources; `whole` adds what only the stack shows, such as that one is missing."""

        def register(check: Check) -> Check:
            self._add(id_, title, severity, level, anchors, remedy, types=tuple(types), check=check, whole=whole)
            return check

        return register

    def stack_rule(
        self,
        id_: str,
        title: str,
        *,
        severity: Severity,
        anchors: Sequence[str],
        remedy: str,
        level: Level = "mandatory",
    ) -> Callable[[StackCheck], StackCheck]:
        """A rule on the stack as a whole."""

        def register(check: StackCheck) -> StackCheck:
            self._add(id_, title, severity, level, anchors, remedy, whole=check)
            return check

        return register

    def _add(
        self, id_: str, title: str, severity: Severity, level: Level, anchors: Sequence[str], remedy: str, **checks: Any
    ) -> None:
        self.rules.append(
            Rule(
                id=id_,
                title=title,
                domain=self.name,
                severity=severity,
                level=level,
                anchors=tuple(anchors),
                remedy=remedy,
                **checks,
            )
        )


def has(properties: Properties, key: str) -> bool:
    """Whether a property is set, to a value that may not be known yet: `in` would ask for the value."""
    return any(key == one for one in properties)


def items(properties: Properties, key: str) -> Sequence[Any]:
    """A list among the properties; empty where it is not set."""
    found = properties.get(key)
    return found if found is not None else ()


def part(properties: Properties, key: str) -> Properties:
    """A map among the properties; empty where it is not set."""
    found = properties.get(key)
    return found if found is not None else {}
