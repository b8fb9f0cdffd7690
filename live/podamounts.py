"""Kubernetes quantities and pod requests as Kueue counts them: milli-vCPU, bytes, devices; parts of a unit are rounded up."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Any

from governance.units import CPU, total

Amounts = dict[str, int]


@lru_cache(maxsize=8192)
def amount_of(resource: str, text: str | float) -> int:
    """A Kubernetes quantity as an integer. Remembered: thousands of workloads ask for few different amounts."""
    from live.connection import load_client

    load_client()
    from kubernetes.utils.quantity import parse_quantity

    number: Decimal = parse_quantity(text)
    return int((number * 1000 if resource == CPU else number).to_integral_value(ROUND_CEILING))


def amounts_of(resources: Mapping[str, Any] | None) -> Amounts:
    """A resource list."""
    return {name: amount_of(name, text) for name, text in (resources or {}).items()}


def pod_amounts(spec: Mapping[str, Any]) -> Amounts:
    """What a pod takes of its node: the larger of what runs and what starts it, and the overhead of its runtime class.

    Init containers run one after the other; those that restart always stay beside all that follow. Amounts for the pod as a whole
    replace those of its containers. A container's limit without a request is the request: in pods the API server has filled it
    in, in the templates of Workloads nobody has.
    """
    sidecars: Amounts = {}
    start: Amounts = {}
    for container in spec.get("initContainers") or ():
        asked = _asked(container)
        if container.get("restartPolicy") == "Always":
            sidecars = total((sidecars, asked))
            asked = sidecars
        else:
            asked = total((sidecars, asked))
        start = _larger(start, asked)
    run = total((sidecars, *(_asked(container) for container in spec.get("containers") or ())))
    asked = _larger(run, start)
    asked |= amounts_of((spec.get("resources") or {}).get("requests"))
    return total((asked, amounts_of(spec.get("overhead"))))


def _asked(container: Mapping[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _larger(one: Mapping[str, int], other: Mapping[str, int]) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
