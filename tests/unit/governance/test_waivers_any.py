"""Any waivers on any findings: what is covered, what is told, and that no finding is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta

from declarations import TEAM, platform
from hypothesis import given
from hypothesis import strategies as st

from config.findings import Finding, Severity, Where
from config.rules import rules
from config.waivers import Waiver
from governance.waivers import set_aside

TODAY = date(2026, 11, 21)
HOLDERS = ("", "alpha", "beta")
FILES = {"environments/dev.yaml": "", "teams/alpha.yaml": "alpha", "teams/beta.yaml": "beta", "teams/gone.yaml": "gone"}
SOUND = platform({"alpha": TEAM, "beta": TEAM})
ids = st.sampled_from([*sorted(rules()), "no-such-rule"])
waiver_sets = st.dictionaries(st.tuples(st.sampled_from(HOLDERS), ids), st.integers(-3, 3), max_size=12)
finding_sets = st.lists(
    st.builds(Finding, ids, st.sampled_from(Severity), st.builds(Where, st.sampled_from(sorted(FILES))), st.just("x"))
)


@given(waiver_sets, finding_sets, st.data())
def test_what_is_set_aside_is_what_a_waiver_covers(
    declared: dict[tuple[str, str], int], findings: list[Finding], data: st.DataObject
) -> None:
    """`declared`: by holder and rule, the days that the waiver still holds. Findings are only marked, never lost or made."""
    held = data.draw(st.sampled_from([finding.id for finding in findings] or ["overcommit"]))
    declared = {**declared, (data.draw(st.sampled_from(HOLDERS)), held): 0}

    def of(holder: str) -> dict[str, Waiver]:
        return {
            id_: Waiver(reason=f"{holder or 'dev'} has a reason", until=TODAY + timedelta(days=days))
            for (owner, id_), days in declared.items()
            if owner == holder
        }

    def covers(holder: str, finding: Finding) -> bool:
        rule = rules().get(finding.id)
        own = holder == "" or (FILES[finding.where.file] == holder and finding.severity is not Severity.ERROR)
        allowed = rule is not None and rule.waivable and (holder == "" or rule.severities != (Severity.ERROR,))
        return own and allowed and declared.get((holder, finding.id), -1) >= 0

    result = set_aside(
        replace(
            SOUND,
            environment=SOUND.environment.model_copy(update={"waivers": of("")}),
            teams={name: SOUND.teams[name].model_copy(update={"waivers": of(name)}) for name in SOUND.teams},
            today=TODAY,
        ),
        findings,
    )
    distinct = list(dict.fromkeys(findings))
    marked, told_of = result[: len(distinct)], result[len(distinct) :]
    assert [replace(finding, waived="") for finding in marked] == distinct
    for finding in marked:
        by = [holder for holder in ("alpha", "beta", "") if covers(holder, finding)]
        assert finding.waived == (f"{by[0] or 'dev'} has a reason" if by else "")
    assert {finding.id for finding in told_of} <= {
        "waiver-rule-unknown",
        "waiver-not-allowed",
        "waiver-expired",
        "waiver-unused",
    }
    assert len(told_of) == len(declared) - len(_at_work(declared, distinct, covers))


def _at_work(
    declared: dict[tuple[str, str], int], findings: list[Finding], covers: Callable[[str, Finding], bool]
) -> set[tuple[str, str]]:
    """Waivers that cover something which no waiver before them covers."""
    result = set()
    for finding in findings:
        for holder in ("alpha", "beta", ""):
            if (holder, finding.id) in declared and covers(holder, finding):
                result.add((holder, finding.id))
                break
    return result
