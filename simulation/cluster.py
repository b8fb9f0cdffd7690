"""The sandbox as a case sees it: its own jobs, and a live mirror of what Kueue and the scheduler say about them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from live.connection import UnreachableError, api_client
from simulation.jobs import CASE_LABEL
from simulation.mirror import Mirror
from simulation.objects import KUEUE, UP, DemoError, Object, Objects, RefusedError
from simulation.verdicts import owners

__all__ = ["CalledOffError", "Cluster", "DemoError", "Object", "RefusedError"]

_SYNC_WITHIN: Final = 30.0
_COLLECTED_WITHIN: Final = 10.0
"""Seconds that the garbage collector gets for Workloads of deleted jobs: a resync stops it for up to half a minute."""
_GONE_WITHIN: Final = 60.0
_BREATH: Final = 0.03
"""Seconds between two looks: changes come in bursts, and each look takes work."""


class CalledOffError(Exception):
    """Another case ended the run."""


class Cluster:
    """A context manager: entering connects and waits for the first lists, leaving ends the watches. Cases may share one."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.changed = threading.Condition()
        """Notified at every change of a mirror; hold it to look at several objects at once."""
        self._own: dict[str, str] = {}
        """The case of each Job, Deployment and pod by its UID."""
        self._called_off = threading.Event()

    def __enter__(self) -> Self:
        self._connect()
        self._mirrors = (self._workloads, self._queues, self._pods)
        for mirror in self._mirrors:
            mirror.start()
        try:
            if not self.wait(lambda: all(mirror.synced for mirror in self._mirrors), _SYNC_WITHIN):
                raise DemoError("the sandbox's API server answers too slowly", remedy="try again")
            for item in self._objects.of(None):
                self._note(item)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the watches and the connections."""
        for mirror in self._mirrors:
            mirror.stop()

    def _connect(self) -> None:
        if not self.kubeconfig.is_file():
            raise DemoError(f"there is no sandbox: {self.kubeconfig} is missing", remedy=UP)
        from kubernetes import client

        try:
            api = api_client(str(self.kubeconfig))
        except UnreachableError as error:
            raise DemoError(str(error), remedy=UP) from error
        self._objects = Objects(api)
        kueue = {"group": KUEUE[0], "version": KUEUE[1]}
        listed = client.CustomObjectsApi(api).list_cluster_custom_object
        self._workloads = Mirror(self.changed, listed, {**kueue, "plural": "workloads"})
        self._queues = Mirror(self.changed, listed, {**kueue, "plural": "clusterqueues"})
        listed = client.CoreV1Api(api).list_pod_for_all_namespaces
        self._pods = Mirror(self.changed, listed, {"label_selector": CASE_LABEL}, self._note)

    # -- what is there ---------------------------------------------------------------------------------------------------

    @property
    def workloads(self) -> list[Object]:
        """All Workloads of the cluster, ours or not."""
        return self._workloads.items()

    def queue(self, name: str) -> Object | None:
        return self._queues.get("", name)

    def pods(self, labels: Mapping[str, str]) -> list[Object]:
        """Pods of cases that carry these labels and aren't being deleted, in the order of their names."""
        found = [pod for pod in self._pods.items() if labels.items() <= pod["metadata"]["labels"].items()]
        alive = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
        return sorted(alive, key=lambda pod: str(pod["metadata"]["name"]))

    def workload_of(self, owner_uid: str) -> Object | None:
        """The Workload that Kueue made of a job, or of a Deployment's pod."""
        return next((one for one in self.workloads if owner_uid in owners(one)), None)

    def is_ours(self, workload: Object) -> bool:
        """Whether the Workload belongs to a case's job, of this run or of one before."""
        return not self._own.keys().isdisjoint(owners(workload))

    def nodes(self, selector: str = "") -> dict[str, Object]:
        """Live nodes by name."""
        return {node["metadata"]["name"]: node for node in self._objects.nodes(selector)}

    def priority_classes(self) -> set[str]:
        """Names of the WorkloadPriorityClasses."""
        return self._objects.priority_classes()

    def wait(self, done: Callable[[], bool], seconds: float, tick: float | None = None) -> bool:
        """Wait until `done` holds, looking at every change (and every `tick` seconds); False if time ran out.

        Raises DemoError where the API server is lost, CalledOffError after `call_off`.
        """
        deadline = time.monotonic() + seconds
        while True:
            with self.changed:
                if self._called_off.is_set():
                    raise CalledOffError
                for mirror in self._mirrors:
                    if mirror.error:
                        raise DemoError(mirror.error, remedy=UP)
                if done():
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self.changed.wait(left if tick is None else min(left, tick))
            time.sleep(_BREATH)

    # -- own jobs --------------------------------------------------------------------------------------------------------

    def submit(self, manifest: Object) -> str:
        """Create a Job or a Deployment; its UID. Raises RefusedError with the API server's words."""
        return self._note(self._objects.submit(manifest))

    def delete(self, item: Object) -> None:
        """Delete a Job or a Deployment with its pods; one that is gone is fine."""
        self._objects.delete(item)

    def scale(self, item: Object, count: int) -> None:
        """Give a Deployment another number of replicas."""
        self._objects.scale(item, count)

    def succeed(self, pod: Object) -> None:
        """End a fake pod well, as its kubelet would tell."""
        self._objects.succeed(pod)

    def call_off(self) -> None:
        """End every wait, of whatever thread."""
        with self.changed:
            self._called_off.set()
            self.changed.notify_all()

    def clear(self, case: str | None = None) -> None:
        """Delete the jobs of a case (of all cases, and of earlier runs), and wait until nothing is left of them.

        Without a case, waits are allowed again after `call_off`. Raises DemoError.
        """
        if case is None:
            self._called_off.clear()
        for item in self._objects.of(case):
            self._note(item)
            self.delete(item)
        if self.wait(lambda: not self._left(case), _COLLECTED_WITHIN):
            return
        self._objects.collect(case, self._left(case))
        if not self.wait(lambda: not self._left(case), _GONE_WITHIN):
            left = ", ".join(_shown(one) for one in self._left(case)[:4])
            raise DemoError(
                f"jobs of the cases did not go within {_COLLECTED_WITHIN + _GONE_WITHIN:.0f} s: {left}",
                remedy="look at the sandbox's logs: `hpctl local status` names them",
            )

    def _left(self, case: str | None) -> list[Object]:
        """Pods and Workloads of a case."""
        cases = set(self._own.values()) if case is None else {case}
        pods = [pod for pod in self._pods.items() if case is None or pod["metadata"]["labels"][CASE_LABEL] == case]
        return pods + [one for one in self.workloads if any(self._own.get(uid) in cases for uid in owners(one))]

    def _note(self, item: Object) -> str:
        """Remember a Job, a Deployment or a pod as one of ours; its UID."""
        meta = item["metadata"]
        with self.changed:
            self._own[meta["uid"]] = meta["labels"][CASE_LABEL]
        return str(meta["uid"])


def _shown(item: Object) -> str:
    meta = item["metadata"]
    held = f" (being deleted, held by {', '.join(meta.get('finalizers', ()))})" if "deletionTimestamp" in meta else ""
    return f"{meta['namespace']}/{meta['name']}{held}"
