"""Kubernetes quantities and pod requests as Kueue counts them: milli-vCPU, bytes, devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from math import ceil
from typing import Any

from governance.units import CPU


def amounts(quantities: Mapping[str, Any]) -> dict[str, int]:
    """Quantities by resource, each rounded up to the unit."""
    return {resource: _amount(resource == CPU, str(quantity)) for resource, quantity in quantities.items()}


@cache
def _amount(is_cpu: bool, quantity: str) -> int:
    from live.connection import load_client

    load_client()
    from kubernetes.utils.quantity import parse_quantity

    amount: int = ceil(parse_quantity(quantity) * (1000 if is_cpu else 1))
    return amount


def requests(spec: Mapping[str, Any]) -> dict[str, int]:
    """What a pod takes of its node: the larger of what runs and what starts it, and the overhead of its runtime class.

    Init containers run one after the other; those that restart always stay beside all that follow. Amounts for the pod as a whole
    replace those of its containers. A container's limit without a request is the request: in pods the API server has filled it
    in, in the templates of Workloads nobody has.
    """
    running: Counter[str] = Counter()
    peak: Counter[str] = Counter()
    for container in spec.get("initContainers") or ():
        asked = _of_container(container)
        if container.get("restartPolicy") == "Always":
            running.update(asked)
            peak |= running
        else:
            peak |= running + Counter(asked)
    for container in spec.get("containers") or ():
        running.update(_of_container(container))
    total = dict(running | peak)
    total |= amounts((spec.get("resources") or {}).get("requests") or {})
    return dict(Counter(total) + Counter(amounts(spec.get("overhead") or {})))


def _of_container(container: Mapping[str, Any]) -> dict[str, int]:
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})
