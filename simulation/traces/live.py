"""A trace from what a cluster runs: its Workloads (`kueue.x-k8s.io`), finished, running and waiting.

What no object tells is assumed, and said in the trace's notes. Nothing is written to the cluster.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median
from typing import Any, Final

from config.findings import ConfigError, Where, problem_at
from governance.model import ClusterPlan
from live.usage import Source, served
from simulation.traces.model import Job, Trace
from simulation.traces.names import Fresh
from simulation.traces.podsets import Pods, pods_of

ASSUMED: Final = 3600
"""Seconds that a job is taken to run where nothing on the cluster tells."""
_NAME_LIMIT: Final = 50
_NOT_IN_NAMES: Final = re.compile(r"[^a-z0-9-]+")
_RAN_BEFORE: Final = ("accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
"""As v1beta2 writes it, and v1beta1."""
_NO_JOBS: Final = "submit some first, or write a trace's file, or give --generate"
Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Seen:
    """A Workload as far as it tells."""

    name: str
    team: str
    created: datetime
    ran: int | None
    """Seconds of its last run, if it has finished."""
    so_far: int
    """Seconds for which it runs."""
    limit: int | None
    pods: Pods
    priority: str | None


def from_cluster(reader: Source, plan: ClusterPlan, now: datetime | None = None, assumed: int = ASSUMED) -> Trace:
    """The Workloads of the plan's teams, from the oldest on. `assumed`: run time where no finished job tells, in seconds.

    Raises ConfigError where no job is left, NoKueueError, and what the reader raises.
    """
    told: Counter[str] = Counter()
    teams = {team.namespace: team.name for team in plan.teams.values()}
    classes = {planned.name: planned.declared for planned in plan.priority_classes}
    moment = now or datetime.now(UTC)
    seen = [_seen(item, teams, classes, plan, moment, told) for item in reader.pages(f"{served(reader)}/workloads")]
    found = sorted((one for one in seen if one is not None), key=lambda one: (one.created, one.team, one.name))
    jobs = _jobs(found, assumed, told)
    notes = [f"Workloads {text}: {number:,}" for text, number in told.items()]
    if not jobs:
        message = f"the cluster `{plan.name}` has no Workloads of the plan's teams to replay"
        left = f" ({'; '.join(notes)})" if notes else ""
        raise ConfigError([problem_at("jobs-none", Where("--from-cluster"), message + left, _NO_JOBS)])
    return Trace(f"cluster {plan.name}", tuple(jobs), None, None, tuple(notes))


def _seen(
    item: Object, teams: Mapping[str, str], classes: Mapping[str, str], plan: ClusterPlan, now: datetime, told: Counter[str]
) -> _Seen | None:
    meta, spec = item["metadata"], item["spec"]
    team = teams.get(meta["namespace"])
    if team is None:
        told["left out, for they stand in namespaces of no team"] += 1
        return None
    conditions = {one["type"]: one for one in (item.get("status") or {}).get("conditions") or ()}
    admitted, finished = _since(conditions, "Admitted"), _since(conditions, "Finished")
    if spec.get("active") is False and finished is None:
        told["left out, for they are deactivated"] += 1
        return None
    if finished is not None and admitted is None:
        told["left out, for they ended without ever running"] += 1
        return None
    pods = pods_of(item, plan.kueue.exclude_resources)
    if pods is None:
        told["left out, for they have no pods"] += 1
        return None
    told.update(pods.notes)
    priority = (spec.get("priorityClassRef") or {}).get("name") or spec.get("priorityClassName") or None
    if priority is not None and priority not in classes:
        told[f"without a priority here, for the plan has no class {priority}"] += 1
    if finished is not None and ("Evicted" in conditions or any(item["status"].get(name) for name in _RAN_BEFORE)):
        told["stopped once before they finished, so that the last run counts alone"] += 1
    running = finished is None and admitted is not None
    return _Seen(
        name=meta["name"],
        team=team,
        created=datetime.fromisoformat(meta["creationTimestamp"]),
        ran=_seconds(admitted, finished) if finished and admitted else None,
        so_far=_seconds(admitted, now) if running and admitted else 0,
        limit=spec.get("maximumExecutionTimeSeconds"),
        pods=pods,
        priority=classes.get(priority) if priority is not None else None,
    )


def _jobs(found: Sequence[_Seen], assumed: int, told: Counter[str]) -> list[Job]:
    """Jobs with the run times of what has finished; of others, the median of their team's, or of all, or what is assumed."""
    by_team: dict[str, list[int]] = {}
    for one in found:
        if one.ran is not None:
            by_team.setdefault(one.team, []).append(one.ran)
    every = [seconds for own in by_team.values() for seconds in own]
    taken: set[str] = set()
    fresh = Fresh()
    jobs = []
    for one in found:
        runs_for = one.ran
        if runs_for is None:
            own = by_team.get(one.team)
            source = "the median of their team's finished ones" if own else "the median of all finished ones" if every else ""
            guess = round(median(own or every)) if source else assumed
            told[f"not finished, and taken to run for {source or f'{assumed} s'}"] += 1
            runs_for = max(guess, one.so_far) if one.limit is None else min(max(guess, one.so_far), one.limit)
        jobs.append(
            Job(
                name=_name(one.name, taken, fresh),
                team=one.team,
                arrives=_seconds(found[0].created, one.created),
                runs_for=max(1, runs_for),
                pods=one.pods.count,
                per_pod=one.pods.each,
                instance_type=one.pods.instance_type,
                priority=one.priority,
                topology=one.pods.topology,
            )
        )
    return jobs


def _name(text: str, taken: set[str], fresh: Fresh) -> str:
    """The Workload's name as a job's: short, and none of the others'."""
    base = _NOT_IN_NAMES.sub("-", text.lower())[:_NAME_LIMIT].strip("-") or "job"
    name = fresh.name(base, taken)
    taken.add(name)
    return name


def _since(conditions: Mapping[str, Object], kind: str) -> datetime | None:
    """Since when a condition is true; None where it isn't."""
    found = conditions.get(kind, {})
    return datetime.fromisoformat(found["lastTransitionTime"]) if found.get("status") == "True" else None


def _seconds(start: datetime, end: datetime) -> int:
    return max(0, round((end - start).total_seconds()))
