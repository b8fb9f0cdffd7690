"""The sandbox as a case sees it: its own jobs, and a live mirror of what Kueue and the scheduler say about them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from live.connection import UnreachableError, api_client
from sandbox.errors import SandboxError
from simulation.jobs import CASE_LABEL
from simulation.mirror import Mirror, failures

Object = dict[str, Any]
_KUEUE: Final = ("kueue.x-k8s.io", "v1beta2")
_SYNC_WITHIN: Final = 15.0
_COLLECTED_WITHIN: Final = 10.0
"""Seconds that the garbage collector gets for Workloads of deleted jobs: a resync stops it for up to half a minute."""
_GONE_WITHIN: Final = 60.0
_UP: Final = "boot it and declare the teams: `hpctl up`"


class DemoError(SandboxError):
    """The cases can't be run on this cluster."""


class CalledOffError(Exception):
    """Another case ended the run."""


class RefusedError(Exception):
    """The API server, or a webhook behind it, refused an object; the message is its own."""


class Cluster:
    """A context manager: entering connects and waits for the first lists, leaving ends the watches. Cases may share one."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.changed = threading.Condition()
        """Notified at every change of a mirror; hold it to look at several objects at once."""
        self._own: dict[str, str] = {}
        """The case of each job's UID."""
        self._called_off = threading.Event()

    def __enter__(self) -> Self:
        self._connect()
        self._mirrors = (self._workloads, self._queues, self._pods)
        for mirror in self._mirrors:
            mirror.start()
        try:
            if not self.wait(lambda: all(mirror.synced for mirror in self._mirrors), _SYNC_WITHIN):
                raise DemoError("the sandbox's API server answers too slowly", remedy="try again")
            for job in self._jobs(CASE_LABEL):
                self._note(job)
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
            raise DemoError(f"there is no sandbox: {self.kubeconfig} is missing", remedy=_UP)
        from kubernetes import client

        try:
            api = api_client(str(self.kubeconfig))
        except UnreachableError as error:
            raise DemoError(str(error), remedy=_UP) from error
        self._core, self._batch = client.CoreV1Api(api), client.BatchV1Api(api)
        self._custom = client.CustomObjectsApi(api)
        kueue = {"group": _KUEUE[0], "version": _KUEUE[1]}
        listed = self._custom.list_cluster_custom_object
        self._workloads = Mirror(self.changed, listed, {**kueue, "plural": "workloads"})
        self._queues = Mirror(self.changed, listed, {**kueue, "plural": "clusterqueues"})
        self._pods = Mirror(self.changed, self._core.list_pod_for_all_namespaces, {"label_selector": CASE_LABEL})

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

    def workload_of(self, job_uid: str) -> Object | None:
        """The Workload that Kueue made of a job."""
        return next((one for one in self.workloads if job_uid in _owners(one)), None)

    def is_ours(self, workload: Object) -> bool:
        """Whether the Workload belongs to a case's job, of this run or of one before."""
        return not self._own.keys().isdisjoint(_owners(workload))

    def nodes(self, selector: str = "") -> dict[str, Object]:
        """Live nodes by name."""
        with _sentences():
            answer = self._core.list_node(label_selector=selector, _preload_content=False)
            return {node["metadata"]["name"]: node for node in json.loads(answer.data)["items"]}

    def priority_classes(self) -> set[str]:
        """Names of the WorkloadPriorityClasses."""
        with _sentences():
            found = self._custom.list_cluster_custom_object(*_KUEUE, "workloadpriorityclasses")
            return {one["metadata"]["name"] for one in found["items"]}

    def wait(self, done: Callable[[], bool], seconds: float, tick: float | None = None) -> bool:
        """Wait until `done` holds, looking at every change (and every `tick` seconds); False if time ran out.

        Raises DemoError where the API server is lost, CalledOffError after `call_off`.
        """
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                if self._called_off.is_set():
                    raise CalledOffError
                for mirror in self._mirrors:
                    if mirror.error:
                        raise DemoError(mirror.error, remedy=_UP)
                if done():
                    return True
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                self.changed.wait(left if tick is None else min(left, tick))

    # -- own jobs --------------------------------------------------------------------------------------------------------

    def submit(self, job: Object) -> str:
        """Create a job; its UID. Raises RefusedError with the API server's words."""
        from kubernetes.client.exceptions import ApiException

        with _sentences():
            try:
                answer = self._batch.create_namespaced_job(job["metadata"]["namespace"], job, _preload_content=False)
            except ApiException as error:
                if error.status is not None and 400 <= error.status < 500:
                    raise RefusedError(_message(error)) from error
                raise
        return self._note(json.loads(answer.data))

    def delete(self, namespace: str, name: str) -> None:
        """Delete a job with its pods; one that is gone is fine."""
        from kubernetes.client.exceptions import ApiException

        with _sentences():
            try:
                self._batch.delete_namespaced_job(name, namespace, propagation_policy="Background", _preload_content=False)
            except ApiException as error:
                if error.status != 404:
                    raise

    def succeed(self, pod: Object) -> None:
        """End a fake pod well, as its kubelet would tell."""
        meta = pod["metadata"]
        with _sentences():
            self._core.patch_namespaced_pod_status(
                meta["name"], meta["namespace"], {"status": {"phase": "Succeeded"}}, _preload_content=False
            )

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
        for job in self._jobs(CASE_LABEL if case is None else f"{CASE_LABEL}={case}"):
            self._note(job)
            self.delete(job["metadata"]["namespace"], job["metadata"]["name"])
        if self.wait(lambda: not self._left(case), _COLLECTED_WITHIN):
            return
        self._collect(case)
        if not self.wait(lambda: not self._left(case), _GONE_WITHIN):
            left = ", ".join(_shown(one) for one in self._left(case)[:4])
            raise DemoError(
                f"jobs of the cases did not go within {_COLLECTED_WITHIN + _GONE_WITHIN:.0f} s: {left}",
                remedy="look at the sandbox's logs: `hpctl local status` names them",
            )

    def _collect(self, case: str | None) -> None:
        """Delete the Workloads of deleted jobs, as the garbage collector will."""
        from kubernetes.client.exceptions import ApiException

        for item in self._left(case):
            meta = item["metadata"]
            if item.get("kind") != "Workload" or "deletionTimestamp" in meta:
                continue
            with _sentences():
                try:
                    self._custom.delete_namespaced_custom_object(*_KUEUE, meta["namespace"], "workloads", meta["name"])
                except ApiException as error:
                    if error.status != 404:
                        raise

    def _left(self, case: str | None) -> list[Object]:
        """Pods and Workloads of a case's jobs."""
        cases = set(self._own.values()) if case is None else {case}
        pods = [pod for pod in self._pods.items() if case is None or pod["metadata"]["labels"][CASE_LABEL] == case]
        return pods + [one for one in self.workloads if any(self._own.get(uid) in cases for uid in _owners(one))]

    def _note(self, job: Object) -> str:
        """Remember a job as one of ours; its UID."""
        meta = job["metadata"]
        with self.changed:
            self._own[meta["uid"]] = meta["labels"][CASE_LABEL]
        return str(meta["uid"])

    def _jobs(self, selector: str) -> list[Object]:
        with _sentences():
            answer = self._batch.list_job_for_all_namespaces(label_selector=selector, _preload_content=False)
            found: list[Object] = json.loads(answer.data)["items"]
            return found


def _owners(item: Object) -> set[str]:
    return {owner["uid"] for owner in item["metadata"].get("ownerReferences", ())}


def _shown(item: Object) -> str:
    meta = item["metadata"]
    held = f" (being deleted, held by {', '.join(meta.get('finalizers', ()))})" if "deletionTimestamp" in meta else ""
    return f"{meta['namespace']}/{meta['name']}{held}"


def _message(error: Any) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return str(error.reason)


@contextmanager
def _sentences() -> Iterator[None]:
    """Failures of the API server as sentences."""
    from kubernetes.client.exceptions import ApiException

    try:
        yield
    except ApiException as error:
        raise DemoError(f"the sandbox's API server answered: {_message(error)}", remedy=_UP) from error
    except failures() as error:
        raise DemoError(f"the sandbox's API server does not answer: {error}", remedy=_UP) from error
