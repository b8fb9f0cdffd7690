"""Setting findings aside: which waiver covers what, and what is wrong with waivers themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from config.files import SUFFIX, TEAMS
from config.findings import Finding, Severity, did_you_mean, printable, problem_at
from config.load import Platform
from config.rules import rules
from config.waivers import Waiver


def set_aside(platform: Platform, findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those that a waiver covers marked with its reason; and findings on the waivers.

    An environment's waivers cover every finding on it, in teams' files too. A team's cover warnings and advice on its own file:
    what refuses a deployment is for the platform team to allow.
    """
    found = list(dict.fromkeys(findings))
    holders = {"": platform.environment.waivers, **{name: team.waivers for name, team in platform.teams.items() if team.waivers}}
    if not any(holders.values()):
        return found
    problems = [problem for holder, waivers in holders.items() for problem in _problems(platform, holder, waivers)]
    current = {
        holder: {id_: waiver for id_, waiver in waivers.items() if platform.today <= waiver.until}
        for holder, waivers in holders.items()
    }
    used: set[tuple[str, str]] = set()
    result = [_marked(finding, current, used) for finding in found]
    return [*result, *problems, *_unused(platform, current, used)]


def _marked(finding: Finding, current: Mapping[str, Mapping[str, Waiver]], used: set[tuple[str, str]]) -> Finding:
    rule = rules().get(finding.id)
    if rule is None or not rule.waivable:
        return finding
    for holder in _holders(finding):
        waiver = current.get(holder, {}).get(finding.id)
        if waiver is not None:
            used.add((holder, finding.id))
            return replace(finding, waived=waiver.reason)
    return finding


def _holders(finding: Finding) -> Iterator[str]:
    """Whose waivers may cover the finding."""
    folder, _, file = finding.where.file.partition("/")
    if folder == TEAMS and finding.severity is not Severity.ERROR:
        yield file.removesuffix(SUFFIX)
    yield ""


def _problems(platform: Platform, holder: str, waivers: Mapping[str, Waiver]) -> Iterator[Finding]:
    for id_, waiver in waivers.items():
        where = platform.where(holder, ("waivers", id_), key=True)
        rule = rules().get(id_)
        if rule is None:
            remedy = did_you_mean(id_, list(rules())) or "name a rule as findings show it"
            yield problem_at("waiver-rule-unknown", where, f"there is no rule `{printable(id_)}`", remedy)
        elif not rule.waivable:
            yield problem_at("waiver-not-allowed", where, f"`{id_}` can't be set aside", "mend what it finds")
        elif holder and Severity.ERROR in rule.severities and len(rule.severities) == 1:
            remedy = f"write the waiver in environments/{platform.name}{SUFFIX}"
            yield problem_at("waiver-not-allowed", where, f"a team's file can't set the error `{id_}` aside", remedy)
        elif platform.today > waiver.until:
            message = f"the waiver of `{id_}` ended on {waiver.until}"
            yield Finding("waiver-expired", Severity.WARNING, where, message, "mend what it set aside, or give it another date")


def _unused(platform: Platform, current: Mapping[str, Mapping[str, Waiver]], used: set[tuple[str, str]]) -> Iterator[Finding]:
    for holder, waivers in current.items():
        for id_ in waivers:
            rule = rules().get(id_)
            if rule is not None and rule.waivable and (holder, id_) not in used:
                where = platform.where(holder, ("waivers", id_), key=True)
                yield Finding(
                    "waiver-unused", Severity.ADVICE, where, f"nothing is found that `{id_}` would set aside", "remove it"
                )
