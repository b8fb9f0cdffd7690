"""A team's file, from its ClusterQueue."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from config.catalogue import instance_types
from governance import names
from governance.adoption.amounts import base_units, entry
from governance.adoption.cohorts import Cohorts
from governance.adoption.model import Note, Object, annotations_of, flavors_of, labels_of, name_of, namespace_of, spec_of
from governance.adoption.sharing import Cell, cell, sharing
from governance.flavors import order
from governance.units import PODS

_STATES = {"Hold": "held", "HoldAndDrain": "draining"}
_FUNGIBILITY = {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"}
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a team's file is read against."""

    types: Mapping[str, str]
    """Instance types by flavor."""
    cohorts: Cohorts
    local_queues: tuple[Object, ...]
    namespaces: Mapping[str, Object]


def team_names(queues: Iterable[Object]) -> dict[str, str]:
    """A team for each ClusterQueue: the one that its label names, else made of the queue's name; each once."""
    found: dict[str, str] = {}
    for queue in sorted(queues, key=lambda queue: (names.TEAM_LABEL not in labels_of(queue), name_of(queue))):
        name = labels_of(queue).get(names.TEAM_LABEL) or _team_name(name_of(queue))
        number, free = 1, name
        while free in found.values():
            number += 1
            free = f"{name[: _LONGEST - len(str(number)) - 1]}-{number}"
        found[name_of(queue)] = free
    return found


def _team_name(queue: str) -> str:
    inner = re.fullmatch(r"hyperpod-ns-(.+)-clusterqueue", queue)
    name = re.sub(r"[^a-z0-9]+", "-", (inner[1] if inner else queue).lower())
    return name[:_LONGEST].strip("-") or "team"


def team(name: str, queue: Object, around: Surroundings) -> tuple[dict[str, Any], list[Note]]:
    """The team's settings, but owners; notes on what no file can say."""
    spec = spec_of(queue)
    local, others = _local_queue(queue, around)
    marked = labels_of(queue).get(names.TEAM_LABEL) == name
    cells, pods = _cells(queue, around.types)
    found: dict[str, Any] = {"quota": {kind: entry(_nominal(of_type), instance_types()[kind]) for kind, of_type in cells.items()}}
    if (weight := (spec.get("fairSharing") or {}).get("weight", 1)) not in (0, "0"):
        found["weight"] = min(100, base_units("", weight))
    cohort = spec.get("cohortName")
    department = cohort if cohort in around.cohorts.departments else None
    shares = sharing(cells, in_cohort=cohort is not None, in_department=department is not None)
    if shares is not None:
        found["sharing"] = shares
    if department is not None:
        found["department"] = department
    if (spec.get("preemption") or {}).get("withinClusterQueue", "Never") != "LowerPriority":
        found["preemption"] = "never"
    if state := _STATES.get(spec.get("stopPolicy", "None")):
        found["state"] = state
    if list(cells) != [kind.name for kind in order(instance_types()[kind] for kind in cells)]:
        found["flavors"] = list(cells)
    if pods:
        found["max_pods"] = pods
    found |= _namespace_settings(name, queue, local, others, around, marked=marked)
    return found, [*_notes(queue, local, others)]


def _cells(queue: Object, types: Mapping[str, str]) -> tuple[dict[str, dict[str, Cell]], int]:
    """Quotas by instance type in the queue's order, flavors of unknown types left out; and the cap on pods, 0 for none."""
    cells: dict[str, dict[str, Cell]] = {}
    pods = 0
    for flavor, quotas, _ in flavors_of(queue):
        kind = types.get(flavor)
        if kind is not None:
            of_type = cells.setdefault(kind, {})
            of_type.update({resource: cell(resource, quota) for resource, quota in quotas.items() if resource != PODS})
            # The largest: flavors of an extra quota that has ended have none of anything.
            pods = max(pods, base_units(PODS, quotas[PODS]["nominalQuota"]) if PODS in quotas else 0)
    return cells, pods


def _nominal(cells: Mapping[str, Cell]) -> dict[str, int]:
    return {resource: one.nominal for resource, one in cells.items()}


def _local_queue(queue: Object, around: Surroundings) -> tuple[Object | None, list[Object]]:
    """The LocalQueue that is the team's, and the others of its ClusterQueue; one named `default` comes last."""
    found = [local for local in around.local_queues if spec_of(local).get("clusterQueue") == name_of(queue)]
    found.sort(key=lambda one: (name_of(one) == names.DEFAULT_LOCAL_QUEUE, namespace_of(one), name_of(one)))
    return (found[0], found[1:]) if found else (None, [])


def _is_default(local: Object | None, other: Object) -> bool:
    return local is not None and name_of(other) == names.DEFAULT_LOCAL_QUEUE and namespace_of(other) == namespace_of(local)


def _namespace_settings(
    name: str, queue: Object, local: Object | None, others: Collection[Object], around: Surroundings, *, marked: bool
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    own = {"cluster_queue": (name_of(queue), names.cluster_queue(name))}
    if local is not None:
        own["namespace"] = (namespace_of(local), names.namespace(name))
        own["local_queue"] = (name_of(local), names.local_queue(name))
    adopted: dict[str, Any] = {key: there for key, (there, derived) in own.items() if there != derived}
    if any(_is_default(local, other) for other in others):
        found["default_queue"] = True
    space = around.namespaces.get(namespace_of(local)) if local is not None else None
    if not marked:
        adopted["unmarked"] = True
    elif space is not None:
        labels = {key: value for key, value in labels_of(space).items() if not _set_by_others(key)}
        found |= {"labels": labels} if labels else {}
        if limit := annotations_of(space).get(names.MAX_RUN_TIME_ANNOTATION):
            found["max_run_time"] = f"{limit}s"
    own_namespace = namespace_of(local) if local is not None else names.namespace(name)
    if keep := [*_kept(spec_of(queue), own_namespace)]:
        adopted["keep"] = keep
    return found | ({"names": adopted} if adopted else {})


def _set_by_others(label: str) -> bool:
    return names.is_reserved_label(label) or "kubernetes.io/" in label


def _kept(spec: Mapping[str, Any], namespace: str) -> Iterator[str]:
    """Fields that a declaration would write otherwise, and may leave as they are."""
    if spec.get("namespaceSelector") != {"matchLabels": {"kubernetes.io/metadata.name": namespace}}:
        yield "namespace_selector"
    if spec.get("queueingStrategy") != "BestEffortFIFO":
        yield "queueing_strategy"
    fungibility = spec.get("flavorFungibility") or {}
    if any(fungibility.get(field) != value for field, value in _FUNGIBILITY.items()):
        yield "flavor_fungibility"
    weight = str((spec.get("fairSharing") or {}).get("weight", "none"))
    if not weight.isdigit() or int(weight) > 100:
        yield "fair_sharing"


def _notes(queue: Object, local: Object | None, others: Iterable[Object]) -> Iterator[Note]:
    subject = f"ClusterQueue {name_of(queue)}"
    for other in others:
        if not _is_default(local, other):
            where = f"LocalQueue {namespace_of(other)}/{name_of(other)}"
            yield Note("import-left", where, f"`{name_of(queue)}` has more than one LocalQueue; a team declares one")
    for field, what in (("admissionChecksStrategy", "admission checks"), ("admissionScope", "an admission scope")):
        if spec_of(queue).get(field):
            yield Note("import-left", subject, f"it has {what}, which no declaration says; they stay as they are")
