"""The cluster that is asked: of a stack with its declaration, or of a kubeconfig."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from config.findings import did_you_mean, printable
from live.connection import ApiError, UnreachableError, connect
from live.kube import Reader
from live.why.declared import Declared
from live.why.explain import explain, namespace_of_team
from live.why.find import UnknownError, find
from live.why.model import Answer
from live.why.reading import events_of, read_cluster
from sandbox.engine_errors import EngineError
from sandbox.errors import SandboxError


class Progress(Protocol):
    """Where progress is shown."""

    def step(self, text: str) -> None: ...
    def update(self, done: int, total: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Way:
    """How the cluster is reached, and what is declared of it."""

    reader: Reader
    declared: Declared | None = None


def by_kubeconfig(kubeconfig: Path | None, context: str | None, declared: Declared | None = None) -> Way:
    """The cluster of a kubeconfig; None: the ambient one. Raises UnreachableError."""
    return Way(Reader(connect(str(kubeconfig or ""), context or "", "")), declared)


def ask(way: Way, name: str, team: str | None, namespace: str | None, progress: Progress) -> Answer:
    """Read the cluster and reason. Raises UnknownError for a name or team that there isn't, UnreachableError and ApiError."""
    declared = way.declared
    if team is not None and declared is not None:
        if team not in declared.cluster.teams:
            hint = did_you_mean(team, list(declared.cluster.teams))
            message = f"there is no team {team} on cluster {declared.cluster.name}" + (f"; {hint}" if hint else "")
            raise UnknownError(printable(message))
        namespace = declared.cluster.teams[team].namespace
    progress.step("reading queues, workloads and nodes")
    read = read_cluster(way.reader, namespace, _manager(declared))
    if team is not None and namespace is None:
        namespace = namespace_of_team(read.snapshot, team, None)
        if namespace is None:
            message = f"no queue of the cluster has the label of team {team}; name its namespace with --namespace"
            raise UnknownError(printable(message))
    progress.step(f"reasoning over {len(read.snapshot.workloads)} workloads and {len(read.snapshot.nodes)} nodes")
    found = find(read.snapshot, name, namespace)
    return explain(read.snapshot, found, declared, lambda space, job: events_of(way.reader, space, job), read.notes)


def ask_workers(answer: Answer, way: Callable[[str], Way | None], progress: Progress) -> Answer:
    """The same with what its workers say: that which has it, else those that it was offered to.

    `way` leads to a worker, None where it isn't known. One that doesn't answer keeps no other from being asked.
    """
    there, notes = {}, list(answer.notes)
    for name in (answer.worker,) if answer.worker else answer.offered:
        try:
            to = way(name)
            if to is not None:
                progress.step(f"{name}: reading queues, workloads and nodes")
                there[name] = ask(to, answer.workload, None, answer.namespace, progress)
        except (SandboxError, EngineError) as error:
            notes.append(f"{name} can't be asked: {error.message}")
        except (UnknownError, UnreachableError, ApiError) as error:
            notes.append(f"{name} can't be asked: {error}")
    return replace(answer, there=there, notes=tuple(notes))


def _manager(declared: Declared | None) -> dict[str, object] | None:
    """Kueue's configuration where it is ours: the managed backend's is AWS's."""
    if declared is None or declared.cluster.policy.backend == "managed":
        return None
    return dict(declared.cluster.manager)
