"""Where the pods of a job stand, against what they ask for and what Kueue assigned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance.topologymap.model import Flavor, Hold, Layout, Node
from governance.topologymap.placement import Placement, Pod, PodSet, Wish, verify_all

TYPE, HOST = "node.kubernetes.io/instance-type", "kubernetes.io/hostname"
SPINE, BLOCK = "topology.k8s.aws/network-node-layer-2", "topology.k8s.aws/network-node-layer-3"
GPU = "nvidia.com/gpu"
ROOM = {GPU: 8, "pods": 10}


def made(name: str, spine: str, block: str) -> Node:
    return Node(name, {HOST: f"host-{name}", TYPE: "p5", SPINE: spine, BLOCK: block}, ROOM, ROOM)


# Two spines of two blocks of two nodes: a0 a1 | a2 a3 || b0 b1 | b2 b3. The blocks of both spines have the same names.
NODES = tuple(made(f"{spine}{number}", spine, f"block-{number // 2}") for spine in "ab" for number in range(4))
LAYOUT = Layout("c", True, NODES, (Flavor("p5", {TYPE: "p5"}, "net", (SPINE, BLOCK, HOST)),))


def podset(nodes: str, wish: Wish, **changed: Any) -> PodSet:
    """A pod set with a whole-node pod on each of the nodes, as Kueue assigned; `-` is a pod that isn't bound."""
    names = nodes.split()
    pods = tuple(Pod(f"p{index}", "" if name == "-" else name, wish) for index, name in enumerate(names))
    assigned = {(f"host-{name}",): names.count(name) for name in names if name != "-"}
    found = PodSet("Job j", "ns", "w", "main", "p5", len(names), wish, {GPU: 8}, assigned, (HOST,), pods)
    return replace(found, **changed)


def verify(one: PodSet, layout: Layout = LAYOUT) -> Placement:
    kept = tuple(Hold("p5", "ns/w", "main", values, one.per_pod, n, n) for values, n in (one.assigned or {}).items())
    (found,) = verify_all([one], replace(layout, holds=(*layout.holds, *kept)))
    return found


@pytest.mark.parametrize(
    ("nodes", "wish", "state", "blocks"),
    [
        ("a0 a1", Wish(required=BLOCK), "ok", 1),
        ("a0 a2", Wish(required=BLOCK), "broken", 2),
        ("a0 b0", Wish(required=BLOCK), "broken", 2),
        ("a0 a2 a3", Wish(required=SPINE), "ok", 1),
        ("a0 b1", Wish(required=SPINE), "broken", 2),
        ("a0 -", Wish(required=BLOCK), "waiting", 1),
        ("- -", Wish(required=BLOCK), "waiting", 0),
        ("a0 a2", Wish(preferred=BLOCK), "ok", 2),
        ("a0 b3", Wish(unconstrained=True), "ok", 2),
        ("a0 a1 b0 b1", Wish(slice_level=BLOCK, slice_size=2), "ok", 2),
        ("a0 b0 b1 b2", Wish(slice_level=BLOCK, slice_size=2), "broken", 3),
        ("a0 a1 b0 b1", Wish(required=SPINE, slice_level=BLOCK, slice_size=2), "broken", 2),
        ("a0 b0 b1 -", Wish(slice_level=BLOCK, slice_size=2), "waiting", 2),
    ],
)
def test_verdicts(nodes: str, wish: Wish, state: str, blocks: int) -> None:
    found = verify(podset(nodes, wish))
    assert (found.state, len(found.domains)) == (state, blocks)
    assert bool(found.problems) is (state == "broken")


NAMES = st.lists(st.sampled_from([node.name for node in NODES]), min_size=1, max_size=6).map(" ".join)


@given(NAMES, st.sampled_from([SPINE, BLOCK]))
def test_required_holds_exactly_where_all_pods_share_every_label_down_to_the_level(nodes: str, level: str) -> None:
    labels = {node.name: (node.labels[SPINE], node.labels[BLOCK] if level == BLOCK else "") for node in NODES}
    together = len({labels[name] for name in nodes.split()}) == 1
    assert (verify(podset(nodes, Wish(required=level))).state == "ok") is together


def test_how_many_blocks_would_have_done_with_the_others_where_they_are() -> None:
    wish = Wish(preferred=BLOCK)
    assert verify(podset("a0 a2", wish)).least == 1
    other = Hold("p5", "ns/other", "main", ("host-a1",), {GPU: 1}, 1, 1)
    busy = tuple(replace(other, values=(f"host-{name}",)) for name in ("a1", "a3", "b1", "b3"))
    assert verify(podset("a0 a2", wish), replace(LAYOUT, holds=busy)).least == 2
    assert verify(podset("a0 a2", wish), replace(LAYOUT, holds=busy[:3])).least == 1, "b2 and b3 are free"
    assert verify(podset("- -", wish)).least is None
    assert verify(podset("a0 a2", wish, assigned=None)).least is None


def test_a_pod_elsewhere_than_assigned_is_astray_and_what_is_required_may_hold_still() -> None:
    found = verify(podset("a0 a1", Wish(required=BLOCK), assigned={("host-a0",): 2}))
    assert (found.state, found.problems) == ("astray", ("1 on host-a1, where Kueue assigned 0",))


def test_an_annotation_changed_afterwards_is_what_counts_and_is_told() -> None:
    found = verify(podset("a0 a2", Wish(required=BLOCK), asked=Wish(preferred=BLOCK)))
    assert found.state == "broken"
    assert found.problems[1] == f"the pods ask for required {BLOCK} now; Kueue placed them for preferred {BLOCK}"
    kept = verify(podset("a0 a1", Wish(required=BLOCK), asked=Wish(preferred=BLOCK)))
    assert kept.state == "astray"
    assert verify(podset("a0 b0", Wish(unconstrained=True), asked=Wish())).state == "ok", "Kueue writes that one itself"
    one = podset("a0 a2", Wish(preferred=BLOCK))
    some = replace(one, pods=(one.pods[0], replace(one.pods[1], wish=Wish(required=BLOCK))))
    assert verify(some).state == "broken", "the strictest of the pods' wishes counts"


def test_pods_without_a_workload_are_looked_at_by_their_nodes_alone() -> None:
    loose = {"workload": "", "name": "", "flavor": "", "asked": None, "per_pod": {}, "assigned": None, "levels": ()}
    alone = verify(podset("a0 a1", Wish(required=BLOCK), **loose))
    assert (alone.state, alone.problems) == ("astray", ("there is no Workload: Kueue didn't place these pods",))
    assert verify(podset("a0 a2", Wish(required=BLOCK), **loose)).state == "broken"


@pytest.mark.parametrize("gone", [True, False])
def test_a_node_that_is_gone_or_lost_its_label_is_in_no_block(gone: bool) -> None:
    left = tuple(n for n in NODES if n.name != "a1")
    bare = Node("a1", {HOST: "host-a1", TYPE: "p5", SPINE: "a"}, ROOM, ROOM)
    layout = replace(LAYOUT, nodes=left if gone else (*left, bare))
    found = verify(podset("a0 a1", Wish(required=BLOCK)), layout)
    assert found.state == "broken"
    why = "is gone" if gone else f"lacks the label {BLOCK}"
    assert found.problems[0] == f"node a1 {why}, so it is in no block"


def test_pod_sets_of_one_group_share_a_block() -> None:
    wish = Wish(required=BLOCK)
    leader, workers = (podset(nodes, wish, name=name, group="g") for name, nodes in (("leader", "a0"), ("workers", "a2 a3")))
    apart = verify_all([leader, workers], LAYOUT)
    assert [one.state for one in apart] == ["broken", "broken"]
    assert apart[0].problems[0] == f"the group g must be in one {BLOCK}, and is in a/block-0, a/block-1"
    near = podset("a1", wish, name="workers", group="g")
    assert [one.state for one in verify_all([leader, near], LAYOUT)] == ["ok", "ok"]
    other = podset("b0", wish, name="workers", group="g", workload="another")
    assert [one.state for one in verify_all([leader, other], LAYOUT)] == ["ok", "ok"]
    assert [one.state for one in verify_all([replace(leader, group=""), replace(workers, group="")], LAYOUT)] == ["ok", "ok"]
