"""The largest job that fits in one block: pods that a node takes are counted node by node, then added up, as Kueue does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from governance.topologymap.model import Amounts, Node
from governance.topologymap.tree import Domain, Section
from governance.units import CPU, MEMORY, PODS, is_device

When = Literal["now", "empty"]
"""As it is, or as if all jobs had ended; pods of DaemonSets and static ones stay."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one pod requests."""

    name: str
    requests: Amounts


@dataclass(frozen=True, slots=True)
class Best:
    """The most pods, and the block that takes them; None where there is none."""

    pods: int
    domain: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Fit:
    """The largest job of one shape in one domain of a level; with level None, in all nodes of the flavor."""

    level: str | None
    now: Best
    empty: Best


def count_in(requests: Amounts, room: Amounts) -> int:
    """How many pods with these requests the room takes. Below 0 where it is overbooked, as in Kueue, which rounds towards 0."""
    counts = []
    for resource, amount in requests.items():
        if amount:
            have = room.get(resource, 0)
            counts.append(have // amount if have >= 0 else -(-have // amount))
    return min(counts, default=0)


def pods_in(section: Section, domain: Domain, requests: Amounts, when: When = "now") -> int:
    """How many pods Kueue would count in a domain; below 0 where nodes are overbooked."""
    return sum(_in_leaf(section, leaf, requests, when) for leaf in domain.leaves())


def _in_leaf(section: Section, leaf: Domain, requests: Amounts, when: When) -> int:
    nodes = section.counting(leaf.nodes)
    if not nodes:
        return 0
    return count_in({**requests, PODS: 1}, _room(section, leaf, nodes, when))


def _room(section: Section, leaf: Domain, nodes: Iterable[Node], when: When) -> dict[str, int]:
    """What Kueue thinks is left: less pods without a topology, less what admitted workloads keep, bound or not."""
    room: Counter[str] = Counter()
    for node in nodes:
        room.update(node.allocatable)
        room.subtract(node.foreign if when == "now" else node.resident)
    for hold in section.holds_in(leaf) if when == "now" else ():
        room.subtract({resource: amount * hold.count for resource, amount in hold.per_pod.items()})
        room.subtract({PODS: hold.count})
    return room


def fits(section: Section, shape: Shape) -> list[Fit]:
    """For each level from the nearest on, then for the flavor as a whole."""
    whole = {when: _everywhere(section, shape.requests, when) for when in ("now", "empty")}
    return [
        *(
            Fit(level, _best(section, level, shape.requests, "now"), _best(section, level, shape.requests, "empty"))
            for level in reversed(section.flavor.levels)
        ),
        Fit(None, Best(whole["now"], None), Best(whole["empty"], None)),
    ]


def _best(section: Section, level: str, requests: Amounts, when: When) -> Best:
    """The first of the blocks that take most."""
    found = [(pods_in(section, domain, requests, when), domain.values) for domain in section.level(level)]
    pods, values = max(found, key=lambda one: one[0], default=(0, None))
    return Best(pods, values) if pods > 0 else Best(0, None)


def _everywhere(section: Section, requests: Amounts, when: When) -> int:
    return sum(max(0, pods_in(section, root, requests, when)) for root in section.roots)


def least_domains(counts: Iterable[int], pods: int) -> int | None:
    """The fewest domains that together take so many pods; None where all of them don't."""
    used, left = 0, pods
    for count in sorted(counts, reverse=True):
        if left <= 0:
            break
        used, left = used + 1, left - max(0, count)
    return used if left <= 0 else None


def whole_node(section: Section) -> Shape | None:
    """A pod that asks for all that pods can have of a node of this flavor; None without a node that counts.

    Nodes may differ. The devices are those that most nodes have, vCPU and memory what all of these nodes can give beside the pods
    that stay on them.
    """
    nodes = [node for node in section.nodes if node.name not in section.obstacles]
    if not nodes:
        return None
    kinds = Counter(_devices(node) for node in nodes)
    devices = max(kinds, key=lambda kind: (kinds[kind], kind))
    alike = [node for node in nodes if _devices(node) == devices]
    rest = {r: min(node.allocatable.get(r, 0) - node.resident.get(r, 0) for node in alike) for r in _asked(alike)}
    return Shape("a whole node", {resource: amount for resource, amount in rest.items() if amount > 0})


def _devices(node: Node) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((r, amount) for r, amount in node.allocatable.items() if amount and is_device(r)))


def _asked(nodes: Iterable[Node]) -> list[str]:
    """Resources that a job of whole nodes asks for: not the disk, nor huge pages."""
    found = {resource for node in nodes for resource in node.allocatable}
    return sorted(r for r in found if r in (CPU, MEMORY) or "/" in r)


def per_pod(section: Section, accelerators: int, cpu: int = 0, memory: int = 0) -> Shape | None:
    """A pod of so many accelerators (and milli-vCPU, and bytes); None for a flavor without accelerators."""
    resources = section.resources
    if not resources:
        return None
    asked = {resources[0]: accelerators, CPU: cpu, MEMORY: memory}
    name = f"{accelerators} accelerator{'s' * (accelerators > 1)}"
    return Shape(name, {resource: amount for resource, amount in asked.items() if amount})
