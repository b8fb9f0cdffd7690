"""The checks against the servers: what `hpctl check` accepts, Kueue, the API server and AWS's published models accept as well.

Cases are projects that hypothesis draws, declarations that use every field, each of their fields with values that are too much
for somebody, and the example of every rule. Where the checks refuse, the servers are asked all the same, with models that no
validator has seen: the table at the end of the run says how often they agree.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from everything import EVERYTHING
from hypothesis import given, seed, settings
from hypothesis import strategies as st
from judges import REFUSED_BY_BOTH, Servers, Tally, errors, examined, planned
from managed_support import managed_teams
from mutations import Mutation, fields, mutations, reached
from rule_projects import written
from strategies import ProjectData, hyperpod_environments, loaded, projects

from config.environment import Environment
from config.rules import page_of, rules
from config.team import Team
from live.connection import Connection, connect

pytestmark = pytest.mark.engine

SEED = int(os.environ.get("DIFFERENTIAL_SEED", "20261121"))
"""Of all that is drawn here; told at the end of the run."""
UNREACHED = {
    "environment.base": "names another file: tests/unit/config/test_config_load.py",
    "environment.clusters.*.restricted_instance_groups.*.file_system.keep": "an error wherever it is given",
    "environment.clusters.*.restricted_instance_groups.*.volumes.*.key": "an error wherever it is given",
}
"""Fields that no sound declaration of one file has, with the reason."""


@pytest.fixture(scope="module")
def tally() -> Tally:
    return Tally()


@pytest.fixture(scope="module")
def servers(sandbox: Any) -> Servers:
    api: Connection = connect(str(sandbox.kubeconfig), "", "")
    return Servers(api)


@pytest.fixture(autouse=True)
def coverage(tally: Tally, record_property: Any) -> Iterator[None]:
    """Leave the figures of one test for the end of the run."""
    verdicts, wrong = tally.verdicts.copy(), len(tally.wrong)
    yield
    record_property("verdicts", list((tally.verdicts - verdicts).items()))
    assert tally.wrong[wrong:] == []


def reached_fields() -> set[str]:
    return {
        *(f"environment.{name}" for data in EVERYTHING.values() for name in reached(data.environment, Environment)),
        *(f"team.{name}" for data in EVERYTHING.values() for team in data.teams.values() for name in reached(team, Team)),
    }


def test_every_field_is_used(record_property: Any) -> None:
    declared = {*(f"environment.{name}" for name in fields(Environment)), *(f"team.{name}" for name in fields(Team))}
    assert declared - reached_fields() == set(UNREACHED)
    record_property("coverage", [f"{len(reached_fields() & declared):6} of {len(declared)} fields used; seed {SEED}"])


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_what_uses_every_field_is_accepted(name: str, servers: Servers, tally: Tally) -> None:
    _, findings = examined(EVERYTHING[name])
    assert not errors(findings)
    tally.judge(servers, EVERYTHING[name], name)


def test_every_rule_is_reached(servers: Servers, tally: Tally, tmp_path: Path, record_property: Any) -> None:
    """By its example, which is judged like every other declaration."""
    with_example = {id_: rule.example for id_, rule in rules().items() if rule.example is not None}
    reached: Counter[str] = Counter()
    for id_, example in with_example.items():
        resolved, findings = planned(written(tmp_path / id_, example.base, example))
        assert id_ in {finding.id for finding in findings}
        tally.judge_plan(servers, resolved, findings, f"the example of {id_}")
        reached[page_of(id_).partition("#")[0].rpartition("/")[2].removesuffix(".md")] += 1
    record_property("coverage", [f"{number:6} rules on {name} reached" for name, number in sorted(reached.items())])


def changes_of(project: ProjectData, most: int | None) -> list[Mutation]:
    """Every field of a project with values that are too much for somebody: all of them, or so many of each field."""
    by_field: dict[str, list[Mutation]] = {}
    for change in mutations(project):
        by_field.setdefault(change.field, []).append(change)
    draw = random.Random(SEED)  # noqa: S311 - the same cases on every run
    return [one for found in by_field.values() for one in (found if most is None else draw.sample(found, min(most, len(found))))]


def judge_fields(name: str, servers: Servers, tally: Tally, most: int | None) -> None:
    project = EVERYTHING[name]
    platform, before = loaded(project), tally.verdicts[REFUSED_BY_BOTH]
    for change in changes_of(project, most):
        tally.judge_change(servers, project, platform, change)
    # The servers can refuse: of what the checks keep from them, they would not have taken everything.
    assert tally.verdicts[REFUSED_BY_BOTH] > before


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_no_field_says_what_a_server_refuses(name: str, servers: Servers, tally: Tally) -> None:
    judge_fields(name, servers, tally, most=3)


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_no_field_says_anything_that_a_server_refuses(name: str, servers: Servers, tally: Tally) -> None:
    judge_fields(name, servers, tally, most=None)


@st.composite
def managed_projects(draw: st.DrawFn) -> ProjectData:
    """A HyperPod cluster under AWS's governance, with teams."""
    environment = draw(hyperpod_environments(managed=True))
    held = sorted({group["instance_type"] for group in environment["clusters"]["main"]["instance_groups"].values()})
    environment["governance"] |= {"overcommit": "allow", "priority_classes": {"high": {"weight": draw(st.integers(0, 100))}}}
    teams = draw(
        st.dictionaries(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True), managed_teams(), max_size=3)
    )
    for team in teams.values():
        team["quota"] = {kind: amounts for kind, amounts in team["quota"].items() if kind in held}
    return ProjectData(environment, teams)


@st.composite
def changed(draw: st.DrawFn, drawn: st.SearchStrategy[ProjectData]) -> tuple[ProjectData, Mutation]:
    """A project, and one change of it."""
    project = draw(drawn)
    return project, draw(st.sampled_from(list(mutations(project))))


def judge_drawn(case: tuple[ProjectData, Mutation], servers: Servers, tally: Tally) -> None:
    project, change = case
    tally.judge(servers, project, "as drawn")
    tally.judge_change(servers, project, loaded(project), change)
    assert tally.wrong == []


@pytest.mark.parametrize("backend", ["kueue", "managed"])
def test_what_is_drawn_is_judged_alike(backend: str, servers: Servers, tally: Tally) -> None:
    _draw(backend, servers, tally, 60)


@pytest.mark.full
@pytest.mark.parametrize("backend", ["kueue", "managed"])
def test_whatever_is_drawn_is_judged_alike(backend: str, servers: Servers, tally: Tally) -> None:
    _draw(backend, servers, tally, 1000)


def _draw(backend: str, servers: Servers, tally: Tally, number: int) -> None:
    drawn = projects() if backend == "kueue" else managed_projects()

    @seed(SEED)
    @settings(max_examples=number)
    @given(changed(drawn))
    def judge(case: tuple[ProjectData, Mutation]) -> None:
        judge_drawn(case, servers, tally)

    judge()
