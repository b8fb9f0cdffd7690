"""The documentation's pages of the rules, and a rule as a terminal shows it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rule_ids import ROOT

from config.rules import CATEGORIES, PAGES, page_of, rules
from config.yamlsource import parse
from reports.rulepages import explained, pages, write


def test_the_pages_in_the_tree_are_those_of_the_rules() -> None:
    """`make docs` writes them again."""
    there = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / PAGES).iterdir()}
    wanted = pages()
    assert sorted(there) == sorted(wanted)
    assert [name for name, text in wanted.items() if there[name] != text] == []


def test_writing_the_pages_removes_those_that_no_category_has(tmp_path: Path) -> None:
    gone = tmp_path / PAGES / "gone.md"
    gone.parent.mkdir(parents=True)
    gone.write_text("old")
    assert {path.name for path in write(tmp_path)} == pages().keys() == {path.name for path in gone.parent.iterdir()}


def test_every_rule_has_its_anchor_on_the_page_that_findings_name() -> None:
    written = pages()
    for id_ in rules():
        file, _, anchor = page_of(id_).rpartition("/")[2].partition("#")
        # GitHub makes the anchor of a heading from its letters, digits and hyphens: backticks fall away.
        headings = re.findall(r"^### `([a-z0-9-]+)`$", written[file], re.MULTILINE)
        assert headings.count(anchor) == 1
    assert sum(text.count("\n### `") for text in written.values()) == len(rules())


def test_the_index_leads_to_every_rule_and_page() -> None:
    written = pages()
    links = re.findall(r"\]\(([a-z_]+\.md)(?:#([a-z0-9-]+))?\)", written["index.md"])
    assert {anchor for _, anchor in links if anchor} == rules().keys()
    assert {file for file, _ in links} == {f"{category.name}.md" for category in CATEGORIES}
    for rule in rules().values():
        row = next(line for line in written["index.md"].splitlines() if line.startswith(f"| [`{rule.id}`]"))
        assert row.endswith(f"| {' or '.join(rule.severities)} | {rule.title} |")


def test_the_waivers_that_the_index_shows_are_ones() -> None:
    shown = re.findall(r"```yaml\n(.*?)```", pages()["index.md"], re.DOTALL)
    assert len(shown) == 2
    for text in shown:
        document, problems = parse(text, "index.md")
        assert problems == []
        ((id_, waiver),) = document.data["waivers"].items()
        assert rules()[id_].waivable
        assert waiver.keys() == {"reason", "until"}


@pytest.mark.parametrize("id_", rules())
def test_page_and_terminal_tell_all_of_a_rule(id_: str) -> None:
    rule = rules()[id_]
    page = pages()[page_of(id_).rpartition("/")[2].partition("#")[0]]
    section = page.partition(f"### `{id_}`\n")[2].partition("\n### ")[0]
    terminal = explained(id_)
    for text in (rule.title, rule.why, rule.remedy, rule.source):
        assert text in section
        assert " ".join(text.split()) in " ".join(terminal.split())
    assert all(severity in section and severity in terminal.splitlines()[0] for severity in rule.severities)
    assert ("it can't be set aside" in section) is ("it can't be set aside" in terminal) is not rule.waivable
    assert page_of(id_) in terminal
    for fragment in (rule.example.environment, rule.example.team) if rule.example else ():
        assert fragment.strip("\n") in section
        assert all(line in terminal for line in fragment.splitlines())


def test_there_is_nothing_to_explain_about_no_rule() -> None:
    with pytest.raises(KeyError):
        explained("no-such-rule")
