"""A job against the plan: the team's quota and reach, the nodes that there are, and the blocks that they stand in."""

from __future__ import annotations

from collections.abc import Iterator

from config.findings import Finding, Severity, Where, has_errors, problem_at
from config.groups import HyperPodGroup
from governance.jobs.amounts import fitting, group_rooms
from governance.jobs.model import Resolved
from governance.model import FlavorQuota
from governance.names import GROUP_LABEL, REQUIRED_TOPOLOGY
from governance.nodes import NodeSpec, nodes
from governance.units import CPU, EFA, MEMORY, PODS, is_device, shown, times, total


def placement_findings(job: Resolved, *, fits: bool) -> Iterator[Finding]:
    """Everything that the plan says of the job; `fits`: whether its pods fit on a node at all."""
    quota = list(_quota(job))
    yield from quota
    if fits and job.cluster.dispatch is None:  # a manager has no nodes
        yield from () if has_errors(quota) else _nodes(job)
        yield from _blocks(job)


def _counted(job: Resolved) -> str:
    """The option that says how many pods there are."""
    if job.sizes:
        return "--min-replicas"
    return "--nodes" if job.order.nodes is not None else "--pods"


def demand(job: Resolved, workers: int) -> dict[str, dict[str, int]]:
    """What the job asks for with this many workers, by instance type, in base units and pods."""
    result: dict[str, dict[str, int]] = {}
    for index, found in enumerate(job.pod_sets):
        count = workers if index == 0 else found.count
        asked = total((times(found.resources, count), {PODS: count}))
        result[found.instance_type] = total((result.get(found.instance_type, {}), asked))
    return result


def _quota(job: Resolved) -> Iterator[Finding]:
    most = job.sizes[-1] if job.sizes else job.pods
    for name, asked in demand(job, job.pods).items():
        flavor = next(flavor for flavor in job.team.flavors if flavor.instance_type == name)
        yield from _uncovered(job, asked)
        short = _beyond(job, flavor, asked)
        for resource, reach in short.items():
            message = (
                f"{_who(job)} asks for {shown(resource, asked[resource])} {resource} of {name}; with all other teams idle, "
                f"team `{job.team.name}` can have {shown(resource, reach)}"
            )
            yield problem_at("job-too-large", Where(_counted(job)), message, _smaller(job, name, resource, reach))
        if not short:
            yield from _borrowing(job, flavor, asked)
    if job.sizes and most > job.pods:
        yield from _growth(job, most)


def _who(job: Resolved) -> str:
    return "the job at its least" if job.sizes else "the job"


def _uncovered(job: Resolved, asked: dict[str, int]) -> Iterator[Finding]:
    left_out = job.cluster.kueue.exclude_resources
    for resource in asked:
        if resource not in job.team.covered and resource != PODS and not resource.startswith(tuple(left_out)):
            options = {CPU: "--vcpu", MEMORY: "--memory-gib", EFA: "--efa"}
            option = options.get(resource, "--partition" if resource.startswith("nvidia.com/mig-") else "--accelerators")
            message = f"the queue of team `{job.team.name}` doesn't count {resource}: Kueue never admits a job that asks for it"
            counted = ", ".join(job.team.covered)
            yield problem_at(
                "job-uncovered", Where(option), message, f"leave it out, or name it in the quota; it counts {counted}"
            )


def _beyond(job: Resolved, flavor: FlavorQuota, asked: dict[str, int]) -> dict[str, int]:
    """By resource, the most that the team can ever have, where the job asks for more; devices tell enough."""
    reach = {quota.resource: job.team.largest[flavor.flavor, quota.resource] for quota in flavor.quotas}
    short = {resource: reach[resource] for resource, amount in asked.items() if amount > reach.get(resource, amount)}
    devices = {resource: most for resource, most in short.items() if is_device(resource)}
    return devices or short


def _pods_within(job: Resolved, name: str, resource: str, reach: int) -> int:
    """How many workers have room within the reach on an instance type, beside the job's other pods there; 0 for none."""
    if name != job.workers.instance_type:
        return 0
    each = job.workers.resources.get(resource, 1 if resource == PODS else 0)
    others = demand(job, 0).get(name, {}).get(resource, 0)
    return max(0, reach - others) // each if each else 0


def _smaller(job: Resolved, name: str, resource: str, reach: int) -> str:
    pods = _pods_within(job, name, resource, reach)
    least = f"{pods} such pods at most" if pods else f"{shown(resource, reach)} at most"
    return f"ask for {least}; or raise the team's quota or borrow limit (`hpctl quotas --team {job.team.name}`)"


def _growth(job: Resolved, most: int) -> Iterator[Finding]:
    name = job.workers.instance_type
    flavor = next(flavor for flavor in job.team.flavors if flavor.instance_type == name)
    for resource, reach in _beyond(job, flavor, demand(job, most)[name]).items():
        message = f"at {most} pods the job asks for more {resource} than the {shown(resource, reach)} that its team can ever have"
        remedy = f"it never grows beyond {_pods_within(job, name, resource, reach)} pods: lower --max-replicas"
        yield Finding("job-growth", Severity.WARNING, Where("--max-replicas"), message, remedy)
        return


def _borrowing(job: Resolved, flavor: FlavorQuota, asked: dict[str, int]) -> Iterator[Finding]:
    """More than the guarantee: told for what people count in."""
    nominal = flavor.nominal()
    over = {resource: amount - nominal.get(resource, 0) for resource, amount in asked.items() if resource != PODS}
    over = {resource: amount for resource, amount in over.items() if amount > 0 and resource in nominal}
    tell = next((resource for resource in over if is_device(resource)), next(iter(over), None))
    if tell is None:
        return
    name = flavor.instance_type
    message = (
        f"{_who(job)} asks for {shown(tell, asked[tell])} {tell} of {name}, {shown(tell, nominal[tell])} are guaranteed: "
        "it waits until others leave the rest idle, and may be preempted when they want it back"
    )
    weights = [team.weight for team in job.cluster.teams.values()]
    if job.cluster.policy.idle_compute == "fair_share" and not job.team.weight and any(weights):
        message += f"; with the weight 0, team `{job.team.name}` is the first to give back"
    remedy = "stay within the guarantee, or save checkpoints"
    yield Finding("job-borrows", Severity.ADVICE, Where(_counted(job)), message, remedy)


def _autoscaled(job: Resolved) -> bool:
    groups = [group for group in job.cluster.groups.values() if group.instance_type == job.type.name]
    return any(isinstance(group, HyperPodGroup) and group.autoscaled for group in groups)


def _places(job: Resolved) -> list[tuple[NodeSpec, int]]:
    """The nodes of the type, and how many of the pods each has room for."""
    by_group = {name: fitting(job.workers.resources, room) for name, room in group_rooms(job.type, job.cluster).items()}
    return [(node, by_group[node.labels[GROUP_LABEL]]) for node in nodes(job.cluster) if node.labels[GROUP_LABEL] in by_group]


def _nodes(job: Resolved) -> Iterator[Finding]:
    """Quota admits it, and there are too few nodes: it waits, which is what some plan for."""
    if _autoscaled(job):
        return
    there = sum(count for _, count in _places(job))
    if job.pods > there:
        message = (
            f"the nodes of {job.type.name} on `{job.cluster.name}` have room for {there} such pods; {job.pods} are asked for"
        )
        yield Finding(
            "job-no-nodes", Severity.WARNING, Where(_counted(job)), message, "add nodes, or ask for fewer or smaller pods"
        )


def _blocks(job: Resolved) -> Iterator[Finding]:
    """A required block that is smaller than the job. How nodes of a real cluster stand is known to their labels alone."""
    if job.topology is None or job.topology[0] != REQUIRED_TOPOLOGY or not job.kind.ends or _autoscaled(job):
        return
    level, blocks = job.topology[1], dict[str, int]()
    for node, count in _places(job):
        if level in node.labels:
            blocks[node.labels[level]] = blocks.get(node.labels[level], 0) + count
    largest = max(blocks.values(), default=0)
    if not blocks or largest >= job.pods:
        return
    message = (
        f"all {job.pods} pods shall stand in one block of {level}; the largest of {len(blocks)} has room for {largest} of them"
    )
    where = Where("--required-topology")
    remedy = f"ask for {largest} pods, for a farther layer, or use --preferred-topology"
    if job.cluster.declared.kind == "existing" and job.cluster.declared.sandbox:
        yield problem_at("job-block", where, message, remedy)
    else:
        assumed = f"by the declared layout, {message}"
        yield Finding("job-block-assumed", Severity.WARNING, where, assumed, f"{remedy}; `hpctl topology` shows the real one")
