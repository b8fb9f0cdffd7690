"""Reading one team's file for one environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from config.consistency import sharing_findings
from config.files import merge, no_environment, validated
from config.findings import Finding, Severity, Where, printable, problem_at, quoted
from config.team import Sharing, Team
from config.yamlsource import Document, Layered, Path_

_OVERRIDES = "environments"
_IDENTITY = ("apiVersion", "name", "only", _OVERRIDES)


def team_of(
    name: str, document: Document, environment: str, problems: list[Finding], findings: list[Finding]
) -> tuple[Team | None, Layered]:
    """The team as merged for an environment, or None where its file has errors; and where its settings stand.

    `problems` are those of the file's YAML; what is found here is added to `findings`.
    """
    data = {key: value for key, value in document.data.items() if key != _OVERRIDES}
    overrides = document.data.get(_OVERRIDES)
    layers: list[tuple[Document, Path_]] = [(document, ())]
    if isinstance(overrides, dict) and isinstance(over := overrides.get(environment), dict):
        layers.insert(0, (document, (_OVERRIDES, environment)))
        findings.extend(_identity_overridden(document, environment, over))
        findings.extend(_amounts_mixed(document, environment, data, over))
        if isinstance(strategy := data.get("sharing"), str) and isinstance(over.get("sharing"), dict):
            data["sharing"] = {"strategy": strategy}  # the short form and the long one merge as one
        data = merge(data, {key: value for key, value in over.items() if key not in _IDENTITY})
    source = Layered(tuple(layers))
    name = printable(name)  # a file's name may be bytes that are no text
    stated = data.setdefault("name", name)
    if isinstance(stated, str) and stated != name:
        message = f"the file is named {quoted(name)}, the team in it {quoted(stated)}"
        findings.append(problem_at("team-name", source.where(("name",)), message, "give both the same name, or remove `name`"))
    team, found = validated(Team, data, source, problems, (_OVERRIDES,))
    findings.extend(found)
    sharing = team.sharing if team is not None else _sharing_alone(data, source)
    if sharing is not None:
        findings.extend(sharing_findings(sharing, source))
    return team, source


def _sharing_alone(data: Mapping[str, Any], source: Layered) -> Sharing | None:
    """How a team shares whose file has errors elsewhere, so that contradictions are told in the same run."""
    stated = data.get("sharing")
    return validated(Sharing, stated, source, [])[0] if isinstance(stated, dict) else None


def _identity_overridden(document: Document, environment: str, over: Mapping[str, Any]) -> Iterator[Finding]:
    for key in _IDENTITY:
        if key in over:
            where = _place(document, (_OVERRIDES, environment, key))
            yield problem_at("override-identity", where, f"`{key}` can't differ by environment", "remove it")


def _amounts_mixed(document: Document, environment: str, data: Mapping[str, Any], over: Mapping[str, Any]) -> Iterator[Finding]:
    """An override that gives instances where the file gives single amounts, or the reverse: merged, both count."""
    for path, top in _entries(over):
        base = _at(data, path)
        if not isinstance(base, dict) or not isinstance(top, dict):
            continue
        if _mixed(merge(base, top)) and not _mixed(base) and not _mixed(top):
            where = _place(document, (_OVERRIDES, environment, *path))
            first, second = ", ".join(sorted(base)), ", ".join(sorted(top))
            message = f"{'.'.join(path)}: {first} of all environments and {second} of this one add up"
            remedy = "set what shall not count to null here: " + ", ".join(
                f"{name}: null" for name in sorted(base.keys() - top.keys())
            )
            yield Finding("quota-adds-up", Severity.WARNING, where, message, remedy)


def _entries(data: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Quota entries with their places, those of single clusters and on top too; what is of another shape is a finding already."""
    extra, by_cluster = data.get("extra_quota"), data.get("cluster_quota")
    paths: list[tuple[str, ...]] = [("quota",)]
    paths += [("cluster_quota", name) for name in (by_cluster if isinstance(by_cluster, dict) else ())]
    paths += [("extra_quota", name, "quota") for name in (extra if isinstance(extra, dict) else ())]
    for path in paths:
        entries = _at(data, path)
        for key, amounts in entries.items() if isinstance(entries, dict) else ():
            yield (*path, key), amounts


def _at(data: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        data = data.get(part) if isinstance(data, dict) else None
    return data


def _mixed(amounts: Mapping[str, Any]) -> bool:
    given = {name for name, value in amounts.items() if value is not None}
    return "instances" in given and len(given) > 1


def environment_names(document: Document, environments: list[str]) -> Iterator[Finding]:
    """Environments that a team file names must exist: a typo would silently leave a team out."""
    overrides = document.data.get(_OVERRIDES)
    if overrides is not None and not isinstance(overrides, dict):
        message = f"environments: {quoted(overrides)} is not a map"
        yield problem_at("dict-type", _place(document, (_OVERRIDES,)), message, "write a map of environment names")
        return
    for name, over in (overrides or {}).items():
        where = _place(document, (_OVERRIDES, name))
        if name not in environments:
            yield no_environment(where, name, environments)
        if not isinstance(over, dict):
            message = f"environments.{name}: {quoted(over)} is not a map"
            yield problem_at("dict-type", where, message, "write the fields that differ, or remove it")
    only = document.data.get("only")
    for index, name in enumerate(only if isinstance(only, list) else []):
        if isinstance(name, str) and name not in environments:
            yield no_environment(_place(document, ("only", index)), name, environments)


def _place(document: Document, path: Path_) -> Where:
    return document.where(path, key=True) or Where(document.file, 1, 1)
