"""Which workload is meant: by its own name, its job's, `kind/name`, or a pod's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from config.findings import did_you_mean, printable
from live.why.objects import (
    Object,
    is_finished,
    job_of,
    name_of,
    namespace_of,
    owners_of,
    uid_of,
)
from live.why.snapshot import Snapshot

_DEPTH = 6
"""Owners above a pod, at most."""


class UnknownError(Exception):
    """Nothing, or more than one thing, has the name; the message says what there is."""


@dataclass(frozen=True, slots=True)
class Found:
    """The workload, or the job that has none."""

    namespace: str
    workload: Object | None
    job: Object | None
    others: tuple[str, ...] = ()
    """Other Workloads of the same job."""


def find(snapshot: Snapshot, name: str, namespace: str | None) -> Found:
    """Raises UnknownError."""
    kind, _, plain = name.rpartition("/")
    workloads = {uid_of(one) or name_of(one): one for one in _workloads(snapshot, kind.lower(), plain, namespace)}
    if workloads:
        return _chosen(snapshot, list(workloads.values()), name)
    jobs = [one for one in snapshot.jobs if _is(one, kind.lower(), plain, namespace)]
    spaces = {namespace_of(one) for one in jobs}
    if len(spaces) > 1 or len({one["kind"] for one in jobs}) > 1:
        raise UnknownError(_several(name, jobs))
    if jobs:
        return Found(namespace_of(jobs[0]), None, jobs[0])
    pod = next((one for one in snapshot.pods if kind.lower() in ("", "pod") and _named(one, plain, namespace)), None)
    if pod is not None:
        return Found(namespace_of(pod), None, {**pod, "kind": "Pod"})
    raise UnknownError(_nothing(snapshot, name, plain, namespace))


def _workloads(snapshot: Snapshot, kind: str, name: str, namespace: str | None) -> Iterator[Object]:
    """Workloads that the name means."""
    for one in snapshot.workloads.values():
        if namespace in (None, namespace_of(one)):
            own = kind in ("", "workload") and name_of(one) == name
            if own or any(owner["name"] == name and kind in ("", str(owner["kind"]).lower()) for owner in owners_of(one)):
                yield one
    kin = _kin(snapshot)
    for item in (*snapshot.jobs, *snapshot.pods):
        typed = item if "kind" in item else {**item, "kind": "Pod"}
        if _is(typed, kind, name, namespace):
            yield from _above(snapshot, kin, typed)
        elif kind in ("", "deployment") and typed["kind"] == "Pod" and namespace in (None, namespace_of(item)):
            sets = [str(owner["name"]) for owner in owners_of(item) if owner["kind"] == "ReplicaSet"]
            if any(one.rpartition("-")[0] == name for one in sets):
                yield from _above(snapshot, kin, typed)


@dataclass(frozen=True, slots=True)
class _Kin:
    """Who belongs to whom, by UID."""

    owned: Mapping[str, list[Object]]
    """Workloads of an owner."""
    jobs: Mapping[str, Object]


def _kin(snapshot: Snapshot) -> _Kin:
    owned: dict[str, list[Object]] = {}
    for one in snapshot.workloads.values():
        for uid in dict.fromkeys(_owner_uids(one)):
            owned.setdefault(uid, []).append(one)
    return _Kin(owned, {uid_of(job): job for job in snapshot.jobs})


def _owner_uids(item: Object) -> list[str]:
    return [str(owner["uid"]) for owner in owners_of(item) if owner.get("uid")]


def _above(snapshot: Snapshot, kin: _Kin, item: Object) -> Iterator[Object]:
    """Workloads of an object or of what owns it."""
    at: Object | None = item
    annotated = (item["metadata"].get("annotations") or {}).get("kueue.x-k8s.io/workload")
    if annotated and f"{namespace_of(item)}/{annotated}" in snapshot.workloads:
        yield snapshot.workloads[f"{namespace_of(item)}/{annotated}"]
    for _ in range(_DEPTH):
        if at is None:
            return
        owners = _owner_uids(at)
        for uid in (uid_of(at), *owners):
            yield from kin.owned.get(uid, ())
        at = next((kin.jobs[uid] for uid in owners if uid in kin.jobs), None)


def _is(item: Object, kind: str, name: str, namespace: str | None) -> bool:
    return kind in ("", str(item["kind"]).lower()) and _named(item, name, namespace)


def _named(item: Object, name: str, namespace: str | None) -> bool:
    return name_of(item) == name and namespace in (None, namespace_of(item))


def _chosen(snapshot: Snapshot, found: list[Object], name: str) -> Found:
    """Of several Workloads of one job the one that matters: not finished, then the newest."""
    spaces = {namespace_of(one) for one in found}
    kinds = {job_of(one).partition("/")[0] for one in found}
    if len(spaces) > 1 or len(kinds) > 1:
        raise UnknownError(_several(name, found))
    order = sorted(found, key=lambda one: (not is_finished(one), str(one["metadata"].get("creationTimestamp", ""))), reverse=True)
    first, *others = order
    owners = _owner_uids(first)
    job = next((one for one in snapshot.jobs if uid_of(one) in owners), None)
    return Found(namespace_of(first), first, job, tuple(name_of(one) for one in others))


def _several(name: str, items: Iterable[Object]) -> str:
    shown = sorted({f"{_job(item)} in namespace {namespace_of(item)}" for item in items})
    return printable(f"{name} means several: {', '.join(shown)}; name one with --namespace, or as kind/name")


def _job(item: Object) -> str:
    """Of jobs as they were read, which say their kind; Workloads don't."""
    return f"{item['kind']}/{name_of(item)}" if "kind" in item else job_of(item)


def _nothing(snapshot: Snapshot, name: str, plain: str, namespace: str | None) -> str:
    scope = f" in namespace {namespace}" if namespace else ""
    known = {job_of(one).partition("/")[2] for one in snapshot.workloads.values() if namespace in (None, namespace_of(one))}
    known |= {name_of(one) for one in (*snapshot.workloads.values(), *snapshot.jobs) if namespace in (None, namespace_of(one))}
    hint = did_you_mean(plain, sorted(known)) or ("there are none" if not known else "")
    message = f"there is no workload, job or pod {name}{scope}"
    elsewhere = sorted({namespace_of(one) for one in _workloads(snapshot, "", plain, None)}) if namespace else []
    if elsewhere:
        return printable(f"{message}; there is one in {', '.join(elsewhere)}")
    return printable(f"{message}; {hint}" if hint else message)
