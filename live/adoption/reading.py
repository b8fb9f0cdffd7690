"""Reading a cluster with Kueue for its adoption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.governance.kueue.manifests.objects import KUEUE
from governance.adoption.model import KueueCluster, Object
from live.drift.reading import Source, read
from live.drift.state import Key

_KINDS: Final = ("ClusterQueue", "LocalQueue", "ResourceFlavor", "Cohort", "Topology", "WorkloadPriorityClass")
_CONFIGURATION: Final = "/api/v1/namespaces/{}/configmaps/kueue-manager-config"


def read_cluster(source: Source, types: Mapping[str, str], kueue_namespace: str = "kueue-system") -> KueueCluster:
    """All that an adoption needs to know. `types` are instance types by flavor. Raises UnreachableError and ApiError."""
    found, unserved = read(source, [*((KUEUE, kind) for kind in _KINDS), ("v1", "Namespace"), ("v1", "Node")])
    by_kind: dict[str, list[Object]] = {}
    for key, item in sorted(found.items(), key=lambda one: (one[0].namespace, one[0].name)):
        by_kind.setdefault(key.kind, []).append(item)

    def of(kind: str) -> tuple[Object, ...]:
        return tuple(by_kind.get(kind, ()))

    return KueueCluster(
        cluster_queues=of("ClusterQueue"),
        local_queues=of("LocalQueue"),
        flavors=of("ResourceFlavor"),
        cohorts=of("Cohort"),
        topologies=of("Topology"),
        classes=of("WorkloadPriorityClass"),
        namespaces=of("Namespace"),
        nodes=of("Node"),
        types=types,
        fair_sharing=_fair_sharing(source.get(_CONFIGURATION.format(kueue_namespace))),
        other_versions=_versions(source) if (KUEUE, "ClusterQueue") in unserved else (),
    )


def read_objects(source: Source, manifests: list[dict[str, Any]]) -> dict[Key, Object]:
    """The live objects of the kinds that are declared. Raises UnreachableError and ApiError."""
    found, _ = read(source, {(one["apiVersion"], one["kind"]) for one in manifests})
    return dict(found)


def _versions(source: Source) -> tuple[str, ...]:
    """The versions of Kueue's API that the server has; none where it has no Kueue."""
    group = source.get(f"/apis/{KUEUE.partition('/')[0]}") or {}
    return tuple(str(version["groupVersion"]) for version in group.get("versions") or ())


def _fair_sharing(config_map: Mapping[str, Any] | None) -> bool | None:
    """Whether Kueue's configuration, as its chart stores it, shares fairly; None where there is none."""
    import yaml

    for text in ((config_map or {}).get("data") or {}).values():
        try:
            settings = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if isinstance(settings, dict) and settings.get("kind") == "Configuration":
            sharing = settings.get("fairSharing")
            if str(settings.get("apiVersion")).endswith("/v1beta1"):
                return isinstance(sharing, dict) and bool(sharing.get("enable"))
            return sharing is not None  # from v1beta2 on, that it is there switches it on
    return None
