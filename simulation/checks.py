"""What a case must not say of its workloads: findings that need the plan, or more than one line of the case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from config.findings import Finding, did_you_mean, problem_at
from config.yamlsource import Layered, Path_
from governance.model import ClusterPlan
from governance.units import quantity
from simulation.cases import Case, Elastic, PerPod, Workload
from simulation.elastic import counts
from simulation.jobs import job_name, node_room, pod_resources
from simulation.stepchecks import step_findings, unknown

HOST_LIMIT = 63
"""Longest name of a host (Kubernetes, Jobs of completion mode Indexed)."""
_FRAMEWORKS = {"job": ("batch/job",), "deployment": ("pod", "deployment"), "space": ("pod", "deployment")}
"""Kueue's frameworks that govern a kind of workload."""
_STEPS = 64
"""Replica counts of an elastic job that are played at most."""


def case_findings(case: Case, cluster: ClusterPlan, source: Layered) -> Iterator[Finding]:
    """Everything that is wrong with one case; `source` is where the case stands."""
    for name, workload in case.workloads.items():
        yield from _workload(workload, cluster, source, ("workloads", name))
        yield from _name(case.name, name, workload, source, ("workloads", name))
    yield from step_findings(case, cluster, source)


def _workload(workload: Workload, cluster: ClusterPlan, source: Layered, path: Path_) -> Iterator[Finding]:
    team = cluster.teams.get(workload.team)
    if team is None:
        yield unknown("team", workload.team, cluster.teams, source, (*path, "team"))
    elif team.state != "active":
        message = f"team `{team.name}` is {team.state}: Kueue admits nothing of it"
        yield problem_at("team-inactive", source.where((*path, "team")), message, "use an active team")
    yield from _priorities(workload, cluster, source, path)
    yield from _kind(workload, source, path)
    yield from _frameworks(workload, cluster, source, path)
    if workload.elastic is not None:
        yield from _elastic(workload.elastic, workload, source, path)
    if workload.instance_type not in cluster.kinds:
        yield unknown("instance type", workload.instance_type, cluster.kinds, source, (*path, "instance_type"))
        return
    yield from _per_pod(workload, cluster, source, (*path, "per_pod"))
    yield from _placement(workload, cluster, source, (*path, "topology"))
    if team is not None and workload.runs_for and team.max_run_time and workload.runs_for > team.max_run_time:
        message = f"jobs of team `{team.name}` run for {team.max_run_time} seconds at most"
        yield problem_at("max-run-time", source.where((*path, "runs_for")), message, "shorten it")


def _name(case: str, name: str, workload: Workload, source: Layered, path: Path_) -> Iterator[Finding]:
    """A Job's pods are named by their index too, and are hosts."""
    steps = f"-elastic-{len(counts(workload.elastic)) - 1}" if workload.elastic else ""
    pods = workload.elastic.max if workload.elastic else workload.pods
    longest = f"{job_name(case, name)}{steps}-{pods - 1}"
    if workload.kind == "job" and len(longest) > HOST_LIMIT:
        message = f"a pod would be the host `{longest}`, of {len(longest)} characters; at most {HOST_LIMIT}"
        yield problem_at("name-too-long", source.where(path, key=True), message, "shorten the case's name or the workload's")


def _priorities(workload: Workload, cluster: ClusterPlan, source: Layered, path: Path_) -> Iterator[Finding]:
    values = {planned.declared: planned.value for planned in cluster.priority_classes}
    for field in ("priority", "elastic_priority"):
        name = getattr(workload, field)
        if name is not None and name not in values:
            yield unknown("priority class", name, values, source, (*path, field))
    if workload.elastic is not None:
        yield from _ranks(workload, values, source, path)
    elif workload.elastic_priority is not None:
        message = "only an elastic job has an `elastic_priority`"
        yield problem_at("elastic-priority", source.where((*path, "elastic_priority"), key=True), message, "write `elastic` too")


def _ranks(workload: Workload, values: Mapping[str, int], source: Layered, path: Path_) -> Iterator[Finding]:
    """The elastic part ranks below the base."""
    classes = (workload.priority, workload.elastic_priority)
    if any(name is not None and name not in values for name in classes):
        return
    base, above = (0 if name is None else values[name] for name in classes)
    if above >= base:
        message = "the elastic part must rank below the base, or a reclaim takes the base too"
        field = "elastic" if workload.elastic_priority is None else "elastic_priority"
        yield problem_at("elastic-priority", source.where((*path, field)), message, "give the base a class of a higher weight")


def _kind(workload: Workload, source: Layered, path: Path_) -> Iterator[Finding]:
    """Fields that this kind of workload doesn't have."""
    if workload.kind == "job":
        return
    shown = f"a {workload.kind}"
    for field, why in (("runs_for", "runs without end"), ("elastic", "doesn't train"), ("topology", "is placed pod by pod")):
        if getattr(workload, field) is not None:
            where = source.where((*path, field), key=True)
            yield problem_at("kind-field", where, f"{shown} {why}: it has no `{field}`", "remove it, or make it a job")
    if workload.kind == "space" and workload.pods != 1:
        message = "a space is the one pod of one person"
        yield problem_at("space-pods", source.where((*path, "pods")), message, "declare a space for each person")


def _frameworks(workload: Workload, cluster: ClusterPlan, source: Layered, path: Path_) -> Iterator[Finding]:
    """Kueue lets pass what is of a kind that it doesn't integrate: it would run beside every quota."""
    asked = cluster.manager["integrations"]["frameworks"]
    missing = [name for name in _FRAMEWORKS[workload.kind] if name not in asked]
    if missing:
        message = f"a {workload.kind} is governed by the frameworks {' and '.join(missing)}, which Kueue doesn't have here"
        where = source.where((*path, "kind")) if workload.kind != "job" else source.where(path, key=True)
        yield problem_at("kind-framework", where, message, f"add them to `kueue.frameworks` of the cluster `{cluster.name}`")


def _elastic(elastic: Elastic, workload: Workload, source: Layered, path: Path_) -> Iterator[Finding]:
    if "pods" in workload.model_fields_set:
        message = "an elastic job has `min` to `max` pods"
        yield problem_at("elastic-pods", source.where((*path, "pods"), key=True), message, "remove `pods`")
    where = source.where((*path, "elastic"))
    if (elastic.step is None) == (not elastic.values):
        yield problem_at("elastic-counts", where, "exactly one of step and values is meant", "keep one")
    elif elastic.min >= elastic.max:
        yield problem_at("elastic-counts", where, f"the job can't grow from {elastic.min} to {elastic.max}", "raise `max`")
    elif elastic.step and (elastic.max - elastic.min) % elastic.step:
        message = f"steps of {elastic.step} don't lead from {elastic.min} to {elastic.max}"
        yield problem_at("elastic-counts", where, message, "change `step`, or name the counts as `values`")
    elif elastic.values and list(elastic.values) != sorted({*elastic.values, elastic.min, elastic.max}):
        message = f"the values must rise from {elastic.min} to {elastic.max}"
        yield problem_at("elastic-counts", source.where((*path, "elastic", "values")), message, "list each count once, ascending")
    elif len(counts(elastic)) > _STEPS:
        message = f"the job grows in {len(counts(elastic)) - 1} steps, each a Job of its own; at most {_STEPS - 1} are played"
        yield problem_at("elastic-counts", where, message, "take larger steps")


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
