"""Quota on top until a date: which entries count on a day, and what is said as their last day comes and goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

from config.catalogue import InstanceType, instance_types
from config.findings import Finding, Severity
from config.load import Platform
from config.team import Amounts, Team
from config.yamlsource import Path_

NOTICE = timedelta(days=7)
"""How long before the end it is told."""


def entries(team: Team, today: date, cluster: str | None = None) -> Iterator[tuple[Path_, str, Amounts]]:
    """What the team is guaranteed on that day, each with its place and key: its quota, then what comes on top.

    Without a cluster, those of all clusters.
    """
    if cluster not in team.cluster_quota:
        for key, amounts in team.quota.items():
            yield ("quota", key), key, amounts
    for name, quota in team.cluster_quota.items():
        for key, amounts in quota.items() if cluster in (None, name) else ():
            yield ("cluster_quota", name, key), key, amounts
    for name, extra in team.extra_quota.items():
        if today <= extra.until:
            for key, amounts in extra.quota.items():
                yield ("extra_quota", name, "quota", key), key, amounts


def declared_at(team: Team, kind: str, today: date, cluster: str | None = None) -> Path_:
    """The first entry that guarantees something of the type, on that cluster if one is named."""
    return next((path for path, key, _ in entries(team, today, cluster) if key in _keys(instance_types()[kind])), ("quota", kind))


def has_ended(team: Team, kind: str, today: date) -> bool:
    """Whether the team had quota of the type on top, and has it no more.

    A day that passes takes the amount away. It must not refuse everybody's deployment as well, so what the amount leaves behind
    (an order that names the type, a limit on it) is no error then: the ended entry itself is told.
    """
    keys = _keys(instance_types()[kind])
    return any(today > extra.until and not extra.quota.keys().isdisjoint(keys) for extra in team.extra_quota.values())


def any_ended(team: Team, today: date) -> bool:
    """Whether an entry of the team has ended."""
    return any(today > extra.until for extra in team.extra_quota.values())


def as_if_none_had_ended(platform: Platform) -> Platform:
    """The same declarations with every entry still counting."""
    return replace(platform, today=date.min)


def _keys(kind: InstanceType) -> tuple[str, ...]:
    """Quota keys that mean the type, among others."""
    return (kind.name, kind.family, kind.accelerator) if kind.accelerator else (kind.name, kind.family)


def extra_quota_findings(platform: Platform) -> Iterator[Finding]:
    """Entries that have ended, or are about to."""
    for team in platform.teams.values():
        for name, extra in team.extra_quota.items():
            where = platform.where(team.name, ("extra_quota", name, "until"))
            entry = f"the extra quota `{name}` of team `{team.name}` ({', '.join(extra.quota)})"
            if platform.today > extra.until:
                message = f"{entry} ended on {extra.until}: it counts nothing, and the next deployment takes the amount away"
                remedy = "remove it once no job of the team runs on what it gave, or give it a later date"
                yield Finding("extra-quota-ended", Severity.WARNING, where, message, remedy)
            elif platform.today >= extra.until - NOTICE:
                message = f"{entry} ends on {extra.until}; the first deployment after that day takes the amount away"
                remedy = "tell the team; give it a later date if it is needed longer"
                yield Finding("extra-quota-ends", Severity.ADVICE, where, message, remedy)
