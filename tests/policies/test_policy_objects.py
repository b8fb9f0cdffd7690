"""The Kubernetes objects of the examples, as they are rendered: by our own rules, and by a public scanner."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.render import render
from config.load import Project
from governance.plan import plan
from policies.judge import Table, judge, judge_stack, reports
from policies.model import Resource, Stack
from policies.settings import load

ROOT = Path(__file__).parents[2]
EXAMPLES = ("local", "dev", "staging", "prod")
HOLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "hole"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
}
"""What any scanner finds: a scan that passes over it has scanned nothing."""


def objects(environment: str) -> list[dict[str, Any]]:
    return [item for cluster in plan(Project(ROOT).load(environment)).clusters.values() for item in render(cluster)]


def resource(environment: str, item: dict[str, Any]) -> Resource:
    """An object as the stack declares it."""
    group, _, version = item["apiVersion"].rpartition("/")
    type_ = f"kubernetes:{group or 'core'}/{version}:{item['kind']}"
    name = f"main/{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"
    return Resource(type_, f"urn:pulumi:{environment}::hyperpod-platform::{type_}::{name}", name, item)


@pytest.mark.parametrize("environment", EXAMPLES)
def test_an_example_keeps_what_is_mandatory(environment: str) -> None:
    settings, table = load(), Table()
    resources = [resource(environment, item) for item in objects(environment)]
    assert len(resources) > 4
    found = [outcome for one in resources for outcome in judge(table.of(one.type), one.properties, one.urn)]
    found += judge_stack(Stack(resources, settings.parameters))
    assert [report.text for report in reports(found, settings) if report.level == "mandatory"] == []


def failed_checks(folder: Path) -> dict[str, set[str]]:
    """Ids of the checks that checkov fails, by file."""
    uv = shutil.which("uv") or str(ROOT / ".uv/bin/uv")
    version = yaml.safe_load((ROOT / "policies/checkov.yaml").read_text())["version"]
    scan = ["--directory", str(folder), "--framework", "kubernetes", "--output", "json", "--quiet", "--skip-download"]
    checkov = [uv, "tool", "run", "--python", sys.executable, f"checkov@{version}"]
    # The first run downloads it, which may take longer than the scan.
    subprocess.run([*checkov, "--version"], capture_output=True, check=True, timeout=600)
    run = subprocess.run([*checkov, *scan], capture_output=True, text=True, check=False, timeout=280)
    assert run.returncode in {0, 1}, run.stderr
    found: dict[str, set[str]] = {}
    for check in json.loads(run.stdout)["results"]["failed_checks"]:
        found.setdefault(Path(check["file_path"]).stem, set()).add(check["check_id"])
    return found


@pytest.mark.engine
@pytest.mark.timeout(900)
def test_a_public_scanner_finds_nothing_but_what_is_listed(tmp_path: Path) -> None:
    for environment in EXAMPLES:
        (tmp_path / f"{environment}.yaml").write_text(yaml.safe_dump_all(objects(environment)))
    (tmp_path / "hole.yaml").write_text(yaml.safe_dump(HOLE))
    found = failed_checks(tmp_path)
    assert found.pop("hole", set()) >= {"CKV_K8S_49"}
    skips = yaml.safe_load((ROOT / "policies/checkov.yaml").read_text())["skips"]
    assert set().union(*found.values()) == set(skips), found
    assert all(len(str(reason)) > 10 for reason in skips.values())
