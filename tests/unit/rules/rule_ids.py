"""The ids of findings that the sources can make, with their severities, read from the sources themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.environment import Environment
from config.findings import Severity
from config.team import Team
from simulation.cases import CaseFile
from simulation.traces.file import TraceFile

ROOT = Path(__file__).parents[3]
PACKAGES = ("config", "governance", "live", "components", "sandbox", "simulation", "reports", "cli")
MAKERS = {
    "Finding": None,
    "Note": None,
    "problem_at": Severity.ERROR,
    "problem": Severity.ERROR,
    "AmountError": Severity.ERROR,
    "Problem": Severity.ERROR,
    "_refuse": Severity.ERROR,
    "_too_old": Severity.ERROR,
    "Wrong": Severity.ERROR,
}
"""What makes a finding, or what becomes one, by name: the id comes first. None: the severity is the second, or not known here."""
COMPUTED: dict[str, tuple[str, ...]] = {
    "config/consistency.py: kind": ("borrow-without-strategy", "lend-without-strategy"),
    "config/consistency.py: f'{absolute}-twice'": ("borrow-twice", "lend-twice"),
    "governance/checks.py: f\"{what.replace(' ', '-')}-unknown\"": (
        "priority-class-unknown",
        "department-unknown",
        "cluster-unknown",
    ),
    "governance/platform/ownership.py: id_": ("partition-other", "region-other", "account-other"),
    "simulation/traces/resolve.py: f\"{what.replace(' ', '-')}-unknown\"": (
        "team-unknown",
        "priority-class-unknown",
        "instance-type-unknown",
    ),
    "simulation/stepchecks.py: kind": (
        "team-unknown",
        "priority-class-unknown",
        "instance-type-unknown",
        "workload-unknown",
        "instance-group-unknown",
    ),
}
"""Ids that are put together where the finding is made."""
PASSED_ON = {
    "config/findings.py: id_",
    "config/yamlsource.py: id_",
    "config/errors.py: kind.replace('_', '-')",
    "governance/quotas.py: error.kind",
    "live/adoption/adopting.py: note.id",
    "governance/promotion/projects.py: finding.id",
    "governance/platform/checks.py: problem.kind",
    "governance/platform/versions.py: kind",
    "simulation/traces/building.py: wrong.id",
    "simulation/traces/building.py: finding.id",
    "simulation/traces/quick.py: wrong.id",
}
"""Where an id comes from elsewhere in the sources, and is found there."""


@dataclass(frozen=True)
class Made:
    """A finding as a source makes it; the severity is None where it is computed."""

    id: str
    severity: Severity | None
    file: str


def made() -> list[Made]:
    """Every finding that the sources can make."""
    found = [one for one in _calls() if isinstance(one, Made)]
    return [*found, *(Made(id_, Severity.ERROR, "config/errors.py") for id_ in field_kinds())]


def unresolved() -> set[str]:
    """Places whose ids are not literal and in no table here."""
    return {one for one in _calls() if isinstance(one, str)}


def stale() -> set[str]:
    """Entries of the tables that no source has."""
    there = {f"{file}: {ast.unparse(node)}" for file, call in _makers() for node in _ids(call) if not _literal(node)}
    return (set(COMPUTED) | PASSED_ON) - there


def _calls() -> Iterator[Made | str]:
    for file, call in _makers():
        for node in _ids(call):
            place = f"{file}: {ast.unparse(node)}"
            if _literal(node):
                yield Made(ast.literal_eval(node).replace("_", "-"), _severity(call), file)
            elif place in COMPUTED:
                yield from (Made(id_, _severity(call), file) for id_ in COMPUTED[place])
            elif place not in PASSED_ON:
                yield place


def _makers() -> Iterator[tuple[str, ast.Call]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            makers = MAKERS.keys() - ({"Finding"} if _other_findings(tree) else set())
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and _name(node) in makers and node.args:
                    yield path.relative_to(ROOT).as_posix(), node


def _other_findings(tree: ast.Module) -> bool:
    """Whether `Finding` is another class there: drift has findings of its own."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return any(node.module != "config.findings" for node in imports if any(name.name == "Finding" for name in node.names))


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _ids(call: ast.Call) -> Iterator[ast.expr]:
    first = call.args[0]
    yield from (first.body, first.orelse) if isinstance(first, ast.IfExp) else (first,)


def _literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _severity(call: ast.Call) -> Severity | None:
    always = MAKERS[_name(call)]
    if always is not None:
        return always
    second = call.args[1] if len(call.args) > 1 else None
    if isinstance(second, ast.Attribute) and ast.unparse(second.value) == "Severity":
        return Severity[second.attr]
    return None


_TYPE_KINDS = {
    "str": ("string-type",),
    "int": ("int-type",),
    "float": ("float-type", "finite-number"),
    "bool": ("bool-type",),
    "dict": ("dict-type",),
    "tuple": ("tuple-type",),
    "literal": ("literal-error",),
    "model": ("model-type",),
    "tagged-union": ("model-attributes-type", "literal-error", "missing-key"),
    "model-fields": ("unknown-key",),
    "date": (),  # what is no date never gets that far: config.waivers reads it
    "any": (),
}
_LIMIT_KINDS = {
    "ge": "greater-than-equal",
    "le": "less-than-equal",
    "gt": "greater-than",
    "lt": "less-than",
    "pattern": "string-pattern-mismatch",
}
_WRAPPERS = {
    "default",
    "nullable",
    "definitions",
    "definition-ref",
    "function-after",
    "function-before",
    "no-info",
    "model-field",
}


def field_kinds() -> set[str]:
    """Ids of what pydantic itself can find in a data file, by the schemas that it checks them against."""
    kinds: set[str] = set()
    for model in (Environment, Team, CaseFile, TraceFile):
        _kinds(model.__pydantic_core_schema__, kinds)
    return kinds


def _kinds(schema: Any, kinds: set[str]) -> None:
    if isinstance(schema, (list, tuple)):
        for part in schema:
            _kinds(part, kinds)
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if isinstance(kind, str) and kind not in _WRAPPERS:
        kinds.update(_TYPE_KINDS[kind])  # a type that no table has is a KeyError here: it needs a rule
        kinds.update(id_ for key, id_ in _LIMIT_KINDS.items() if schema.get(key) is not None)
        prefix = "string-" if kind == "str" else ""
        kinds.update(f"{prefix}too-{word}" for key, word in (("min_length", "short"), ("max_length", "long")) if key in schema)
    if kind == "model-field" and schema["schema"]["type"] != "default":
        kinds.add("missing-key")
    for key, part in schema.items():
        if key not in ("metadata", "serialization", "default"):
            _kinds(part, kinds)
