"""What of a node's resources pods can have: its capacity less what the kubelet reserves.

The tiers are those that the HyperPod CLI computes with. Quotas count full specifications, so a job that wants a whole node must
ask for less than its quota.
"""

from __future__ import annotations

from governance.units import CPU, MEMORY, Resources

_GIB = 1024
_MEMORY_TIERS = ((4 * _GIB, 30), (4 * _GIB, 25), (8 * _GIB, 20), (112 * _GIB, 17))
"""Size of a tier in MiB, and percent of it that is reserved; 7 % of what is beyond."""
_CPU_TIERS = ((1000, 30), (1000, 15), (1000, 10), (1000, 10))
"""The same in milli-vCPU; 6 % beyond."""


def allocatable(capacity: Resources) -> dict[str, int]:
    """Amounts in base units that pods on a node can request; devices are not reserved."""
    reserved = {
        CPU: 100 + _tiers(capacity.get(CPU, 0), _CPU_TIERS, 6),
        MEMORY: _GIB // 2 + _tiers(capacity.get(MEMORY, 0), _MEMORY_TIERS, 7),
    }
    return {resource: max(0, amount - reserved.get(resource, 0)) for resource, amount in capacity.items()}


def _tiers(amount: int, tiers: tuple[tuple[int, int], ...], rest: int) -> int:
    """The reserved part, rounded up."""
    reserved = 0
    for size, share in tiers:
        part = min(amount, size)
        reserved += part * share
        amount -= part
    return -(-(reserved + amount * rest) // 100)
