"""Findings as SARIF 2.1.0, the format that code hosts and editors read results of checkers in."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from config.findings import Finding, Severity
from config.repository import in_repository
from config.rules import CATEGORIES
from config.rules.model import Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
"""Stands for the repository's root, as code hosts understand it."""
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}


def log(findings: Sequence[Finding], version: str, prefix: str = "") -> dict[str, Any]:
    """One run of `hpctl check`. `prefix`: the project's folder in its repository, which paths are told from."""
    rules = _rules(findings)
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    seen: Counter[str] = Counter()
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "hpctl", "version": version, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
                "results": [_result(finding, index, prefix, seen) for finding in findings],
            }
        ],
    }


def _rules(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Every rule; of a finding that has none, its id alone."""
    known = [_rule(rule, category.name) for category in CATEGORIES for rule in category.rules]
    missing = sorted({finding.id for finding in findings} - {rule["id"] for rule in known})
    return [*known, *({"id": id_} for id_ in missing)]


def _rule(rule: Rule, category: str) -> dict[str, Any]:
    text = f"{rule.why} {rule.remedy}"
    source = f"\n\nSource: {rule.source}" if rule.source else ""
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": text, "markdown": f"{rule.why}\n\n**What to do.** {rule.remedy}{source}"},
        "defaultConfiguration": {"level": _LEVELS[rule.severities[0]]},
        "properties": {"tags": [category]},
    }


def _result(finding: Finding, index: Mapping[str, int], prefix: str, seen: Counter[str]) -> dict[str, Any]:
    file = in_repository(finding.where.file, prefix)
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(file), "uriBaseId": _ROOT}}
    if finding.where.line:
        place["region"] = {"startLine": finding.where.line, "startColumn": max(1, finding.where.column)}
    text = f"{finding.message}. {_sentence(finding.remedy)}" if finding.remedy else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.id,
        "ruleIndex": index[finding.id],
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"finding/v1": _fingerprint(finding, file, seen)},
    }
    if finding.waived:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": finding.waived}]
    return result


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith((".", "?")) else ".")


def _fingerprint(finding: Finding, file: str, seen: Counter[str]) -> str:
    """The same for a finding that has only moved to another line; told apart by number where a file has it twice."""
    base = "\0".join((finding.id, file, finding.message))
    seen[base] += 1
    return hashlib.sha256(f"{base}\0{seen[base]}".encode()).hexdigest()[:32]
