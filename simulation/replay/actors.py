"""Who does what Kueue leaves to others: creates a job, ends it, and returns an evicted one's quota. One actor a fidelity."""

from __future__ import annotations

from typing import Any, Protocol

from governance.model import ClusterPlan
from simulation.replay import workloads
from simulation.replay.server import JSON_PATCH, Server
from simulation.traces.model import Job

Object = dict[str, Any]


class Actor(Protocol):
    """Called from several threads at once, except for `see`, `undecided` and `words`."""

    kinds: tuple[str, ...]
    """API paths to watch beside the Workloads."""
    returns_quota: bool
    """Whether an evicted job's quota has to be returned by `release`; else its controllers do that."""

    def create(self, job: Job) -> None:
        """Submit it. Raises RefusedError."""

    def finish(self, job: Job, workload: Object) -> None:
        """It is done."""

    def release(self, workload: Object) -> bool:
        """Return an evicted job's quota; False where Kueue has written meanwhile: then the watch shows a newer Workload."""

    def job_of(self, workload: Object) -> str:
        """The name of the job that the Workload is of."""

    def see(self, kind: str, item: Object) -> None:
        """Another object has changed; `kind` is `ADDED`, `MODIFIED` or `DELETED`."""

    def placed(self, name: str, pods: int) -> bool:
        """Whether all pods of an admitted job run."""

    def undecided(self, name: str, pods: int) -> bool:
        """Whether the controllers have still to do something about the pods of an admitted job (`pods` > 0) or another."""

    def at_rest(self) -> bool:
        """Whether whoever places pods has nothing left to do."""

    def words(self, name: str) -> str:
        """Why an admitted job doesn't run."""

    def clear(self) -> list[str]:
        """Delete what the actor created; returns API paths of what must be empty then."""


class WorkloadActor:
    """There are no jobs: Kueue decides on Workloads alone, and pods are thought of as running from admission to eviction."""

    kinds: tuple[str, ...] = ()
    returns_quota = True

    def __init__(self, server: Server, cluster: ClusterPlan) -> None:
        self._server = server
        self._cluster = cluster

    def create(self, job: Job) -> None:
        made = workloads.manifest(job, self._cluster)
        self._server.request("POST", workloads.collection(made["metadata"]["namespace"]), made)

    def finish(self, _job: Job, workload: Object) -> None:
        self._server.request("PATCH", f"{workloads.path(workload)}/status", workloads.finished(), JSON_PATCH)

    def release(self, workload: Object) -> bool:
        return self._server.patch_status(workloads.path(workload), workloads.released(workload))

    def job_of(self, workload: Object) -> str:
        return str(workload["metadata"]["name"])

    def see(self, kind: str, item: Object) -> None:
        """Nothing else is watched."""

    def placed(self, _name: str, _pods: int) -> bool:
        return True

    def undecided(self, _name: str, _pods: int) -> bool:
        return False

    def at_rest(self) -> bool:
        return True

    def words(self, _name: str) -> str:
        return ""

    def clear(self) -> list[str]:
        namespaces = [team.namespace for team in self._cluster.teams.values()]
        self._server.each(lambda name: self._server.request("DELETE", workloads.collection(name)), namespaces)
        return [f"{workloads.GROUP}/workloads"]
