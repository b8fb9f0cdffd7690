"""Waivers: what they cover, for how long, whose they are, and what is told about them."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from declarations import ENVIRONMENT, TEAM, assert_well_formed, team
from strategies import write

from config.findings import ConfigError, Finding, Severity, has_errors
from config.load import Project
from governance.plan import plan, review
from governance.waivers import set_aside

TODAY = date(2026, 11, 21)
OVER = "quota: {ml.p5.48xlarge: {instances: 9}}\nweight: 1\n"
"""One instance more than there are."""
SPLIT = "quota: {ml.p5.48xlarge: {accelerators: 1}}\nweight: 1\n"
"""50 % of one GPU rounds down to none: a warning on the team's own file."""


def waivers(*ids: str, until: str = "2026-12-31", reason: str = "the nodes come in May") -> str:
    return "waivers: {" + ", ".join(f"{id_}: {{reason: {reason}, until: {until}}}" for id_ in ids) + "}\n"


def found(
    teams: dict[str, str], env: str = ENVIRONMENT, name: str = "dev", today: date = TODAY, **environments: str
) -> list[Finding]:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {"dev": env, **environments}, teams)
        findings = review(Project(Path(folder), today), name)
    for finding in findings:
        assert_well_formed(finding)
    return findings


def told(findings: list[Finding]) -> list[tuple[str, str, str]]:
    """Id, severity (or that it is waived) and file."""
    return [(f.id, "waived" if f.waived else str(f.severity), f.where.file) for f in findings]


DEV, ALPHA = "environments/dev.yaml", "teams/alpha.yaml"


def test_without_a_waiver_everything_counts() -> None:
    assert told(found({"alpha": team(OVER)})) == [("overcommit", "warning", DEV)]


def test_an_environments_waiver_covers_its_own_file_and_gives_the_reason() -> None:
    (finding,) = found({"alpha": team(OVER)}, ENVIRONMENT + waivers("overcommit"))
    assert (finding.id, finding.severity, finding.waived) == ("overcommit", Severity.WARNING, "the nodes come in May")


def test_an_environments_waiver_covers_the_files_of_all_teams() -> None:
    findings = found({"alpha": team(SPLIT), "beta": team(SPLIT)}, ENVIRONMENT + waivers("borrow-rounds-to-none"))
    assert told(findings) == [
        ("borrow-rounds-to-none", "waived", ALPHA),
        ("borrow-rounds-to-none", "waived", "teams/beta.yaml"),
    ]


def test_a_team_s_waiver_covers_its_own_file_alone() -> None:
    findings = found({"alpha": team(SPLIT + waivers("borrow-rounds-to-none")), "beta": team(SPLIT)})
    assert told(findings) == [
        ("borrow-rounds-to-none", "waived", ALPHA),
        ("borrow-rounds-to-none", "warning", "teams/beta.yaml"),
    ]


def test_a_team_s_waiver_does_not_reach_the_environments_file() -> None:
    findings = found({"alpha": team(OVER + waivers("overcommit"))})
    assert told(findings) == [("overcommit", "warning", DEV), ("waiver-unused", "advice", ALPHA)]


def test_a_team_with_the_environments_name_is_not_the_environment() -> None:
    findings = found({"dev": team(OVER + waivers("overcommit"))})
    assert told(findings) == [("overcommit", "warning", DEV), ("waiver-unused", "advice", "teams/dev.yaml")]


def test_the_teams_own_waiver_goes_before_the_environments() -> None:
    own = waivers("borrow-rounds-to-none", reason="one GPU is enough for us")
    findings = found({"alpha": team(SPLIT + own), "beta": team(SPLIT)}, ENVIRONMENT + waivers("borrow-rounds-to-none"))
    assert [f.waived for f in findings] == ["one GPU is enough for us", "the nodes come in May"]


@pytest.mark.parametrize("until", ["2026-11-21", "2026-11-22", "2999-12-31"])
def test_a_waiver_holds_through_its_last_day(until: str) -> None:
    assert told(found({"alpha": team(OVER)}, ENVIRONMENT + waivers("overcommit", until=until))) == [("overcommit", "waived", DEV)]


@pytest.mark.parametrize("until", ["2026-11-20", "2020-02-29"])
def test_a_waiver_past_its_day_covers_nothing_and_is_told(until: str) -> None:
    findings = found({"alpha": team(OVER)}, ENVIRONMENT + waivers("overcommit", until=until))
    assert told(findings) == [("overcommit", "warning", DEV), ("waiver-expired", "warning", DEV)]
    assert findings[-1].where.line == len(ENVIRONMENT.splitlines()) + 1
    assert until in findings[-1].message


def test_the_day_is_that_of_utc() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {"dev": ENVIRONMENT}, {"alpha": TEAM})
        before = datetime.now(UTC).date()
        assert before <= Project(Path(folder)).load("dev").today <= datetime.now(UTC).date()


def test_an_error_that_is_set_aside_refuses_nothing() -> None:
    forbidden = ENVIRONMENT + "  overcommit: forbid\n"
    refused = found({"alpha": team(OVER)}, forbidden)
    assert told(refused) == [("overcommit", "error", DEV)]
    assert has_errors(refused)
    allowed = found({"alpha": team(OVER)}, forbidden + waivers("overcommit"))
    assert told(allowed) == [("overcommit", "waived", DEV)]
    assert not has_errors(allowed)
    assert str(ConfigError(allowed)) == ""


def test_the_plan_has_the_same_findings_as_the_review() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), {"dev": ENVIRONMENT + waivers("overcommit", "weight-zero")}, {"alpha": team(OVER)})
        project = Project(Path(folder), TODAY)
        findings = review(project, "dev")
        platform = project.load("dev")
        assert list(plan(platform).findings) == findings
        assert set_aside(platform, findings) == findings
    assert told(findings) == [("overcommit", "waived", DEV), ("waiver-unused", "advice", DEV)]


def test_a_waiver_of_a_rule_that_there_is_not() -> None:
    findings = found({"alpha": team(OVER)}, ENVIRONMENT + waivers("overcomit"))
    assert told(findings) == [("overcommit", "warning", DEV), ("waiver-rule-unknown", "error", DEV)]
    assert "did you mean `overcommit`?" in findings[-1].remedy


@pytest.mark.parametrize("id_", ["x" * 500, "'\\e[31m'", "'{text}'", "''"])
def test_a_waiver_of_any_text(id_: str) -> None:
    (finding,) = found({}, ENVIRONMENT + f'waivers: {{{id_}: {{reason: the nodes come in May, until: "2026-12-31"}}}}\n')
    assert finding.id == "waiver-rule-unknown"
    assert len(finding.message) < 200


def test_what_leaves_nothing_to_build_cannot_be_set_aside() -> None:
    other = team("quota: {ml.p5.48xlarge: {instances: 1}}\nnames: {namespace: hyperpod-ns-alpha}\n")
    findings = found({"alpha": TEAM, "beta": other}, ENVIRONMENT + waivers("name-shared", "weight-zero"))
    errors = [(f.id, f.where.file) for f in findings if f.severity is Severity.ERROR and not f.waived]
    assert errors == [("waiver-not-allowed", DEV), ("name-shared", "teams/beta.yaml")]
    assert [(f.id, f.waived != "") for f in findings if f.id == "weight-zero"] == [("weight-zero", True)]


def test_a_team_cannot_set_an_error_aside() -> None:
    unneeded = "quota: {ml.p5.48xlarge: {instances: 1}}\nflavors: [ml.g6.12xlarge]\n" + waivers("flavor-without-quota")
    findings = found({"alpha": team(unneeded)})
    assert told(findings) == [("flavor-without-quota", "error", ALPHA), ("waiver-not-allowed", "error", ALPHA)]
    assert "environments/dev.yaml" in findings[-1].remedy
    allowed = found(
        {"alpha": team(unneeded.replace(waivers("flavor-without-quota"), ""))}, ENVIRONMENT + waivers("flavor-without-quota")
    )
    assert told(allowed) == [("flavor-without-quota", "waived", ALPHA)]


def test_a_team_cannot_wait_for_an_error_to_set_aside() -> None:
    assert told(found({"alpha": TEAM + waivers("flavor-without-quota")})) == [("waiver-not-allowed", "error", ALPHA)]


NOWHERE = "quota: {ml.g5.12xlarge: {instances: 1}}\nweight: 1\n"
"""A type without a group: a warning, or an error where overcommit is forbidden."""


def test_a_rule_that_is_an_error_here_is_told_as_such_in_a_teams_waiver() -> None:
    declared = {"alpha": team(NOWHERE + waivers("overcommit-no-group"))}
    assert told(found(declared)) == [("overcommit-no-group", "waived", ALPHA)]
    findings = found(declared, ENVIRONMENT + "  overcommit: forbid\n")
    assert told(findings) == [("overcommit-no-group", "error", ALPHA), ("waiver-not-allowed", "error", ALPHA)]
    assert "in `dev`" in findings[-1].message
    # What the platform team allows is allowed.
    both = found(declared, ENVIRONMENT + "  overcommit: forbid\n" + waivers("overcommit-no-group"))
    assert not has_errors(both)


def test_a_waiver_that_covers_nothing_is_told() -> None:
    findings = found({"alpha": team("quota: {ml.p5.48xlarge: {instances: 1}}\n" + waivers("weight-zero"))})
    assert told(findings) == [("waiver-unused", "advice", ALPHA)]
    assert findings[0].where.line == 4
    assert "`dev`" in findings[0].message


def test_nothing_is_told_unused_while_a_file_has_errors() -> None:
    """The team that the waiver is for may be the one that can't be read."""
    findings = found({"alpha": team(OVER + "wieght: 1\n")}, ENVIRONMENT + waivers("overcommit"))
    assert told(findings) == [("unknown-key", "error", ALPHA)]


def test_a_base_hands_its_waivers_on_and_answers_for_them() -> None:
    base = ENVIRONMENT + waivers("overcommit", "weight-zero")
    heir = "apiVersion: hyperpod-platform/v1\nbase: dev\n"
    assert told(found({"alpha": team(OVER)}, base, "prod", prod=heir)) == [("overcommit", "waived", DEV)]
    assert told(found({"alpha": team(OVER)}, base, "dev", prod=heir))[1:] == [("waiver-unused", "advice", DEV)]
    later = heir + waivers("overcommit", until="2026-11-20")
    assert told(found({"alpha": team(OVER)}, base, "prod", prod=later)) == [
        ("overcommit", "warning", DEV),
        ("waiver-expired", "warning", "environments/prod.yaml"),
    ]


def test_a_team_may_have_a_waiver_for_one_environment() -> None:
    declared = {"alpha": team(SPLIT + "environments: {prod: {" + waivers("borrow-rounds-to-none").strip() + "}}\n")}
    assert told(found(declared, prod=ENVIRONMENT)) == [("borrow-rounds-to-none", "warning", ALPHA)]
    assert told(found(declared, name="prod", prod=ENVIRONMENT)) == [("borrow-rounds-to-none", "waived", ALPHA)]


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("waivers: {overcommit: {until: 2026-12-31}}", "missing-key"),
        ("waivers: {overcommit: {reason: the nodes come in May}}", "missing-key"),
        ("waivers: {overcommit: {reason: later, until: 2026-12-31}}", "string-too-short"),
        (f"waivers: {{overcommit: {{reason: {'x' * 513}, until: 2026-12-31}}}}", "string-too-long"),
        ("waivers: {overcommit: {reason: the nodes come in May, until: 31.12.2026}}", "date"),
        ("waivers: {overcommit: {reason: the nodes come in May, until: '2026-02-30'}}", "date"),
        ("waivers: {overcommit: {reason: the nodes come in May, until: 20261231}}", "date"),
        ("waivers: {overcommit: {reason: the nodes come in May, until: [a]}}", "date"),
        ("waivers: {overcommit: the nodes come in May}", "model-type"),
        ("waivers: [overcommit]", "dict-type"),
    ],
)
def test_a_waiver_has_a_reason_and_an_end(text: str, id_: str) -> None:
    assert [f.id for f in found({}, ENVIRONMENT + text + "\n")] == [id_]
    assert [f.id for f in found({"alpha": TEAM + text + "\n"})] == [id_]
