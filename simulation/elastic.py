"""Elastic training: with how many replicas a job may run, and how many it does run with the pods that it has got. Pure functions.

`governance.jobs.elastic` tells of which workloads such a job consists.
"""

from __future__ import annotations

from collections.abc import Sequence

from simulation.cases import Elastic


def counts(elastic: Elastic) -> tuple[int, ...]:
    """The replica counts that the job may run with, ascending, from `min` to `max`."""
    if elastic.values:
        return elastic.values
    return (*range(elastic.min, elastic.max, elastic.step or 1), elastic.max)


def replicas(elastic: Elastic, held: Sequence[int]) -> int:
    """Replicas that train where the job's parts have `held` pods with quota and a node, the base's first.

    Without its whole base nothing trains. Beyond that the operator uses the largest count that it is allowed to: with the counts
    20, 24 and 32, pods for 28 train as 24.
    """
    allowed = counts(elastic)
    if not held or held[0] < allowed[0]:
        return 0
    return max(count for count in allowed if count <= sum(held))
