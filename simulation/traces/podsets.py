"""The pods of a live Workload as a job of a trace has them: all alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from governance.names import INSTANCE_TYPE_LABEL, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from governance.units import CPU, MEMORY, is_device
from live.podamounts import pod_amounts
from simulation.cases import Placement

Object = Mapping[str, Any]
_MIB: Final = 1 << 20
_SLICES: Final = "taken without the slices in which their pods are placed"
_PARTS: Final = "of which the largest part counts alone, for their parts differ"


@dataclass(frozen=True, slots=True)
class Pods:
    """How many there are, and what each of them asks for."""

    count: int
    each: Mapping[str, int]
    """Requests in base units."""
    instance_type: str | None
    topology: Placement | None
    notes: tuple[str, ...] = ()
    """What had to be left out."""


def pods_of(workload: Object, excluded: tuple[str, ...] = ()) -> Pods | None:
    """The Workload's pods; None where it has none. `excluded`: prefixes of resources that Kueue doesn't count.

    Parts that ask for the same are taken together. Of parts that differ, as a Ray head and its workers, the largest
    stands for all.
    """
    parts = [part for part in (_part(one, excluded) for one in workload["spec"]["podSets"]) if part.count]
    if not parts:
        return None
    by_kind: dict[tuple[Any, ...], list[Pods]] = {}
    for part in parts:
        key = (tuple(sorted(part.each.items())), part.instance_type, part.topology)
        by_kind.setdefault(key, []).append(part)
    together = [
        Pods(sum(part.count for part in alike), alike[0].each, alike[0].instance_type, alike[0].topology)
        for alike in by_kind.values()
    ]
    largest = max(together, key=_size)
    left = [part for part in together if part is not largest]
    notes = [note for part in parts for note in part.notes]
    if left:
        notes.append(f"{_PARTS} ({_words(left)} left out)")
    return Pods(largest.count, largest.each, largest.instance_type, largest.topology, tuple(dict.fromkeys(notes)))


def _part(pod_set: Object, excluded: tuple[str, ...]) -> Pods:
    template = pod_set.get("template", {})
    spec, notes = template.get("spec", {}), template.get("metadata", {}).get("annotations") or {}
    request = pod_set.get("topologyRequest") or {}
    required = request.get("required") or notes.get(REQUIRED_TOPOLOGY)
    preferred = request.get("preferred") or notes.get(PREFERRED_TOPOLOGY)
    placement = Placement.model_construct(required=required, preferred=None if required else preferred)
    slices = (_SLICES,) if request.get("podSetSliceRequiredTopology") else ()
    each = _each(spec, excluded)
    return Pods(pod_set.get("count", 1), each, _instance_type(spec), placement if required or preferred else None, slices)


def _each(spec: Object, excluded: tuple[str, ...]) -> dict[str, int]:
    """What one pod requests, in base units; of memory, a part of one counts as a whole."""
    asked = {resource: amount for resource, amount in pod_amounts(spec).items() if amount and not resource.startswith(excluded)}
    return {resource: -(-amount // _MIB) if resource == MEMORY else amount for resource, amount in asked.items()}


def _instance_type(spec: Object) -> str | None:
    """The one type that its nodes must be of; None where several may be."""
    selected = (spec.get("nodeSelector") or {}).get(INSTANCE_TYPE_LABEL)
    if selected is not None:
        return str(selected)
    affinity = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    named = [set(_named(term)) for term in affinity.get("nodeSelectorTerms") or ()]
    every = set().union(*named)
    return str(every.pop()) if len(every) == 1 and all(named) else None


def _named(term: Object) -> Iterator[str]:
    for one in term.get("matchExpressions") or ():
        if one.get("key") == INSTANCE_TYPE_LABEL and one.get("operator") == "In":
            yield from one.get("values") or ()


def _size(part: Pods) -> tuple[int, int, int]:
    """Accelerators before vCPUs before memory."""
    devices = sum(amount for resource, amount in part.each.items() if is_device(resource))
    return devices * part.count, part.each.get(CPU, 0) * part.count, part.each.get(MEMORY, 0) * part.count


def _words(parts: Sequence[Pods]) -> str:
    return "parts without accelerators" if not any(_size(part)[0] for part in parts) else "some with accelerators"
