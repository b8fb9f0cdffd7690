"""A provider instance's configuration: checking it, telling what a change of it means, and reading it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from live.connection import UnreachableError, kubeconfig_text, parse_kubeconfig
from sandbox.provider.diffing import Mutability
from sandbox.provider.values import has_unknown, plain

_PREFIX: Final = "kubernetes:config:"
_ENVIRONMENT: Final = {
    "deleteUnreachable": "PULUMI_K8S_DELETE_UNREACHABLE",
    "skipUpdateUnreachable": "PULUMI_K8S_SKIP_UPDATE_UNREACHABLE",
    "enableServerSideApply": "PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY",
    "enableConfigMapMutable": "PULUMI_K8S_ENABLE_CONFIGMAP_MUTABLE",
    "enableSecretMutable": "PULUMI_K8S_ENABLE_SECRET_MUTABLE",
    "enablePatchForce": "PULUMI_K8S_ENABLE_PATCH_FORCE",
    "upsertExistingObjects": "PULUMI_K8S_UPSERT_EXISTING_OBJECTS",
}
_CLUSTER_KEYS: Final = ("kubeconfig", "context", "cluster")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a provider instance is configured with; the names are the plugin's."""

    kubeconfig: str = ""
    context: str = ""
    cluster: str = ""
    namespace: str = "default"
    server_side_apply: bool = True
    patch_force: bool = False
    upsert_existing: bool = False
    delete_unreachable: bool = False
    skip_update_unreachable: bool = False
    mutability: Mutability = field(default_factory=Mutability)


@dataclass(frozen=True, slots=True)
class Failure:
    """One finding of a check; ``property`` may be empty."""

    property: str
    reason: str


def read(variables: Mapping[str, str]) -> Settings:
    """The settings in the engine's variables (``kubernetes:config:<name>``); environment variables fill in, as in the plugin."""

    def text(name: str) -> str:
        return variables.get(_PREFIX + name, "")

    def flag(name: str, default: bool = False) -> bool:
        found = variables.get(_PREFIX + name) or os.environ.get(_ENVIRONMENT[name], "")
        return found.lower() == "true" if found else default

    return Settings(
        kubeconfig=text("kubeconfig"),
        context=text("context"),
        cluster=text("cluster"),
        namespace=text("namespace") or _context_namespace(text("kubeconfig"), text("context")) or "default",
        server_side_apply=flag("enableServerSideApply", default=True),
        patch_force=flag("enablePatchForce"),
        upsert_existing=flag("upsertExistingObjects"),
        delete_unreachable=flag("deleteUnreachable"),
        skip_update_unreachable=flag("skipUpdateUnreachable"),
        mutability=Mutability(flag("enableConfigMapMutable"), flag("enableSecretMutable")),
    )


def _context_namespace(kubeconfig: str, context: str) -> str:
    try:
        config = _parsed(kubeconfig)
    except UnreachableError:
        return ""  # the connection reports it
    return str(_named(config, "contexts", context or config.get("current-context", "")).get("namespace") or "")


def check(inputs: dict[str, Any], *, is_default: bool) -> list[Failure]:
    """What is wrong with a provider's inputs. ``is_default``: it is the provider that resources get without being given one."""
    values = plain(inputs)
    found = []
    if values.get("renderYamlToDirectory"):
        found.append(Failure("renderYamlToDirectory", "rendering to YAML files needs the real Kubernetes plugin; remove it"))
    if values.get("strictMode") in (True, "true"):
        if is_default:
            found.append(Failure("", "strict mode prohibits default provider"))
        found += [
            Failure(name, f'strict mode requires Provider "{name}" argument')
            for name in ("kubeconfig", "context")
            if not values.get(name)
        ]
    return found


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A changed provider configuration: the keys that differ, and those for which everything made with it is replaced."""

    changed: list[str]
    replaces: list[str]


def change(old: dict[str, Any], new: dict[str, Any]) -> ConfigChange:
    """What a changed configuration means for the objects made with the old one.

    With an unchanged ``clusterIdentifier`` nothing is ever replaced, with a changed one everything is; without one, everything is
    when the kubeconfig's active cluster changes, or is not known yet.
    """
    old, new = plain(old), plain(new)
    changed = sorted(key for key in {*old, *new} if old.get(key) != new.get(key))
    before, after = old.get("clusterIdentifier"), new.get("clusterIdentifier")
    if not changed or (before and before == after):
        return ConfigChange(changed, [])
    replaces = ["clusterIdentifier"] if before and after else []
    unknown = [key for key in _CLUSTER_KEYS if has_unknown(new.get(key))]
    if unknown:
        return ConfigChange(changed, [*replaces, *unknown])
    was, now = _active_cluster(old), _active_cluster(new)
    if was and now and was != now:
        replaces += [key for key in _CLUSTER_KEYS if key in changed]
    return ConfigChange(changed, replaces)


def _active_cluster(values: dict[str, Any]) -> dict[str, Any]:
    try:
        config = _parsed(values.get("kubeconfig") or "")
    except UnreachableError:
        return {}
    context = _named(config, "contexts", values.get("context") or config.get("current-context", ""))
    return _named(config, "clusters", values.get("cluster") or context.get("cluster", ""))


def _parsed(kubeconfig: Any) -> dict[str, Any]:
    if isinstance(kubeconfig, dict):
        return kubeconfig
    if not isinstance(kubeconfig, str) or not kubeconfig:
        return {}
    return parse_kubeconfig(kubeconfig_text(kubeconfig)[0])


def _named(config: dict[str, Any], section: str, name: Any) -> dict[str, Any]:
    for entry in config.get(section) or []:
        if isinstance(entry, dict) and entry.get("name") == name:
            found = entry.get(section.removesuffix("s"))
            return found if isinstance(found, dict) else {}
    return {}


def pulumi_version() -> str:
    """The version of the installed Kubernetes SDK, which the engine compares with the provider's."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pulumi-kubernetes")
    except PackageNotFoundError:
        return "4.29.0"


def schema() -> str:
    """The package's schema; programs in Python bring their own types, so it says no more than the name and version."""
    return json.dumps({"name": "kubernetes", "version": pulumi_version(), "resources": {}})
