"""A topology map as data, and the words that its drawings share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from config.environment import HOSTNAME
from governance.flavors import is_network_layer
from governance.names import GROUP_LABEL
from governance.topologymap.fit import Best, Fit, Shape, fits, per_pod, whole_node
from governance.topologymap.model import Amounts, Layout, Node
from governance.topologymap.placement import Placement
from governance.topologymap.tree import Domain, Section, Tally, sections, shared
from governance.units import CPU, EFA, GPU, MEMORY, NEURON
from governance.units import shown as shown_amount

ULTRASERVER: Final = "topology.k8s.aws/ultraserver-id"
MADE_UP: Final = "network blocks are the declaration's: EC2 chooses the real ones"
UNSEEN: Final = "Kueue gives these nodes no pods with a topology: it takes only nodes that carry every level's label"
_WORDS: Final = {GPU: ("GPU", "GPUs"), NEURON: ("Neuron device", "Neuron devices"), CPU: ("vCPU", "vCPUs"), EFA: ("EFA", "EFA")}
_LONGEST: Final = 40
_LEVELS: Final = {HOSTNAME: "node", ULTRASERVER: "ultraserver"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod to fit beside those of a whole node and of one accelerator: accelerators, milli-vCPU, bytes."""

    accelerators: int
    cpu: int = 0
    memory: int = 0


@dataclass(frozen=True)
class View:
    """One cluster's map."""

    layout: Layout
    sections: tuple[Section, ...]
    asked: Asked | None = None

    @property
    def source(self) -> str:
        return "live" if self.layout.live else "as declared"

    def shapes(self, section: Section) -> list[Shape]:
        """The pods whose largest jobs are told."""
        own = per_pod(section, self.asked.accelerators, self.asked.cpu, self.asked.memory) if self.asked else None
        found = [whole_node(section), per_pod(section, 1) if section.counting(section.nodes) else None, own]
        return _distinct(found)

    def notes(self) -> list[str]:
        """What a reader should know of the whole map."""
        layers = any(is_network_layer(level) for section in self.sections for level in section.flavor.levels)
        notes = [MADE_UP] if layers and not self.layout.live else []
        twice = shared(self.sections)
        if twice:
            names = ", ".join(sorted({name for flavors in twice.values() for name in flavors}))
            notes.append(f"{len(twice)} nodes are in several flavors ({names}): Kueue counts them once for each")
        return notes


def _distinct(shapes: Iterable[Shape | None]) -> list[Shape]:
    found: list[Shape] = []
    for shape in shapes:
        if shape is not None and all(shape.requests != other.requests for other in found):
            found.append(shape)
    return found


def view(layout: Layout, instance_type: str | None = None, asked: Asked | None = None) -> View:
    """The map of a cluster, or of one instance type's nodes."""
    found = (one for one in sections(layout) if instance_type in (None, one.instance_type))
    return View(layout, tuple(found), asked)


def as_dict(one: View) -> dict[str, Any]:
    """A map, JSON-ready; amounts in milli-vCPU, bytes, devices, pods."""
    return {
        "cluster": one.layout.cluster,
        "source": "live" if one.layout.live else "plan",
        "notes": one.notes(),
        "flavors": [_section(one, section) for section in one.sections],
    }


def _section(one: View, section: Section) -> dict[str, Any]:
    flavor = section.flavor
    return {
        "flavor": flavor.name or None,
        "instance_type": section.instance_type,
        "topology": flavor.topology,
        "levels": list(flavor.levels),
        "resources": {resource: _tally(section.tally(resource)) for resource in main_resources(section)},
        "nodes": {node.name: _node(section, node) for node in section.nodes},
        "blocks": [_domain(section, root) for root in section.roots],
        "largest_jobs": [
            {"pod": shape.name, "requests": dict(shape.requests), "fits": [_fit(fit) for fit in fits(section, shape)]}
            for shape in one.shapes(section)
        ],
    }


def _node(section: Section, node: Node) -> dict[str, Any]:
    labels = {level: node.labels.get(level) for level in (*section.flavor.levels, ULTRASERVER)}
    return {
        "group": node.labels.get(GROUP_LABEL),
        "labels": {level: value for level, value in labels.items() if value is not None},
        "ready": node.ready,
        "cordoned": node.cordoned,
        "taints": [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints],
        "passed_by": [{"why": one.kind, "message": one.message} for one in section.obstacles.get(node.name, ())],
        "capacity": dict(node.capacity),
        "allocatable": dict(node.allocatable),
        "used": dict(node.used),
    }


def _domain(section: Section, domain: Domain) -> dict[str, Any]:
    return {
        "level": domain.level,
        "value": domain.value,
        "nodes": [node.name for node in domain.nodes],
        "resources": {resource: _tally(section.tally(resource, domain)) for resource in main_resources(section)},
        "blocks": [_domain(section, child) for child in domain.children],
    }


def _tally(tally: Tally) -> dict[str, int]:
    return {name: getattr(tally, name) for name in ("total", "allocatable", "used", "reserved", "free")}


def _fit(fit: Fit) -> dict[str, Any]:
    return {"level": fit.level, "now": _best(fit.now), "empty": _best(fit.empty)}


def _best(best: Best) -> dict[str, Any]:
    return {"pods": best.pods, "block": list(best.domain) if best.domain else None}


def placement_dict(placement: Placement) -> dict[str, Any]:
    """A verdict, JSON-ready."""
    podset = placement.podset
    return {
        "namespace": podset.namespace,
        "job": podset.job,
        "workload": podset.workload or None,
        "podset": podset.name or None,
        "flavor": podset.flavor or None,
        "asks_for": str(podset.wish),
        "placed_for": None if podset.asked is None else str(podset.asked),
        "state": placement.state,
        "level": placement.level,
        "pods": podset.count,
        "blocks": {value: list(names) for value, names in placement.domains.items()},
        "fewest_blocks": placement.least,
        "nodes": {pod.name: pod.node or None for pod in podset.pods},
        "assigned": [{"domain": list(values), "pods": count} for values, count in (podset.assigned or {}).items()],
        "problems": list(placement.problems),
    }


def main_resources(section: Section) -> tuple[str, ...]:
    """What the nodes are counted in: accelerators, or vCPUs where there are none."""
    return section.resources or (CPU,)


def words(resource: str, amount: int) -> str:
    """`8 GPUs`."""
    one, many = _WORDS.get(resource, (resource.rpartition("/")[2],) * 2)
    return f"{amount_words(resource, amount)} {one if amount == 1 else many}"


def amount_words(resource: str, amount: int) -> str:
    """The number alone: vCPUs, GiB, devices."""
    return shown_amount(resource, amount >> 20 if resource == MEMORY else amount)


def requests_words(requests: Amounts) -> str:
    """What a pod requests, accelerators first."""
    order = sorted(requests, key=lambda r: (r == MEMORY, r == CPU, r not in _WORDS, r))
    return ", ".join(
        amount_words(resource, requests[resource]) if resource == MEMORY else words(resource, requests[resource])
        for resource in order
    )


def free_words(resource: str, tally: Tally) -> str:
    """`96 of 256 GPUs free`, of what pods can have."""
    free, most = (amount_words(resource, amount) for amount in (tally.free, tally.allocatable))
    return f"{free} of {most} {words(resource, tally.allocatable).partition(' ')[2]} free"


def level_words(level: str | None) -> str:
    """`layer-3`, `node`; `anywhere` for no level."""
    if level is None:
        return "anywhere"
    return _LEVELS.get(level) or level.rpartition("/")[2].removeprefix("network-node-")


def title(section: Section) -> str:
    """The flavor, and the type where it isn't its name."""
    name = section.flavor.name or f"{section.instance_type or 'other nodes'} (no flavor)"
    return name if not section.flavor.name or section.instance_type in ("", name) else f"{name} ({section.instance_type})"


def passed_by(section: Section) -> dict[str, dict[str, list[str]]]:
    """Nodes that Kueue passes by, by instance group and by why."""
    found: dict[str, dict[str, list[str]]] = {}
    for node in section.nodes:
        obstacles = section.obstacles.get(node.name)
        if obstacles:
            why = "; ".join(one.message for one in obstacles)
            found.setdefault(node.labels.get(GROUP_LABEL, ""), {}).setdefault(why, []).append(node.name)
    return found


def some(names: Sequence[str], most: int = 6) -> str:
    """Names, the first few of many."""
    left = len(names) - most
    return ", ".join(names) if left <= 1 else f"{', '.join(names[:most])} and {left} more"


def cut(text: str) -> str:
    """A name, its middle left out if it is long."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-(_LONGEST // 2 - 1) :]}"


def states(placements: Iterable[Placement]) -> Mapping[str, int]:
    """How many pod sets there are of each state."""
    found: dict[str, int] = {}
    for one in placements:
        found[one.state] = found.get(one.state, 0) + 1
    return found
