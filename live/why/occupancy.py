"""What lies on nodes: what Kueue gave to admitted workloads there, and what other pods use. Counted once, for many questions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from config.environment import HOSTNAME
from governance.units import PODS, times, total
from live.podamounts import Amounts, pod_amounts
from live.why.amounts import minus
from live.why.objects import admission, domains_of, holds_quota, labels_of, pod_sets, uid_of
from live.why.snapshot import Snapshot

Domain = tuple[str, ...]
"""A domain of a topology's last level; its last value alone where that is a host name, as Kueue writes it."""
_TAS: Final = (
    "kueue.x-k8s.io/podset-required-topology",
    "kueue.x-k8s.io/podset-preferred-topology",
    "kueue.x-k8s.io/podset-unconstrained-topology",
)
_TAS_LABEL: Final = "kueue.x-k8s.io/tas"
_Key = TypeVar("_Key")


def domain_key(values: Domain, levels: tuple[str, ...]) -> Domain:
    """How a domain of the last level is known in assignments."""
    return values[-1:] if levels[-1] == HOSTNAME else values


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What is taken of the nodes of a topology."""

    taken: Mapping[Domain, Amounts]
    """What admitted workloads were given."""
    parts: Mapping[str, Mapping[Domain, Amounts]]
    """The same by workload (UID)."""
    others: Mapping[str, Amounts]
    """What pods use that Kueue didn't place, by node."""

    def left(self, domain: Domain, holds: Amounts, without: Collection[str] = ()) -> Amounts:
        """What a domain that holds so much has left, with these workloads (UIDs) gone."""
        gone = total(self.parts.get(uid, {}).get(domain, {}) for uid in without)
        return minus(holds, (minus(self.taken.get(domain, {}), (gone,)),))

    def touched(self, without: Collection[str]) -> set[Domain]:
        """Domains where these workloads (UIDs) have pods."""
        return {domain for uid in without for domain in self.parts.get(uid, ())}


def occupancy_of(snapshot: Snapshot, levels: tuple[str, ...]) -> Occupancy:
    """What is taken of the nodes of a topology of these levels."""
    parts = _parts(snapshot, levels)
    taken: dict[Domain, Amounts] = {}
    for part in parts.values():
        for domain, amounts in part.items():
            _add(taken, domain, amounts)
    return Occupancy(taken, parts, _others(snapshot))


def _parts(snapshot: Snapshot, levels: tuple[str, ...]) -> dict[str, dict[Domain, Amounts]]:
    found: dict[str, dict[Domain, Amounts]] = {}
    for workload in snapshot.workloads.values():
        if not holds_quota(workload):
            continue
        templates = {one["name"]: one["template"]["spec"] for one in pod_sets(workload)}
        for assigned in admission(workload).get("podSetAssignments") or ():
            domains = domains_of(assigned)
            if not domains or assigned["name"] not in templates:
                continue
            each = {**pod_amounts(templates[assigned["name"]]), PODS: 1}
            into = found.setdefault(uid_of(workload), {})
            for values, count in domains:
                _add(into, domain_key(values, levels), times(each, count))
    return found


def _others(snapshot: Snapshot) -> dict[str, Amounts]:
    found: dict[str, Amounts] = {}
    for pod in snapshot.pods:
        node = pod["spec"].get("nodeName")
        annotations = pod["metadata"].get("annotations") or {}
        placed = _TAS_LABEL in labels_of(pod) or any(name in annotations for name in _TAS)
        if node and not placed:
            _add(found, node, total((pod_amounts(pod["spec"]), {PODS: 1})))
    return found


def _add(into: dict[_Key, Amounts], key: _Key, amounts: Amounts) -> None:
    into[key] = total((into.get(key, {}), amounts))
