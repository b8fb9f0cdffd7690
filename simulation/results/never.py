"""Jobs that can never run, whoever else is there: from the plan alone, and only where it is certain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from governance.allocatable import allocatable
from governance.model import ClusterPlan, FlavorQuota, TeamPlan
from governance.names import GROUP_LABEL, INSTANCE_TYPE_LABEL
from governance.nodes import PODS_PER_NODE, NodeSpec, nodes
from governance.quotas import node_resources
from governance.units import PODS, Resources, is_device, shown
from simulation.traces.model import Job
from simulation.traces.sides import missing

_Key = tuple[object, ...]


class Never:
    """Answers for the jobs of a trace on one plan; jobs that ask for the same are looked at once."""

    def __init__(self, cluster: ClusterPlan) -> None:
        self._cluster = cluster
        self._known: dict[_Key, str] = {}

    def why(self, job: Job) -> str:
        """Why the job can never run, in a sentence without full stop; empty where it may."""
        placement = (job.topology.required, job.topology.preferred) if job.topology else None
        key = (job.team, job.pods, tuple(sorted(job.per_pod.items())), job.instance_type, job.priority, placement)
        if key not in self._known:
            self._known[key] = self._why(job)
        return self._known[key]

    def _why(self, job: Job) -> str:
        absent = missing(job, self._cluster)
        if absent:
            return absent
        team = self._cluster.teams[job.team]
        if team.state != "active":
            return f"team {team.name} is {team.state}: Kueue admits nothing of it"
        flavors = [flavor for flavor in team.flavors if job.instance_type in (None, flavor.instance_type)]
        if not flavors:
            return f"the queue of team {team.name} has no {job.instance_type or 'flavor'}"
        reasons = [next(self._reasons(job, team, flavor), "") for flavor in flavors]
        if not all(reasons):
            return ""
        return reasons[0] if len(set(reasons)) == 1 else "; ".join(dict.fromkeys(reasons))

    def _reasons(self, job: Job, team: TeamPlan, flavor: FlavorQuota) -> Iterator[str]:
        """On one flavor: all pods have to be admitted to it."""
        kind = flavor.instance_type
        asked = self._counted(job, team)
        for resource in sorted(asked, key=lambda r: (not is_device(r), r)):
            if (flavor.flavor, resource) not in team.largest:
                yield f"it asks for {resource}, which no queue counts"
                return
            most = team.largest[flavor.flavor, resource]
            if asked[resource] > most:
                yield (
                    f"it asks for {shown(resource, asked[resource])} {resource} on {kind}; with all others idle team {team.name} "
                    f"can have {shown(resource, most)}"
                )
                return
        yield from self._places(job, kind)

    def _places(self, job: Job, kind: str) -> Iterator[str]:
        """Nodes: Kueue looks at them where the flavor has a topology, the scheduler anyhow."""
        rooms = self._rooms.get(kind, {})
        fits = {name: fitting(job.per_pod, room) for name, room in rooms.items()}
        total = sum(fits.values())
        if not any(fits.values()):
            yield f"its pods fit on none of the {len(rooms)} nodes of {kind}" if rooms else f"there is no node of {kind}"
        elif total < job.pods:
            yield f"its {job.pods} pods don't fit on the {len(rooms)} nodes of {kind} together: {total} do"
        elif job.topology is not None and job.topology.required is not None:
            yield from self._domains(job, kind, job.topology.required, fits)

    def _domains(self, job: Job, kind: str, level: str, fits: Mapping[str, int]) -> Iterator[str]:
        topology = self._cluster.flavors[kind].topology
        if topology is None or level not in topology.levels:
            yield f"the topology of {kind} has no level {level}"
            return
        # A domain is a path of labels: two blocks of the same name below two spines are two.
        depth = topology.levels.index(level) + 1
        size: Counter[tuple[str, ...]] = Counter()
        for node in self._nodes[kind]:
            if all(label in node.labels for label in topology.levels):
                size[tuple(node.labels[label] for label in topology.levels[:depth])] += fits[node.name]
        most = max(size.values(), default=0)
        if most < job.pods:
            yield f"its {job.pods} pods have to stand in one {level.rpartition('/')[2]}; the largest holds {most} of them"

    def _counted(self, job: Job, team: TeamPlan) -> dict[str, int]:
        """What the queue counts of the job: all but what Kueue is told to leave out, and pods where they are counted."""
        left_out = self._cluster.kueue.exclude_resources
        asked = {r: n for r, n in job.requests().items() if n and not r.startswith(left_out)}
        return {**asked, PODS: job.pods} if PODS in team.covered else asked

    @cached_property
    def _nodes(self) -> Mapping[str, Sequence[NodeSpec]]:
        found: dict[str, list[NodeSpec]] = {}
        for node in nodes(self._cluster):
            found.setdefault(node.labels[INSTANCE_TYPE_LABEL], []).append(node)
        return found

    @cached_property
    def _rooms(self) -> Mapping[str, Mapping[str, Resources]]:
        """What pods can have, by instance type and node."""
        by_group = {
            name: allocatable(node_resources(self._cluster.kinds[group.instance_type], group.partitions))
            for name, group in self._cluster.groups.items()
        }
        return {kind: {node.name: by_group[node.labels[GROUP_LABEL]] for node in found} for kind, found in self._nodes.items()}


def fitting(pod: Resources, room: Resources) -> int:
    """How many such pods fit on a node side by side."""
    return min((room.get(resource, 0) // amount for resource, amount in pod.items() if amount), default=PODS_PER_NODE)
