"""Setting findings aside: which waiver covers what, and what is wrong with waivers themselves.

The rules are imported where there is a waiver: most runs have none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from config.files import SUFFIX, TEAMS
from config.findings import Finding, Severity, did_you_mean, has_errors, problem_at, quoted
from config.load import Platform
from config.waivers import Waiver

Waivers = Mapping[str, Mapping[str, Waiver]]
"""By holder (a team, or "" for the environment) and rule."""


def set_aside(platform: Platform, findings: Iterable[Finding]) -> list[Finding]:
    """The findings, those that a waiver covers marked with its reason; and findings on the waivers.

    An environment's waivers cover every finding on it, in teams' files too. A team's cover warnings and advice on its own file:
    what refuses a deployment is for the platform team to allow.
    """
    found = list(dict.fromkeys(findings))
    waivers: Waivers = {
        holder: held
        for holder, held in (("", platform.environment.waivers), *((name, team.waivers) for name, team in platform.teams.items()))
        if held
    }
    if not waivers:
        return found
    problems = {
        (holder, id_): problem
        for holder, held in waivers.items()
        for id_, waiver in held.items()
        if (problem := _problem(platform, holder, id_, waiver))
    }
    used: set[tuple[str, str]] = set()
    current = {
        holder: {id_: waiver for id_, waiver in held.items() if (holder, id_) not in problems} for holder, held in waivers.items()
    }
    result = [_marked(finding, current, used) for finding in found]
    # Each once: findings may come from a plan, which has its waivers applied.
    return list(dict.fromkeys([*result, *problems.values(), *_unused(platform, current, used, result)]))


def _marked(finding: Finding, current: Waivers, used: set[tuple[str, str]]) -> Finding:
    for holder in _holders(finding):
        waiver = current.get(holder, {}).get(finding.id)
        if waiver is not None:
            used.add((holder, finding.id))
            return replace(finding, waived=waiver.reason)
    return finding


def _holders(finding: Finding) -> Iterator[str]:
    """Whose waivers may cover the finding."""
    team = _team_of(finding)
    if team and finding.severity is not Severity.ERROR:
        yield team
    yield ""


def _team_of(finding: Finding) -> str:
    """The team on whose file the finding is; empty for any other file."""
    folder, _, file = finding.where.file.partition("/")
    return file.removesuffix(SUFFIX) if folder == TEAMS else ""


def _problem(platform: Platform, holder: str, id_: str, waiver: Waiver) -> Finding | None:
    """What keeps a waiver from covering anything."""
    from config.rules import rules

    where, rule = platform.where(holder, ("waivers", id_), key=True), rules().get(id_)
    if rule is None:
        remedy = did_you_mean(id_, list(rules())) or "name a rule as findings show it"
        return problem_at("waiver-rule-unknown", where, f"there is no rule {quoted(id_)}", remedy)
    if not rule.waivable:
        return problem_at("waiver-not-allowed", where, f"`{id_}` can't be set aside", "mend what it finds")
    if holder and rule.severities == (Severity.ERROR,):
        remedy = f"write the waiver in environments/{platform.name}{SUFFIX}"
        return problem_at("waiver-not-allowed", where, f"a team's file can't set the error `{id_}` aside", remedy)
    if platform.today > waiver.until:
        message = f"the waiver of `{id_}` ended on {waiver.until}"
        return Finding("waiver-expired", Severity.WARNING, where, message, "mend what it set aside, or give it another date")
    return None


def _unused(platform: Platform, current: Waivers, used: set[tuple[str, str]], findings: Iterable[Finding]) -> Iterator[Finding]:
    """Waivers that cover nothing. None are told where a file has errors: what would be found without them isn't known."""
    if has_errors(platform.findings):
        return
    refusing = {(_team_of(finding), finding.id) for finding in findings if has_errors([finding])}
    own = f"environments/{platform.name}{SUFFIX}"
    for holder, waivers in current.items():
        for id_ in waivers:
            where = platform.where(holder, ("waivers", id_), key=True)
            inherited = not holder and where.file != own
            if (holder, id_) in used or inherited:
                continue
            if holder and (holder, id_) in refusing:
                message = f"in `{platform.name}` `{id_}` is an error, which a team's file can't set aside"
                yield problem_at("waiver-not-allowed", where, message, f"write the waiver in {own}")
                continue
            message = f"nothing is found in `{platform.name}` that `{id_}` would set aside"
            remedy = "remove it, or write it for the environments that need it" if holder else "remove it"
            yield Finding("waiver-unused", Severity.ADVICE, where, message, remedy)
