"""Values of HyperPod's dependency chart: what the cluster's instance types need, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from config.catalogue import InstanceType, instance_type
from governance.platform.model import PlatformPlan

_ON = (
    ("trainingOperators", "enabled"),
    ("mpi-operator", "enabled"),
    ("deep-health-check", "enabled"),
    ("job-auto-restart", "enabled"),
    ("hyperpod-patching", "enabled"),
    ("health-monitoring-agent", "enabled"),
)
_OFF = ("cluster-role-and-bindings", "namespaced-role-and-bindings", "team-role-and-bindings")
"""The chart's roles: those of the teams are tighter. Written out, for where a dependency's condition is not there, Helm takes it
as true, and the chart's own values spell one of these `enable`."""
_TYPE_LABEL = "node.kubernetes.io/instance-type"


def chart_values(plan: PlatformPlan) -> dict[str, Any]:
    """Values for the release: ours, and over them those of the declaration; maps merge by key, everything else replaces.

    Device plugins run only where some group has a type that needs them: elsewhere they crash and restart for ever. The chart
    binds them to lists of types that lag behind SageMaker's; so the lists are our groups'. GPUs that are cut into MIG partitions
    need NVIDIA's operator, which brings a device plugin of its own.
    """
    types = node_types(plan)
    nvidia = sorted(found.name for found in types if found.accelerator == "nvidia")
    efa = sorted(found.name for found in types if found.efa != 0)
    partitioned = any(group.declared.partitions for group in plan.groups)
    region = plan.declared.region
    values: dict[str, Any] = {
        "global": {"region": region},
        **{chart: {key: True} for chart, key in _ON},
        **{chart: {"enabled": False} for chart in _OFF},
        "health-monitoring-agent": {"enabled": True, "region": region},
        "gpu-operator": {"enabled": partitioned},
        "nvidia-device-plugin": {"devicePlugin": {"enabled": bool(nvidia) and not partitioned}, **_only_on(nvidia)},
        "neuron-device-plugin": {"devicePlugin": {"enabled": any(found.accelerator in _NEURON for found in types)}},
        "aws-efa-k8s-device-plugin": {"devicePlugin": {"enabled": bool(efa)}, "supportedInstanceLabels": {"values": efa}},
    }
    return merged(values, plan.declared.hyperpod.chart.values)


_NEURON = ("trainium", "inferentia")


def node_types(plan: PlatformPlan) -> list[InstanceType]:
    """Every type that a node may have, flexible ones and those of restricted groups included; each once."""
    names = {name for group in plan.groups for name in (group.declared.instance_type, *group.declared.flexible_types)}
    names |= {group.instance_type for group in plan.declared.restricted_instance_groups.values()}
    return [instance_type(name) for name in sorted(names)]


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Maps merge by key, scalars and lists replace."""
    result = dict(base)
    for key, value in over.items():
        mine = result.get(key)
        result[key] = merged(mine, value) if isinstance(mine, Mapping) and isinstance(value, Mapping) else value
    return result


def _only_on(types: Iterable[str]) -> dict[str, Any]:
    expression = {"key": _TYPE_LABEL, "operator": "In", "values": list(types)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}
