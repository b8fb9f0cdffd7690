"""Amounts as Kueue counts them: milli-vCPU, bytes, devices; parts of a unit are rounded up, as Kueue rounds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Any

from governance.units import CPU, MEMORY, PODS, quantity, shown, total

Amounts = dict[str, int]
_MIB = 1024 * 1024


@lru_cache(maxsize=8192)
def amount_of(resource: str, text: str | float) -> int:
    """A Kubernetes quantity as an integer. Remembered: thousands of workloads ask for few different amounts."""
    from kubernetes.utils.quantity import parse_quantity

    number: Decimal = parse_quantity(text)
    return int((number * 1000 if resource == CPU else number).to_integral_value(ROUND_CEILING))


def amounts_of(resources: Mapping[str, Any] | None) -> Amounts:
    """A resource list."""
    return {name: amount_of(name, text) for name, text in (resources or {}).items()}


def quantity_of(resource: str, amount: int) -> str:
    """The amount as a Kubernetes quantity."""
    if resource == MEMORY:
        return quantity(MEMORY, amount // _MIB) if amount % _MIB == 0 else str(amount)
    return f"-{quantity(resource, -amount)}" if amount < 0 else quantity(resource, amount)


def words(resource: str, amount: int) -> str:
    """`8 nvidia.com/gpu`, `12 vCPU`, `64 GiB of memory`."""
    if resource == CPU:
        return f"{shown(CPU, amount)} vCPU"
    if resource == MEMORY:
        return f"{shown(MEMORY, amount // _MIB)} of memory"
    return f"{amount} {resource}"


def number(resource: str, amount: int) -> str:
    """The same without the resource's name."""
    return shown(resource, amount // _MIB if resource == MEMORY else amount)


def pod_amounts(spec: Mapping[str, Any]) -> Amounts:
    """What the scheduler counts for a pod: its containers and sidecars together, or its largest init container; overhead."""
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
    asked |= amounts_of((spec.get("resources") or {}).get("requests"))  # pod-level requests stand
    return total((asked, amounts_of(spec.get("overhead"))))


def _asked(container: Mapping[str, Any]) -> Amounts:
    resources = container.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _larger(one: Mapping[str, int], other: Mapping[str, int]) -> Amounts:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def pods_that_fit(asked: Mapping[str, int], room: Mapping[str, int]) -> int:
    """How many pods of one size a room holds; each takes one of `pods`."""
    counted = {PODS: 1, **{name: amount for name, amount in asked.items() if amount}}
    return max(0, min(room.get(name, 0) // amount for name, amount in counted.items()))


def minus(room: Mapping[str, int], taken: Iterable[Mapping[str, int]]) -> Amounts:
    """What is left."""
    used = total(taken)
    return {name: amount - used.get(name, 0) for name, amount in room.items()}
