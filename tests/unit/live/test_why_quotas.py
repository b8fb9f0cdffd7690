"""What a queue could have now, against Kueue's own recursion, and shares, on random trees."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.sharing import Member, Quota, potentials
from live.podamounts import amount_of, pod_amounts
from live.why.amounts import pods_that_fit, quantity_of
from live.why.quotas import Quotas

CELL = ("h100", "nvidia.com/gpu")


@dataclass
class Node:
    """A queue or cohort as Kueue's resource_node.go keeps it."""

    nominal: int
    borrowing: int | None
    lending: int | None
    parent: Node | None
    usage: int = 0
    subtree: int = 0

    def local(self) -> int:
        return 0 if self.lending is None else max(0, self.subtree - self.lending)

    def add(self, amount: int) -> None:
        room = max(0, self.local() - self.usage)
        self.usage += amount
        if self.parent is not None and amount > room:
            self.parent.add(amount - room)

    def available(self) -> int:
        if self.parent is None:
            return self.subtree - self.usage
        above = self.parent.available()
        if self.borrowing is not None:
            stored = self.subtree - self.local()
            above = min(stored - max(0, self.usage - self.local()) + self.borrowing, above)
        return max(0, self.local() - self.usage) + above


amounts = st.integers(0, 40)
limit = st.none() | st.integers(0, 40)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Quotas, dict[str, Node]]:
    """A root, up to three departments with limits, up to six queues, some outside, all with something in use."""
    pools: dict[str, tuple[str | None, int, int | None, int | None]] = {"root": (None, draw(amounts), None, None)}
    for index in range(draw(st.integers(0, 3))):
        pools[f"d{index}"] = (draw(st.sampled_from(sorted(pools))), draw(amounts), draw(limit), draw(limit))
    cohorts = [Member(name, parent, {CELL: Quota(CELL[1], *quota)}) for name, (parent, *quota) in pools.items()]
    nodes: dict[str, Node] = {}
    for name, (parent, *quota) in pools.items():
        nodes[name] = Node(*quota, nodes[parent] if parent else None)
    queues: dict[str, Member] = {}
    for index in range(draw(st.integers(1, 6))):
        parent = draw(st.sampled_from([*sorted(pools), None]))
        nominal, borrowing, lending = draw(amounts), draw(limit), draw(limit)
        if parent is None:
            borrowing = lending = None
        if lending is not None:
            lending = min(lending, nominal)
        name = f"q{index}"
        queues[name] = Member(name, parent, {CELL: Quota(CELL[1], nominal, borrowing, lending)})
        nodes[name] = Node(nominal, borrowing, lending, nodes[parent] if parent else None)
    for name in (*queues, *reversed(pools)):
        node = nodes[name]
        node.subtree += node.nominal
        if node.parent is not None:
            node.parent.subtree += node.subtree - node.local()
    held: dict[str, tuple[str, dict[tuple[str, str], int]]] = {}
    total: dict[str, dict[tuple[str, str], int]] = {}
    for name in queues:
        for number in range(draw(st.integers(0, 2))):
            amount = draw(amounts)
            held[f"{name}-{number}"] = (name, {CELL: amount})
            total.setdefault(name, {CELL: 0})[CELL] += amount
            nodes[name].add(amount)
    return Quotas(tuple(cohorts), queues, {}, held, total), nodes


@given(trees())
def test_what_is_free_is_what_kueue_calls_available(tree: tuple[Quotas, dict[str, Node]]) -> None:
    quotas, nodes = tree
    for name in quotas.queues:
        assert quotas.free(name)[CELL] == nodes[name].available()


@given(trees())
def test_what_is_used_of_a_cohort_is_what_its_children_dont_keep(tree: tuple[Quotas, dict[str, Node]]) -> None:
    quotas, nodes = tree
    for cohort in quotas.cohorts:
        owned, used = quotas._sums(cohort.name, {})
        assert (owned.get(CELL, 0), used.get(CELL, 0)) == (nodes[cohort.name].subtree, nodes[cohort.name].usage)


@given(trees())
def test_with_all_ended_it_is_what_the_plan_says(tree: tuple[Quotas, dict[str, Node]]) -> None:
    quotas, _ = tree
    reach = potentials(quotas.cohorts, quotas.queues.values())
    for name in quotas.queues:
        assert quotas.free(name, without=quotas.held)[CELL] == reach[name][CELL] == quotas.most(name)[CELL]


@given(trees(), st.data())
def test_an_end_never_takes_from_anybody(tree: tuple[Quotas, dict[str, Node]], data: st.DataObject) -> None:
    quotas, _ = tree
    if quotas.held:
        uid = data.draw(st.sampled_from(sorted(quotas.held)))
        for name in quotas.queues:
            assert quotas.free(name, without=(uid,))[CELL] >= quotas.free(name)[CELL]


def department_tree(weights: dict[str, float]) -> Quotas:
    """Two departments of 10 each; what `x` of the first uses beyond the department's 10 is borrowed from the other."""
    cohorts = (Member("root", None, {}), Member("one", "root", {}), Member("two", "root", {}))
    queues = {
        name: Member(name, parent, {CELL: Quota(CELL[1], nominal)})
        for name, parent, nominal in (("x", "one", 6), ("y", "one", 4), ("z", "two", 10))
    }
    return Quotas(cohorts, queues, weights, {}, {"x": {CELL: 14}})


def test_shares_compare_where_ways_meet() -> None:
    quotas = department_tree({"one": 2.0, "x": 4.0, "z": 0.0})
    assert quotas.share("one", "root") == pytest.approx(4 * 1000 / 20 / 2), "the department borrows 4 of 20"
    assert quotas.share("x", "one") == pytest.approx(8 * 1000 / 20 / 4), "the team borrows 8"
    assert quotas.share("y", "one") == 0
    assert quotas.share("y", "one", {"y": {CELL: 9}}) == pytest.approx(5 * 1000 / 20)
    assert quotas.share("z", "two", {"z": {CELL: 11}}) == float("inf"), "a weight of 0 loses"
    assert quotas.path("x") == ["one", "root"]
    assert sorted(quotas.siblings("x")) == ["y", "z"]


@pytest.mark.parametrize(
    ("resource", "text", "amount", "back"),
    [
        ("cpu", "1500m", 1500, "1500m"),
        ("cpu", "0.1", 100, "100m"),
        ("cpu", 2, 2000, "2"),
        ("memory", "1Gi", 2**30, "1Gi"),
        ("memory", "1000M", 10**9, "1000000000"),
        ("nvidia.com/gpu", "8", 8, "8"),
        ("example.com/half", "500m", 1, "1"),
    ],
)
def test_quantities_count_as_kueue_counts_them(resource: str, text: object, amount: int, back: str) -> None:
    assert amount_of(resource, text) == amount
    assert quantity_of(resource, amount) == back
    assert quantity_of(resource, -amount).startswith("-")


def test_what_a_pod_asks_for() -> None:
    def asks(cpu: str, **more: str) -> dict[str, object]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    spec = {
        "containers": [asks("1"), {"resources": {"limits": {"nvidia.com/gpu": "2"}}}],
        "initContainers": [asks("3"), asks("500m", restartPolicy="Always"), asks("1")],
        "overhead": {"cpu": "250m"},
    }
    assert pod_amounts(spec) == {"cpu": 3250, "nvidia.com/gpu": 2}, "the first init container is the largest"
    assert pods_that_fit({"cpu": 1000}, {"cpu": 5500, "pods": 3}) == 3
    assert pods_that_fit({"cpu": 1000}, {"cpu": 1999, "pods": 3}) == 1
    assert pods_that_fit({"nvidia.com/gpu": 1}, {"cpu": 1, "pods": 3}) == 0
