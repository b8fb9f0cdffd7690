"""What cases start on a sandbox: Jobs and Deployments, all labelled with their case, and what is made of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from sandbox.errors import SandboxError
from simulation.jobs import CASE_LABEL
from simulation.mirror import failures

Object = dict[str, Any]
KUEUE: Final = ("kueue.x-k8s.io", "v1beta2")
UP: Final = "boot it and declare the teams: `hpctl up`"
_GONE: Final = 404


class DemoError(SandboxError):
    """The cases can't be run on this cluster."""


class RefusedError(Exception):
    """The API server, or a webhook behind it, refused an object; the message is its own."""


class Objects:
    """Calls to the API server about objects of cases. All raise DemoError where it doesn't answer, or not as it should."""

    def __init__(self, api: Any) -> None:
        from kubernetes import client

        self._core, self._batch, self._apps = client.CoreV1Api(api), client.BatchV1Api(api), client.AppsV1Api(api)
        self._custom = client.CustomObjectsApi(api)

    def submit(self, manifest: Object) -> Object:
        """Create a Job or a Deployment; it as it then is. Raises RefusedError with the API server's words."""
        from kubernetes.client.exceptions import ApiException

        create = {"Job": self._batch.create_namespaced_job, "Deployment": self._apps.create_namespaced_deployment}
        with sentences():
            try:
                answer = create[manifest["kind"]](manifest["metadata"]["namespace"], manifest, _preload_content=False)
            except ApiException as error:
                if error.status is not None and 400 <= error.status < 500:
                    raise RefusedError(_message(error)) from error
                raise
            made: Object = json.loads(answer.data)
            return made

    def delete(self, item: Object) -> None:
        """Delete a Job or a Deployment with its pods; one that is gone is fine."""
        calls = {"Job": self._batch.delete_namespaced_job, "Deployment": self._apps.delete_namespaced_deployment}
        _unless_gone(calls[item["kind"]], item, propagation_policy="Background")

    def scale(self, item: Object, count: int) -> None:
        """Give a Deployment another number of replicas."""
        meta = item["metadata"]
        with sentences():
            self._apps.patch_namespaced_deployment_scale(
                meta["name"], meta["namespace"], {"spec": {"replicas": count}}, _preload_content=False
            )

    def succeed(self, pod: Object) -> None:
        """End a fake pod well, as its kubelet would tell."""
        meta = pod["metadata"]
        with sentences():
            self._core.patch_namespaced_pod_status(
                meta["name"], meta["namespace"], {"status": {"phase": "Succeeded"}}, _preload_content=False
            )

    def of(self, case: str | None) -> list[Object]:
        """Jobs and Deployments of a case; of all cases without one."""
        selector = CASE_LABEL if case is None else f"{CASE_LABEL}={case}"
        lists = {"Job": self._batch.list_job_for_all_namespaces, "Deployment": self._apps.list_deployment_for_all_namespaces}
        return [{**item, "kind": kind} for kind, call in lists.items() for item in _listed(call, selector)]

    def collect(self, case: str | None, left: list[Object]) -> None:
        """Delete what is left of deleted Jobs and Deployments, as the garbage collector will."""
        selector = CASE_LABEL if case is None else f"{CASE_LABEL}={case}"
        for item in _listed(self._apps.list_replica_set_for_all_namespaces, selector):
            _unless_gone(self._apps.delete_namespaced_replica_set, item, propagation_policy="Background")
        for item in left:
            if "deletionTimestamp" in item["metadata"]:
                continue
            if item.get("kind") == "Workload":
                _unless_gone(self._delete_workload, item)
            else:
                _unless_gone(self._core.delete_namespaced_pod, item, grace_period_seconds=0)

    def nodes(self, selector: str) -> list[Object]:
        """Live nodes."""
        return _listed(self._core.list_node, selector)

    def priority_classes(self) -> set[str]:
        """Names of the WorkloadPriorityClasses."""
        with sentences():
            found = self._custom.list_cluster_custom_object(*KUEUE, "workloadpriorityclasses")
            return {one["metadata"]["name"] for one in found["items"]}

    def _delete_workload(self, name: str, namespace: str, **options: Any) -> None:
        self._custom.delete_namespaced_custom_object(*KUEUE, namespace, "workloads", name, **options)


def _listed(call: Callable[..., Any], selector: str) -> list[Object]:
    with sentences():
        found: list[Object] = json.loads(call(label_selector=selector, _preload_content=False).data)["items"]
        return found


def _unless_gone(call: Callable[..., Any], item: Mapping[str, Any], **options: Any) -> None:
    from kubernetes.client.exceptions import ApiException

    with sentences():
        try:
            call(item["metadata"]["name"], item["metadata"]["namespace"], **options, _preload_content=False)
        except ApiException as error:
            if error.status != _GONE:
                raise


def _message(error: Any) -> str:
    try:
        return str(json.loads(error.body)["message"])
    except (TypeError, ValueError, KeyError):
        return str(error.reason)


@contextmanager
def sentences() -> Iterator[None]:
    """Failures of the API server as sentences."""
    from kubernetes.client.exceptions import ApiException

    try:
        yield
    except ApiException as error:
        raise DemoError(f"the sandbox's API server answered: {_message(error)}", remedy=UP) from error
    except failures() as error:
        raise DemoError(f"the sandbox's API server does not answer: {error}", remedy=UP) from error
