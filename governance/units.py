"""Resources and their base units.

Every amount is an integer in a base unit, so that sums and limits are exact: milli-vCPU, MiB, devices, pods. Amounts that a ratio
yields are rounded down to the base unit, hence parts never exceed their whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

CPU = "cpu"
MEMORY = "memory"
GPU = "nvidia.com/gpu"
NEURON = "aws.amazon.com/neurondevice"
EFA = "vpc.amazonaws.com/efa"
PODS = "pods"

COVERED = (CPU, MEMORY, GPU, NEURON, EFA)
"""Resources that every ClusterQueue covers, in the order in which it lists them (as HyperPod task governance does)."""
DEVICES = (GPU, NEURON)

Resources = Mapping[str, int]
"""Amounts in base units by resource name; a resource that is missing has 0."""

_BINARY = (("Ei", 1 << 40), ("Pi", 1 << 30), ("Ti", 1 << 20), ("Gi", 1 << 10), ("Mi", 1))
"""Suffixes of binary quantities by their size in MiB."""
_THOUSANDS = (("E", 10**18), ("P", 10**15), ("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3))


def mig_resource(profile: str) -> str:
    """The extended resource of a MIG profile, as the NVIDIA device plugin names it with the strategy `mixed`."""
    return f"nvidia.com/{profile}"


def is_device(resource: str) -> bool:
    """Whether the resource is an accelerator or a part of one."""
    return resource in DEVICES or resource.startswith("nvidia.com/mig-")


def quantity(resource: str, amount: int) -> str:
    """The amount as a Kubernetes quantity in canonical form, the one that API servers and webhooks write back.

    Canonical means the largest suffix that leaves a whole number: 1,000 GPUs are `1k`, 2,048 GiB are `2Ti`.
    """
    if resource == CPU:
        return _suffixed(amount // 1000, _THOUSANDS) if amount % 1000 == 0 else f"{amount}m"
    return _suffixed(amount, _BINARY if resource == MEMORY else _THOUSANDS)


def _suffixed(amount: int, suffixes: tuple[tuple[str, int], ...]) -> str:
    for suffix, size in suffixes if amount else ():
        if amount % size == 0:
            return f"{amount // size}{suffix}"
    return str(amount)


def quantities(amounts: Resources) -> dict[str, str]:
    """Amounts that are not zero, as Kubernetes quantities."""
    return {resource: quantity(resource, amount) for resource, amount in amounts.items() if amount}


def shown(resource: str, amount: int) -> str:
    """The amount as people say it: vCPUs, GiB, devices."""
    if resource == CPU:
        return _decimal(Fraction(amount, 1000))
    if resource == MEMORY:
        return f"{_decimal(Fraction(amount, 1024))} GiB"
    return str(amount)


def _decimal(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.1f}"


def total(parts: Iterable[Resources]) -> dict[str, int]:
    """The sum by resource."""
    result: dict[str, int] = {}
    for part in parts:
        for resource, amount in part.items():
            result[resource] = result.get(resource, 0) + amount
    return result


def times(resources: Resources, count: int) -> dict[str, int]:
    """`count` of the same."""
    return {resource: amount * count for resource, amount in resources.items()}


def percent(amount: int, share: int) -> int:
    """`share` percent of an amount, rounded down to the base unit: half of one GPU is none."""
    return amount * share // 100
