"""How a replay knows that Kueue has looked again at everything that waits.

When quota is returned, Kueue doesn't look at the waiting Workloads of that cohort at once: it notes the cohort and moves its
Workloads back into their queues a second later (`requeueBatchPeriod` in pkg/cache/queue/inadmissible_workloads.go). No metric and
no object tells whether such a note is still open, and a pause would be a guess. So the replay has a queue of its own, outside
every cohort, with quota for one Workload: one holds it, one waits. To close a tick, the holder ends. Kueue handles changes of
Workloads one after the other, in the order in which they were stored, and its notes in the order in which they fall due, in one
thread. Hence, once the waiting one is admitted, every note that was taken before is done too, and what it moved is in the queues,
where the metric `kueue_pending_workloads{status="active"}` counts it.

A note on a queue of which there is one already changes nothing, and so falls due with the older one. Hence a replay begins by
closing an empty tick: from then on each note on the barrier's queue is its only one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.governance.kueue.manifests.objects import KUEUE, manifest
from simulation.replay.accounts import Account
from simulation.replay.server import JSON_PATCH, Server
from simulation.replay.workloads import State, collection, finished

Object = dict[str, Any]
NAME: Final = "replay-barrier"
_AT_REST: Final = Account(active=0, inadmissible=1, reserving=1)
_QUOTA: Final = {"name": "cpu", "nominalQuota": "1"}


def objects() -> list[Object]:
    """The queue with its flavor and namespace."""
    group = {"coveredResources": ["cpu"], "flavors": [{"name": NAME, "resources": [_QUOTA]}]}
    return [
        manifest("v1", "Namespace", NAME),
        manifest(KUEUE, "ResourceFlavor", NAME, spec={}),
        manifest(KUEUE, "ClusterQueue", NAME, spec={"namespaceSelector": {}, "resourceGroups": [group]}),
        manifest(KUEUE, "LocalQueue", NAME, namespace=NAME, spec={"clusterQueue": NAME}),
    ]


class Barrier:
    """The two Workloads of that queue."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._number = 0
        self._states: dict[str, State] = {}
        self._holder = ""
        self._waiter = ""
        self.closing = False
        """Whether the holder has ended and the waiting one isn't admitted yet."""
        self.rested = False
        """Whether Kueue's accounts have confirmed since the last time that one holds the quota and one waits in vain."""

    def open(self) -> None:
        """Put the first one there; the second follows."""
        self._holder = self._create()

    def see(self, name: str, state: State) -> None:
        """A change of one of its Workloads."""
        self._states[name] = state
        if state != "running":
            return
        if name == self._holder and not self._waiter:
            self._waiter = self._create()
        elif self.closing and name == self._waiter:
            self.closing = False
            self._holder, self._waiter = self._waiter, self._create()

    @property
    def ready(self) -> bool:
        """Whether one holds the quota and Kueue has said why the other waits."""
        return not self.closing and self._of(self._holder) == "running" and self._of(self._waiter) == "waiting"

    def close(self) -> None:
        """Begin; it must have rested."""
        self.closing, self.rested = True, False
        self._server.request("PATCH", f"{collection(NAME)}/{self._holder}/status", finished(), JSON_PATCH)

    def differences(self, told: Mapping[str, Account]) -> list[str]:
        """Its queue, where that isn't at rest."""
        found = told.get(NAME, Account())
        return [] if found == _AT_REST else [f"{NAME}: {found}, not {_AT_REST}"]

    def _of(self, name: str) -> State:
        return self._states.get(name, "new")

    def _create(self) -> str:
        self._number += 1
        name = f"barrier-{self._number}"
        pod = {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
        }
        spec = {
            "queueName": NAME,
            "active": True,
            "priority": 0,
            "podSets": [{"name": "main", "count": 1, "template": {"spec": pod}}],
        }
        self._server.request("POST", collection(NAME), manifest(KUEUE, "Workload", name, namespace=NAME, spec=spec))
        return name
