"""What a case must not say of its steps: findings that need what stands above them, or the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from config.findings import Finding, did_you_mean, problem_at, quoted
from config.yamlsource import Layered, Path_
from governance.model import ClusterPlan
from simulation.cases import ACTIONS, EXPECTED, OPTIONS, RUNNING, Case, Nodes, Step
from simulation.elastic import counts

_BY_NAME: Final = (*EXPECTED, "scale")
"""Keys below which workloads are keys too."""


def step_findings(case: Case, cluster: ClusterPlan, source: Layered) -> Iterator[Finding]:
    """Everything that is wrong with the steps of a case, and workloads that none of them submits."""
    script = _Script(case, cluster, source)
    for index, step in enumerate(case.steps):
        yield from _shape(step, source, ("steps", index))
        yield from script.step(step, ("steps", index))
    for name in case.workloads:
        if name not in script.submitted:
            message = f"the workload `{name}` is never submitted"
            yield problem_at("workload-unused", source.where(("workloads", name), key=True), message, "submit it, or remove it")


def unknown(what: str, name: str, known: Iterable[str], source: Layered, path: Path_) -> Finding:
    """A name that the plan or the case doesn't have."""
    remedy = did_you_mean(name, sorted(known)) or f"name one that the plan has ({len(list(known))} of them)"
    kind = f"{what.replace(' ', '-')}-unknown"
    where = source.where(path, key=len(path) > 1 and path[-2] in _BY_NAME)
    return problem_at(kind, where, f"there is no {what} {quoted(name)} here", remedy)


def _shape(step: Step, source: Layered, path: Path_) -> Iterator[Finding]:
    told = [action for action in (*ACTIONS, "replicas") if getattr(step, action)]
    if len(told) != 1 and told != list(EXPECTED):
        message = f"a step does one thing, this one {' and '.join(told) or 'nothing'}"
        yield problem_at("step-actions", source.where(path), message, f"write one of {', '.join(ACTIONS)}")
    for option in OPTIONS:
        if option in step.model_fields_set and not step.expects:
            where = source.where((*path, option), key=True)
            yield problem_at("step-option", where, f"`{option}` belongs to an expectation", "move it to an expect step")
    for option in ("one_domain", "together"):
        for name, verdict in step.expect.items():
            if getattr(step, option) and verdict not in RUNNING:
                message = f"`{name}` is expected to be {verdict}: it has no nodes"
                yield problem_at(
                    "one-domain", source.where((*path, "expect", name)), message, f"expect it apart, without {option}"
                )


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
        yield from self._expected(step, path)
        for name in step.scale:
            yield from self._there(name, (*path, "scale", name))
            if name in self._known and self._known[name].kind != "deployment":
                message = f"`{name}` is a {self._known[name].kind}; only a deployment is scaled"
                yield problem_at("scale-kind", self._source.where((*path, "scale", name), key=True), message, "remove it")
        for index, name in enumerate(step.finish):
            yield from self._possible(name, "finished", (*path, "finish", index))
            yield from self._end(name, (*path, "finish", index))
        for index, name in enumerate(step.delete):
            yield from self._end(name, (*path, "delete", index))
        if step.add_nodes:
            yield from self._count(step.add_nodes, step.add_nodes.count, (*path, "add_nodes"))
        if step.remove_nodes:
            yield from self._count(step.remove_nodes, -step.remove_nodes.count, (*path, "remove_nodes"))

    def _submit(self, name: str, path: Path_) -> Iterator[Finding]:
        if name not in self._known:
            yield unknown("workload", name, self._known, self._source, path)
        elif name in self.submitted:
            yield problem_at(
                "workload-twice", self._source.where(path), f"`{name}` was submitted already", "name another workload"
            )
        self.submitted.add(name)

    def _expected(self, step: Step, path: Path_) -> Iterator[Finding]:
        for name, verdict in step.expect.items():
            yield from self._there(name, (*path, "expect", name))
            yield from self._possible(name, verdict, (*path, "expect", name))
        for name, count in step.replicas.items():
            yield from self._there(name, (*path, "replicas", name))
            yield from self._countable(name, count, (*path, "replicas", name))

    def _end(self, name: str, path: Path_) -> Iterator[Finding]:
        yield from self._there(name, path)
        self._gone.add(name)

    def _countable(self, name: str, count: int, path: Path_) -> Iterator[Finding]:
        """Whether so many replicas of the workload can run."""
        workload = self._known.get(name)
        if workload is None:
            return
        if workload.elastic is not None:
            if count not in (0, *counts(workload.elastic)):
                possible = ", ".join(str(one) for one in counts(workload.elastic))
                message = f"`{name}` never runs with {count} replicas"
                yield problem_at("replicas-count", self._source.where(path), message, f"it runs with {possible}")
        elif workload.kind != "deployment":
            message = f"`{name}` has all its pods or none"
            remedy = "expect a verdict; replicas are those of elastic jobs and deployments"
            yield problem_at("replicas-kind", self._source.where(path, key=True), message, remedy)

    def _possible(self, name: str, verdict: str, path: Path_) -> Iterator[Finding]:
        """Kueue deletes pods of a Deployment that it preempts, with their Workloads; the Deployment makes others, which wait."""
        if name in self._known and self._known[name].kind != "job" and verdict in ("preempted", "finished"):
            remedy = "expect it to be pending, or count its replicas" if verdict == "preempted" else "delete it"
            message = f"`{name}` is a {self._known[name].kind}, which is never {verdict}"
            yield problem_at("verdict-kind", self._source.where(path), message, remedy)

    def _there(self, name: str, path: Path_) -> Iterator[Finding]:
        where = self._source.where(path, key=path[-2] in _BY_NAME)
        if name not in self._known:
            yield unknown("workload", name, self._known, self._source, path)
        elif name not in self.submitted:
            yield problem_at("workload-early", where, f"`{name}` is not submitted yet", "submit it in an earlier step")
        elif name in self._gone and path[-2] not in EXPECTED:
            yield problem_at("workload-gone", where, f"`{name}` is finished or deleted already", "remove it here")

    def _count(self, nodes: Nodes, change: int, path: Path_) -> Iterator[Finding]:
        if nodes.group not in self._groups:
            yield unknown("instance group", nodes.group, self._groups, self._source, (*path, "group"))
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
