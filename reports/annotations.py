"""Findings as workflow commands of GitHub Actions: annotations at the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from config.findings import Finding, Severity
from config.repository import in_repository

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "notice"}


def commands(findings: Iterable[Finding], prefix: str = "") -> Iterator[str]:
    """One command a finding, without those that are waived. `prefix`: the project's folder in its repository."""
    for finding in findings:
        if finding.waived:
            continue
        properties = {"file": in_repository(finding.where.file, prefix)}
        if finding.where.line:
            properties |= {"line": str(finding.where.line), "col": str(finding.where.column)}
        properties["title"] = finding.id
        text = f"{finding.message}\n{finding.remedy}" if finding.remedy else finding.message
        stated = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        yield f"::{_COMMANDS[finding.severity]} {stated}::{_data(text)}"


def _data(text: str) -> str:
    """Escaped as GitHub's runner reads it back: percent signs first."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
