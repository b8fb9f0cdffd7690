"""The kinds whose readiness is waited for without being asked, as the plugin does."""

from __future__ import annotations

from typing import Any, Final

from sandbox.provider.conditions import READY, Check, FailedError, State, condition, conditions
from sandbox.provider.names import object_name


def _established(obj: dict[str, Any]) -> State:
    for one in conditions(obj):
        if one.get("type") == "NamesAccepted" and one.get("status") == "False":
            raise FailedError(f"the names of the CRD {object_name(obj)} are not accepted: {one.get('message', '')}")
    return condition("Established", "True")(obj)


def _rollout(obj: dict[str, Any]) -> State:
    """Deployment, StatefulSet: the wanted number of replicas is up to date and available."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    wanted = spec.get("replicas", 1)
    if status.get("observedGeneration", 0) < (obj.get("metadata") or {}).get("generation", 0):
        return State(False, "the controller to see the change")
    for one in conditions(obj):
        if one.get("type") == "Progressing" and one.get("reason") == "ProgressDeadlineExceeded":
            raise FailedError(f"the roll-out does not progress: {one.get('message', '')}")
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    if updated < wanted or available < wanted or status.get("replicas", 0) > wanted:
        return State(False, f"{wanted} replicas ({updated} updated, {available} available)")
    return READY


def _daemons(obj: dict[str, Any]) -> State:
    status = obj.get("status") or {}
    if status.get("observedGeneration", 0) < (obj.get("metadata") or {}).get("generation", 0):
        return State(False, "the controller to see the change")
    wanted = status.get("desiredNumberScheduled", 0)
    updated, available = status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0)
    ready = updated >= wanted and available >= wanted
    return READY if ready else State(False, f"{wanted} pods ({updated} updated, {available} available)")


def _job(obj: dict[str, Any]) -> State:
    """Complete. A suspended job is waiting for somebody else (Kueue), so it is not waited for."""
    for one in conditions(obj):
        if one.get("type") == "Failed" and one.get("status") == "True":
            raise FailedError(f"the job has failed: {one.get('reason', '')}: {one.get('message', '')}")
    if (obj.get("spec") or {}).get("suspend"):
        return READY
    return condition("Complete", "True")(obj)


def _pod(obj: dict[str, Any]) -> State:
    phase = (obj.get("status") or {}).get("phase")
    if phase == "Failed":
        raise FailedError(f"the pod has failed: {(obj.get('status') or {}).get('message', '')}")
    return READY if phase == "Succeeded" else condition("Ready", "True")(obj)


def _service(obj: dict[str, Any]) -> State:
    if (obj.get("spec") or {}).get("type") != "LoadBalancer":
        return READY
    ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress")
    return READY if ingress else State(False, "an address of the load balancer")


KNOWN: Final[dict[tuple[str, str], Check]] = {
    ("", "Pod"): _pod,
    ("", "Service"): _service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _established,
    ("apps", "DaemonSet"): _daemons,
    ("apps", "Deployment"): _rollout,
    ("apps", "StatefulSet"): _rollout,
    ("batch", "Job"): _job,
}
