"""The registry of rules against the sources: every id of a finding is a rule, and every rule is the id of a finding."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import rule_ids
from rule_ids import ROOT, Made, made
from rule_projects import found

from config.findings import Severity, Where, problem_at
from config.rules import CATEGORIES, page_of, rules
from config.rules.model import Rule


@pytest.fixture(scope="module")
def sources() -> list[Made]:
    return made()


def test_every_id_of_a_finding_is_a_rule(sources: list[Made]) -> None:
    assert sorted({(one.id, one.file) for one in sources if one.id not in rules()}) == []


def test_every_rule_is_the_id_of_a_finding(sources: list[Made]) -> None:
    assert sorted(rules().keys() - {one.id for one in sources}) == []


def test_no_finding_hides_its_id_from_this_test() -> None:
    assert rule_ids.unresolved() == set()
    assert rule_ids.stale() == set()


def test_a_rule_has_the_severities_of_its_findings(sources: list[Made]) -> None:
    wrong = {}
    for rule in rules().values():
        own = [one.severity for one in sources if one.id == rule.id]
        literal, all_literal = {severity for severity in own if severity}, all(own)
        declared = set(rule.severities)
        if not (declared == literal if all_literal else literal <= declared):
            wrong[rule.id] = (sorted(declared), sorted(literal))
    assert wrong == {}


def test_what_the_plan_does_not_see_cannot_be_set_aside(sources: list[Made]) -> None:
    """Waivers are applied to the plan's findings alone: a rule of running clusters or of cases must not promise one."""
    apart = ("config/stack.py", "config/codeowners.py", "governance/adoption/", "governance/platform/lifecycle.py")
    planned = {one.id for one in sources if one.file.startswith(("config/", "governance/")) and not one.file.startswith(apart)}
    assert [rule.id for rule in rules().values() if rule.waivable and rule.id not in planned] == []


def test_an_error_that_reading_finds_cannot_be_set_aside(sources: list[Made]) -> None:
    """Errors found while files are read refuse the run before waivers are known."""
    reading = ("files", "yamlsource", "errors", "load", "teamfile", "consistency", "stack", "team", "vocabulary", "waivers")
    places = {f"config/{name}.py" for name in reading}
    early = {one.id for one in sources if one.severity is Severity.ERROR and one.file in places}
    assert [rule.id for rule in rules().values() if rule.waivable and rule.id in early] == []


def test_an_id_names_one_rule() -> None:
    every = Counter(rule.id for category in CATEGORIES for rule in category.rules)
    assert [id_ for id_, number in every.items() if number > 1] == []
    assert len({category.name for category in CATEGORIES}) == len(CATEGORIES)


@pytest.mark.parametrize("rule", rules().values(), ids=rules())
def test_a_rule_is_written_out(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.id)
    assert rule.severities
    assert list(rule.severities) == sorted(set(rule.severities), key=list(Severity).index)
    assert rule.title[:1].isupper() or not rule.title[:1].isalpha()
    assert not rule.title.endswith(".")
    assert len(rule.title) <= 80
    assert rule.why.endswith(".")
    assert rule.remedy.endswith((".", "`."))
    assert not rule.source.endswith(".")
    for text in (rule.title, rule.why, rule.remedy, rule.source):
        assert text == " ".join(text.split())
        assert text.isprintable()
        assert "|" not in text  # would end a table's cell
        assert text.count("`") % 2 == 0
    assert rule.example is None or rule.example.environment or rule.example.team


def test_a_finding_names_the_page_of_its_rule() -> None:
    finding = problem_at("unknown-key", Where("teams/a.yaml", 1, 1), "unknown key", "remove it")
    assert finding.docs == finding.as_dict()["docs"] == "docs/checks/values.md#unknown-key"
    assert problem_at("no-such-rule", Where("teams/a.yaml", 1, 1), "x", "y").docs == ""
    pages = {page_of(id_).partition("#") for id_ in rules()}
    assert all((ROOT / file).is_file() for file, _, _ in pages)
    assert len(pages) == len(rules())


def _python(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_rules_cost_nothing_where_nothing_is_found(tmp_path: Path) -> None:
    assert found(tmp_path, "kueue") == []
    review = f"review(Project(Path({str(tmp_path)!r})), 'dev')"
    _python(
        "import sys; from pathlib import Path; from config.load import Project; from governance.plan import review;"
        f"assert {review} == []; assert 'config.rules' not in sys.modules"
    )


def test_rules_are_plain_data() -> None:
    _python(
        "import sys, config.rules; config.rules.rules();"
        "assert not {'pydantic', 'yaml', 'config.catalogue', 'governance', 'difflib'} & sys.modules.keys()"
    )
