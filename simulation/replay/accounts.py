"""What Kueue itself counts, from its metrics: Workloads by ClusterQueue, and which queues are active."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_LABEL: Final = re.compile(r'(\w+)="([^"]*)"')


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
    for labels, value in _family(metrics, b"kueue_pending_workloads"):
        found.setdefault(labels["cluster_queue"], {})[labels["status"]] = int(value)
    for labels, value in _family(metrics, b"kueue_reserving_active_workloads"):
        found.setdefault(labels["cluster_queue"], {})["reserving"] = int(value)
    return {queue: Account(**fields) for queue, fields in found.items()}


def active(metrics: bytes) -> set[str]:
    """ClusterQueues that admit Workloads."""
    family = _family(metrics, b"kueue_cluster_queue_status")
    return {labels["cluster_queue"] for labels, value in family if labels["status"] == "active" and value == 1}


def _family(metrics: bytes, name: bytes) -> Iterator[tuple[dict[str, str], float]]:
    """Labels and values of a metric. Its lines stand together in a text of a megabyte."""
    line = b"\n" + name + b"{"
    start = metrics.find(line)
    if start < 0:
        return
    end = metrics.find(b"\n", metrics.rfind(line) + 1)
    for sample in metrics[start + 1 : end].decode().splitlines():
        labels, _, value = sample.rpartition(" ")
        yield dict(_LABEL.findall(labels)), float(value)
