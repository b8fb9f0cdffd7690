"""What a case must not say: findings that need the plan, or more than one line of the case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from config.findings import Finding, did_you_mean, problem_at, quoted
from config.yamlsource import Layered, Path_
from governance.model import ClusterPlan
from governance.units import quantity
from simulation.cases import ACTIONS, RUNNING, Case, Nodes, PerPod, Step, Workload
from simulation.jobs import node_room, pod_resources


def case_findings(case: Case, cluster: ClusterPlan, source: Layered) -> Iterator[Finding]:
    """Everything that is wrong with one case; `source` is where the case stands."""
    for name, workload in case.workloads.items():
        yield from _workload(workload, cluster, source, ("workloads", name))
    script = _Script(case, cluster, source)
    for index, step in enumerate(case.steps):
        yield from _shape(step, source, ("steps", index))
        yield from script.step(step, ("steps", index))
    for name in case.workloads:
        if name not in script.submitted:
            message = f"the workload `{name}` is never submitted"
            yield problem_at("workload-unused", source.where(("workloads", name), key=True), message, "submit it, or remove it")


def _workload(workload: Workload, cluster: ClusterPlan, source: Layered, path: Path_) -> Iterator[Finding]:
    team = cluster.teams.get(workload.team)
    if team is None:
        yield _unknown("team", workload.team, cluster.teams, source, (*path, "team"))
    elif team.state != "active":
        message = f"team `{team.name}` is {team.state}: Kueue admits nothing of it"
        yield problem_at("team-inactive", source.where((*path, "team")), message, "use an active team")
    classes = {planned.declared for planned in cluster.priority_classes}
    if workload.priority is not None and workload.priority not in classes:
        yield _unknown("priority class", workload.priority, classes, source, (*path, "priority"))
    if workload.instance_type not in cluster.kinds:
        yield _unknown("instance type", workload.instance_type, cluster.kinds, source, (*path, "instance_type"))
        return
    yield from _per_pod(workload, cluster, source, (*path, "per_pod"))
    yield from _placement(workload, cluster, source, (*path, "topology"))
    if team is not None and workload.runs_for and team.max_run_time and workload.runs_for > team.max_run_time:
        message = f"jobs of team `{team.name}` run for {team.max_run_time} seconds at most"
        yield problem_at("max-run-time", source.where((*path, "runs_for")), message, "shorten it")


def _per_pod(workload: Workload, cluster: ClusterPlan, source: Layered, path: Path_) -> Iterator[Finding]:
    asked, kind = workload.per_pod, cluster.kinds[workload.instance_type]
    amounts = [name for name in ("accelerators", "vcpu", "memory_gib") if getattr(asked, name) is not None]
    if asked.whole_node == bool(amounts):
        yield problem_at("per-pod", source.where(path), *_per_pod_words(asked))
        return
    if asked.accelerators and not kind.accelerators:
        message = f"{kind.name} has no accelerators"
        yield problem_at("accelerators-none", source.where((*path, "accelerators")), message, "ask for vcpu or memory_gib")
        return
    room = node_room(workload.instance_type, cluster)
    for resource, amount in pod_resources(workload, cluster).items():
        if amount > room.get(resource, 0):
            there = quantity(resource, room.get(resource, 0))
            message = f"a pod asks for {quantity(resource, amount)} of {resource}; pods on {kind.name} can have {there}"
            yield problem_at("pod-too-large", source.where(path), message, "lower it: a node keeps a part for itself")


def _per_pod_words(asked: PerPod) -> tuple[str, str]:
    if asked.whole_node:
        return "a whole node has all amounts already", "keep whole_node or the amounts"
    return "the pod asks for nothing", "write whole_node, or accelerators, vcpu and memory_gib"


def _placement(workload: Workload, cluster: ClusterPlan, source: Layered, path: Path_) -> Iterator[Finding]:
    wanted = workload.topology
    if wanted is None:
        return
    if (wanted.required is None) == (wanted.preferred is None):
        yield problem_at("topology-mode", source.where(path), "exactly one of required and preferred is meant", "keep one")
    topology = cluster.flavors[workload.instance_type].topology
    levels = topology.levels if topology else ()
    for mode in ("required", "preferred"):
        level = getattr(wanted, mode)
        if level is not None and level not in levels:
            message = f"`{level}` is no level of the topology of {workload.instance_type}"
            remedy = did_you_mean(level, levels) or "the environment declares no topology for it"
            yield problem_at("topology-level", source.where((*path, mode)), message, remedy)


def _shape(step: Step, source: Layered, path: Path_) -> Iterator[Finding]:
    told = [action for action in ACTIONS if getattr(step, action)]
    if len(told) != 1:
        message = f"a step does one thing, this one {' and '.join(told) or 'nothing'}"
        yield problem_at("step-actions", source.where(path), message, f"write one of {', '.join(ACTIONS)}")
    for option in ("within", "one_domain"):
        if option in step.model_fields_set and not step.expect:
            where = source.where((*path, option), key=True)
            yield problem_at("step-option", where, f"`{option}` belongs to an expectation", "move it to an expect step")
    for name, verdict in step.expect.items():
        if step.one_domain and verdict not in RUNNING:
            message = f"`{name}` is expected to be {verdict}: it has no nodes"
            yield problem_at("one-domain", source.where((*path, "expect", name)), message, "expect it apart, without one_domain")


class _Script:
    """Follows the steps: which workloads are there, and how many nodes each group has."""

    def __init__(self, case: Case, cluster: ClusterPlan, source: Layered) -> None:
        self.submitted: set[str] = set()
        self._known = case.workloads
        self._types = case.instance_types
        self._groups = cluster.groups
        self._gone: set[str] = set()
        self._nodes = {name: group.count for name, group in cluster.groups.items()}
        self._source = source

    def step(self, step: Step, path: Path_) -> Iterator[Finding]:
        for index, name in enumerate(step.submit):
            yield from self._submit(name, (*path, "submit", index))
        for name in step.expect:
            yield from self._there(name, (*path, "expect", name))
        for action in ("finish", "delete"):
            for index, name in enumerate(getattr(step, action)):
                yield from self._there(name, (*path, action, index))
                self._gone.add(name)
        if step.add_nodes:
            yield from self._count(step.add_nodes, step.add_nodes.count, (*path, "add_nodes"))
        if step.remove_nodes:
            yield from self._count(step.remove_nodes, -step.remove_nodes.count, (*path, "remove_nodes"))

    def _submit(self, name: str, path: Path_) -> Iterator[Finding]:
        if name not in self._known:
            yield _unknown("workload", name, self._known, self._source, path)
        elif name in self.submitted:
            yield problem_at(
                "workload-twice", self._source.where(path), f"`{name}` was submitted already", "name another workload"
            )
        self.submitted.add(name)

    def _there(self, name: str, path: Path_) -> Iterator[Finding]:
        where = self._source.where(path, key=path[-2] == "expect")
        if name not in self._known:
            yield _unknown("workload", name, self._known, self._source, path)
        elif name not in self.submitted:
            yield problem_at("workload-early", where, f"`{name}` is not submitted yet", "submit it in an earlier step")
        elif name in self._gone and path[-2] != "expect":
            yield problem_at("workload-gone", where, f"`{name}` is finished or deleted already", "remove it here")

    def _count(self, nodes: Nodes, change: int, path: Path_) -> Iterator[Finding]:
        if nodes.group not in self._groups:
            yield _unknown("instance group", nodes.group, self._groups, self._source, (*path, "group"))
            return
        kind = self._groups[nodes.group].instance_type
        if kind not in self._types:
            message = f"no workload of the case asks for {kind}, which the group `{nodes.group}` has"
            yield problem_at(
                "nodes-unused", self._source.where((*path, "group")), message, "name a group of the workloads' types"
            )
        if self._nodes[nodes.group] + change < 0:
            message = f"the group `{nodes.group}` has {self._nodes[nodes.group]} nodes here"
            yield problem_at("nodes-count", self._source.where((*path, "count")), message, "remove fewer")
        self._nodes[nodes.group] = max(0, self._nodes[nodes.group] + change)


def _unknown(what: str, name: str, known: Iterable[str], source: Layered, path: Path_) -> Finding:
    remedy = did_you_mean(name, sorted(known)) or f"name one that the plan has ({len(list(known))} of them)"
    kind = f"{what.replace(' ', '-')}-unknown"
    where = source.where(path, key=len(path) > 1 and path[-2] == "expect")
    return problem_at(kind, where, f"there is no {what} {quoted(name)} here", remedy)
