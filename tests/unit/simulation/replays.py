"""Small plans and replays by hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from strategies import API_VERSION, ProjectData, planned

from governance.model import ClusterPlan
from simulation.replay.model import Event, Replay
from simulation.traces.model import Job, Trace

G5, P5 = "ml.g5.12xlarge", "ml.p5.48xlarge"
GPU = "nvidia.com/gpu"
TICK = 60


def cluster_of(teams: dict[str, dict[str, Any]], groups: dict[str, int], **governance: Any) -> ClusterPlan:
    """Teams with what differs; groups by instance type and number of nodes."""
    environment = {
        "apiVersion": API_VERSION,
        "clusters": {
            "main": {
                "kind": "existing",
                "instance_groups": {
                    kind.split(".")[1]: {"instance_type": kind, "count": count} for kind, count in groups.items()
                },
            }
        },
        "governance": {"priority_classes": {"high": {"weight": 90}, "low": {"weight": 10}}, "idle_compute": "fair_share"}
        | governance,
    }
    common = {"apiVersion": API_VERSION, "owners": ["team@example.com"]}
    return planned(ProjectData(environment, {name: common | team for name, team in teams.items()})).clusters["main"]


def job(name: str, team: str, gpus: int = 4, pods: int = 1, arrives: int = 0, **other: Any) -> Job:
    other.setdefault("instance_type", G5)
    other.setdefault("runs_for", 3600)
    return Job(name, team, arrives, pods=pods, per_pod={GPU: gpus} if gpus else {"cpu": 4000}, **other)


def admitted(at: int, one: Job, kind: str = G5) -> Event:
    return Event(at, "admitted", one.name, usage={(kind, resource): amount for resource, amount in one.requests().items()})


def replay(events: Iterable[Event], until: int, cluster: str = "main", **other: Any) -> Replay:
    return Replay(cluster, tuple(events), until, TICK, "workloads", "0.16.6", **other)


def trace_of(*jobs: Job) -> Trace:
    return Trace("by hand", tuple(sorted(jobs, key=lambda one: one.arrives)))
