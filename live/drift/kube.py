"""Kubernetes objects on all three sides: how they are compared, and which of the others on a cluster are ours to know of."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from governance.names import QUOTA_ID_LABEL, TEAM_LABEL
from governance.units import CPU, MEMORY
from live.drift.compare import ABSENT, Change, Item, Path, Rules, differences, is_empty, value_at, written
from live.drift.model import TO_BE_MADE, Finding, Kind, Property, Thing
from live.drift.owners import author_of, creator, is_ours, owners, records_owners
from live.drift.state import Key, Object

QUANTITIES: Final = frozenset({"borrowingLimit", "lendingLimit", "nominalQuota", "weight"})
"""Fields that hold a quantity, which can be written in several ways."""
_OUR_LABELS: Final = ("hyperpod-platform/", "kueue.x-k8s.io/", "sagemaker.amazonaws.com/")
"""Labels that bear on what we declare, whoever sets them."""
_OUR_ANNOTATIONS: Final = ("hyperpod-platform/",)
_WRITTEN_BY_SERVER: Final = frozenset({"apiVersion", "kind", "status"})
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "levels": ("nodeLabel",),
    "matchExpressions": ("key", "operator"),
    "nodeTaints": ("key", "effect"),
    "resourceRules": ("apiGroups", "resources", "operations"),
    "rules": ("apiGroups", "resources", "resourceNames", "nonResourceURLs"),
    "subjects": ("kind", "namespace", "name"),
    "tolerations": ("key", "operator", "effect"),
    "validations": ("expression",),
}
_ORDERED: Final = frozenset({"flavors", "levels"})
"""A queue tries its flavors in their order; a topology's levels go from the farthest to the nearest."""
_NOBODY: Final = "Kubernetes doesn't record who deletes; the API server's audit log does, where it is kept"


def compare(
    cluster: str, key: Key, declared: Object | None, state: Object | None, live: Object | None, manager: str = ""
) -> Finding | None:
    """One object on three sides; None where it is the same on all. `manager`: the field manager that the state records."""
    found = () if state is None or live is None else outside(state, live, manager)
    drift = tuple(_three(change, declared, live or {}, manager) for change in found)
    changed = {one.path for one in drift}
    waiting = tuple(_waiting(change, key, live, changed, manager) for change in undeployed(declared, state))
    kinds: tuple[Kind, ...] = (Kind.PENDING,) if waiting else ()
    thing = _thing(cluster, key, state or declared or live or {})
    if state is None:
        if live is None:
            return Finding(thing, kinds, (), waiting, remark=TO_BE_MADE) if waiting else None
        return Finding(thing, (Kind.UNMANAGED,), author=creator(live), remark="declared too: import it, or the next `up` fails")
    going = "declared no more" if declared is None else ""
    if live is None:
        return Finding(thing, (Kind.MISSING, *kinds), (), waiting, remark="; ".join(filter(None, (going, _NOBODY))))
    kinds = (Kind.CHANGED, *kinds) if drift else kinds
    return Finding(thing, kinds, drift, waiting, remark=going) if kinds else None


def undeployed(declared: Object | None, state: Object | None) -> Iterator[Change]:
    """What the declaration changes in the state: in full, for both are ours."""
    if declared is None or state is None:
        if declared is not state:
            yield Change((), declared or ABSENT, state or ABSENT)
        return
    yield from differences(declared, state, Rules(same, lambda _, value: not is_empty(value), _KEYS, _ORDERED))


def outside(state: Object, live: Object, manager: str = "") -> Iterator[Change]:
    """What was changed behind Pulumi. `manager`: the field manager that the state records; empty where it records none."""
    meta = {"labels": {}, "annotations": {}, **(state.get("metadata") or {})}  # so that each one that came on top is told
    rules = Rules(same, lambda path, value: _counts(live, path, value, manager), _KEYS, _ORDERED)
    yield from differences({**state, "metadata": meta}, live, rules)
    leaving = (live.get("metadata") or {}).get("deletionTimestamp")
    if leaving:
        yield Change(("metadata", "deletionTimestamp"), ABSENT, leaving)


def _counts(live: Object, path: Path, value: Any, manager: str) -> bool:
    """Whether a property counts that only the live object has: not what a server or a controller adds to ours."""
    if path[0] in _WRITTEN_BY_SERVER:
        return False
    if path[0] == "metadata":
        prefixes = {"labels": _OUR_LABELS, "annotations": _OUR_ANNOTATIONS}.get(str(path[1]), ())
        return str(path[-1]).startswith(prefixes)
    if path[0] == "spec" and live.get("kind") == "Namespace":
        return False  # its finalizers
    if any(isinstance(step, Item) for step in path):
        return not is_empty(value)  # lists are ours as a whole
    if not records_owners(live):
        return path[0] == "spec" and not is_empty(value)  # of spec, we declare what servers would fill in
    # What the server fills in belongs to nobody, or to whoever made the object.
    return any(not is_ours(author, manager) for author in owners(live, path))


def same(path: Path, one: Any, other: Any) -> bool:
    """Whether two values of a field say the same: quantities as amounts, all else as it is written."""
    if isinstance(one, bool) is isinstance(other, bool) and one == other:
        return True
    if not path or path[-1] not in QUANTITIES:
        return False
    amount = quantity(one)
    return amount is not None and amount == quantity(other)


def quantity(value: Any) -> Any:
    """The number that a Kubernetes quantity stands for, as a Decimal; None for anything else."""
    from live.connection import load_client

    load_client()
    from kubernetes.utils.quantity import parse_quantity

    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        return parse_quantity(str(value))
    except ValueError:
        return None


def _thing(cluster: str, key: Key, manifest: Object) -> Thing:
    labels = (manifest.get("metadata") or {}).get("labels") or {}
    return Thing(cluster, key.kind, key.name, key.namespace, str(labels.get(TEAM_LABEL) or labels.get(QUOTA_ID_LABEL) or ""))


def _three(change: Change, declared: Object | None, live: Object, manager: str) -> Property:
    """A property changed outside, with what the declaration says of it now."""
    now, who = value_at(declared, change.path, _KEYS), author_of(live, change.path, manager)
    return Property(written(change.path), now, change.want, change.have, _unit(change.path), who)


def _waiting(change: Change, key: Key, live: Object | None, changed: Collection[str], manager: str) -> Property:
    """A property that waits for a deployment; of an object that comes or goes as a whole, its kind will do.

    What a refresh has taken over into the state waits too, and is not among what has `changed`. Its author is then told.
    """
    if not change.path:
        declared, state = (side if side is ABSENT else key.kind for side in (change.want, change.have))
        return Property("", declared, state, ABSENT)
    path = written(change.path)
    who = author_of(live, change.path, manager) if live is not None and path not in changed else None
    taken_over = who if who is not None and not is_ours(who, manager) else None
    return Property(path, change.want, change.have, ABSENT, _unit(change.path), taken_over)


def _unit(path: Path) -> str:
    """What an amount of a queue counts."""
    if not path or path[-1] not in QUANTITIES or not isinstance(path[-2], Item):
        return ""
    return {CPU: "vCPU", MEMORY: "GiB"}.get(path[-2].label, "")
