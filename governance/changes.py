"""What a deployment changes for each team, in words: the job contracts of the last deployment against the new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Contract = Mapping[str, Any]


def changes(before: Sequence[Contract], after: Sequence[Contract]) -> list[str]:
    """One sentence a change, by cluster and team; empty where no team is touched."""
    old, new = _by_team(before), _by_team(after)
    return [sentence for key in sorted(old.keys() | new.keys()) for sentence in _team(key, old.get(key), new.get(key))]


def _by_team(contracts: Sequence[Contract]) -> dict[tuple[str, str], Contract]:
    return {(contract["cluster"], contract["team"]): contract for contract in contracts}


def _team(key: tuple[str, str], old: Contract | None, new: Contract | None) -> Iterator[str]:
    name = f"team {key[1]} on {key[0]}"
    if new is None:
        yield f"{name} is removed"
        return
    if old is None:
        yield f"{name} is new, with {_amounts(new)}"
        return
    for field in ("namespace", "queue", "cluster_queue", "state", "weight", "cohort", "default_priority", "max_run_time_seconds"):
        if old.get(field) != new.get(field):
            yield f"{name}: {field.replace('_', ' ')} {_word(old.get(field))} → {_word(new.get(field))}"
    yield from _quota(name, _quota_by_type(old), _quota_by_type(new))
    gone, come = set(old.get("groups", ())) - set(new["groups"]), set(new["groups"]) - set(old.get("groups", ()))
    if come:
        yield f"{name}: access for {', '.join(sorted(come))}"
    if gone:
        yield f"{name}: no access any more for {', '.join(sorted(gone))}"


def _quota(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for kind in sorted(old.keys() | new.keys()):
        for what in ("guaranteed", "borrowable"):
            was, becomes = old.get(kind, {}).get(what, {}), new.get(kind, {}).get(what, {})
            parts = [
                f"{resource} {was.get(resource, '0')} → {becomes.get(resource, '0')}"
                for resource in sorted(was.keys() | becomes.keys())
                if was.get(resource, "0") != becomes.get(resource, "0")
            ]
            if parts:
                yield f"{name}: {kind}: {what} {', '.join(parts)}"
        was_flavor, flavor = old.get(kind, {}).get("flavor"), new.get(kind, {}).get("flavor")
        if was_flavor and flavor and was_flavor != flavor:
            yield f"{name}: {kind}: flavor {was_flavor} → {flavor}"


def _quota_by_type(contract: Contract) -> dict[str, Any]:
    return {entry["instance_type"]: entry for entry in contract["quota"]}


def _amounts(contract: Contract) -> str:
    parts = []
    for entry in contract["quota"]:
        amounts = ", ".join(f"{amount} {resource}" for resource, amount in entry["guaranteed"].items() if amount != "0")
        parts.append(f"{amounts} of {entry['instance_type']}")
    return "; ".join(parts) or "no quota"


def _word(value: Any) -> str:
    return "none" if value is None else str(value)
