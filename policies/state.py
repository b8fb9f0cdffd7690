"""Judging what is there: the rules on an exported state, without engine or cloud.

    pulumi stack export | python -m policies.state -

What a preview could not know yet, the state knows; of secrets only that they are set.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.judge import Outcome, Report, Table, judge, judge_stack, reports
from policies.model import Resource, Stack
from policies.settings import FILE, Settings, SettingsError, load

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - what marks one, not one
FINE, VIOLATED, UNUSABLE = 0, 1, 4


def outcomes(export: Mapping[str, Any], settings: Settings) -> list[Outcome]:
    """What all rules say of an export of `pulumi stack export`: resources, and the stack."""
    table, found, resources = Table(), list[Outcome](), list[Resource]()
    for one in export["deployment"].get("resources") or ():
        if one.get("delete"):
            continue  # has been replaced, and waits to go
        inputs = _readable(one.get("inputs") or {})
        found += judge(table.of(one["type"]), inputs, one["urn"])
        properties = _readable({**(one.get("outputs") or {}), **(one.get("inputs") or {})})
        refers = one.get("propertyDependencies") or {}
        name = one["urn"].rpartition("::")[2]
        resources.append(Resource(one["type"], one["urn"], name, properties, bool(one.get("protect")), refers))
    found += judge_stack(Stack(resources, settings.parameters))
    return found


def judged(export: Mapping[str, Any], settings: Settings) -> list[Report]:
    """The same as it counts under the settings."""
    resources = export["deployment"].get("resources") or ()
    root = next((one["urn"] for one in resources if one["type"] == "pulumi:pulumi:Stack"), "")
    return list(reports(outcomes(export, settings), settings, root))


def main(arguments: Sequence[str]) -> int:
    """Exit code 0, or 1 where something mandatory is violated, or 4 where export or settings can't be read."""
    parser = argparse.ArgumentParser(prog="python -m policies.state", description="Judge an exported state by the policies.")
    parser.add_argument("export", help="file of `pulumi stack export`; - reads standard input")
    parser.add_argument("--settings", type=Path, default=FILE, help="other settings than those of the pack")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    options = parser.parse_args(arguments)
    try:
        text = sys.stdin.read() if options.export == "-" else Path(options.export).read_text(encoding="utf-8")
        export = json.loads(text)
        if not isinstance(export, Mapping) or not isinstance(export.get("deployment"), Mapping):
            raise ValueError("it is no export of a stack")
        found = judged(export, load(options.settings))
    except SettingsError as error:
        return _refuse(str(error))
    except (OSError, ValueError) as error:
        return _refuse(f"{options.export} can't be read: {error}")
    refused = [report for report in found if report.level == "mandatory"]
    if options.json:
        print(json.dumps([_plain(report) for report in found], indent=2))  # noqa: T201
    else:
        for report in sorted(found, key=lambda one: one.level != "mandatory"):
            name = report.urn.rpartition("::")[2] or "stack"
            print(f"{report.level}: {name}: {report.text}")  # noqa: T201
        print(f"{len(refused)} mandatory, {len(found) - len(refused)} advisory", file=sys.stderr)  # noqa: T201
    return VIOLATED if refused else FINE


def _refuse(text: str) -> int:
    print(text, file=sys.stderr)  # noqa: T201
    return UNUSABLE


def _plain(report: Report) -> dict[str, str]:
    return {"rule": report.rule, "level": report.level, "kind": report.kind, "urn": report.urn, "message": report.text}


def _readable(properties: Any) -> Any:
    """Properties as in a preview: a secret is set, and can't be read."""
    return unknown_checking_proxy(_without_secrets(properties))


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        if value.get(_SIGNATURE) == _SECRET:
            return UNKNOWN_STRING_VALUE
        return {key: _without_secrets(one) for key, one in value.items()}
    return [_without_secrets(one) for one in value] if isinstance(value, list) else value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
