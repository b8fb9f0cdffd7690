"""Looking for drift on all clusters of a stack: three sides side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from components.render import render
from governance.model import ClusterPlan, Plan
from live.connection import ApiError, UnreachableError
from live.drift import kube, managed
from live.drift.model import Failure, Finding, Kind
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
    elsewhere: frozenset[str] = frozenset()
    """Teams that other stacks deploy to the same clusters."""


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
    """Compare one cluster. Without a state, the declaration stands in for it: everything that differs is drift."""
    wanted = declared(plan.clusters[cluster]) if cluster in plan.clusters else Side()
    before = wanted if state is None else state.get(cluster, Side())
    findings: list[Finding] = []
    failures: list[Failure] = []
    notes: list[str] = []
    for what, compare in (
        ("Kubernetes", partial(_kubernetes, plan.backend)),
        ("SageMaker", _sagemaker),
    ):
        try:
            for found in compare(cluster, wanted, before, sources, progress):
                if isinstance(found, str):
                    notes.append(found)
                elif found.kinds != (Kind.UNMANAGED,) or found.thing.team not in sources.elsewhere:
                    findings.append(found)
        except (ApiError, UnreachableError) as error:
            failures.append(Failure(cluster, what, str(error)))
    findings.sort(key=lambda one: (one.thing.kind, one.thing.namespace, one.thing.name))
    return Seen(len(before), tuple(findings), tuple(failures), tuple(notes))


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
        found = kube.compare(cluster, key, wanted.objects.get(key), before.objects.get(key), live.get(key))
        if found is not None:
            yield found
    yield from unmanaged(cluster, live, known([*wanted.objects.values(), *before.objects.values()]), keys)


def _sagemaker(cluster: str, wanted: Side, before: Side, sources: Sources, progress: Progress) -> Iterator[Finding | str]:
    if not any((wanted.quotas, wanted.schedulers, before.quotas, before.schedulers)):
        return
    progress.step(f"asking SageMaker about {cluster}")
    live = managed.there(sources.sagemaker(cluster))
    yield from managed.compare(cluster, wanted, before, live)
    yield from managed.failed(cluster, live)
