"""How the pages write amounts, durations and moments."""

from __future__ import annotations

from datetime import datetime

from governance.units import CPU, DEVICES, EFA, GPU, MEMORY, NEURON, PODS, shown

_UNITS = {CPU: "vCPUs", MEMORY: "memory", GPU: "GPUs", NEURON: "Neuron devices", EFA: "EFA interfaces", PODS: "pods"}


def unit(resource: str) -> str:
    """What one says for a resource: GPUs, vCPUs, a partition's profile."""
    return _UNITS.get(resource, resource.removeprefix("nvidia.com/"))


def amount(resource: str, number: int | None) -> str:
    """An amount without its unit, thousands set apart; a dash for what nobody knows."""
    if number is None:
        return "–"
    words = shown(resource, number)
    return f"{number:,}" if resource in DEVICES else words


def duration(seconds: float) -> str:
    """As `45s`, `12m`, `1h 15m`, `3d 4h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes = round(whole / 60)
    if minutes < 60:
        return f"{minutes}m"
    hours, rest = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h {rest}m" if rest else f"{hours}h"
    days, left = divmod(round(minutes / 60), 24)
    return f"{days}d {left}h" if left else f"{days}d"


def percent(part: float, whole: float) -> str:
    """A share in whole percent; a small one isn't none, and a large one isn't all."""
    if not whole:
        return "–"
    share = 100 * part / whole
    if 0 < share < 1:
        return "<1 %"
    return ">99 %" if 99 < share < 100 else f"{share:.0f} %"


def utc(moment: datetime) -> str:
    """As `21 November 2026, 17:35 UTC`."""
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def plural(number: int, one: str, many: str = "") -> str:
    """`1 task`, `2,000 tasks`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
