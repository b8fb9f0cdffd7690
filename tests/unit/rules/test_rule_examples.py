"""Every rule's example: the sound project doesn't break the rule, the changed one does, and a waiver sets it aside."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml
from rule_ids import ROOT
from rule_projects import ENVIRONMENTS, FILES, TODAY, found
from rules_elsewhere import SHOWN_ELSEWHERE

from config.findings import Finding, Severity
from config.rules import rules
from config.rules.model import Base, Example, Rule

WITH_EXAMPLE = {rule.id: rule for rule in rules().values() if rule.example}
REASON = "accepted until the nodes are there"


def of(findings: list[Finding], rule: Rule) -> list[Finding]:
    return [finding for finding in findings if finding.id == rule.id]


def example(rule: Rule) -> Example:
    assert rule.example is not None
    return rule.example


def waiver(rule: Rule, until: str) -> str:
    return yaml.safe_dump({"waivers": {rule.id: {"reason": REASON, "until": until}}})


@pytest.mark.parametrize("base", ENVIRONMENTS)
def test_the_projects_that_examples_change_have_no_finding(base: Base, tmp_path: Path) -> None:
    assert found(tmp_path, base) == []


@pytest.mark.parametrize("rule", WITH_EXAMPLE.values(), ids=WITH_EXAMPLE)
def test_the_example_of_a_rule_breaks_it(rule: Rule, tmp_path: Path) -> None:
    every = found(tmp_path, example(rule).base, example(rule))
    findings = of(every, rule)
    assert findings, every
    for finding in findings:
        assert finding.severity in rule.severities
        assert finding.where.file in FILES
        assert finding.where.line >= 1
        assert finding.remedy
        assert not finding.waived


@pytest.mark.parametrize("rule", WITH_EXAMPLE.values(), ids=WITH_EXAMPLE)
def test_a_waiver_in_the_environment_sets_aside_what_may_be(rule: Rule, tmp_path: Path) -> None:
    held = found(tmp_path, example(rule).base, example(rule), Example(environment=waiver(rule, "2999-01-01")))
    assert of(held, rule)
    if not rule.waivable:
        assert not any(finding.waived for finding in held)
        return
    assert {finding.waived for finding in of(held, rule)} == {REASON}
    assert not [finding for finding in held if finding.id.startswith("waiver-")]

    past = found(tmp_path, example(rule).base, example(rule), Example(environment=waiver(rule, "2026-11-20")))
    assert not any(finding.waived for finding in past)
    assert [finding.severity for finding in past if finding.id == "waiver-expired"] == [Severity.WARNING]
    assert len(of(past, rule)) == len(of(held, rule))


GENTLE = {id_: rule for id_, rule in WITH_EXAMPLE.items() if rule.waivable and rule.severities != (Severity.ERROR,)}


@pytest.mark.parametrize("rule", GENTLE.values(), ids=GENTLE)
def test_a_waiver_of_a_team_sets_aside_warnings_and_advice_on_its_file(rule: Rule, tmp_path: Path) -> None:
    held = of(found(tmp_path, example(rule).base, example(rule), Example(team=waiver(rule, "2999-01-01"))), rule)
    assert held
    for finding in held:
        covered = finding.where.file == "teams/alpha.yaml" and finding.severity is not Severity.ERROR
        assert finding.waived == (REASON if covered else ""), finding


def test_waivers_here_are_held_against_a_day_of_their_own() -> None:
    assert TODAY.isoformat() > "2026-11-20"


def test_a_rule_without_an_example_is_shown_by_another_test() -> None:
    without = {rule.id for rule in rules().values() if rule.example is None}
    assert sorted(without - SHOWN_ELSEWHERE.keys()) == []
    assert sorted(SHOWN_ELSEWHERE.keys() - without) == []


@pytest.mark.parametrize("id_", SHOWN_ELSEWHERE)
def test_the_other_test_is_there_and_names_the_rule(id_: str) -> None:
    file, _, name = SHOWN_ELSEWHERE[id_].partition("::")
    text = (ROOT / file).read_text(encoding="utf-8")
    assert name in {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    assert f'"{id_}"' in text or f"[{id_}]" in text
