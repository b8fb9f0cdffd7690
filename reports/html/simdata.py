"""What `hpctl simulate --json` prints, as the pages read it: checked, so that a file that anybody wrote can't break a page."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

Number = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
"""More than any cluster has, and small enough to be summed, multiplied and drawn."""
Share = Number | None


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Wait(_Data):
    """Waiting times in seconds of the trace's own time; None where no job counts."""

    jobs: Number
    admitted_at_once: Number
    p50_s: Share = None
    p95_s: Share = None
    max_s: Share = None
    mean_s: Share = None
    still_waiting: Number = 0
    at_least: tuple[str, ...] = ()
    """Figures that may be longer in truth."""


class Jobs(_Data):
    """Counts of jobs; of several runs the medians, so that halves can come."""

    jobs: Number
    finished: Number
    running: Number
    waiting: Number
    can_never_run: Number
    refused: Number = 0
    not_arrived: Number = 0
    wait: Wait
    preemptions_suffered: Number
    jobs_preempted: Number = 0
    preemptions_caused: Number


class Use(_Data):
    """What a team used of one instance type; hours are accelerator-hours or vCPU-hours."""

    guarantee_amount: Number
    within_guarantee_h: Number
    borrowed_h: Number
    unused_guarantee_h: Number
    contested_borrowed_share: Share = None
    fair_share: Share = None


class Held(_Data):
    """What the nodes of one instance type were used for."""

    capacity_amount: Number
    within_guarantee_h: Number
    borrowed_h: Number
    idle_h: Number
    beyond_capacity_h: Number = 0
    used_share: Share = None


class Team(Jobs):
    """A team's figures."""

    compute: dict[str, dict[str, Use]] = {}


class Line(_Data):
    """Amounts in base units, each from its moment on."""

    at_s: tuple[Number, ...]
    within: tuple[Number, ...]
    borrowed: tuple[Number, ...]

    @model_validator(mode="after")
    def _as_long(self) -> Line:
        if not len(self.at_s) == len(self.within) == len(self.borrowed):
            raise ValueError("at_s, within and borrowed are not equally long")
        if list(self.at_s) != sorted(self.at_s):
            raise ValueError("at_s does not ascend")
        return self


class Series(_Data):
    """Usage over time, by team, instance type and resource."""

    use: dict[str, dict[str, dict[str, Line]]] = {}


class Stuck(_Data):
    """A job that can never run, or waits at the end."""

    job: str
    team: str
    why: str = ""


class Pair(_Data):
    """Preemptions of one team's jobs for another's."""

    team: str
    by: str | None = None
    reason: str = ""
    times: Number


class Spread(_Data):
    """A figure that the runs don't agree on."""

    min: Number
    max: Number


class Side(_Data):
    """The replays of one declaration."""

    cluster: str
    side: str = ""
    """A git revision, or the working tree."""
    kueue: str
    fidelity: str
    tick_s: Number
    until_s: Number
    runs: Number
    complete: bool
    overall: Jobs
    teams: dict[str, Team]
    priority_classes: dict[str, Jobs] = {}
    compute: dict[str, dict[str, Held]] = {}
    spread: dict[str, Spread] = {}
    """By dotted path."""
    preemptions: tuple[Pair, ...] = ()
    can_never_run: tuple[Stuck, ...] = ()
    waiting_at_end: tuple[Stuck, ...] = ()
    series: Series = Series()


class Result(_Data):
    """One cluster's: alone, or before and after a change."""

    before: Side | None = None
    after: Side
    in_words: tuple[str, ...] = ()
    about: tuple[str, ...] = ()
    """What decided, and what the figures are worth."""
    environment: str = ""
    """Empty in what earlier releases printed."""
    interrupted: bool = False


_OF_THE_WHOLE: Final = ("about", "environment", "interrupted")


def results(figures: Any) -> list[Result]:
    """The results in what was printed, by cluster. Raises ValueError with the path of the first thing that is wrong."""
    if not isinstance(figures, dict):
        raise ValueError("it is no JSON object")
    found = figures.get("clusters")
    each = list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else [figures]
    if not each:
        raise ValueError("it has no cluster")
    return [_result(one) for one in each]


def _result(figures: Any) -> Result:
    paired = isinstance(figures, dict) and "after" in figures
    try:
        whole = {key: figures[key] for key in _OF_THE_WHOLE if key in figures} if isinstance(figures, dict) else {}
        return TypeAdapter(Result).validate_python(figures if paired else {"after": figures, **whole})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        path = first["loc"] if paired or first["loc"][0] != "after" else first["loc"][1:]
        raise ValueError(f"{'.'.join(map(str, path)) or 'the whole'}: {first['msg']}") from None
