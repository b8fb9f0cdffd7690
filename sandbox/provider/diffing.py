"""The difference between old and new inputs, property by property, and which of it replaces the object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from sandbox.provider.names import Kind
from sandbox.provider.values import Unknown

Path = tuple[str | int, ...]


class Change(Enum):
    """What happens to a property."""

    ADD = "add"
    DELETE = "delete"
    UPDATE = "update"


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """One changed property; ``replace`` says that the object must be replaced for it."""

    path: Path
    change: Change
    replace: bool = False


def differences(old: Any, new: Any, path: Path = ()) -> Iterator[tuple[Path, Change]]:
    """Every property that differs, each at the highest place where one side has something and the other nothing.

    Lists are compared element by element. An unknown differs from everything.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in new:
                yield (*path, key), Change.DELETE
            elif key not in old:
                yield (*path, key), Change.ADD
            else:
                yield from differences(old[key], new[key], (*path, key))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            if index >= len(new):
                yield (*path, index), Change.DELETE
            elif index >= len(old):
                yield (*path, index), Change.ADD
            else:
                yield from differences(old[index], new[index], (*path, index))
    elif isinstance(new, Unknown) or isinstance(old, bool) is not isinstance(new, bool) or old != new:
        yield path, Change.UPDATE


def format_path(path: Path) -> str:
    """A property path as the engine writes it: ``spec.groups[0]["a.b"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.search(r'[."\[\]]', step):
            quoted = step.replace('"', '\\"')
            text += f'["{quoted}"]'
        else:
            text += f".{step}" if text else step
    return text


_STEP: Final = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+|\*)\]|\.?([^.\[]+)')


def parse_path(text: str) -> Path:
    """The path that ``text`` writes; ``*`` stands for any key or index. Raises ``ValueError`` for what is no path."""
    path: list[str | int] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise ValueError(f"{text!r} is not a property path")
        quoted, index, key = match.groups()
        if quoted is not None:
            path.append(quoted.replace('\\"', '"'))
        elif index is not None:
            path.append(index if index == "*" else int(index))
        else:
            path.append(key)
        position = match.end()
    return tuple(path)


def covers(pattern: Path, path: Path) -> bool:
    """Whether ``path`` is the property that ``pattern`` names, or lies within it."""
    return len(pattern) <= len(path) and all(want in ("*", step) for want, step in zip(pattern, path, strict=False))


def changes(
    kind: Kind, old: dict[str, Any], new: dict[str, Any], rules: Mutability, ignored: Sequence[str]
) -> list[PropertyChange]:
    """The changes from ``old`` to ``new`` inputs, without those under a path in ``ignored``."""
    frozen = rules.replaced_by(kind, new)
    skipped = [parse_path(text) for text in ignored]
    found = []
    for path, change in differences(old, new):
        if any(covers(pattern, path) for pattern in skipped):
            continue
        replace = any(covers(pattern, path) or _holds(pattern, path, old, new) for pattern in frozen)
        found.append(PropertyChange(path, change, replace))
    return found


def _holds(pattern: Path, path: Path, old: Any, new: Any) -> bool:
    """Whether what was added or deleted at ``path`` includes the property that ``pattern`` names."""
    if len(path) >= len(pattern) or not covers(pattern[: len(path)], path):
        return False
    return _has(old, pattern) is not _has(new, pattern)


def _has(value: Any, path: Path) -> bool:
    if not path:
        return True
    if isinstance(value, dict):
        return path[0] in value and _has(value[path[0]], path[1:])
    return isinstance(value, list) and path[0] == "*" and any(_has(item, path[1:]) for item in value)


@dataclass(frozen=True, slots=True)
class Mutability:
    """Provider settings that bear on replacement: whether config maps and secrets may be changed in place."""

    config_maps: bool = False
    secrets: bool = False

    def replaced_by(self, kind: Kind, obj: dict[str, Any]) -> list[Path]:
        """The properties of an object of ``kind`` whose change replaces it."""
        fixed = [("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")]
        immutable = obj.get("immutable") is True
        if kind == _CONFIG_MAP and (immutable or not self.config_maps):
            return [*fixed, ("data",), ("binaryData",)]
        if kind == _SECRET and (immutable or not self.secrets):
            return [*fixed, ("type",), ("data",), ("stringData",)]
        return [*fixed, *(parse_path(text) for text in _FROZEN.get((kind.group, kind.name), ()))]


_CONFIG_MAP: Final = Kind("", "v1", "ConfigMap")
_SECRET: Final = Kind("", "v1", "Secret")
# Fields of built-in kinds that the API server does not let change (the plugin's list, where it is the server's too).
_CONTAINER_FIELDS: Final = (
    "args",
    "command",
    "env",
    "image",
    "imagePullPolicy",
    "lifecycle",
    "livenessProbe",
    "ports",
    "readinessProbe",
    "resources",
    "securityContext",
    "stdin",
    "stdinOnce",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "tty",
    "volumeDevices",
    "volumeMounts",
    "workingDir",
)
_POD_FIELDS: Final = (
    "affinity",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "enableServiceLinks",
    "hostAliases",
    "hostIPC",
    "hostNetwork",
    "hostPID",
    "hostname",
    "imagePullSecrets",
    "nodeName",
    "nodeSelector",
    "overhead",
    "preemptionPolicy",
    "priority",
    "priorityClassName",
    "readinessGates",
    "restartPolicy",
    "runtimeClassName",
    "schedulerName",
    "securityContext",
    "serviceAccount",
    "serviceAccountName",
    "shareProcessNamespace",
    "subdomain",
    "terminationGracePeriodSeconds",
    "volumes",
)
_FROZEN: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("", "PersistentVolumeClaim"): ("spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"),
    ("", "Pod"): (
        *(f"spec.{field}" for field in _POD_FIELDS),
        *(f"spec.{group}[*].{field}" for group in ("containers", "initContainers") for field in _CONTAINER_FIELDS),
    ),
    ("", "ResourceQuota"): ("spec.scopes",),
    ("", "Secret"): ("type",),
    ("", "Service"): ("spec.clusterIP",),
    ("apps", "DaemonSet"): ("spec.selector",),
    ("apps", "Deployment"): ("spec.selector",),
    ("apps", "StatefulSet"): (
        "spec.podManagementPolicy",
        "spec.revisionHistoryLimit",
        "spec.selector",
        "spec.serviceName",
        "spec.volumeClaimTemplates",
    ),
    ("batch", "Job"): ("spec.completions", "spec.parallelism", "spec.selector", "spec.template"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): ("roleRef",),
    ("rbac.authorization.k8s.io", "RoleBinding"): ("roleRef",),
    ("storage.k8s.io", "StorageClass"): ("parameters", "provisioner"),
}
