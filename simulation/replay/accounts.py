"""What Kueue itself counts: Workloads by ClusterQueue, from its metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(
    rb'^kueue_(pending|reserving_active)_workloads\{cluster_queue="([^"]+)"(?:,[a-z_]+="[^"]*")*?(?:,status="(\w+)")?\} (\S+)$',
    re.M,
)


@dataclass(frozen=True, slots=True)
class Account:
    """One queue's Workloads."""

    active: int = 0
    """Kueue will look at them, or looks at one now."""
    inadmissible: int = 0
    """It has looked, and won't again until something changes; or the queue is stopped."""
    reserving: int = 0
    """They hold quota, be it told to the API server already or not."""


def accounts(metrics: bytes) -> Mapping[str, Account]:
    """Accounts by ClusterQueue from the text of Kueue's metrics."""
    found: dict[str, dict[str, int]] = {}
    for kind, queue, status, value in _LINE.findall(metrics):
        field = status.decode() if kind == b"pending" else "reserving"
        found.setdefault(queue.decode(), {})[field] = int(float(value))
    return {queue: Account(**fields) for queue, fields in found.items()}
