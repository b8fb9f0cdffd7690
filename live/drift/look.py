"""Looking for drift on all clusters of a stack: three sides side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from components.render import render
from governance.model import ClusterPlan, Plan
from live.connection import ApiError, UnreachableError
from live.drift import kube, managed
from live.drift.compare import ABSENT
from live.drift.elsewhere import Elsewhere
from live.drift.model import TO_BE_MADE, Failure, Finding, Kind, Property, Thing
from live.drift.others import BINDINGS, QUEUES, known, unmanaged
from live.drift.reading import Source, read
from live.drift.state import Side, by_key
from live.sagemaker import Governance


class Progress(Protocol):
    """Where progress is shown."""

    def step(self, text: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Sources:
    """How what is there is read; what they raise is told, and the rest compared."""

    kubernetes: Callable[[str], Source]
    """The API server of a cluster, by its name. Raises UnreachableError."""
    sagemaker: Callable[[str], Governance]
    """SageMaker's side of a cluster, by its name. Raises UnreachableError."""
    elsewhere: Mapping[str, Elsewhere] = field(default_factory=dict)
    """By cluster, teams that other environments deploy to it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found on one cluster."""

    compared: int
    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]


def declared(cluster: ClusterPlan) -> Side:
    """What the declaration asks for on a cluster."""
    side = managed.declared(cluster) if cluster.policy.backend == "managed" else Side()
    side.objects = by_key(render(cluster))
    return side


def look(plan: Plan, state: Mapping[str, Side] | None, cluster: str, sources: Sources, progress: Progress) -> Seen:
    """Compare one cluster. Without a state, the declaration stands in for it: everything that differs is drift.

    One of which the state knows nothing isn't read: what would reach it may be made by the very deployment that is to come.
    """
    if state is not None and not state.get(cluster):
        return Seen(0, (_to_come(cluster),), (), ())
    wanted = declared(plan.clusters[cluster]) if cluster in plan.clusters else Side()
    before = wanted if state is None else state.get(cluster, Side())
    findings: list[Finding] = []
    failures: list[Failure] = []
    notes = list(_nameless(cluster, before))
    for what, compare in (
        ("Kubernetes", partial(_kubernetes, plan.backend)),
        ("SageMaker", _sagemaker),
    ):
        try:
            for found in compare(cluster, wanted, before, sources, progress):
                if isinstance(found, str):
                    notes.append(found)
                elif not _unsure(found, before):
                    findings += _ours(found, sources.elsewhere.get(cluster))
        except (ApiError, UnreachableError) as error:
            failures.append(Failure(cluster, what, str(error)))
    findings.sort(key=lambda one: (one.thing.kind, one.thing.namespace, one.thing.name))
    return Seen(len(before), tuple(findings), tuple(failures), tuple(notes))


def _to_come(cluster: str) -> Finding:
    """A cluster that is declared, and not deployed yet."""
    waiting = Property("", "Cluster", ABSENT, ABSENT)
    return Finding(Thing(cluster, "Cluster", cluster), (Kind.PENDING,), pending=(waiting,), remark=TO_BE_MADE)


def _nameless(cluster: str, before: Side) -> Iterator[str]:
    for name, kind in sorted(before.nameless.items()):
        yield f"{cluster}: the state doesn't tell the name of the {kind} {name}, so it isn't compared"


def _unsure(found: Finding, before: Side) -> bool:
    """Whether the state may know the thing after all, as one of those whose names it doesn't tell."""
    return found.thing.kind in before.nameless.values() and (found.kinds == (Kind.UNMANAGED,) or found.remark == TO_BE_MADE)


def _ours(found: Finding, others: Elsewhere | None) -> list[Finding]:
    """The finding, unless another environment has deployed it; with a word on one that may have."""
    team = found.thing.team
    if found.kinds != (Kind.UNMANAGED,) or others is None:
        return [found]
    if team in others.certain:
        return []
    if team not in others.perhaps:
        return [found]
    remark = f"the environment {others.perhaps[team]} takes this team too: its own, if that is the same cluster"
    return [replace(found, remark="; ".join(filter(None, (found.remark, remark))))]


def _kubernetes(
    backend: str, cluster: str, wanted: Side, before: Side, sources: Sources, progress: Progress
) -> Iterator[Finding | str]:
    keys = {*wanted.objects, *before.objects}
    if not keys:
        return
    progress.step(f"reading the objects of {cluster}")
    kinds = {(key.api_version, key.kind) for key in keys} | {*BINDINGS} | ({*QUEUES} if backend == "kueue" else set())
    live, unserved = read(sources.kubernetes(cluster), kinds)
    for version, kind in unserved:
        if any((key.api_version, key.kind) == (version, kind) for key in before.objects):
            yield f"{cluster}: the API server has no kind {kind} in {version}: its CRD is gone, and every object of it with it"
    for key in sorted(keys):
        sides = (wanted.objects.get(key), before.objects.get(key), live.get(key))
        found = kube.compare(cluster, key, *sides, manager=before.managers.get(key, ""))
        if found is not None:
            yield found
    yield from unmanaged(cluster, live, known([*wanted.objects.values(), *before.objects.values()]), keys)


def _sagemaker(cluster: str, wanted: Side, before: Side, sources: Sources, progress: Progress) -> Iterator[Finding | str]:
    if not any((wanted.quotas, wanted.schedulers, before.quotas, before.schedulers)):
        return
    progress.step(f"asking SageMaker about {cluster}")
    live = managed.there(sources.sagemaker(cluster))
    yield from managed.compare(cluster, wanted, before, live)
