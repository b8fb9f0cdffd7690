"""From options to a job that the plan can place, and everything that stands against it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError

from config.findings import Finding, Severity, Where, did_you_mean, has_errors, problem_at, quoted
from config.vocabulary import Seconds
from governance.jobs.amounts import amount_findings, fit_findings, pod_resources
from governance.jobs.checks import placement_findings
from governance.jobs.elastic import sizes_of
from governance.jobs.hyperpod import entry_findings
from governance.jobs.kinds import HYPERPOD_JOB_FRAMEWORK, KINDS, MANAGED_FRAMEWORKS, Kind
from governance.jobs.lookups import cluster_of, levels_of, type_of
from governance.jobs.model import MOST_PODS, Order, PodSet, Resolved
from governance.jobs.options import command_of, env_of, option_findings
from governance.jobs.podsets import pod_sets
from governance.model import ClusterPlan, Plan, PriorityClassPlan, TeamPlan
from governance.names import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from governance.units import shown

_NETWORK_LAYER = "topology.k8s.aws/network-node-layer-"
_LAYER = re.compile(r"layer-?([1-9])\Z")
_LEVELS = {"host": "kubernetes.io/hostname", "hostname": "kubernetes.io/hostname", "node": "kubernetes.io/hostname"}
_LEVELS |= {"ultraserver": "topology.k8s.aws/ultraserver-id", "zone": "topology.kubernetes.io/zone"}


def resolve(order: Order, plan: Plan) -> tuple[Resolved | None, list[Finding]]:
    """The job on its cluster, and all findings; None where errors leave nothing to place."""
    order = replace(order, whole_node=order.whole_node or order.nodes is not None)
    kind = KINDS.get(order.kind)
    found = list(option_findings(order, kind))
    cluster = cluster_of(order, plan, found)
    team = cluster.teams.get(order.team) if cluster else None
    type_ = type_of(order, cluster, team, found)
    priority = _priority("--priority", order.priority, cluster, team, found)
    lower = _elastic_priority(order, kind, cluster, priority, found)
    level = _topology(order, kind, levels_of(order, cluster, type_, plan) if cluster and type_ else None, found)
    run_time = _run_time(order, kind, team, found)
    if cluster and kind:
        found.extend(_frameworks(kind, cluster, plan.backend))
    amounts = list(amount_findings(order, type_)) if type_ is not None else []
    found.extend(amounts)
    sizes = sizes_of(order.elastic) if kind is not None and kind.elastic else ()
    count = sizes[0] if sizes else next((n for n in (order.nodes, order.pods) if n is not None), 1)
    if cluster is None or team is None or kind is None or type_ is None or has_errors(amounts) or not 1 <= count <= MOST_PODS:
        return None, found
    many = kind.ends and not kind.single and (sizes[-1] if sizes else count) > 1
    resources = pod_resources(order, type_, cluster, team.covered, many=many)
    unfit = list(fit_findings(resources, type_, cluster))
    found.extend(unfit)
    sets, notes = pod_sets(kind, PodSet("workers", count, resources, type_.name), cluster, team)
    job = Resolved(
        order=order,
        kind=kind,
        cluster=cluster,
        team=team,
        type=type_,
        pod_sets=sets,
        priority=priority,
        elastic_priority=lower if sizes else None,
        topology=level,
        command=command_of(order),
        env=env_of(order),
        run_time=run_time,
        sizes=sizes,
        notes=(*_filled(order, resources), *notes, *_dispatched(kind, cluster, many=many)),
    )
    found.extend(placement_findings(job, fits=not unfit))
    found.extend(entry_findings(job))
    return (None if has_errors(found) else job), found


def _dispatched(kind: Kind, cluster: ClusterPlan, *, many: bool) -> tuple[str, ...]:
    if kind.name != "job" or not many or cluster.dispatch is None:
        return ()
    return (
        f"`{cluster.name}` hands the Job over to a worker, not its Service: create that on the workers, or use --kind jobset",
    )


def _filled(order: Order, resources: dict[str, int]) -> tuple[str, ...]:
    """Amounts that nobody gave, in words."""
    given = (order.accelerators, order.vcpu, order.memory_gib)
    if None not in given and order.efa is not None:
        return ()
    words = ", ".join(f"{resource} {shown(resource, amount)}" for resource, amount in resources.items())
    return (f"each pod: {words}",)


def _priority(
    option: str, given: str | None, cluster: ClusterPlan | None, team: TeamPlan | None, found: list[Finding]
) -> PriorityClassPlan | None:
    """By the declared class or by the object's name; default the team's."""
    if cluster is None:
        return None
    classes = cluster.priority_classes
    if given is None:
        own = team.default_priority if team else None
        chosen = next((one for one in classes if one.name == own), None)
        if chosen is None and classes and team is not None:
            message = "the job has no priority class: Kueue takes its priority for 0"
            remedy = f"give {option}: {_words(one.declared for one in classes)}"
            found.append(Finding("job-priority", Severity.ADVICE, Where(option), message, remedy))
        return chosen
    chosen = next((one for one in classes if given in (one.declared, one.name)), None)
    if chosen is None:
        remedy = did_you_mean(given, [one.declared for one in classes]) or "the environment declares no priority classes"
        message = f"there is no priority class {quoted(given)}"
        found.append(problem_at("priority-class-unknown", Where(option), message, remedy))
    return chosen


def _words(names: Iterable[str]) -> str:
    return ", ".join(names)


def _elastic_priority(
    order: Order, kind: Kind | None, cluster: ClusterPlan | None, base: PriorityClassPlan | None, found: list[Finding]
) -> PriorityClassPlan | None:
    """The class of the part that comes and goes: the lowest of the environment, unless another is named.

    For Jobs alone: HyperPod's operator ranks the Workloads that it makes.
    """
    option = "--elastic-priority"
    if kind is not None and kind.name != "job":
        if order.elastic_priority is not None and order.elastic.asked:
            remedy = "leave it out, or use --kind job"
            found.append(problem_at("job-elastic", Where(option), f"a {kind.kind} ranks its elastic part itself", remedy))
        return None
    if cluster is None or not cluster.priority_classes or not order.elastic.asked:
        return None
    if order.elastic_priority is not None:
        chosen = _priority(option, order.elastic_priority, cluster, None, found)
    else:
        chosen = min(cluster.priority_classes, key=lambda one: one.value)
    known = base is not None or order.priority is None
    if chosen is not None and known and chosen.value >= (base.value if base else 0):
        ranks = f"{base.declared} ({base.value})" if base else "no class (0)"
        message = (
            f"the elastic part ranks with {chosen.declared} ({chosen.value}), the base with {ranks}: both may be taken alike"
        )
        remedy = f"give --priority a class above {chosen.declared}, or {option} one below"
        found.append(Finding("job-elastic-priority", Severity.WARNING, Where(option), message, remedy))
    return chosen


def level_of(given: str) -> str:
    """The node label that a level means: `layer-3`, `host`, or a label as it is."""
    layer = _LAYER.match(given)
    return f"{_NETWORK_LAYER}{layer[1]}" if layer else _LEVELS.get(given, given)


def _short(level: str) -> str:
    """A level as it is named most shortly."""
    number = level.removeprefix(_NETWORK_LAYER)
    return f"layer-{number}" if number != level else next((name for name, label in _LEVELS.items() if label == level), level)


def _topology(order: Order, kind: Kind | None, levels: tuple[str, ...] | None, found: list[Finding]) -> tuple[str, str] | None:
    """The annotation and its level; `levels` are those of the type, None where they aren't known."""
    modes = {
        "--required-topology": (REQUIRED_TOPOLOGY, order.required_topology),
        "--preferred-topology": (PREFERRED_TOPOLOGY, order.preferred_topology),
    }
    given = {option: (annotation, level) for option, (annotation, level) in modes.items() if level is not None}
    if len(given) > 1:
        message = "pods are placed by one of --required-topology and --preferred-topology"
        found.append(problem_at("topology-mode", Where("--required-topology"), message, "keep one"))
    if given and kind is not None and kind.name == "space":
        remedy = "leave it out: one pod stands in one block anyway"
        found.append(problem_at("job-option", Where(next(iter(given))), "a Workspace has no place for a topology", remedy))
    chosen = None
    for option, (annotation, name) in given.items():
        level = level_of(name)
        chosen = chosen or (annotation, level)
        if levels is not None and level not in levels:
            message = f"{quoted(name)} is no level of the topology of {order.instance_type}"
            remedy = (
                f"it has {_words(map(_short, levels))}"
                if levels
                else f"{order.instance_type} has no topology here: leave {option} out"
            )
            found.append(problem_at("topology-level", Where(option), message, remedy))
    return chosen


def _run_time(order: Order, kind: Kind | None, team: TeamPlan | None, found: list[Finding]) -> int | None:
    """Seconds: as given, else the team's limit, for work that ends."""
    where, limit = Where("--max-run-time"), team.max_run_time if team else None
    if order.max_run_time is None:
        return limit if kind is None or kind.ends else None
    if kind is not None and not kind.ends:
        found.append(problem_at("job-option", where, f"a {kind.kind} has no end", "leave it out"))
        return None
    try:
        seconds: int = TypeAdapter(Seconds).validate_python(order.max_run_time)
    except ValidationError:
        message = f"{quoted(order.max_run_time)} is not a duration"
        found.append(problem_at("job-option", where, message, "write days, hours, minutes and seconds, as in 90m or 1d12h"))
        return None
    if limit is not None and seconds > limit:
        message = f"jobs of team `{order.team}` run for {limit} seconds at most; {seconds} are asked for"
        found.append(problem_at("max-run-time", where, message, "shorten it, or leave it out"))
    return seconds


def _frameworks(kind: Kind, cluster: ClusterPlan, backend: str) -> list[Finding]:
    """Kueue that passes over the kind: the job would run beside every quota, or stay suspended for ever."""
    where = Where("--kind")
    if backend == "managed":
        missing = [name for name in kind.frameworks if name not in MANAGED_FRAMEWORKS]
        if not missing:
            return []
        message = f"AWS doesn't say that its task governance queues {missing[0]}"
        remedy = "try one, and look whether a Workload appears; job, pytorchjob, hyperpodpytorchjob and rayjob are documented"
        return [Finding("job-framework-managed", Severity.WARNING, where, message, remedy)]
    integrations = cluster.manager["integrations"]
    on = {name.lower() for name in (*integrations["frameworks"], *integrations.get("externalFrameworks", ()))}
    missing = [name for name in kind.frameworks if name.lower() not in on]
    if not missing:
        return []
    setting = "external_frameworks" if HYPERPOD_JOB_FRAMEWORK in missing else "frameworks"
    message = f"the Kueue of `{cluster.name}` doesn't queue {kind.kind}: {', '.join(missing)} is off"
    remedy = f"add it to kueue.{setting} of the environment's cluster, or use another kind"
    return [problem_at("job-framework", where, message, remedy)]
