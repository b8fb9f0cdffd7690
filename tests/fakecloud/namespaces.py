"""What the task governance add-on does in the cluster for a compute quota, as far as tests need it: the team's namespace."""

from __future__ import annotations

import time
from typing import Any, Final

from fakecloud.calls import AwsError
from live.connection import ApiError, connect

_PATIENCE: Final = 200.0


class TeamNamespaces:
    """Creates namespace ``hyperpod-ns-<team>`` with AWS's labels, and deletes it with the quota."""

    def __init__(self, kubeconfig: str) -> None:
        self._connection = connect(kubeconfig, "", "")

    def __call__(self, op: str, quota: dict[str, Any]) -> None:
        team = quota["ComputeQuotaTarget"]["TeamName"]
        name = f"hyperpod-ns-{team}"
        if op == "create":
            labels = {
                "sagemaker.amazonaws.com/sagemaker-managed-queue": "true",
                "sagemaker.amazonaws.com/quota-allocation-id": team,
            }
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
            self._tolerantly("POST", "/api/v1/namespaces", body, 409)
        elif op == "delete":
            self._tolerantly("DELETE", f"/api/v1/namespaces/{name}", None, 404)
            self._gone(name)

    def _gone(self, name: str) -> None:
        """Wait for the end of a namespace: a quota counts as deleted when nothing of it is left."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            try:
                self._connection.request("GET", f"/api/v1/namespaces/{name}")
            except ApiError as error:
                if error.status == 404:
                    return
            time.sleep(0.1)
        raise AwsError("InternalFailure", f"namespace {name} does not end")

    def _tolerantly(self, method: str, path: str, body: Any, status: int) -> None:
        try:
            self._connection.request(method, path, body)
        except ApiError as error:
            if error.status != status:
                raise
