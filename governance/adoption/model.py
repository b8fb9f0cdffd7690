"""What is read of a running system, and what is declared of it: plain data on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Object = Mapping[str, Any]
"""A Kubernetes object, or an answer of SageMaker's API."""


@dataclass(frozen=True, slots=True)
class KueueCluster:
    """A cluster with Kueue, as its API server answers."""

    cluster_queues: tuple[Object, ...]
    local_queues: tuple[Object, ...]
    flavors: tuple[Object, ...]
    cohorts: tuple[Object, ...]
    topologies: tuple[Object, ...]
    classes: tuple[Object, ...]
    namespaces: tuple[Object, ...]
    nodes: tuple[Object, ...] = ()
    types: Mapping[str, str] = field(default_factory=dict)
    """Instance types by flavor, as whoever imports has said."""
    fair_sharing: bool | None = None
    """Whether Kueue's own configuration shares fairly; None where it can't be read."""
    other_versions: tuple[str, ...] = ()
    """Versions of Kueue's API that the server has, where it lacks the one that is read."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How the environment reaches the cluster that it adopts."""

    cluster: str
    kubeconfig: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """Something that the declaration can't say; `id` is a rule's."""

    id: str
    subject: str
    """The object, as `ClusterQueue research`."""
    message: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """Files in the making: an environment and teams, as data."""

    environment: dict[str, Any]
    teams: dict[str, dict[str, Any]]
    notes: tuple[Note, ...] = ()


def name_of(found: Object) -> str:
    """The object's name."""
    return str(found["metadata"]["name"])


def namespace_of(found: Object) -> str:
    return str(found["metadata"].get("namespace", ""))


def labels_of(found: Object) -> Mapping[str, str]:
    return found["metadata"].get("labels") or {}


def annotations_of(found: Object) -> Mapping[str, str]:
    return found["metadata"].get("annotations") or {}


def spec_of(found: Object) -> Mapping[str, Any]:
    return found.get("spec") or {}


def flavors_of(found: Object) -> Iterator[tuple[str, Mapping[str, Any], tuple[str, ...]]]:
    """Flavors of a ClusterQueue or Cohort in their order: name, quotas by resource, and the resources that its group covers."""
    for group in spec_of(found).get("resourceGroups") or ():
        for flavor in group["flavors"]:
            quotas = {quota["name"]: quota for quota in flavor["resources"]}
            yield str(flavor["name"]), quotas, tuple(group["coveredResources"])
