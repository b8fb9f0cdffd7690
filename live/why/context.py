"""All that reasoning on one workload looks at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from governance.sharing import Cell
from live.why.declared import Declared
from live.why.flavors import Option
from live.why.objects import Object, labels_of, message_of, name_of, pod_sets, priority_of, queue_order, uid_of
from live.why.quotas import Quotas, quotas_of
from live.why.snapshot import Snapshot

PREEMPTING = re.compile(r"Pending the preemption of (\d+) workload")
_PRIORITY_LABEL = "kueue.x-k8s.io/priority-class"


@dataclass(frozen=True, slots=True)
class Context:
    """A workload in its cluster, with its queue."""

    snapshot: Snapshot
    quotas: Quotas
    workload: Object
    queue: Object
    declared: Declared | None = None

    @property
    def name(self) -> str:
        """The ClusterQueue's."""
        return name_of(self.queue)

    @property
    def who(self) -> str:
        """Whose queue it is, for sentences."""
        return self.owner(self.name)

    def owner(self, queue: str) -> str:
        """`team nlp`, or `queue x` where nobody says whose it is."""
        plan = self.declared.team(queue) if self.declared else None
        team = plan.name if plan else self.snapshot.team_of(queue)
        return f"team {team}" if team else f"queue {queue}"

    def ahead(self) -> list[Object]:
        """Workloads that wait in the same queue and come first."""
        mine = queue_order(self.workload)
        found = [one for one in self.waiting() if self.snapshot.queue_name(one) == self.name and queue_order(one) < mine]
        return sorted(found, key=queue_order)

    def preempting(self) -> Object | None:
        """Another of the queue for whom Kueue waits until others have gone. It stays at the head until then, whatever others'
        priorities are (`stickyWorkload` in pkg/cache/queue/cluster_queue.go of Kueue)."""
        found = (one for one in self.waiting() if self.snapshot.queue_name(one) == self.name)
        return next((one for one in found if PREEMPTING.search(message_of(one))), None)

    def waiting(self) -> list[Object]:
        """Other workloads that queue."""
        return [one for one in self.snapshot.queueing() if uid_of(one) != uid_of(self.workload)]

    def fair(self) -> bool:
        """Whether Kueue shares fairly: it then tells each queue's share; the declaration says it too."""
        if any((one.get("status") or {}).get("fairSharing") for one in self.snapshot.cluster_queues.values()):
            return True
        return self.declared is not None and self.declared.cluster.policy.idle_compute == "fair_share"

    def reclaim(self) -> str:
        """Kueue's preemption.reclaimWithinCohort of the queue."""
        return str((self.queue["spec"].get("preemption") or {}).get("reclaimWithinCohort", "Never"))

    def pod_set(self, name: str) -> Object:
        return next(one for one in pod_sets(self.workload) if one["name"] == name)


@dataclass(frozen=True, slots=True)
class Need:
    """A pod set on the flavor that suits it best, with what earlier pod sets take of the same cells."""

    pod_set: Object
    option: Option
    assumed: Mapping[Cell, int]

    @property
    def flavor(self) -> str:
        return self.option.flavor

    def total(self) -> dict[Cell, int]:
        return {cell: amount + self.assumed.get(cell, 0) for cell, amount in self.option.needs.items()}


def context_of(snapshot: Snapshot, workload: Object, queue: Object, declared: Declared | None) -> Context:
    return Context(snapshot, quotas_of(snapshot), workload, queue, declared)


def priority_words(workload: Object) -> str:
    """`priority 70 (training-priority)`."""
    reference = workload["spec"].get("priorityClassRef") or {}
    name = reference.get("name") or workload["spec"].get("priorityClassName") or labels_of(workload).get(_PRIORITY_LABEL, "")
    return f"priority {priority_of(workload)}" + (f" ({name})" if name else "")
