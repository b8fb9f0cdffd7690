"""Names: what a type token stands for, generated object names, resource ids, field managers."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any, Final

from sandbox.provider.values import UNKNOWN, has_unknown

AUTONAMED: Final = "pulumi.com/autonamed"
FIELD_MANAGER: Final = "pulumi.com/patchFieldManager"
MANAGER_PREFIX: Final = "pulumi-kubernetes-"

_PLUGIN_REMEDY: Final = "Run with the Kubernetes plugin (`pulumi plugin install resource kubernetes`; it needs the network)"
_UNSUPPORTED_MODULES: Final = {
    "helm.sh/v2": "Helm charts",
    "helm.sh/v3": "Helm releases",
    "helm.sh/v4": "Helm charts",
    "yaml": "YAML files",
    "yaml/v2": "YAML files",
    "kustomize": "kustomizations",
    "kustomize/v2": "kustomizations",
}


class UnsupportedTypeError(ValueError):
    """A resource type that only the real plugin can handle; the message names the remedy."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A group, version and kind; the core group is the empty string."""

    group: str
    version: str
    name: str

    @property
    def api_version(self) -> str:
        """``v1``, ``batch/v1``, …, as manifests write it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}/{self.name}"


def unsupported(module: str, name: str) -> UnsupportedTypeError:
    """The refusal of a type, with what to do instead."""
    what = _UNSUPPORTED_MODULES.get(module, f"{name} resources")
    remedy = f"{_PLUGIN_REMEDY}."
    if module.startswith("helm.sh/"):
        remedy = f"{_PLUGIN_REMEDY}, or, for Kueue in a local sandbox, set `kueue.install: false`: the sandbox brings its own."
    return UnsupportedTypeError(f"{what} are beyond the offline Kubernetes provider. {remedy}")


def kind_of_token(token: str) -> Kind:
    """The kind that a type token names, e.g. ``kubernetes:kueue.x-k8s.io/v1beta2:ClusterQueue``.

    Raises ``UnsupportedTypeError`` for charts, files, patches and lists, and for tokens without a group: the real plugin refuses
    ``kubernetes:v1:Namespace`` too, the core group is spelled ``core/v1``.
    """
    package, _, rest = token.partition(":")
    module, _, name = rest.rpartition(":")
    if package != "kubernetes" or not module or not name:
        raise UnsupportedTypeError(f"{token!r} is not a type of the Kubernetes provider.")
    if module in _UNSUPPORTED_MODULES:
        raise unsupported(module, name)
    group, separator, version = module.rpartition("/")
    if not separator:
        raise UnsupportedTypeError(
            f"apiVersion does not have both a group and a version: {module!r} (the core group is written 'core/{module}')."
        )
    if name.endswith("Patch") or (name.endswith("List") and len(name) > len("List")):
        raise unsupported(module, name)
    return Kind("" if group == "core" else group, version, name)


def kind_of_object(obj: dict[str, Any], default: Kind) -> Kind:
    """The kind that an object says it is, with ``default`` for what it leaves out."""
    api_version, name = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str):
        return Kind(default.group, default.version, name if isinstance(name, str) else default.name)
    group, _, version = api_version.rpartition("/")
    return Kind("" if group == "core" else group, version, name if isinstance(name, str) else default.name)


def metadata(obj: dict[str, Any]) -> dict[str, Any]:
    """The object's metadata; empty while it is missing or unknown."""
    found = obj.get("metadata")
    return found if isinstance(found, dict) else {}


def annotation(obj: dict[str, Any], key: str) -> str:
    """An annotation's value, or the empty string."""
    annotations = metadata(obj).get("annotations")
    value = annotations.get(key) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) else ""


def is_true(obj: dict[str, Any], key: str) -> bool:
    """Whether an annotation says ``true``."""
    return annotation(obj, key) == "true"


def object_name(obj: dict[str, Any]) -> str:
    """``metadata.name``, or the empty string."""
    name = metadata(obj).get("name")
    return name if isinstance(name, str) else ""


def namespace(obj: dict[str, Any]) -> str:
    """``metadata.namespace``, or the empty string."""
    found = metadata(obj).get("namespace")
    return found if isinstance(found, str) else ""


def object_id(obj: dict[str, Any]) -> str:
    """The resource id: ``namespace/name``, or ``name`` of a cluster-wide object."""
    return f"{namespace(obj)}/{object_name(obj)}" if namespace(obj) else object_name(obj)


def parse_id(text: str) -> tuple[str, str]:
    """Namespace (empty if absent) and name of a resource id."""
    scope, _, name = text.rpartition("/")
    return scope, name


@dataclass(frozen=True, slots=True)
class NameRules:
    """How the engine wants names generated: ``mode`` is ``default``, ``propose``, ``enforce`` or ``disable``."""

    seed: bytes = b""
    mode: str = "default"
    proposed: str = ""


def assign_name(inputs: dict[str, Any], resource_name: str, rules: NameRules) -> None:
    """Give ``inputs`` a name unless they have one (known or not) or ask the server for one with ``generateName``.

    A generated name is the resource's name and seven hexadecimal digits, and is marked with ``pulumi.com/autonamed``.
    """
    known = inputs.get("metadata", {})
    if not isinstance(known, dict) or known.get("name") or known.get("generateName") or known.get("name") is UNKNOWN:
        return
    if rules.mode == "disable":
        raise ValueError("metadata.name is required: automatic naming is disabled for this stack.")
    name = rules.proposed if rules.mode in ("propose", "enforce") else f"{resource_name}-{_suffix(rules.seed)}"
    _set_autonamed(inputs, name)


def adopt_name(inputs: dict[str, Any], old: dict[str, Any]) -> None:
    """Keep the generated name of the old inputs while the program names none itself."""
    if not object_name(inputs) and not has_unknown(metadata(inputs).get("name")) and is_true(old, AUTONAMED):
        _set_autonamed(inputs, object_name(old))


def _set_autonamed(inputs: dict[str, Any], name: str) -> None:
    meta = inputs.setdefault("metadata", {})
    meta["name"] = name
    annotations = meta.setdefault("annotations", {})
    if isinstance(annotations, dict):
        annotations[AUTONAMED] = "true"


def _suffix(seed: bytes) -> str:
    return hashlib.sha256(seed).hexdigest()[:7] if seed else secrets.token_hex(4)[:7]


def field_manager(urn: str, identity: str, inputs: dict[str, Any], state: dict[str, Any]) -> str:
    """The field manager of a resource: its annotation, else the one in its state, else one derived from its URN.

    ``identity`` tells apart stacks whose URNs are the same (the same project and stack name in two backends).
    """
    stored = state.get("__fieldManager")
    if annotation(inputs, FIELD_MANAGER):
        return annotation(inputs, FIELD_MANAGER)
    if isinstance(stored, str) and stored:
        return stored
    return derived_manager(urn, identity)


def derived_manager(urn: str, identity: str) -> str:
    """The field manager that this provider gives to a resource that has none yet."""
    return MANAGER_PREFIX + hashlib.sha256(f"{identity}\n{urn}".encode()).hexdigest()[:12]
