"""A trace's file: jobs one by one, and loads to draw jobs from. Imports nothing of Kubernetes.

Durations are written `5m` or `1d12h`, as everywhere; a job that arrives at the trace's beginning arrives at `0s`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from config.team import InstanceTypeName, Partitions
from config.vocabulary import ClassName, List, Model, Moment, Seconds, TeamName
from simulation.cases import PerPod, Placement

MAX_JOBS = 200_000
"""Most jobs of one trace: beyond it, a replay would take days."""
MAX_PODS = 10_000


class PodRequest(PerPod):
    """What one pod asks for. May be written `whole_node`: everything that a node of the instance type can give to pods."""

    partitions: Partitions = Field(default_factory=dict)
    """MIG partitions by profile."""


def _whole_node(value: Any) -> Any:
    return {"whole_node": True} if value == "whole_node" else value


Asked = Annotated[PodRequest, BeforeValidator(_whole_node)]
Pods = Annotated[int, Field(ge=1, le=MAX_PODS)]
Weight = Annotated[float, Field(ge=0.001, le=1_000_000)]
"""How often something is drawn, beside the other weights."""


class Defaults(Model):
    """What jobs are that don't say otherwise; what a job says takes the default's place as a whole."""

    team: TeamName | None = None
    """Who submits it."""
    arrives: Moment = 0
    """When the job is submitted, since the trace's beginning."""
    runs_for: Seconds | None = None
    """How long it has to run; without it, until the trace ends."""
    pods: Pods = 1
    """Pods that run side by side, 1–10,000."""
    per_pod: Asked | None = None
    """What one pod requests."""
    instance_type: InstanceTypeName | None = None
    """The type of its nodes; without it, any that the team's queue has."""
    priority: ClassName | None = None
    """A priority class of the environment; without one the job ranks lowest (value 0)."""
    topology: Placement | None = None
    """A level of the topology that its pods share."""
    checkpoint: Seconds | None = None
    """How often it saves its state: a preemption loses what was run since. Without it, a preemption loses everything."""


class Entry(Defaults):
    """A job, or several alike."""

    name: ClassName | None = None
    """Unique in the file; without one it is named after its team. Of several jobs, what their names begin with."""
    count: Annotated[int, Field(ge=1, le=MAX_JOBS)] = 1
    """How many of the kind arrive."""
    every: Seconds | None = None
    """Of several, the time from one to the next; without it they arrive together."""


class Size(Model):
    """A kind of job that a load draws."""

    weight: Weight = 1.0
    pods: Pods = 1
    per_pod: Asked
    instance_type: InstanceTypeName | None = None
    topology: Placement | None = None


class RunTimes(Model):
    """How long a load's jobs run: lognormal about a median, or one of several times. May be written as a duration, or a list."""

    median: Seconds | None = None
    spread: Annotated[float, Field(ge=0, le=4)] = 1.0
    """Standard deviation of the logarithm: with 1, two thirds run between 0.37 and 2.7 times the median."""
    least: Seconds = 1
    most: Seconds | None = None
    """What falls beyond `least` and `most` is cut to them."""
    choices: List(Seconds) = ()  # type: ignore[valid-type]
    """Times that are drawn alike often; one that stands twice, twice as often."""


def _run_times(value: Any) -> Any:
    return {"choices": value} if isinstance(value, list) else {"choices": [value]} if isinstance(value, str) else value


class Daily(Model):
    """A load's shape over the day: a wave between its busiest hour and the quietest, twelve hours later."""

    busiest: Moment = 43_200
    """Time of the day, since the trace's beginning."""
    quiet: Annotated[float, Field(ge=0, le=1)] = 0.2
    """What arrives in the quietest hour, as a part of the busiest."""


class TeamLoad(Model):
    """The jobs of one team, drawn at random: `per_hour` or `every` says how many."""

    per_hour: Annotated[float, Field(ge=0.001, le=100_000)] | None = None
    """Jobs that arrive in an hour on average (a Poisson process)."""
    every: Seconds | None = None
    """The same as the average time from one to the next."""
    daily: Daily | None = None
    sizes: Annotated[List(Size), Field(min_length=1)]  # type: ignore[valid-type]
    runs_for: Annotated[RunTimes, BeforeValidator(_run_times)]
    priorities: dict[ClassName, Weight] = Field(default_factory=dict)
    """Priority classes with their weights; without any, jobs have none."""
    checkpoint: Seconds | None = None


class Generate(Model):
    """Loads to draw jobs from. The same seed draws the same jobs; those of a team don't depend on the other teams."""

    seed: Annotated[int, Field(ge=0, le=2**53)] = 1
    over: Seconds = 86_400
    """How long jobs arrive."""
    teams: Annotated[dict[TeamName, TeamLoad], Field(min_length=1)]


class TraceFile(Model):
    """A file of jobs to replay."""

    apiVersion: Literal["hyperpod-platform/v1"]  # noqa: N815 - the field's own spelling
    until: Seconds | None = None
    """What is replayed at most; without it, until the last job has ended."""
    defaults: Defaults = Field(default_factory=Defaults)
    jobs: List(Entry) = ()  # type: ignore[valid-type]
    generate: Generate | None = None
