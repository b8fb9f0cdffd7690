"""The last deployment, as Pulumi's state tells it: Kubernetes objects, compute quotas and scheduler configurations by cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from governance.managed import SCHEDULER_CONFIG

QUOTA_TYPE: Final = "aws-native:sagemaker:ComputeQuota"
EXTENSION_TYPE: Final = "aws-native:index:ExtensionResource"
_KUBERNETES: Final = "kubernetes:"
_CHARTS: Final = "kubernetes:helm.sh/"
_SECRETS: Final = "kubernetes:core/v1:Secret"
"""Not compared: whoever looks for drift needs no right to read Secrets, and what they hold is nobody's to see in a report."""

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Which Kubernetes object."""

    api_version: str
    kind: str
    namespace: str
    name: str


@dataclass(slots=True)
class Side:
    """What one side has of one cluster."""

    objects: dict[Key, Object] = field(default_factory=dict)
    """Kubernetes objects."""
    quotas: dict[str, Object] = field(default_factory=dict)
    """Compute quotas by name, as SageMaker spells their properties."""
    schedulers: dict[str, Object] = field(default_factory=dict)
    """Scheduler configurations by name, likewise."""
    managers: dict[Key, str] = field(default_factory=dict)
    """Field managers that the provider has recorded, by object."""
    nameless: dict[str, str] = field(default_factory=dict)
    """Kinds of resources whose names the state doesn't tell, by logical name: it holds them encrypted, or not at all."""

    def __bool__(self) -> bool:
        return bool(self.objects or self.quotas or self.schedulers or self.nameless)

    def __len__(self) -> int:
        """Things that can be compared."""
        return len(self.objects) + len(self.quotas) + len(self.schedulers)


def key_of(manifest: Object) -> Key:
    """The object that a manifest describes."""
    meta = manifest.get("metadata") or {}
    return Key(
        str(manifest.get("apiVersion")), str(manifest.get("kind")), str(meta.get("namespace") or ""), str(meta.get("name"))
    )


def by_key(manifests: Iterable[Object]) -> dict[Key, Object]:
    """Objects that are compared: all but Secrets."""
    return {key_of(manifest): manifest for manifest in manifests if manifest.get("kind") != "Secret"}


def deployed(exported: Mapping[str, Any]) -> dict[str, Side]:
    """An exported deployment by cluster. Values that it holds encrypted stay so."""
    found: dict[str, Side] = {}
    for resource in live_resources(exported):
        inputs, type_ = resource.get("inputs") or {}, str(resource.get("type"))
        side = found.setdefault(cluster_of(resource), Side())
        if type_.startswith(_KUBERNETES):
            _object(side, resource, inputs)
        elif type_ == QUOTA_TYPE:
            _governs(side, side.quotas, QUOTA_TYPE, resource, spelt(inputs))
        else:
            _governs(side, side.schedulers, SCHEDULER_CONFIG, resource, inputs.get("properties"))
    return found


def _object(side: Side, resource: Object, inputs: Object) -> None:
    """A Kubernetes object. Where its name is encrypted, the resource's id tells it: ``namespace/name``."""
    key, manager = key_of(inputs), (resource.get("outputs") or {}).get("__fieldManager")
    if not isinstance((inputs.get("metadata") or {}).get("name"), str):
        namespace, _, name = str(resource.get("id") or "").rpartition("/")
        key = replace(key, namespace=namespace, name=name)
    if not key.name:
        side.nameless[name_of(str(resource["urn"]))] = key.kind
        return
    side.objects[key] = inputs
    if isinstance(manager, str):
        side.managers[key] = manager


def _governs(side: Side, found: dict[str, Object], type_: str, resource: Object, properties: Any) -> None:
    """A compute quota or a scheduler configuration."""
    name = properties.get("Name") if isinstance(properties, Mapping) else None
    if isinstance(name, str):
        found[name] = properties
    else:
        side.nameless[name_of(str(resource["urn"]))] = type_.rpartition(":")[2]


def live_resources(exported: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The resources that are compared one by one. What a replacement has left to be deleted is not among them."""
    for resource in (exported.get("deployment") or {}).get("resources") or ():
        if not resource.get("custom") or resource.get("delete") or resource.get("external"):
            continue
        inputs, type_ = resource.get("inputs") or {}, str(resource.get("type"))
        kubernetes = type_.startswith(_KUBERNETES) and not type_.startswith((_CHARTS, _SECRETS)) and "kind" in inputs
        if kubernetes or type_ == QUOTA_TYPE or (type_ == EXTENSION_TYPE and inputs.get("type") == SCHEDULER_CONFIG):
            yield resource


def name_of(urn: str) -> str:
    """A resource's logical name."""
    return urn.split("::", 3)[-1]


def cluster_of(resource: Mapping[str, Any]) -> str:
    """Every resource's logical name begins with its cluster's."""
    return name_of(str(resource["urn"])).split("/", 1)[0]


def spelt(value: Any) -> Any:
    """Properties as SageMaker's API spells them: `vCpu` and `v_cpu` are `VCpu`, `memory_in_gi_b` is `MemoryInGiB`."""
    if isinstance(value, Mapping):
        return {_pascal(key) if _is_name(key) else key: spelt(item) for key, item in value.items()}
    return [spelt(item) for item in value] if isinstance(value, list) else value


def _is_name(key: str) -> bool:
    return key.isidentifier() and not key.startswith("_")


def _pascal(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))
