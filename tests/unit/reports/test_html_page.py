"""The report's page without a browser: what stands on it, what never does, and that it is the same for the same data."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from html_support import EVIL, NOW, TEAMS, answering, planned, project, report, workload
from simulated import alone, compared

from live.looking import Look
from live.usage import read_usage
from reports.html.charts import TOP
from reports.html.data import as_dict
from reports.html.model import Report
from reports.html.page import FOLDED_ABOVE, report_page
from reports.html.palette import ROLES, contrast
from reports.html.stack import stack_report

FULL = workload(
    "beta", "stopped", "high-priority", Evicted=("True", "11:30", "Preempted"), QuotaReserved=("False", "11:30", "gone")
)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def live(root: Path) -> Report:
    return report(root, answering(FULL), simulation=compared())


@pytest.fixture(scope="module")
def page(live: Report) -> str:
    return report_page(live)


class _Outline(HTMLParser):
    """Elements in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def all(self, *names: str) -> list[dict[str, str]]:
        return [attributes for tag, attributes in self.tags if tag in names]


def rows(page: str, section: str, name: str) -> list[str]:
    """Rows of a section whose first cell is this, without markup."""
    part = page.partition(f'<section id="{section}"')[2].partition("</section>")[0]
    found = re.findall(r"<tr>(.*?)</tr>", part, re.DOTALL)
    words = (re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", row)).strip() for row in found)
    return [one for one in words if one.startswith(f"{name} ")]


def test_the_figures_are_those_of_plan_and_cluster(page: str) -> None:
    assert rows(page, "capacity", "ml.p5.48xlarge") == ["ml.p5.48xlarge 4 GPUs 32 24 8 0 20"]
    assert rows(page, "capacity", "ml.g6.12xlarge") == ["ml.g6.12xlarge 1 GPUs 4 8 0 4 0"]
    assert "alpha ml.p5.48xlarge GPUs 8 25 % 16 16" in rows(page, "guarantees", "alpha")
    assert rows(page, "guarantees", "gamma") == ["gamma ml.g6.12xlarge GPUs 8 200 % 8 4"]
    assert rows(page, "borrowing", "ml.p5.48xlarge") == ["ml.p5.48xlarge alpha 8 GPUs beta 12 GPUs 4"]
    assert rows(page, "usage", "alpha")[0] == "alpha ml.p5.48xlarge GPUs 8 8 0"
    assert rows(page, "usage", "gamma")[1:] == ["gamma – keeps what it has 0 active has no queue on the cluster – –"]
    assert rows(page, "tasks", "high") == ["high 90 1 1 1 0 1 1h 1h 1h 30m 2h"]
    assert rows(page, "tasks", "low") == ["low 10 0 0 0 0 0 – – – –"]
    assert rows(page, "tasks", "none") == ["none – 0 1 0 0 0 – – 2h 2h"]
    (stopped,) = rows(page, "tasks", "stopped")
    assert stopped == "stopped beta high 2h preempted gone"


def test_nothing_that_anybody_wrote_is_markup(page: str) -> None:
    assert "alert(1)" in page, "it is shown"
    outline = _Outline(page)
    assert not outline.all("script", "img", "link", "iframe", "object", "base", "form")
    assert not [name for _, attributes in outline.tags for name in attributes if name.startswith("on")]
    assert "\x1b" not in page, "no controls"
    assert "\u202e" not in page, "nothing that turns the direction of writing"
    assert EVIL not in page


def test_nothing_is_referred_to_outside(page: str) -> None:
    outline = _Outline(page)
    for _, attributes in outline.tags:
        for name in ("href", "src", "srcset", "action", "data", "poster"):
            assert attributes.get(name, "#").startswith("#"), attributes
        assert "style" not in attributes, "the policy would ignore it"
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert page.count("<style") == 1
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = [one["content"] for one in outline.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_it_can_be_heard_as_well_as_seen(page: str) -> None:
    outline = _Outline(page)
    assert "lang" in outline.all("html")[0]
    tables, captions = outline.all("table"), outline.all("caption")
    assert len(tables) == len(captions) >= 8
    assert all("scope" in one for one in outline.all("th"))
    ids = Counter(one["id"] for _, one in outline.tags if "id" in one)
    assert max(ids.values()) == 1
    charts = outline.all("svg")
    assert len(charts) >= 8
    for chart in charts:
        assert chart["role"] == "img"
        assert set(chart["aria-labelledby"].split()) <= set(ids)
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(link["href"][1:] in ids for link in outline.all("a"))


def test_findings_stand_open_and_waived_ones_are_folded(root: Path, page: str, live: Report) -> None:
    part = page.partition('<section id="findings"')[2].partition("</section>")[0]
    (waived,) = [one for one in live.findings if one.waived]
    assert waived.id == "overcommit"
    before, _, folded = part.partition("<details>")
    assert "The nodes come in January &lt;soon&gt;" in folded
    assert "overcommit" not in before
    assert all(one.id in before for one in live.findings if not one.waived)


def test_without_a_cluster_it_says_that_it_speaks_of_the_plan_alone(root: Path) -> None:
    found = report_page(report(root))
    assert "no cluster was asked: all figures are from the plan alone" in found
    assert "No cluster was read: this page speaks of the plan alone" in found
    assert "In use now" not in found
    assert rows(found, "capacity", "ml.p5.48xlarge") == ["ml.p5.48xlarge 4 GPUs 32 24 8 0"]


def test_the_same_data_give_the_same_bytes(root: Path, live: Report, page: str) -> None:
    again = report(root, answering(FULL), simulation=compared())
    assert again == live
    assert report_page(again) == page


def test_a_hundred_teams_stay_small_and_the_tables_have_all(live: Report) -> None:
    shares = tuple(replace(one, team=f"{one.team}-{number:03}") for number in range(100) for one in live.shares)
    teams = tuple(replace(one, team=f"{one.team}-{number:03}") for number in range(100) for one in live.teams)
    found = report_page(replace(live, shares=shares, teams=teams))
    assert len(found) < 1_000_000
    assert f"The chart shows the first {TOP}; {len(shares) - TOP} more are in the table." in found
    assert len(shares) > FOLDED_ABOVE
    assert f"Guarantees: all {len(shares)} rows" in found
    for number in (0, 99):
        assert rows(found, "guarantees", f"alpha-{number:03}")


def test_the_data_are_those_of_the_page(live: Report) -> None:
    found = json.loads(json.dumps(as_dict(live)))
    assert found["live"] is True
    assert found["made_at"] == "2026-11-21T12:00:00Z"
    assert found["accelerators"] == {"capacity": 36, "guaranteed": 32, "unowned": 8, "over": 4, "used": 20, "borrowed": 8}
    (loan,) = found["loans"]
    assert (loan["borrowers"], loan["idle_of"]) == ({"alpha": "8"}, {"beta": "12"})
    vcpus = next(one for one in found["capacity"] if one["resource"] == "cpu")
    assert (vcpus["capacity"], vcpus["unowned"], vcpus["nodes"]) == ("16", "8", 1)
    assert {one["team"] for one in found["teams"]} == set(TEAMS)
    assert [one["priority_class"] for one in found["tasks"]] == ["high", "low", None]


def test_a_simulation_stands_on_the_report_too(root: Path) -> None:
    found = report_page(report(root, simulation=alone()))
    assert 'id="simulation"' in found
    assert rows(found, "simulation", "gamma")[0].endswith("1"), "its giant never runs"


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("ground", ["page", "card", "raised"])
def test_colours_can_be_told_from_what_they_stand_on(theme: int, ground: str) -> None:
    for role in ("ink", "muted", "accent", "warn", "over", "good"):
        assert contrast(ROLES[role][theme], ROLES[ground][theme]) >= 4.5, role
    for role in ("own", "borrowed", "pending", "over", "before", "after", "edge"):
        assert contrast(ROLES[role][theme], ROLES[ground][theme]) >= 3, role
    for role in ("own", "borrowed"):
        assert contrast(ROLES[role][theme], ROLES["idle"][theme]) >= 3, role


def test_contrast_is_the_webs_own_measure() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_several_clusters_are_told_apart(tmp_path: Path) -> None:
    root = project(tmp_path)
    file = root / "environments/main.yaml"
    second = (
        "  other: {kind: existing, kueue: {install: false}, instance_groups: {h100: {instance_type: ml.p5.48xlarge, count: 8}}}\n"
    )
    file.write_text(file.read_text().replace("governance:", f"{second}governance:", 1))
    platform, found = planned(root)
    looks = {"main": Look(read_usage(answering(), NOW), None, "0.16.6"), "other": Look(problem="it is gone")}
    page = report_page(stack_report(platform, found, "main", looks, NOW))
    assert rows(page, "capacity", "main ml.p5.48xlarge") == ["main ml.p5.48xlarge 4 GPUs 32 24 8 0 20"]
    assert rows(page, "capacity", "other ml.p5.48xlarge") == ["other ml.p5.48xlarge 8 GPUs 64 24 40 0 –"]
    assert "it is gone. Its figures are from the plan alone." in page
    assert ">alpha (other)</text>" in page


def test_a_platform_without_teams_or_nodes_has_a_page_too(tmp_path: Path) -> None:
    root = project(tmp_path)
    for file in (root / "teams").iterdir():
        file.unlink()
    environment = root / "environments/main.yaml"
    text = environment.read_text().partition("waivers:")[0]
    environment.write_text(re.sub(r"instance_groups:\n( {6}.*\n)+", "instance_groups: {}\n", text))
    page = report_page(report(root))
    assert 'class="figure">0<' in page
    assert "Nothing found." in page
