"""What `hpctl check --format sarif` writes, against the schema that OASIS publishes for SARIF 2.1.0.

The schema is read from the source of a Go module that carries it, at a pinned version.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from config.findings import Finding, Severity, Where
from config.rules import rules
from reports.sarif import SCHEMA, log

MODULE = "github.com/owenrumney/go-sarif/v3@v3.3.1"
SUM = "h1:bKY8YnWcY8zYTiGVObC5wZLlfEvMkCxK9XMGXBbzEtQ="
FOUND = [
    *(Finding(id_, Severity.ERROR, Where("teams/a b.yaml", 3, 1), "wrong", "mend it") for id_ in rules()),
    Finding("no-such-rule", Severity.ADVICE, Where("environments/"), "nothing"),
    Finding("overcommit", Severity.WARNING, Where("teams/a.yaml", 3, 1), "too much", waived="nodes come in spring"),
]


@cache
def schema() -> dict[str, Any]:
    go = shutil.which("go")
    if go is None:
        pytest.skip("Go is not installed: the published schema can't be read")
    environment = {**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "on"}
    run = subprocess.run(
        [go, "mod", "download", "-json", MODULE], cwd="/", env=environment, capture_output=True, text=True, check=False
    )
    if run.returncode:
        pytest.skip(f"the module {MODULE} is not to be had: {run.stdout or run.stderr}")
    module = json.loads(run.stdout)
    assert module["Sum"] == SUM
    source = (Path(module["Dir"]) / "pkg/report/v210/sarif/schema.go").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(source.split("`")[1])
    return found


def test_the_schema_is_the_one_that_the_log_names() -> None:
    assert schema()["id"] == SCHEMA


def test_a_log_of_every_rule_fits_the_schema() -> None:
    Draft4Validator.check_schema(schema())
    assert [error.message for error in Draft4Validator(schema()).iter_errors(log(FOUND, "1.2.3", "platform"))] == []


def test_the_schema_would_refuse_a_log_that_is_wrong() -> None:
    wrong = log(FOUND, "1.2.3")
    wrong["runs"][0]["results"][0]["level"] = "advice"
    wrong["runs"][0]["results"][1]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    wrong["runs"][0]["results"][2]["suppresions"] = []
    assert len(list(Draft4Validator(schema()).iter_errors(wrong))) == 3
