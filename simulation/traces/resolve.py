"""What a job of a trace asks for, in base units, and what is wrong with it: held against a plan, or two of them to compare.

Something is wrong only where it is so in every plan. A quota that is too small is nothing wrong here but a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from config.findings import did_you_mean, quoted
from config.yamlsource import Path_
from governance.model import ClusterPlan
from governance.units import CPU, MEMORY, mig_resource, quantity
from simulation.cases import Placement
from simulation.jobs import node_room
from simulation.traces.file import PodRequest

_Key = tuple[bool, int | None, float | None, float | None, tuple[tuple[str, int], ...]]


class Wrong(NamedTuple):
    """Something wrong with a job: the finding's id, the place within the job, message and remedy."""

    id: str
    path: Path_
    message: str
    remedy: str


class Resolver:
    """Answers for all jobs of a trace; what was asked once is not worked out again."""

    def __init__(self, clusters: Sequence[ClusterPlan]) -> None:
        """`clusters`: one plan, or those before and after a change."""
        self._clusters = clusters
        self.teams = _union(cluster.teams for cluster in clusters)
        self.classes = _union((c.declared for c in cluster.priority_classes) for cluster in clusters)
        self.kinds = _union(cluster.kinds for cluster in clusters)
        self._rooms: dict[str, list[dict[str, int]]] = {}
        self._pods: dict[tuple[_Key, str | None], tuple[dict[str, int], tuple[Wrong, ...]]] = {}

    def team(self, name: str | None) -> Iterator[Wrong]:
        """A team that no plan knows."""
        yield from self._known("team", name, self.teams, "team")

    def priority(self, name: str | None) -> Iterator[Wrong]:
        """A priority class that no plan knows."""
        yield from self._known("priority class", name, self.classes, "priority")

    def kind(self, name: str | None) -> Iterator[Wrong]:
        """An instance type that no plan knows."""
        yield from self._known("instance type", name, self.kinds, "instance_type")

    def pod(self, asked: PodRequest, instance_type: str | None) -> tuple[Mapping[str, int], tuple[Wrong, ...]]:
        """What one pod requests, in base units, and what is wrong with it. The type must be known, or None."""
        amounts = (asked.whole_node, asked.accelerators, asked.vcpu, asked.memory_gib, tuple(asked.partitions.items()))
        key = (amounts, instance_type)
        if key not in self._pods:
            self._pods[key] = self._pod(asked, instance_type)
        return self._pods[key]

    def placement(self, wanted: Placement | None, instance_type: str | None) -> Iterator[Wrong]:
        """Topology that no plan has. The type must be known, or None."""
        if wanted is None:
            return
        if (wanted.required is None) == (wanted.preferred is None):
            yield Wrong("topology-mode", ("topology",), "exactly one of required and preferred is meant", "keep one")
        levels = self._levels(instance_type)
        for mode in ("required", "preferred"):
            level = getattr(wanted, mode)
            if level is not None and level not in levels:
                message = f"`{level}` is no level of the topology of {instance_type or 'any instance type'}"
                remedy = did_you_mean(level, levels) or "the environment declares no topology for it"
                yield Wrong("topology-level", ("topology", mode), message, remedy)

    def _pod(self, asked: PodRequest, instance_type: str | None) -> tuple[dict[str, int], tuple[Wrong, ...]]:
        amounts = [name for name in ("accelerators", "vcpu", "memory_gib", "partitions") if getattr(asked, name)]
        if asked.whole_node == bool(amounts):
            words = ("a whole node has all amounts already", "keep whole_node or the amounts")
            nothing = ("the pod asks for nothing", "write whole_node, or accelerators, vcpu and memory_gib")
            return {}, (Wrong("per-pod", ("per_pod",), *(words if amounts else nothing)),)
        if asked.whole_node:
            if instance_type is None:
                return {}, (self._which("a whole node of which type?"),)
            return {resource: amount for resource, amount in self._room(instance_type)[0].items() if amount}, ()
        resources: dict[str, int] = {}
        if asked.vcpu is not None:
            resources[CPU] = int(Fraction(str(asked.vcpu)) * 1000)
        if asked.memory_gib is not None:
            resources[MEMORY] = int(Fraction(str(asked.memory_gib)) * 1024)
        resources |= {mig_resource(profile): count for profile, count in asked.partitions.items()}
        if asked.accelerators:
            devices = self._devices(instance_type)
            if not devices:
                message = f"{instance_type or 'the cluster'} has no accelerators"
                return {}, (Wrong("accelerators-none", ("per_pod", "accelerators"), message, "ask for vcpu or memory_gib"),)
            if len(devices) > 1:
                return {}, (self._which("accelerators of which type?"),)
            resources[devices[0]] = asked.accelerators
        return resources, tuple(self._too_large(resources, instance_type))

    def _too_large(self, resources: Mapping[str, int], instance_type: str | None) -> Iterator[Wrong]:
        """A pod that fits on no node, in whatever plan."""
        rooms = [room for kind in ([instance_type] if instance_type else sorted(self.kinds)) for room in self._room(kind)]
        if any(all(amount <= room.get(resource, 0) for resource, amount in resources.items()) for room in rooms):
            return
        for resource, amount in resources.items():
            most = max((room.get(resource, 0) for room in rooms), default=0)
            if amount > most:
                on = f"pods on {instance_type} can have" if instance_type else "no node gives pods more than"
                message = f"a pod asks for {quantity(resource, amount)} of {resource}; {on} {quantity(resource, most)}"
                yield Wrong("pod-too-large", ("per_pod",), message, "lower it: a node keeps a part for itself")
                return
        message = f"a pod asks for {', '.join(resources)} together, more than a node of any type has"
        yield Wrong("pod-too-large", ("per_pod",), message, "lower it: a node keeps a part for itself")

    def _room(self, instance_type: str) -> list[dict[str, int]]:
        if instance_type not in self._rooms:
            knowing = [cluster for cluster in self._clusters if instance_type in cluster.kinds]
            self._rooms[instance_type] = [node_room(instance_type, cluster) for cluster in knowing]
        return self._rooms[instance_type]

    def _devices(self, instance_type: str | None) -> list[str]:
        kinds = {name: kind for cluster in self._clusters for name, kind in cluster.kinds.items()}
        chosen = [kinds[instance_type]] if instance_type else kinds.values()
        return sorted({kind.resource for kind in chosen if kind.resource})

    def _levels(self, instance_type: str | None) -> list[str]:
        flavors = [
            flavor
            for cluster in self._clusters
            for name, flavor in cluster.flavors.items()
            if instance_type in (None, name) and flavor.topology
        ]
        return list(dict.fromkeys(level for flavor in flavors if flavor.topology for level in flavor.topology.levels))

    def _which(self, message: str) -> Wrong:
        known = ", ".join(sorted(self.kinds))
        return Wrong("instance-type-missing", ("per_pod",), message, f"add `instance_type:`, one of {known}")

    @staticmethod
    def _known(what: str, name: str | None, known: Sequence[str], field: str) -> Iterator[Wrong]:
        if name is not None and name not in known:
            remedy = did_you_mean(name, known) or f"name one that the plan has ({len(known)} of them)"
            yield Wrong(f"{what.replace(' ', '-')}-unknown", (field,), f"there is no {what} {quoted(name)} here", remedy)


def _union(names: Iterable[Iterable[str]]) -> list[str]:
    return sorted({name for some in names for name in some})
