"""Amounts in words, and what is left of them; in milli-vCPU, bytes and devices, as `live.podamounts` has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from governance.units import CPU, MEMORY, PODS, quantity, shown, total
from live.podamounts import Amounts

_MIB = 1024 * 1024


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


def pods_that_fit(asked: Mapping[str, int], room: Mapping[str, int]) -> int:
    """How many pods of one size a room holds; each takes one of `pods`."""
    counted = {PODS: 1, **{name: amount for name, amount in asked.items() if amount}}
    return max(0, min(room.get(name, 0) // amount for name, amount in counted.items()))


def minus(room: Mapping[str, int], taken: Iterable[Mapping[str, int]]) -> Amounts:
    """What is left."""
    used = total(taken)
    return {name: amount - used.get(name, 0) for name, amount in room.items()}
