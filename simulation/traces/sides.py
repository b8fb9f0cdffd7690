"""Which jobs of a trace can be submitted at all on one side of a comparison."""

from __future__ import annotations

from dataclasses import replace

from governance.model import ClusterPlan
from simulation.traces.model import Job, Trace


def submittable(trace: Trace, cluster: ClusterPlan) -> Trace:
    """The trace without jobs of teams or priority classes that the plan doesn't have: by results, these can never run."""
    kept = tuple(job for job in trace.jobs if not missing(job, cluster))
    return trace if len(kept) == len(trace.jobs) else replace(trace, jobs=kept)


def missing(job: Job, cluster: ClusterPlan) -> str:
    """Why the job can't be submitted; empty where it can."""
    if job.team not in cluster.teams:
        return f"there is no team {job.team}"
    if job.priority is not None and job.priority not in {planned.declared for planned in cluster.priority_classes}:
        return f"there is no priority class {job.priority}"
    return ""
