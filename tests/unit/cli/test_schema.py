"""The JSON Schemas of the data files: they take every file that the loader takes, and underline what is commonly mistaken."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from declarations import ENVIRONMENT, TEAM, hyperpod
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from strategies import ProjectData, hyperpod_environments, projects

from cli.main import run
from config.environment import Environment
from config.files import merge
from config.team import Team
from config.yamlsource import parse
from reports.schema import environment_schema, file_schema, team_schema
from reports.schemawords import WORDS
from simulation.cases import CaseFile
from simulation.traces.file import TraceFile

ROOT = Path(__file__).parents[3]
SCHEMAS = {
    "environment": environment_schema(),
    "team": team_schema(),
    "workloads": file_schema(CaseFile, "Cases of workloads"),
    "trace": file_schema(TraceFile, "A trace of jobs"),
}
VALIDATORS = {kind: Draft202012Validator(schema) for kind, schema in SCHEMAS.items()}
FILES = {
    path: kind
    for folder, kind in (
        ("environments", "environment"),
        ("teams", "team"),
        ("workloads", "workloads"),
        ("workloads/traces", "trace"),
    )
    for path in sorted((ROOT / folder).glob("*.yaml"))
}


def errors(kind: str, data: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATORS[kind].iter_errors(data)]


def of(text: str) -> Any:
    document, findings = parse(text, "a.yaml")
    assert not findings
    return document.data


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_schema_is_one_and_the_committed_file_is_current(kind: str, tmp_path: Path) -> None:
    Draft202012Validator.check_schema(SCHEMAS[kind])
    assert run(["schema", kind, "--to", str(tmp_path)]) == 0
    made, committed = tmp_path / f"{kind}.json", ROOT / "schemas" / f"{kind}.json"
    assert made.read_text() == committed.read_text(), "run `hpctl schema --to schemas` and commit"
    assert json.loads(made.read_text()) == SCHEMAS[kind]
    assert [path.name for path in tmp_path.iterdir()] == [made.name]


def test_schemas_are_printed_alone_or_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "team"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMAS["team"]
    assert run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMAS
    assert run(["schema", "taem"]) == 2


def test_a_folder_that_takes_no_files_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(["schema", "--to", str(tmp_path / "file" / "schemas")]) == 4
    assert "cannot write" in capsys.readouterr().err


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_of_the_project_fits_and_names_its_schema(path: Path) -> None:
    text = path.read_text()
    assert errors(FILES[path], of(text)) == []
    mark, _, named = text.splitlines()[0].partition("$schema=")
    assert mark == "# yaml-language-server: "
    assert (path.parent / named).resolve() == ROOT / "schemas" / f"{FILES[path]}.json"


@settings(max_examples=100)
@given(projects(most_teams=3, most_clusters=1))
def test_every_project_fits(made: ProjectData) -> None:
    assert errors("environment", made.environment) == []
    for team in made.teams.values():
        assert errors("team", team) == []


@given(st.booleans().flatmap(lambda managed: hyperpod_environments(managed=managed)))
def test_every_hyperpod_environment_fits(made: dict[str, Any]) -> None:
    assert errors("environment", made) == []


@st.composite
def split(draw: st.DrawFn, whole: Mapping[str, Any], most: int = 3) -> tuple[dict[str, Any], dict[str, Any]]:
    """A map as a base and what is laid over it: merged, the two are the map again."""
    below: dict[str, Any] = {}
    above: dict[str, Any] = {}
    for key, value in whole.items():
        where = draw(st.integers(0, 3))
        if where == 0 and isinstance(value, dict) and value and most:
            below[key], above[key] = draw(split(value, most - 1))
        elif where <= 1:
            above[key] = value
        else:
            below[key] = value
            if where == 3:
                above[key] = deepcopy(value)
    return below, above


@given(st.data())
def test_what_is_laid_over_something_fits_without_what_that_gives(data: st.DataObject) -> None:
    made = data.draw(
        st.one_of(projects(most_teams=1, most_clusters=1), hyperpod_environments().map(lambda e: ProjectData(e, {})))
    )
    below, above = data.draw(split(made.environment))
    assert merge(below, above) == made.environment
    assert errors("environment", {**above, "base": "prod"}) == []
    for team in made.teams.values():
        head, body = {"apiVersion": team.pop("apiVersion")}, team
        below, above = data.draw(split(body))
        assert merge(below, above) == body
        assert errors("team", {**head, **below, "environments": {"dev": above}}) == []


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 200),
    st.floats(0, 10, allow_nan=False),
    st.sampled_from(
        ["", "lend", "5m", "1d", "2026-12-31", "p5", "nvidia", "ml.p5.48xlarge", "a b", "10.0.0.0/16", "us-west-2a", "x/y", "é"]
    ),
    st.just([]),
    st.just({}),
    st.lists(st.sampled_from(["a", "b", "ml.p5.48xlarge"]), max_size=2),
)


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every map and list with each of its keys."""
    for key in list(data) if isinstance(data, dict) else range(len(data)):
        yield data, key
        if isinstance(data[key], (dict, list)):
            yield from places(data[key])


def taken(model: type[BaseModel], data: Any) -> bool:
    try:
        model.model_validate(data)
    except ValidationError:
        return False
    return True


@settings(max_examples=150)
@given(st.data())
def test_what_the_loader_takes_fits(data: st.DataObject) -> None:
    """Values in places where they may not belong: where the loader takes them nevertheless, the schema does."""
    made = data.draw(
        st.one_of(projects(most_teams=1, most_clusters=1), hyperpod_environments().map(lambda e: ProjectData(e, {})))
    )
    files = [("environment", made.environment), *(("team", team) for team in made.teams.values())]
    kind, content = data.draw(st.sampled_from(files))
    content = deepcopy(content)
    for _ in range(data.draw(st.integers(1, 2))):
        holder, key = data.draw(st.sampled_from(list(places(content))))
        holder[key] = data.draw(VALUES)
    whole, model = (content, Environment) if kind == "environment" else ({"name": "a", **content}, Team)
    if taken(model, whole):
        assert errors(kind, content) == []


def test_short_forms_and_nothing_where_nothing_may_stand_fit() -> None:
    for extra in (
        "sharing: lend",
        "sharing: {strategy: lend, lend_limit: null}",
        "default_priority: null",
        "max_run_time: 1d12h",
        "environments:",
        "environments: {dev: {sharing: lend, max_run_time: null}}",
        "extra_quota: {paper: {quota: {p5: {instances: 1}}, until: '2026-12-31', reason: the deadline of a paper}}",
    ):
        assert errors("team", of(TEAM + extra)) == [], extra
    assert (
        errors("environment", of("base: prod\nclusters: {main: {instance_groups: {h100: {count: 2, training_plan: null}}}}"))
        == []
    )


@pytest.mark.parametrize(
    ("kind", "text", "place"),
    [
        ("team", TEAM + "wieght: 3", "wieght"),
        ("team", TEAM.replace("48xlarge", "48xlrge"), "ml.p5.48xlrge"),
        ("team", TEAM.replace("weight: 10", "weight: 101"), "101 is greater than the maximum"),
        ("team", TEAM.replace("weight: 10", "weight: '10'"), "is not of type 'integer'"),
        ("team", TEAM.replace("accelerators: 8", "gpus: 8"), "gpus"),
        ("team", TEAM.replace("{accelerators: 8}", "{}"), "ml.p5.48xlarge"),
        ("team", TEAM.replace("[owner@example.com]", "owner@example.com"), "owners"),
        ("team", TEAM.replace("owners: [owner@example.com]\n", ""), "'owners' is a required property"),
        ("team", TEAM + "state: paused", "paused"),
        ("team", TEAM + "sharing: borrow", "sharing"),
        ("team", TEAM + "max_run_time: 5 minutes", "max_run_time"),
        ("team", TEAM + "access: {iam_roles: [admin]}", "iam_roles"),
        ("team", TEAM + "access: {groups: ['system:masters']}", "groups"),
        ("team", TEAM + "labels: {a b: c}", "labels"),
        ("team", TEAM + "environments: {dev: {wieght: 3}}", "wieght"),
        ("team", TEAM + "environments: {dev: {only: [dev]}}", "only"),
        ("team", TEAM + "environments: {dev: {quota: {ml.p5.48xlarge: {instances: -1}}}}", "instances"),
        ("team", TEAM + "waivers: {overcommitt: {reason: nodes come later, until: '2026-12-31'}}", "overcommitt"),
        ("team", TEAM + "extra_quota: {a: {quota: {p5: {instances: 1}}, until: 31.12.2026, reason: a deadline}}", "until"),
        ("team", TEAM.replace("v1", "v2"), "apiVersion"),
        ("environment", ENVIRONMENT.replace("kind: existing", "kind: exsting"), "main"),
        ("environment", ENVIRONMENT.replace("    kind: existing\n", ""), "main"),
        ("environment", ENVIRONMENT.replace("count: 8", "count: eight"), "main"),
        ("environment", ENVIRONMENT.replace("weight: 90", "wieght: 90"), "wieght"),
        ("environment", hyperpod(region="us-west2"), "main"),
        ("environment", hyperpod().replace('"111122223333"', "111122223333"), "main"),
        ("environment", hyperpod(network="{availability_zones: [us-west-2a]}"), "main"),
        ("environment", "base: prod\ngovernance: {backend: kuue}", "backend"),
        ("environment", "base: prod\nclusters: {main: {instance_groups: {a: {instance_type: p5.48xlarge}}}}", "main"),
        ("workloads", "apiVersion: hyperpod-platform/v1\ncases: []", "cases"),
        ("workloads", (ROOT / "workloads/demo.yaml").read_text().replace("per_pod: whole_node", "per_pod: whole", 1), "per_pod"),
        ("workloads", (ROOT / "workloads/demo.yaml").read_text().replace("- expect:", "- expects:", 1), "expects"),
        ("trace", (ROOT / "workloads/traces/borrowing.yaml").read_text().replace("arrives: 10m", "arrives: 600", 1), "600"),
        ("trace", (ROOT / "workloads/traces/borrowing.yaml").read_text().replace("count: 4", "cuont: 4", 1), "cuont"),
        ("trace", (ROOT / "workloads/traces/day.yaml").read_text().replace("[20m, 40m, 3h]", "[20m, 40 m]", 1), "runs_for"),
    ],
)
def test_a_common_mistake_is_underlined(kind: str, text: str, place: str) -> None:
    found = errors(kind, of(text))
    assert found
    assert any(place in error for error in found), found


def test_fields_say_what_the_source_says() -> None:
    defs = SCHEMAS["team"]["$defs"]
    assert defs["Team"]["properties"]["quota"]["description"].startswith("Guaranteed compute by instance type")
    assert defs["Override"]["properties"]["weight"]["description"] == defs["Team"]["properties"]["weight"]["description"]
    group = SCHEMAS["environment"]["$defs"]["HyperPodGroup"]["properties"]
    assert "0–6,758" in group["count"]["description"], "of the model above"
    assert "EFA" in group["availability_zone"]["description"], "its own"


def nested(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
    for part in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from nested(part)


def test_patterns_mean_the_same_to_editors() -> None:
    patterns = {part["pattern"] for schema in SCHEMAS.values() for part in nested(schema) if isinstance(part.get("pattern"), str)}
    assert len(patterns) > 15
    for pattern in patterns:
        assert not any(escape in pattern for escape in (r"\Z", r"\A", r"\w", r"\d", "(?P", "(?i")), pattern


def test_every_check_of_a_word_is_known() -> None:
    """A check that isn't known makes its field take everything, or more than the loader does: it is to be added to the words."""
    seen = set()

    class Recorder(GenerateJsonSchema):
        def function_before_schema(self, schema: Any) -> Any:
            seen.add(schema["function"]["function"])
            return super().function_before_schema(schema)

        def function_after_schema(self, schema: Any) -> Any:
            seen.add(schema["function"]["function"])
            return super().function_after_schema(schema)

    for model in (Team, Environment, CaseFile, TraceFile):
        model.model_json_schema(schema_generator=Recorder)
    names = {f"{check.__module__}.{check.__qualname__}" for check in seen if hasattr(check, "__qualname__")}
    assert len(names) > 30
    assert names == set(WORDS)
