"""How much is counted for an answer: each workload once, however many ends are tried; and what is counted is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from live.podamounts import amount_of
from live.why import find as finding
from live.why import occupancy, running
from live.why.explain import explain
from live.why.placement import Site, sites_of
from live.why.snapshot import Snapshot
from tests.why_objects import TOPOLOGY, Object, flavor, node, of, pending, pod_spec, queue, snapshot, workload

BLOCK = {"required": "block"}
BY_BLOCKS = {"metadata": {"name": "blocks"}, "spec": {"levels": [{"nodeLabel": "block"}]}}


def lies(job: str, gpus: int, values: tuple[str, ...], count: int = 1) -> Object:
    """A workload that holds quota and nodes."""
    domains = {"topologyAssignment": {"domains": [{"values": list(values), "count": count}]}}
    return workload(job, gpus, pods=count, held=True, topology=BLOCK, assigned=domains)


def wants(gpus: int, pods: int, level: str = "required") -> Object:
    return workload("j", gpus, pods=pods, conditions=(pending(),), topology={level: "block"})


def cluster(one: Object, *held: Object, nodes: int = 4, topology: Object = TOPOLOGY) -> Snapshot:
    """Two nodes in each block; room for everybody by quota."""
    named = (f"n{i}" for i in range(nodes))
    found = tuple(
        node(name, labels={"kubernetes.io/hostname": name, "type": "h100", "block": f"b{int(name[1:]) // 2}"}) for name in named
    )
    known: dict[str, Any] = {"nodes": found, "flavors": (flavor("blocks"),), "topologies": (topology,)}
    return snapshot(one, *held, queues=(queue("q", 1000, cohort=None),), **known)


def calls(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> Counter[str]:
    """Counts calls of a function of a module or class, which are done all the same."""
    found: Counter[str] = Counter()
    true: Callable[..., Any] = getattr(owner, name)

    def counted(*given: Any) -> Any:
        found[name] += 1
        return true(*given)

    monkeypatch.setattr(owner, name, counted)
    return found


def test_assignments_are_read_once_however_many_ends_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [lies(f"w{i}", 1, ("b0", f"n{i // 8}")) for i in range(16)]
    one = wants(8, 2)
    counted = calls(monkeypatch, occupancy, "domains_of")
    tried = calls(monkeypatch, Site, "fits")
    (cause,) = explain(cluster(one, *held, nodes=2), of(one), None, lambda space, name: []).causes
    (finish,) = [remedy for remedy in cause.remedies if remedy.action == "finish"]
    assert (str(cause.reason), len(finish.workloads)) == ("topology-block", 16)
    assert tried["fits"] > 2 * 16, "each alone, more and more together, and each left out again"
    assert counted["domains_of"] == 16


def test_the_order_of_a_queue_is_asked_once_for_each_workload(monkeypatch: pytest.MonkeyPatch) -> None:
    many = [workload(f"w{i:03}", 1, held=True) for i in range(100)]
    looked, ranked = calls(monkeypatch, running, "uid_of"), calls(monkeypatch, running, "priority_of")
    found = explain(snapshot(*many), of(many[50]), None, lambda space, name: [])
    assert [one.borrowed for one in found.held] == [1], "92 of them lie beyond the 8 of the queue"
    assert looked["uid_of"] < 4 * len(many)
    assert ranked["priority_of"] == len(many)


def test_a_deployment_of_many_pods_looks_at_each_workload_once(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = {"kind": "ReplicaSet", "name": "chat-5d", "uid": "rs"}
    pods = [
        {"metadata": {"name": f"chat-5d-{i}", "namespace": "ns", "uid": f"p{i}", "ownerReferences": [owner]}, "spec": {}}
        for i in range(100)
    ]
    mine = workload("chat-5d-7", kind="Pod")
    mine["metadata"]["ownerReferences"][0]["uid"] = "p7"
    many = [workload(f"w{i:03}") for i in range(100)]
    looked = calls(monkeypatch, finding, "owners_of")
    assert finding.find(snapshot(*many, mine, pods=pods), "chat", None).workload is mine
    assert looked["owners_of"] < 10 * len(many)


def test_an_amount_is_parsed_once() -> None:
    amount_of.cache_clear()
    many = [workload(f"w{i:03}", 1, held=True) for i in range(100)]
    explain(snapshot(*many, queues=(queue("q", 8, cohort=None),)), of(many[0]), None, lambda space, name: [])
    assert amount_of.cache_info().misses <= 2, "1 of the workloads, and 8 of the queue"


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(1, 2), st.booleans()), min_size=1, max_size=8),
    st.integers(1, 8),
    st.integers(1, 5),
    st.sampled_from(("required", "preferred")),
    st.booleans(),
    st.integers(0, 4),
)
def test_room_without_some_is_room_where_they_never_were(
    held: list[tuple[int, int, int, bool]], gpus: int, pods: int, level: str, by_host: bool, used: int
) -> None:
    def at(number: int) -> tuple[str, ...]:
        return (f"b{number // 2}", f"n{number}") if by_host else (f"b{number // 2}",)

    running_ = [lies(f"w{i}", each, at(number), count) for i, (each, number, count, _) in enumerate(held)]
    gone = {one["metadata"]["uid"] for one, (*_, ends) in zip(running_, held, strict=True) if ends}
    one = wants(gpus, pods, level)
    other = {"metadata": {"name": "p", "namespace": "x"}, "spec": {"nodeName": "n1", **pod_spec(used)}}
    found = replace(cluster(one, *running_, topology=TOPOLOGY if by_host else BY_BLOCKS), pods=(other,))
    left = {name: each for name, each in found.workloads.items() if each["metadata"]["uid"] not in gone}
    pod_set = one["spec"]["podSets"][0]
    (site,) = sites_of(found, [(pod_set, "h100")])
    (never,) = sites_of(replace(found, workloads=left), [(pod_set, "h100")])
    assert site is not None
    assert never is not None
    assert site.fits(gone) == never.placement().fits == never.fits()
    assert site.fits() == site.placement().fits
