"""A new team: what is asked for, and the text of its file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any

from config.environment import Environment
from config.files import SUFFIX, TEAMS
from config.load import Project
from config.team import Amounts
from config.yamlscalars import meaning

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._/@+-]*[A-Za-z0-9]\Z|[A-Za-z]\Z")
"""Text that means itself without quotes, inside of brackets too."""
_AMOUNTS = tuple(name for name in Amounts.model_fields if name != "partitions")


@dataclass(frozen=True, slots=True)
class NewTeam:
    """What is asked for; None and empty for what the file shall leave to the default."""

    name: str
    owners: tuple[str, ...]
    quota: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Amounts by instance type, family or accelerator kind, as in the file."""
    description: str | None = None
    weight: int | None = None
    sharing: str | None = None
    borrow_limit: int | None = None
    """Percent."""
    priority: str | None = None
    department: str | None = None
    groups: tuple[str, ...] = ()
    iam_roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Roles by environment; those of all environments under ""."""
    only: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """What the file says."""
        access = {"iam_roles": list(self.iam_roles.get("", ())), "groups": list(self.groups)}
        sharing: Any = self.sharing
        if self.borrow_limit is not None:
            sharing = {"strategy": self.sharing or "lend_and_borrow", "borrow_limit": self.borrow_limit}
        stated = {
            "owners": list(self.owners),
            "description": self.description or None,
            "quota": {key: dict(amounts) for key, amounts in self.quota.items()} or None,
            "weight": self.weight,
            "sharing": sharing,
            "default_priority": self.priority,
            "department": self.department,
            "access": {key: value for key, value in access.items() if value} or None,
            "only": list(self.only) or None,
            "environments": {e: {"access": {"iam_roles": list(r)}} for e, r in self.iam_roles.items() if e} or None,
        }
        return {"apiVersion": "hyperpod-platform/v1", **{key: value for key, value in stated.items() if value is not None}}


def amounts_of(text: str) -> tuple[str, dict[str, Any]]:
    """A quota as options give it: `ml.p5.48xlarge=2`, `ml.g6.12xlarge=accelerators:2,vcpu:48`, `ml.p4d.24xlarge=mig-3g.20gb:8`.

    Raises ValueError with a sentence for any other text. Whether the type exists, and fits, is for the checks to say.
    """
    kind, equals, stated = text.partition("=")
    if not (kind.strip() and equals and stated.strip()):
        raise ValueError(f"`{text}` is no quota: write ml.p5.48xlarge=2, or ml.g6.12xlarge=accelerators:2,vcpu:48")
    amounts: dict[str, Any] = {}
    for part in stated.split(","):
        name, colon, number = part.rpartition(":")
        name = name.strip() if colon else "instances"
        into = amounts
        if name.startswith("mig-"):
            into = amounts.setdefault("partitions", {})
        elif name not in _AMOUNTS:
            raise ValueError(f"`{name}` is no amount: {', '.join(_AMOUNTS)}, or a MIG profile as mig-3g.20gb")
        if name in into:
            raise ValueError(f"{name} stands twice in `{text}`")
        into[name] = _number(number.strip(), whole=name not in ("vcpu", "memory_gib"))
    return kind.strip(), amounts


def _number(text: str, *, whole: bool) -> int | float:
    if re.fullmatch(r"[0-9]{1,12}", text):
        return int(text)
    if not whole and re.fullmatch(r"[0-9]{1,12}\.[0-9]{1,6}", text):
        return float(text)
    raise ValueError(f"`{text}` is not a {'whole number' if whole else 'number'}")


def team_text(team: NewTeam, schema: str = "") -> str:
    """The file with a word on each setting; those that aren't asked for stand in it as comments.

    `schema`: where the editor finds the schema, from the file's folder.
    """
    data = team.data()
    roles = "arn:aws:iam::111122223333:role/" + team.name
    lines = [
        *([f"# yaml-language-server: $schema={schema}"] if schema else []),
        "# Changes go through a pull request. `hpctl check` tells what doesn't fit, docs/onboarding.md what else there is.",
        f"apiVersion: {data['apiVersion']}",
        *_setting(data, "owners", "[team@example.com]", "they approve changes of this file"),
        *_setting(data, "description", "What the team does.", ""),
        "",
        *_quota(data.get("quota", {})),
        *_setting(data, "weight", "10", "share of idle compute, 0-100; a team of weight 0 comes after all others"),
        *_setting(
            data, "sharing", "{strategy: lend_and_borrow, borrow_limit: 50}", "or lend, or dont_lend; the limit in percent"
        ),
        *_setting(data, "default_priority", "training", "the priority class that jobs are advised to name"),
        *_setting(data, "department", "research", "shares within it first (kueue backend)"),
        *_setting(data, "access", f"{{groups: [{team.name}]}}", "who may work in the namespace: IAM roles, Kubernetes groups"),
        *_setting(data, "only", "[prod]", "environments that the team exists in; default all"),
        *_setting(data, "environments", f"{{prod: {{access: {{iam_roles: [{roles}]}}}}}}", "what differs by environment"),
    ]
    return "\n".join(lines) + "\n"


def _setting(data: Mapping[str, Any], key: str, example: str, words: str) -> Iterator[str]:
    comment = f" # {words}" if words else ""
    yield f"{key}: {_yaml(data[key])}{comment}" if key in data else f"# {key}: {example}{comment}"


def _quota(quota: Mapping[str, Any]) -> Iterator[str]:
    words = "guaranteed at any time: by instance type, family (p5) or accelerator kind (nvidia)"
    if not quota:
        yield f"# quota: {{ml.p5.48xlarge: {{instances: 1}}}} # {words}"
        return
    yield f"quota: # {words}"
    for key, amounts in quota.items():
        yield f"  {_yaml(key)}: {_yaml(amounts)}"


def _yaml(value: Any) -> str:
    """A value on one line; text in quotes unless it means itself to every reader."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_yaml(key)}: {_yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_yaml, value)) + "]"
    if isinstance(value, str):
        plain = _PLAIN.match(value) and meaning(value) == (value, None)
        return value if plain else json.dumps(value, ensure_ascii=False)
    return str(value)


def usual_weight(project: Project) -> int:
    """The weight in the middle of all teams' own; 10 for the first team."""
    stated = [document.data.get("weight") for document in project.team_files().values() if isinstance(document.data, dict)]
    weights = [weight for weight in stated if isinstance(weight, int) and not isinstance(weight, bool)]
    return median_low(weights) if weights else 10


def priority_classes(project: Project) -> list[str]:
    """Classes that an environment declares, highest first."""
    ranks: dict[str, int] = {}
    for name in project.environments():
        platform, _ = project.declared(name)
        declared: Environment | None = platform.environment if platform else None
        for key, priority in declared.governance.priority_classes.items() if declared else ():
            ranks.setdefault(key, priority.weight)
    return sorted(ranks, key=lambda key: (-ranks[key], key))


def file_of(name: str) -> str:
    """A team's file below the project's folder."""
    return f"{TEAMS}/{name}{SUFFIX}"
