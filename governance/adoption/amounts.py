"""The quota entry that means exactly given amounts: as short as it can be, and in full where proportion doesn't yield them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from config.catalogue import InstanceType
from config.team import DEFAULT_BORROW_PERCENT
from governance.amounts import AmountError, Request, resolve, specification
from governance.units import CPU, MEMORY, Resources, percent

_SUFFIXES: Final[Mapping[str, Decimal]] = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "k": Decimal(1000),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("MGTPE", start=2)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", start=1)},
}
_MIG: Final = "nvidia.com/mig-"
_ROUND: Final = (100, 50, 25, 10, 5, 1)
"""Percentages that people would rather read."""


def base_units(resource: str, text: object) -> int:
    """A Kubernetes quantity in the resource's base unit, rounded down; 0 for what is no quantity."""
    written = str(text)
    number = written.rstrip("numkMGTPEi")
    try:
        value = Decimal(number) * _SUFFIXES[written[len(number) :]]
    except (InvalidOperation, KeyError):
        try:
            value = Decimal(written)  # 1e3 and the like
        except InvalidOperation:
            return 0
    unit = {CPU: Decimal("0.001"), MEMORY: Decimal(1024**2)}.get(resource, Decimal(1))
    return int(value / unit)


def entry(amounts: Resources, kind: InstanceType, *, whole: bool = True) -> dict[str, Any]:
    """The quota entry of a type. Only the resources in `amounts` need to come out right: others aren't counted.

    Not `whole`: never by instances, which the managed backend counts apart. What no entry can say
    is left to whoever compares: a vCPU amount of 0 beside accelerators, EFA interfaces out of proportion.
    """
    for request, short in _short(amounts, kind):
        if (whole or not request.whole) and _means(request, kind, amounts):
            return short
    return _in_full(amounts, kind)


def _short(amounts: Resources, kind: InstanceType) -> Iterable[tuple[Request, dict[str, Any]]]:
    whole = _specification(kind)
    known = next((r for r in (kind.resource, CPU, MEMORY) if r is not None and r in amounts and whole.get(r)), None)
    instances = amounts[known] // whole[known] if known else 0
    yield Request(instances=instances), {"instances": instances}
    devices = amounts.get(kind.resource, 0) if kind.resource else 0
    if devices:
        yield Request(accelerators=devices), {"accelerators": devices}
        if CPU in amounts:
            yield Request(accelerators=devices, cpu=amounts[CPU]), {"accelerators": devices, "vcpu": _vcpu(amounts[CPU])}
    elif CPU in amounts:
        yield Request(cpu=amounts[CPU]), {"vcpu": _vcpu(amounts[CPU])}


def _means(request: Request, kind: InstanceType, amounts: Resources) -> bool:
    if request.cpu == 0:
        return False  # an amount of 0 can't be written
    try:
        found = resolve(request, kind)
    except AmountError:
        return False
    return all(found.get(resource, 0) == amount for resource, amount in amounts.items())


def _in_full(amounts: Resources, kind: InstanceType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    devices = amounts.get(kind.resource, 0) if kind.resource else 0
    partitions = {r.removeprefix("nvidia.com/"): n for r, n in amounts.items() if r.startswith(_MIG) and n}
    if devices:
        found["accelerators"] = devices
    if amounts.get(CPU):
        found["vcpu"] = _vcpu(amounts[CPU])
    if amounts.get(MEMORY):
        found["memory_gib"] = _plain(max(0.001, amounts[MEMORY] / 1024))  # 1 MiB is a little less than may be written
    if partitions:
        found["partitions"] = partitions
    return found or {"instances": 0}


def _specification(kind: InstanceType) -> Resources:
    try:
        return specification(kind)
    except AmountError:
        return {}


def _vcpu(milli: int) -> float | int:
    return _plain(milli / 1000)


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def share(cells: Iterable[tuple[int, int]], most: int) -> int | None:
    """The percentage, up to `most`, that yields every limit of its nominal amount when rounded down; None where none does.

    Of several, the default borrow limit comes first, then the roundest.
    """
    low, high = 0, most
    for nominal, limit in set(cells):
        if not nominal:
            if limit:
                return None
            continue
        low = max(low, -(-limit * 100 // nominal))
        high = min(high, ((limit + 1) * 100 - 1) // nominal)
    if low > high:
        return None
    if low <= DEFAULT_BORROW_PERCENT <= high:
        return DEFAULT_BORROW_PERCENT
    return next(step * -(-low // step) for step in _ROUND if step * -(-low // step) <= high)


def is_share(cells: Iterable[tuple[int, int]], share_: int) -> bool:
    """Whether the percentage yields every limit."""
    return all(percent(nominal, share_) == limit for nominal, limit in cells)
