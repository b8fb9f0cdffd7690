"""A cluster's queues, workloads and nodes at one moment, with the names that people know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from governance.names import QUOTA_ID_LABEL, TEAM_LABEL
from live.why.objects import (
    Object,
    admission,
    full_name,
    is_active,
    is_finished,
    labels_of,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was read. Objects by name, those of namespaces by `namespace/name`."""

    workloads: Mapping[str, Object] = field(default_factory=dict)
    cluster_queues: Mapping[str, Object] = field(default_factory=dict)
    local_queues: Mapping[str, Object] = field(default_factory=dict)
    cohorts: Mapping[str, Object] = field(default_factory=dict)
    flavors: Mapping[str, Object] = field(default_factory=dict)
    topologies: Mapping[str, Object] = field(default_factory=dict)
    classes: Mapping[str, Object] = field(default_factory=dict)
    checks: Mapping[str, Object] = field(default_factory=dict)
    worker_sets: Mapping[str, Object] = field(default_factory=dict)
    """On a manager: its MultiKueueConfigs."""
    workers: Mapping[str, Object] = field(default_factory=dict)
    """On a manager: its MultiKueueClusters."""
    namespaces: Mapping[str, Object] = field(default_factory=dict)
    nodes: Mapping[str, Object] = field(default_factory=dict)
    pods: Sequence[Object] = ()
    """Pods that haven't ended, of all namespaces."""
    jobs: Sequence[Object] = ()
    """Of all kinds that Kueue can look after."""
    now: str = ""
    """RFC 3339, UTC."""
    namespace_selector: Object | None = None
    """Which namespaces Kueue looks after (managedJobsNamespaceSelector); None where that isn't known."""

    def workload_uid(self, uid: str) -> Object | None:
        return next((one for one in self.workloads.values() if uid_of(one) == uid), None)

    def owned_by(self, uid: str) -> list[Object]:
        """Workloads of one job."""
        return [one for one in self.workloads.values() if any(owner.get("uid") == uid for owner in owners_of(one))]

    def local_queue(self, workload: Object) -> Object | None:
        return self.local_queues.get(f"{namespace_of(workload)}/{workload['spec'].get('queueName', '')}")

    def queue_name(self, workload: Object) -> str:
        """The ClusterQueue: where it holds quota, else where its LocalQueue leads; empty where that leads nowhere."""
        if admission(workload):
            return str(admission(workload)["clusterQueue"])
        queue = self.local_queue(workload)
        return str(queue["spec"]["clusterQueue"]) if queue is not None else ""

    def queue(self, workload: Object) -> Object | None:
        return self.cluster_queues.get(self.queue_name(workload))

    def queueing(self) -> list[Object]:
        """Workloads that hold no quota and might get some."""
        return [one for one in self.workloads.values() if not is_finished(one) and is_active(one) and not admission(one)]

    def team_of(self, cluster_queue: str) -> str:
        """The team whose the queue is, as the labels of queue or namespaces say; empty where they don't."""
        queue = self.cluster_queues.get(cluster_queue)
        spaces = (
            self.namespaces.get(namespace_of(one), {"metadata": {}})
            for one in self.local_queues.values()
            if one["spec"].get("clusterQueue") == cluster_queue
        )
        for item in (*([queue] if queue else []), *spaces):
            labels = labels_of(item)
            team = labels.get(TEAM_LABEL) or labels.get(QUOTA_ID_LABEL)
            if team:
                return team
        return ""

    def who(self, cluster_queue: str) -> str:
        """The team, else the queue's name."""
        return self.team_of(cluster_queue) or cluster_queue


def by_name(items: Sequence[Any]) -> dict[str, Object]:
    """Objects of a kind by their names, those of namespaces by `namespace/name`."""
    return {full_name(one) if namespace_of(one) else name_of(one): one for one in items}
