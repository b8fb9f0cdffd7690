"""Blocks, what is free in them, and what fits: against counting by hand."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.nodes import Taint
from governance.topologymap.fit import Best, Fit, Shape, count_in, fits, least_domains, per_pod, pods_in, whole_node
from governance.topologymap.model import Flavor, Hold, Layout, Node, Toleration
from governance.topologymap.tree import Section, sections, shared

TYPE, HOST = "node.kubernetes.io/instance-type", "kubernetes.io/hostname"
SPINE, BLOCK = "topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-3"
GPU = "nvidia.com/gpu"
FLAVOR = Flavor("p5", {TYPE: "p5"}, "net", (SPINE, BLOCK, HOST))
ROOM = {"cpu": 10_000, GPU: 8, "pods": 5}


def node(name: str, block: str | None = "b0", spine: str = "s0", **changed: Any) -> Node:
    labels = {HOST: name, TYPE: "p5", SPINE: spine} | ({BLOCK: block} if block else {})
    return Node(name, labels, **{"capacity": ROOM, "allocatable": ROOM, **changed})


def section(*nodes: Node, flavor: Flavor = FLAVOR, holds: tuple[Hold, ...] = ()) -> Section:
    return sections(Layout("c", True, nodes, (flavor,), holds))[0]


def hold(values: tuple[str, ...], count: int, bound: int = 0, gpus: int = 1) -> Hold:
    return Hold("p5", "ns/w", "main", values, {GPU: gpus}, count, bound)


# -- against counting by hand --------------------------------------------------------------------------------------------


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    nodes, holds = [], []
    for number in range(draw(st.integers(1, 9))):
        spine, block = draw(st.integers(0, 1)), draw(st.integers(0, 2))
        allocatable = {"cpu": draw(st.integers(0, 9)), GPU: draw(st.integers(0, 8)), "pods": draw(st.integers(0, 6))}
        left = dict(allocatable)
        resident, foreign = ({r: draw(st.integers(0, amount)) for r, amount in left.items()} for _ in range(2))
        foreign = {r: min(left[r], foreign[r] + resident[r]) for r in left}
        left = {r: left[r] - foreign[r] for r in left}
        count = draw(st.integers(0, min(left[GPU], left["pods"])))
        name = f"n{number}"
        bound = draw(st.integers(0, count))
        if count:
            holds.append(hold((name,), count, bound))
        nodes.append(
            node(
                name,
                draw(st.sampled_from([f"b{block}", f"b{block}", f"b{block}", None])),
                f"s{spine}",
                capacity=allocatable,
                allocatable=allocatable,
                ready=draw(st.integers(0, 7)) > 0,
                cordoned=draw(st.integers(0, 7)) == 0,
                taints=draw(st.sampled_from([(), (), (), (Taint("t", "v", "NoSchedule"),)])),
                foreign=foreign,
                resident=resident,
                used=foreign | {GPU: foreign[GPU] + bound, "pods": foreign["pods"] + bound},
            )
        )
    return Layout("c", True, tuple(nodes), (FLAVOR,), tuple(holds))


def by_hand(layout: Layout, request: dict[str, int], level: str, *, empty: bool) -> int:
    """Put pods on nodes one by one, and look at each block apart."""
    blocks: dict[tuple[str, ...], int] = {}
    for one in layout.nodes:
        if not one.ready or one.cordoned or one.taints or BLOCK not in one.labels:
            continue
        gone = one.resident if empty else one.foreign
        left = {r: amount - gone.get(r, 0) for r, amount in one.allocatable.items()}
        for kept in () if empty else [h for h in layout.holds if h.values == (one.name,)]:
            left[GPU] -= kept.count
            left["pods"] -= kept.count
        pods = 0
        while all(left[r] >= amount for r, amount in {**request, "pods": 1}.items() if amount):
            left = {r: left[r] - {**request, "pods": 1}.get(r, 0) for r in left}
            pods += 1
        path = tuple(one.labels[each] for each in FLAVOR.levels[: FLAVOR.levels.index(level) + 1])
        blocks[path] = blocks.get(path, 0) + pods
    return max(blocks.values(), default=0)


REQUESTS = st.fixed_dictionaries({GPU: st.integers(0, 4), "cpu": st.integers(0, 4)})


@given(layouts(), REQUESTS)
def test_the_largest_job_of_each_level_is_what_counting_by_hand_finds(layout: Layout, request: dict[str, int]) -> None:
    (one,) = sections(layout)
    found = fits(one, Shape("s", request))
    assert [fit.level for fit in found] == [HOST, BLOCK, SPINE, None]
    for fit in found[:-1]:
        assert fit.level is not None
        assert fit.now.pods == by_hand(layout, request, fit.level, empty=False)
        assert fit.empty.pods == by_hand(layout, request, fit.level, empty=True)
        assert fit.now.pods <= fit.empty.pods
    for near, far in pairwise(found):
        assert near.now.pods <= far.now.pods
        assert near.empty.pods <= far.empty.pods


@given(layouts())
def test_amounts_of_blocks_add_up(layout: Layout) -> None:
    (one,) = sections(layout)
    whole = one.tally(GPU)
    counting = one.counting(one.nodes)
    assert whole.allocatable == sum(n.allocatable[GPU] for n in counting)
    assert 0 <= whole.free <= whole.allocatable
    placed = {n.name for root in one.roots for n in root.nodes}
    assert placed == {n.name for n in layout.nodes if BLOCK in n.labels}
    assert whole.reserved == sum(h.count - h.bound for h in layout.holds if h.values[0] in placed)
    for domain in one.roots:
        for what in ("total", "allocatable", "used", "reserved", "free"):
            parts = [getattr(one.tally(GPU, child), what) for child in domain.children]
            assert getattr(one.tally(GPU, domain), what) == sum(parts)


@given(st.lists(st.integers(-2, 6), max_size=6), st.integers(0, 14))
def test_the_fewest_blocks_are_what_trying_all_finds(counts: list[int], pods: int) -> None:
    tries = (n for n in range(len(counts) + 1) for some in combinations(counts, n) if sum(max(0, c) for c in some) >= pods)
    assert least_domains(counts, pods) == next(tries, None)


# -- one by one ----------------------------------------------------------------------------------------------------------


def test_pods_are_counted_in_each_node_not_in_the_sum() -> None:
    one = section(node("a"), node("b"))
    assert pods_in(one, one.roots[0], {GPU: 5}) == 2, "16 GPUs are three times 5, but no node has 3 left and another 2"
    assert pods_in(one, one.roots[0], {GPU: 1}) == 10, "a node takes 5 pods, whatever its GPUs"


def test_pods_of_admitted_jobs_are_counted_once_bound_or_not() -> None:
    big = {**ROOM, "pods": 20}
    for bound in range(4):
        used = {GPU: bound + 2, "pods": bound + 1}
        busy = node("a", capacity=big, allocatable=big, used=used, foreign={GPU: 2, "pods": 1})
        one = section(busy, holds=(hold(("a",), 3, bound),))
        assert pods_in(one, one.roots[0], {GPU: 1}) == 3
        assert pods_in(one, one.roots[0], {GPU: 1}, "empty") == 8
        tally = one.tally(GPU)
        assert (tally.used, tally.reserved, tally.free) == (bound + 2, 3 - bound, 3)


def test_where_the_nearest_level_is_a_block_its_nodes_are_one_room_as_in_kueue() -> None:
    coarse = Flavor("p5", {TYPE: "p5"}, "net", (SPINE, BLOCK))
    kept = Hold("p5", "ns/w", "main", ("s0", "b0"), {GPU: 2}, 3, 1)
    one = section(node("a"), node("b", taints=(Taint("t", "v", "NoSchedule"),)), flavor=coarse, holds=(kept,))
    assert not one.obstacles, "Kueue looks at taints only where the nearest level is the node"
    assert pods_in(one, one.roots[0], {GPU: 5}) == 2, "16 less 6 is twice 5"
    assert pods_in(one, one.roots[0], {GPU: 5}, "empty") == 3
    assert (one.tally(GPU).reserved, one.tally(GPU).free) == (4, 12)


def test_an_overbooked_node_takes_from_its_block_as_in_kueue() -> None:
    assert [count_in({GPU: 2}, {GPU: amount}) for amount in (5, 1, -1, -2, -5)] == [2, 0, 0, -1, -2]
    assert count_in({GPU: 2, "cpu": 0}, {GPU: 4}) == 2
    assert count_in({GPU: 1, "cpu": 1}, {GPU: 4}) == 0
    one = section(node("a"), node("b"), holds=(hold(("b",), 1, gpus=12),))
    assert pods_in(one, one.roots[0], {GPU: 4}) == 1
    only = section(node("b"), holds=(hold(("b",), 1, gpus=12),))
    assert fits(only, Shape("s", {GPU: 8}))[1] == Fit(BLOCK, Best(0, None), Best(1, ("s0", "b0")))


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        ({}, []),
        ({"ready": False, "taints": (Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),)}, ["not-ready"]),
        ({"cordoned": True, "taints": (Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"),)}, ["cordoned"]),
        ({"taints": (Taint("team", "a", "NoExecute"),)}, ["tainted"]),
        ({"taints": (Taint("team", "a", "PreferNoSchedule"),)}, []),
        ({"block": None, "ready": False}, ["not-ready", "no-labels"]),
    ],
)
def test_why_a_node_is_passed_by(changed: dict[str, Any], kinds: list[str]) -> None:
    one = section(node("a", **changed), node("good"))
    assert [obstacle.kind for obstacle in one.obstacles.get("a", ())] == kinds
    assert "good" not in one.obstacles
    assert one.unlabelled() == ["a"] * ("no-labels" in kinds)
    assert one.tally(GPU).allocatable == (8 if kinds else 16)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration("team", "Equal", "a", "NoSchedule"), True),
        (Toleration("team", "Equal", "a"), True),
        (Toleration("team", "Equal", "b"), False),
        (Toleration("team", "Equal", "a", "NoExecute"), False),
        (Toleration("team", "Exists"), True),
        (Toleration("", "Exists"), True),
        (Toleration("other", "Exists"), False),
    ],
)
def test_a_taint_that_the_flavor_tolerates_is_no_obstacle(toleration: Toleration, tolerated: bool) -> None:
    flavor = Flavor("p5", {TYPE: "p5"}, "net", FLAVOR.levels, (toleration,))
    assert (not section(node("a", taints=(Taint("team", "a", "NoSchedule"),)), flavor=flavor).obstacles) is tolerated


def test_a_whole_node_is_what_most_nodes_can_give() -> None:
    busy = node("b", resident={"cpu": 300, "pods": 1})
    odd = node("odd", allocatable={**ROOM, GPU: 7})
    shape = whole_node(section(node("a"), busy, odd, node("gone", ready=False, allocatable={"cpu": 1})))
    assert shape is not None
    assert shape.requests == {"cpu": 9_700, GPU: 8}
    assert whole_node(section(node("gone", ready=False))) is None
    assert per_pod(section(node("cpu", capacity={"cpu": 1000})), 1) is None
    three = per_pod(section(node("a")), 3, cpu=500, memory=2**30)
    assert three is not None
    assert (three.name, three.requests) == ("3 accelerators", {GPU: 3, "cpu": 500, "memory": 2**30})


def test_nodes_that_no_flavor_has_stand_apart_with_the_layers_that_all_of_them_name() -> None:
    others = [
        Node(name, {HOST: name, TYPE: "m5", SPINE: "s"} | more, ROOM, ROOM) for name, more in (("x", {}), ("y", {BLOCK: "b"}))
    ]
    found = sections(Layout("c", True, (node("a"), *others), (FLAVOR, Flavor("empty", {TYPE: "none"}, None, ()))))
    assert [(one.flavor.name, one.instance_type, one.flavor.levels) for one in found] == [
        ("p5", "p5", FLAVOR.levels),
        ("", "m5", (SPINE, HOST)),
    ]
    assert not found[1].obstacles
    plain = section(node("a", None), flavor=Flavor("p5", {TYPE: "p5"}, None, ()))
    assert not plain.obstacles, "without a topology no label is needed"


def test_nodes_of_two_flavors_are_told() -> None:
    both = sections(Layout("c", True, (node("a"),), (FLAVOR, Flavor("p5-new", {TYPE: "p5"}, "net", FLAVOR.levels))))
    assert shared(both) == {"a": ["p5", "p5-new"]}
    assert shared(both[:1]) == {}


def test_blocks_of_one_name_in_two_spines_are_two() -> None:
    one = section(node("a", "b0", "s0"), node("b", "b0", "s1"))
    assert [domain.values for domain in one.level(BLOCK)] == [("s0", "b0"), ("s1", "b0")]
    assert fits(one, Shape("s", {GPU: 1}))[1].now.pods == 5
