"""What would let a workload in, each checked by doing the arithmetic again with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from governance.sharing import Cell, Quota
from live.why.amounts import number, quantity_of, words
from live.why.context import Context, Need
from live.why.declared import Change
from live.why.dispatch import dispatches
from live.why.model import Remedy, Shortage
from live.why.objects import Object, condition, full_name, queue_order, shown, uid_of
from live.why.placement import Site

_CANDIDATES = 150
"""Workloads that are tried: those that hold most of what is short."""
_ALTERNATIVES = 3
"""Of workloads each of which is enough alone, how many are told."""
_NAMED = 6


@dataclass(frozen=True, slots=True)
class Trial:
    """The workload's needs, to be tried against a changed cluster."""

    context: Context
    needs: Sequence[Need]
    sites: Sequence[Site | None]
    """The nodes for each need; None where no topology counts."""

    def fits(self, without: Collection[str] = (), changed: Mapping[Cell, Quota] | None = None) -> bool:
        """Whether quota and nodes would take it if these workloads (UIDs) ended, or with these quotas."""
        free = self.context.quotas.free(self.context.name, without, changed)
        if any(free.get(cell, 0) < amount for need in self.needs for cell, amount in need.total().items()):
            return False
        return changed is not None or all(site is None or site.fits(without) for site in self.sites)


def finish(trial: Trial, weights: Mapping[str, int]) -> Iterator[Remedy]:
    """Workloads whose end is enough: single ones, or else the fewest found. `weights`: what each (UID) holds of what is short."""
    quotas, snapshot = trial.context.quotas, trial.context.snapshot
    mine = trial.context.name
    known = {uid_of(one): one for one in snapshot.workloads.values() if uid_of(one) in weights}
    order = sorted(known, key=lambda uid: (weights[uid], quotas.held[uid][0] == mine, uid), reverse=True)[:_CANDIDATES]
    alone = [uid for uid in reversed(order) if trial.fits((uid,))]
    if alone:
        for uid in alone[:_ALTERNATIVES]:
            yield _finish(trial.context, [known[uid]])
        return
    chosen: list[str] = []
    for uid in order:
        chosen.append(uid)
        if trial.fits(chosen):
            for each in list(chosen[:-1]):
                rest = [one for one in chosen if one != each]
                if trial.fits(rest):
                    chosen = rest
            yield _finish(trial.context, [known[one] for one in chosen])
            return


def _finish(context: Context, workloads: Sequence[Object]) -> Remedy:
    parts = [f"{shown(one)} ({context.owner(context.snapshot.queue_name(one))}{_until(one)})" for one in workloads[:_NAMED]]
    more = f" and {len(workloads) - _NAMED} more" if len(workloads) > _NAMED else ""
    verb = "ends" if len(workloads) == 1 else "all end"
    text = f"it fits once {', '.join(parts)}{more} {verb}"
    return Remedy("finish", text, workloads=tuple(full_name(one) for one in workloads), checked=True)


def _until(workload: Object) -> str:
    """By when a workload ends at the latest, where its running time is limited."""
    limit = workload["spec"].get("maximumExecutionTimeSeconds")
    begun = condition(workload, "Admitted").get("lastTransitionTime")
    return f", may run {int(limit) // 60} min from {begun}" if limit and begun else ""


def lower(trial: Trial, need: Need, free: Mapping[Cell, int], what: str = "") -> Iterator[Remedy]:
    """The most pods of the same size that there is room for; else the most that one pod may ask for."""
    count = int(need.pod_set.get("count", 1))
    name = need.pod_set["name"]
    cells = {cell: amount for cell, amount in need.option.needs.items() if amount}
    room = {cell: free.get(cell, 0) - need.assumed.get(cell, 0) for cell in cells}
    pods = min((room[cell] * count // amount for cell, amount in cells.items()), default=count)
    if 0 < pods < count:
        asks = ", ".join(words(cell[1], amount * pods // count) for cell, amount in cells.items())
        text = f"lower {_pods(trial, name)} to at most {pods} of {count} pods: {asks}{what}"
        yield Remedy("lower", text, field=f"{name}.count", value=str(pods), checked=True)
    elif pods <= 0:
        most = {cell[1]: max(0, room[cell]) for cell, amount in cells.items() if room[cell] < amount}
        if all(most.values()):
            asks = ", ".join(words(resource, amount) for resource, amount in most.items())
            value = ",".join(f"{resource}={quantity_of(resource, amount)}" for resource, amount in most.items())
            yield Remedy("lower", f"lower its requests to at most {asks} in all{what}", field=name, value=value, checked=True)


def _pods(trial: Trial, name: str) -> str:
    several = len(trial.context.workload["spec"].get("podSets") or ()) > 1
    return f"pod set {name}" if several else "it"


def quota(trial: Trial, need: Need, shortages: Sequence[Shortage]) -> Iterator[Remedy]:
    """A larger quota of its queue's own; a manager's grows with its workers'."""
    context = trial.context
    if dispatches(context):
        asks = " and ".join(words(one.resource, one.missing) for one in shortages)
        text = f"raise the quota of {context.who} on its workers by {asks} in all: here it is their sum"
        plan = context.declared.team(context.name) if context.declared else None
        yield Remedy("change", text, file=context.declared.file(plan.name) if context.declared and plan else "", field="quota")
        return
    live = context.quotas.queues[context.name].cells
    flavor = need.flavor
    wanted = {one.resource: one.used + one.needed for one in shortages}
    change = context.declared.raised(context.name, flavor, wanted, live) if context.declared else None
    if change is not None:
        yield _changed(trial, change, own=True)
        return
    changed = {
        (flavor, r): Quota(r, max(n, live[flavor, r].nominal), live[flavor, r].borrowing_limit, live[flavor, r].lending_limit)
        for r, n in wanted.items()
    }
    asks = " and ".join(f"nominalQuota of {r} to at least {quantity_of(r, n)}" for r, n in wanted.items())
    value = ",".join(f"{r}={quantity_of(r, n)}" for r, n in wanted.items())
    text = f"raise {asks} in flavor {flavor} of ClusterQueue {context.name}"
    yield _changed(trial, Change("", "nominalQuota", value, text, changed), own=True)


def borrow(trial: Trial, need: Need, shortages: Sequence[Shortage]) -> Iterator[Remedy]:
    """A larger borrow limit, where others would lend enough."""
    context = trial.context
    live = context.quotas.queues[context.name].cells
    if context.quotas.queues[context.name].parent is None or dispatches(context):
        return
    wanted = {one.resource: one.used + one.needed for one in shortages if one.borrowing_limit is not None}
    if not wanted:
        return
    change = context.declared.borrowing(context.name, need.flavor, wanted, live) if context.declared else None
    if change is None and (context.declared is None or context.declared.team(context.name) is None):
        limits = {r: n - live[need.flavor, r].nominal for r, n in wanted.items()}
        asks = " and ".join(f"borrowingLimit of {r} to at least {quantity_of(r, n)}" for r, n in limits.items())
        value = ",".join(f"{r}={quantity_of(r, n)}" for r, n in limits.items())
        text = f"raise {asks} in flavor {need.flavor} of ClusterQueue {context.name}"
        cells = {
            (need.flavor, r): Quota(r, live[need.flavor, r].nominal, n, live[need.flavor, r].lending_limit)
            for r, n in limits.items()
        }
        change = Change("", "borrowingLimit", value, text, cells)
    if change is not None and _reachable(trial, change):
        yield _changed(trial, change, own=False)


def _reachable(trial: Trial, change: Change) -> bool:
    """Whether it could ever fit with the change."""
    most = trial.context.quotas.most(trial.context.name, change.quotas)
    return all(most.get(cell, 0) >= amount for need in trial.needs for cell, amount in need.total().items())


def _changed(trial: Trial, change: Change, *, own: bool) -> Remedy:
    """The change, and whether it is enough by itself now: what is a queue's own, it may also take back from who borrows it."""
    at_once = trial.fits(changed=change.quotas)
    reclaimed = own and trial.context.reclaim() == "Any"
    text = change.text
    if not at_once and not change.over:
        text += "; it then takes back what others borrow" if reclaimed else "; it then waits until others leave enough idle"
    return Remedy(
        "change",
        text,
        file=change.file,
        field=change.field,
        value=change.value,
        checked=(at_once or reclaimed) and not change.over,
    )


def behind(workloads: Sequence[Object]) -> str:
    """Who comes first, in words."""
    first = sorted(workloads, key=queue_order)[:_NAMED]
    more = f" and {len(workloads) - _NAMED} more" if len(workloads) > _NAMED else ""
    return ", ".join(shown(one) for one in first) + more


def lacks(one: Shortage) -> str:
    """The numbers of one shortage in a sentence."""

    def plain(amount: int) -> str:
        return number(one.resource, amount)

    own = max(0, one.nominal - one.used)
    parts = [f"it needs {words(one.resource, one.needed)} in {one.flavor}", f"{plain(max(0, one.free))} could be had now"]
    parts.append(f"its queue owns {plain(one.nominal)} and uses {plain(one.used)}" + (f" ({plain(own)} free)" if own else ""))
    if one.borrowing_limit is not None:
        parts.append(f"may borrow {plain(one.borrowing_limit)}" if one.borrowing_limit else "may borrow none")
    if one.borrowers:
        parts.append("borrowed by others: " + ", ".join(f"{who} {plain(amount)}" for who, amount in one.borrowers.items()))
    return "; ".join(parts)
