"""The three projects that rules' examples change, and how an example is laid over its project.

Environment `dev` with one cluster `main`; teams `alpha`, which examples change, and `beta`. None of them has a finding.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from config.files import merge
from config.findings import Finding
from config.load import Project
from config.rules.model import Base, Example
from config.yamlsource import parse
from governance.plan import review

ENVIRONMENT, TEAM = "dev", "alpha"
FILES = (f"environments/{ENVIRONMENT}.yaml", f"teams/{TEAM}.yaml", "teams/beta.yaml")
TODAY = date(2026, 11, 21)
"""Examples hold on this day; they name dates far from it."""

_TEAMS = """\
alpha: &team
  apiVersion: hyperpod-platform/v1
  owners: [owner@example.com]
  quota: {ml.p5.48xlarge: {accelerators: 8}}
  weight: 10
beta: *team
"""
_KUEUE = """\
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: existing
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 8}
      l4: {instance_type: ml.g6.12xlarge, count: 4}
      cpu: {instance_type: ml.m5.4xlarge, count: 4}
governance:
  backend: kueue
  priority_classes:
    inference: {weight: 90}
    training: {weight: 70}
"""
_HYPERPOD = """\
apiVersion: hyperpod-platform/v1
clusters:
  main:
    kind: hyperpod
    account: "111122223333"
    region: us-west-2
    network: {availability_zones: [us-west-2a, us-west-2b, us-west-2c]}
    eks: {admins: ["arn:aws:iam::111122223333:role/platform-admin"]}
    instance_groups:
      h100: {instance_type: ml.p5.48xlarge, count: 8, availability_zone: us-west-2a}
      l4: {instance_type: ml.g6.12xlarge, count: 4, availability_zone: us-west-2b}
      cpu: {instance_type: ml.m5.4xlarge, count: 4}
governance:
  backend: kueue
  priority_classes:
    inference: {weight: 90}
    training: {weight: 70}
"""
ENVIRONMENTS: Mapping[Base, str] = {
    "kueue": _KUEUE,
    "hyperpod": _HYPERPOD,
    "managed": _HYPERPOD.replace("backend: kueue", "backend: managed"),
}


def found(root: Path, base: Base, *examples: Example) -> list[Finding]:
    """All findings on the base project with the examples laid over it."""
    return review(written(root, base, *examples), ENVIRONMENT)


def written(root: Path, base: Base, *examples: Example) -> Project:
    """The base project with the examples laid over it, one after the other, as files in `root`."""
    environment, teams = yaml.safe_load(ENVIRONMENTS[base]), yaml.safe_load(_TEAMS)
    texts = {"environments": {ENVIRONMENT: ""}, "teams": dict.fromkeys(teams, "")}
    data = {"environments": {ENVIRONMENT: environment}, "teams": teams}
    for example in examples:
        for folder, name, fragment in (("environments", ENVIRONMENT, example.environment), ("teams", TEAM, example.team)):
            data[folder][name], text = _laid_over(data[folder][name], fragment)
            texts[folder][name] += text
    for folder, files in data.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (root / folder / f"{name}.yaml").write_text(_block(content) + texts[folder][name], encoding="utf-8")
    return Project(root, TODAY)


def _laid_over(data: dict[str, Any], fragment: str) -> tuple[dict[str, Any], str]:
    """The data with the fragment merged in. A fragment whose YAML itself is at fault takes the place of what its keys held."""
    document, problems = parse(fragment, "fragment") if fragment else (None, [])
    if document is None:
        return data, ""
    if not problems:
        return merge(data, document.data), ""
    keys = {line.partition(":")[0].strip('"') for line in fragment.splitlines()}
    return {key: value for key, value in data.items() if key not in keys}, fragment + "\n"


def _block(content: Mapping[str, Any]) -> str:
    """A line for each key, so that text can be added; values as JSON, which is YAML with every word quoted."""
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in content.items())
    return "".join(lines).replace("Infinity", ".inf")
