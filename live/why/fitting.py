"""The steps in which Kueue assigns flavors: what is covered, which flavors suit, what quota is left, where nodes have room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from governance.sharing import Cell
from governance.units import PODS
from live.podamounts import pod_amounts
from live.why import remedies
from live.why.amounts import words
from live.why.context import Context, Need
from live.why.dispatch import dispatches
from live.why.fairness import claim
from live.why.flavors import Choice, Demand, Option, demand
from live.why.model import Cause, Reason, Remedy, Shortage, When
from live.why.placement import UNLABELLED, Placement, Site, sites_of
from live.why.remedies import Trial, lacks

_NAMED = 6


def unfitting(context: Context) -> Iterator[Cause]:
    """Why quota or nodes don't take the workload, what never changes by itself first; nothing where it fits now."""
    asked = demand(context.snapshot, context.workload, context.queue)
    if asked.uncovered:
        yield _uncovered(context, asked)
        return
    needs: list[Need] = []
    wrong: list[Cause] = []
    for choice in asked.choices:
        need = _best(context, choice, needs)
        if need is None:
            wrong.append(_mismatch(context, choice))
        else:
            needs.append(need)
    if wrong:
        yield from wrong
        return
    # Where a manager dispatches, its workers have the nodes, and look themselves.
    sites = [None for _ in needs] if dispatches(context) else sites_of(context.snapshot, ((n.pod_set, n.flavor) for n in needs))
    trial = Trial(context, needs, sites)
    found = [cause for need, site in zip(needs, sites, strict=True) for cause in _of(trial, need, site)]
    yield from sorted(found, key=lambda cause: cause.when is not When.NEVER)


def _of(trial: Trial, need: Need, site: Site | None) -> Iterator[Cause]:
    """Quota, and nodes; where quota is short, not that others run there: whose end helps has been checked on both."""
    short, placed = list(_short(trial, need)), list(_placed(trial, need, site))
    yield from short
    yield from (one for one in placed if not short or one.when is When.NEVER or one.reason is not Reason.TOPOLOGY_BLOCK)


def _uncovered(context: Context, asked: Demand) -> Cause:
    names = ", ".join(asked.uncovered)
    covered = sorted({r for group in context.queue["spec"].get("resourceGroups") or () for r in group["coveredResources"]})
    message = f"it asks for {names}, of which queue {context.name} has no quota: it covers {', '.join(covered) or 'nothing'}"
    drop = Remedy("lower", f"take {names} out of the pods' requests", field="requests", value=names)
    place_ = f"the quota of {context.who}" if context.declared else f"spec.resourceGroups of ClusterQueue {context.name}"
    cover = Remedy("change", f"add {names} to {place_}", field="resourceGroups", value=names)
    skip = Remedy("change", f"let Kueue not count {names}: resources.excludeResourcePrefixes of its configuration")
    return Cause(
        Reason.RESOURCE_NOT_COVERED,
        When.NEVER,
        message,
        remedies=(drop, cover, skip),
        numbers={"resources": list(asked.uncovered)},
    )


def _mismatch(context: Context, choice: Choice) -> Cause:
    why = "; ".join(option.mismatch for option in choice.options)
    message = f"no flavor of queue {context.name} suits its pods: {why}"
    fix = Remedy("fix", "mend the pods' node selector, tolerations or topology annotation, or give the queue quota of such nodes")
    flavors = {option.flavor: option.mismatch for option in choice.options}
    return Cause(Reason.FLAVOR_MISMATCH, When.NEVER, message, remedies=(fix,), numbers={"flavors": flavors})


def _best(context: Context, choice: Choice, earlier: Sequence[Need]) -> Need | None:
    """The flavor that is nearest to taking the pod set: one that fits, one that may later, one that never will."""
    free, most = context.quotas.free(context.name), context.quotas.most(context.name)
    suitable = [_need(choice, option, earlier) for option in choice.options if not option.mismatch]

    def distance(need: Need) -> int:
        wanted = need.total()
        if all(free.get(cell, 0) >= amount for cell, amount in wanted.items()):
            return 0
        return 1 if all(most.get(cell, 0) >= amount for cell, amount in wanted.items()) else 2

    return min(suitable, key=distance, default=None)


def _need(choice: Choice, option: Option, earlier: Sequence[Need]) -> Need:
    assumed: dict[Cell, int] = {}
    for need in earlier:
        for cell, amount in need.option.needs.items():
            assumed[cell] = assumed.get(cell, 0) + amount
    return Need(choice.pod_set, option, {cell: assumed.get(cell, 0) for cell in option.needs})


# -- quota ---------------------------------------------------------------------------------------------------------------


def _short(trial: Trial, need: Need) -> Iterator[Cause]:
    context = trial.context
    shortages = [one for one in _shortages(context, need) if one.missing > 0]
    if not shortages:
        return
    free, most = context.quotas.free(context.name), context.quotas.most(context.name)
    never = [one for one in shortages if one.needed > one.most]
    if never:
        text = f"{lacks(never[0])}; with all others idle it can have {words(never[0].resource, never[0].most)}"
        options = (
            *remedies.lower(trial, need, most, " (the most that quotas ever allow)"),
            *remedies.borrow(trial, need, shortages),
            *remedies.quota(trial, need, shortages),
        )
        yield Cause(Reason.NEVER_FITS, When.NEVER, text, tuple(shortages), options)
        return
    reason, text = _binding(context, need, shortages)
    weights = _weights(context, shortages)
    options = (*remedies.finish(trial, weights), *remedies.lower(trial, need, free))
    if reason in (Reason.BORROW_LIMIT, Reason.QUOTA):
        options += tuple(remedies.borrow(trial, need, shortages))
    options += tuple(remedies.quota(trial, need, shortages))
    yield Cause(reason, When.LATER, text, tuple(shortages), options)


def _shortages(context: Context, need: Need) -> list[Shortage]:
    free, most = context.quotas.free(context.name), context.quotas.most(context.name)
    used = context.quotas.used()
    own = context.quotas.queues[context.name]
    found = []
    for cell, needed in need.total().items():
        quota = own.cells[cell]
        mine = used.get(context.name, {}).get(cell, 0)
        could = free.get(cell, 0)
        borrowers = {
            context.owner(name): used.get(name, {}).get(cell, 0) - context.quotas.queues[name].cells[cell].nominal
            for name in context.quotas.siblings(context.name)
            if cell in context.quotas.queues[name].cells
            and used.get(name, {}).get(cell, 0) > context.quotas.queues[name].cells[cell].nominal
        }
        found.append(
            Shortage(
                flavor=cell[0],
                resource=cell[1],
                needed=needed,
                free=could,
                nominal=quota.nominal,
                used=mine,
                most=most.get(cell, 0),
                borrowing_limit=quota.borrowing_limit if own.parent is not None else 0,
                could_borrow=max(0, could - max(0, quota.nominal - mine)),
                borrowers=borrowers,
            )
        )
    return found


def _binding(context: Context, need: Need, shortages: Sequence[Shortage]) -> tuple[Reason, str]:
    """Which limit keeps it out: its own first, for nobody else's end helps against that."""
    own = [
        one for one in shortages if one.borrowing_limit is not None and one.used + one.needed > one.nominal + one.borrowing_limit
    ]
    if own:
        one = own[0]
        if not one.borrowing_limit:
            return Reason.QUOTA, f"the quota of {context.who} is used, and it can't borrow: {lacks(one)}"
        return Reason.BORROW_LIMIT, f"{context.who} may not borrow that much: {lacks(one)}"
    one = shortages[0]
    if all(short.used + short.needed <= short.nominal for short in shortages):
        return Reason.QUOTA_LENT, f"what {context.who} owns is lent to others and not free yet: {lacks(one)}"
    fair = claim(context, need, one) if context.fair() else ""
    if fair:
        return Reason.FAIR_SHARE_BEHIND, f"{fair}: {lacks(one)}"
    return Reason.COHORT_QUOTA, f"others don't leave enough idle that {context.who} could borrow: {lacks(one)}"


def _weights(context: Context, shortages: Sequence[Shortage]) -> dict[str, int]:
    """What each workload of its tree holds of what is short, in thousandths of what is missing."""
    near = {context.name, *context.quotas.siblings(context.name)}
    found: dict[str, int] = {}
    for uid, (queue, cells) in context.quotas.held.items():
        if queue in near:
            held = sum(1000 * cells.get((one.flavor, one.resource), 0) // max(1, one.missing) for one in shortages)
            if held:
                found[uid] = held
    return found


# -- nodes ---------------------------------------------------------------------------------------------------------------


def _placed(trial: Trial, need: Need, site: Site | None) -> Iterator[Cause]:
    context = trial.context
    found = site.placement() if site is not None else None
    if found is None or found.fits:
        return
    numbers = {
        name: getattr(found, name) for name in ("flavor", "topology", "level", "wanted", "best", "domain", "ever", "per_node")
    }
    asks = ", ".join(words(r, n) for r, n in pod_amounts(need.pod_set["template"]["spec"]).items() if r != PODS)
    if not found.per_node:
        message = f"each of its pods asks for {asks}; no node of flavor {need.flavor} has that for pods, even when empty"
        remedy = Remedy("lower", f"ask for what a node has for pods: {_allocatable(context, need.flavor)}", field="requests")
        yield Cause(Reason.NEVER_FITS, When.NEVER, message, remedies=(remedy,), numbers=numbers)
        return
    if found.mended >= found.wanted or (found.ever < found.wanted <= found.mended_ever):
        yield _mendable(found, numbers)
        return
    block = f"one block ({found.level})" if found.level else f"the nodes of {need.flavor}"
    ever = f"{found.ever} even with nothing running" if found.ever < found.wanted else f"{found.ever} with nothing running"
    message = f"{block} would have to hold its {found.wanted} pods of {asks}: the best holds {found.best} now, {ever}"
    lower = _lower(found, now=found.ever >= found.wanted)
    if found.ever < found.wanted:
        looser = Remedy("change", f"ask for a farther level than {found.level}, or make it preferred") if found.level else None
        nodes = (
            Remedy("change", f"add nodes: flavor {need.flavor} holds {found.ever} such pods in all") if not found.level else None
        )
        options = tuple(one for one in (lower, looser, nodes) if one)
        yield Cause(Reason.TOPOLOGY_BLOCK, When.NEVER, message, remedies=options, numbers=numbers)
        return
    ends = tuple(remedies.finish(trial, _on_nodes(context, need.flavor)))
    yield Cause(Reason.TOPOLOGY_BLOCK, When.LATER, message, remedies=(*ends, *((lower,) if lower else ())), numbers=numbers)


def _mendable(found: Placement, numbers: Mapping[str, object]) -> Cause:
    named = [f"{node} {why}" for node, why in found.troubles[:_NAMED]]
    more = f" and {len(found.troubles) - _NAMED} more" if len(found.troubles) > _NAMED else ""
    message = (
        f"{found.best} of its {found.wanted} pods have room on nodes that take part; "
        f"{found.mended} would if these did too: {', '.join(named)}{more}"
    )
    labels = any(why == UNLABELLED for _, why in found.troubles)
    ask = "label the nodes, or bring them back" if labels else "bring the nodes back: they must be Ready and not cordoned"
    when = When.NEVER if labels else When.LATER
    nodes = {"nodes": dict(found.troubles), "mended": found.mended}
    return Cause(Reason.NODE_NOT_READY, when, message, remedies=(Remedy("fix", ask, checked=True),), numbers={**numbers, **nodes})


def _lower(found: Placement, *, now: bool) -> Remedy | None:
    most = found.best if now else found.ever
    within = f" in one {found.level}" if found.level else ""
    if not most:
        return None
    idle = "" if now else " when nothing else runs"
    text = f"lower it to at most {most} of {found.wanted} pods, for which there is room{within}{idle}"
    return Remedy("lower", text, field="count", value=str(most), checked=True)


def _on_nodes(context: Context, flavor: str) -> dict[str, int]:
    """Workloads on the flavor's nodes, by what they hold of it."""
    found = {}
    for uid, (_, cells) in context.quotas.held.items():
        held = sum(amount for cell, amount in cells.items() if cell[0] == flavor and cell[1].count("/"))
        if held or any(cell[0] == flavor for cell in cells):
            found[uid] = held + 1
    return found


def _allocatable(context: Context, flavor: str) -> str:
    from live.podamounts import amounts_of

    labels = (context.snapshot.flavors[flavor]["spec"].get("nodeLabels") or {}).items()
    nodes = [n for n in context.snapshot.nodes.values() if labels <= (n["metadata"].get("labels") or {}).items()]
    most: dict[str, int] = {}
    for node in nodes:
        for resource, amount in amounts_of((node.get("status") or {}).get("allocatable")).items():
            most[resource] = max(most.get(resource, 0), amount)
    return ", ".join(words(r, n) for r, n in most.items() if r != PODS) or "there is no such node"
