"""Fake nodes on a sandbox's API server: Node objects with a status, on which kwok then runs the pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, TypeVar

from governance.nodes import NodeSpec
from live.connection import MERGE_PATCH, ApiError, Connection, UnreachableError, connect
from sandbox.errors import SandboxError

SANDBOX_LABEL: Final = "hyperpod-platform/sandbox-node"
"""Label (`"true"`) of the nodes that were made here; no other node is ever touched."""
_NODES: Final = "/api/v1/nodes"
_PARALLEL: Final = 8
_NO_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable")
"""Taints that the API server's controllers own."""
_T = TypeVar("_T")
Object = dict[str, Any]


def sync_nodes(kubeconfig: Path, specs: Sequence[NodeSpec]) -> None:
    """Make the sandbox's nodes exactly these: adds, updates, and removes with their pods. Raises SandboxError."""
    api = _connect(kubeconfig)
    found = {node["metadata"]["name"]: node for node in _listed(api)}
    wanted = {spec.name for spec in specs}
    _each(lambda spec: _put(api, spec, found.get(spec.name)), specs)
    _remove(api, [name for name in found if name not in wanted])


def add_nodes(kubeconfig: Path, specs: Sequence[NodeSpec]) -> None:
    """Add nodes beside those that are there; nodes of the same names are updated. Raises SandboxError."""
    api = _connect(kubeconfig)
    found = {node["metadata"]["name"]: node for node in _listed(api)}
    _each(lambda spec: _put(api, spec, found.get(spec.name)), specs)


def remove_nodes(kubeconfig: Path, names: Iterable[str]) -> None:
    """Remove nodes that were made here, with their pods; others and missing ones are let be. Raises SandboxError."""
    api = _connect(kubeconfig)
    ours = {node["metadata"]["name"] for node in _listed(api)}
    _remove(api, [name for name in names if name in ours])


def node_object(spec: NodeSpec) -> Object:
    """The Node as it is created, status and all: a node that is ready from its first moment."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": spec.name, "labels": {**spec.labels, SANDBOX_LABEL: "true"}},
        "spec": {"taints": _taints(spec)},
        "status": {
            **_resources(spec),
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "message": "a node of the sandbox is always ready",
                }
            ],
            "addresses": [{"type": "Hostname", "address": spec.name}],
            "nodeInfo": _NODE_INFO,
        },
    }


def differences(spec: NodeSpec, live: Object) -> tuple[Object | None, Object | None]:
    """Merge patches for a live node and for its status; None where nothing differs."""
    labels = {**spec.labels, SANDBOX_LABEL: "true"}
    have = live["metadata"].get("labels", {})
    changed: Object = {key: value for key, value in labels.items() if have.get(key) != value}
    changed |= dict.fromkeys(key for key in have if key not in labels)
    patch: Object = {"metadata": {"labels": changed}} if changed else {}
    kept = [taint for taint in live.get("spec", {}).get("taints", []) if taint["key"] in _NO_TAINTS]
    taints = _taints(spec) + kept
    if _comparable(taints) != _comparable(live.get("spec", {}).get("taints", [])):
        patch["spec"] = {"taints": taints}
    status = {
        name: _replacing(wanted, live["status"].get(name, {}))
        for name, wanted in _resources(spec).items()
        if _numbers(wanted) != _numbers(live["status"].get(name, {}))
    }
    return patch or None, {"status": status} if status else None


def _put(api: Connection, spec: NodeSpec, live: Object | None) -> None:
    if live is None:
        _create(api, spec)
        return
    patch, status = differences(spec, live)
    if patch:
        api.request("PATCH", f"{_NODES}/{spec.name}", patch, content_type=MERGE_PATCH)
    if status:
        api.request("PATCH", f"{_NODES}/{spec.name}/status", status, content_type=MERGE_PATCH)


def _create(api: Connection, spec: NodeSpec) -> None:
    try:
        api.request("POST", _NODES, node_object(spec))
    except ApiError as error:
        if error.status != 409 or not error.retried:  # else the request that broke off has made it
            raise


def _remove(api: Connection, names: Sequence[str]) -> None:
    """The nodes go first, so that the scheduler can't put another pod there; then their pods, at once, as a lost node's."""
    if not names:
        return
    _each(lambda name: _delete(api, f"{_NODES}/{name}"), names)
    gone = set(names)
    pods = [pod["metadata"] for pod in api.request("GET", "/api/v1/pods").body["items"] if pod["spec"].get("nodeName") in gone]
    _each(lambda pod: _delete(api, f"/api/v1/namespaces/{pod['namespace']}/pods/{pod['name']}"), pods)


def _delete(api: Connection, path: str) -> None:
    try:
        api.request("DELETE", path, query={"gracePeriodSeconds": "0"})
    except ApiError as error:
        if error.status != 404:
            raise


def _connect(kubeconfig: Path) -> Connection:
    try:
        return connect(str(kubeconfig), "", "")
    except UnreachableError as error:
        raise SandboxError(f"{kubeconfig} is not a sandbox's kubeconfig: {error}", remedy="boot the sandbox first") from error


def _listed(api: Connection) -> list[Object]:
    def read(query: str) -> list[Object]:
        found: list[Object] = api.request("GET", _NODES, query={"labelSelector": query}).body["items"]
        return found

    return _each(read, [f"{SANDBOX_LABEL}=true"])[0]


def _each(work: Callable[[Any], _T], items: Sequence[Any]) -> list[_T]:
    """Do the work for every item, some at once; the first failure ends it."""
    try:
        with ThreadPoolExecutor(_PARALLEL) as pool:
            return list(pool.map(work, items))
    except (ApiError, UnreachableError) as error:
        raise SandboxError(f"the sandbox's nodes could not be brought up to date: {error}") from error


def _taints(spec: NodeSpec) -> list[dict[str, str]]:
    return [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in spec.taints]


def _comparable(taints: Iterable[Object]) -> set[tuple[str, str, str]]:
    return {(taint["key"], taint.get("value", ""), taint["effect"]) for taint in taints}


def _resources(spec: NodeSpec) -> dict[str, dict[str, str]]:
    return {"capacity": dict(spec.capacity), "allocatable": dict(spec.allocatable)}


def _replacing(wanted: dict[str, str], live: dict[str, str]) -> Object:
    """A merge patch that leaves exactly `wanted`."""
    return {**dict.fromkeys(key for key in live if key not in wanted), **wanted}


def _numbers(quantities: dict[str, str]) -> dict[str, Decimal]:
    """Quantities as numbers: the API server writes `2048Gi` as `2Ti`."""
    from kubernetes.utils.quantity import parse_quantity

    return {name: parse_quantity(value) for name, value in quantities.items()}


_NODE_INFO: Final = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "kwok://",
    "kernelVersion": "",
    "kubeProxyVersion": "",
    "kubeletVersion": "sandbox",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "",
    "systemUUID": "",
}
