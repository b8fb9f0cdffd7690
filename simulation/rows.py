"""Results of cases."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


def replicas(count: int) -> str:
    """A number of replicas as a verdict."""
    return "1 replica" if count == 1 else f"{count} replicas"


@dataclass(frozen=True)
class CaseRow:
    """One expectation and what came of it.

    `verdict` is one of `simulation.verdicts`, or `refused` (the API server refused the job), `unplaced` (admitted, yet not every
    pod was given a node in time), `scattered` (admitted, on nodes that don't share the label that they should), `partly` (some
    pods of a Deployment run, others wait); where replicas are expected, their number (`replicas`). `reason` is in the words of
    Kueue, or of the API server. `nodes` are those of the pods, one entry a node, where the workload runs.
    """

    case: str
    team: str
    workload: str
    expected: str
    verdict: str
    reason: str
    nodes: tuple[str, ...]

    @property
    def as_expected(self) -> bool:
        return self.verdict == self.expected

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {**asdict(self), "nodes": list(self.nodes)}
