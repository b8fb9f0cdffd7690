"""Flavors and topologies: plain names for the plain spec, others where it differs."""

from __future__ import annotations

from declarations import cluster, environment, team
from hypothesis import given
from hypothesis import strategies as st
from strategies import TYPES

from config.catalogue import instance_types
from config.cluster import InstanceGroup
from config.environment import DEFAULT_TOPOLOGY_LEVELS, Topology
from governance.flavors import flavor, order, topology_of

P5, G5, B200 = (instance_types()[name] for name in ("ml.p5.48xlarge", "ml.g5.2xlarge", "ml.p6-b200.48xlarge"))
LAYERS = DEFAULT_TOPOLOGY_LEVELS[:3]
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}


def group(*taints: dict[str, str]) -> InstanceGroup:
    return InstanceGroup.model_validate({"instance_type": "ml.p5.48xlarge", "count": 1, "taints": list(taints)})


def test_the_plain_spec_has_the_plain_name() -> None:
    assert flavor(P5, [group()], Topology()).name == "ml.p5.48xlarge"
    assert flavor(P5, [], Topology()).name == "ml.p5.48xlarge"
    assert flavor(P5, [group(TAINT | {"effect": "PreferNoSchedule"})], Topology()).name == "ml.p5.48xlarge"
    assert flavor(G5, [], Topology()).name == "ml.g5.2xlarge"
    assert flavor(P5, [], Topology(levels=DEFAULT_TOPOLOGY_LEVELS)).name == "ml.p5.48xlarge"


def test_any_other_spec_has_a_name_of_its_own() -> None:
    specs = [
        ([group()], Topology()),
        ([group()], Topology(enabled=False)),
        ([group()], Topology(levels=LAYERS)),
        ([group()], Topology(levels=(LAYERS[2], "kubernetes.io/hostname"))),
        ([group(TAINT)], Topology()),
        ([group(TAINT | {"value": "web"})], Topology()),
        ([group(TAINT | {"effect": "NoExecute"})], Topology()),
        ([group(TAINT)], Topology(enabled=False)),
    ]
    names = [flavor(P5, groups, policy).name for groups, policy in specs]
    assert len(set(names)) == len(names)
    assert all(name == "ml.p5.48xlarge" or name.startswith("ml.p5.48xlarge-") for name in names)
    assert names == [flavor(P5, groups, policy).name for groups, policy in specs]


def test_the_order_of_groups_and_taints_is_not_part_of_the_spec() -> None:
    other = {"key": "a", "effect": "NoSchedule"}
    assert flavor(P5, [group(TAINT), group(other)], Topology()) == flavor(P5, [group(other, TAINT)], Topology())


def test_levels_that_a_type_has_no_labels_for_are_left_out() -> None:
    assert topology_of(P5, Topology()) is not None
    found = topology_of(P5, Topology())
    assert found is not None
    assert (found.name, found.levels) == ("hyperpod-default", DEFAULT_TOPOLOGY_LEVELS)
    bare = topology_of(G5, Topology())
    assert bare is not None
    assert (bare.name, bare.levels) == ("hostname-only", ("kubernetes.io/hostname",))
    only_layers = topology_of(G5, Topology(levels=LAYERS))
    assert only_layers is not None
    assert only_layers.levels == ("kubernetes.io/hostname",)
    fourth = Topology(levels=(*LAYERS, "topology.k8s.aws/network-node-layer-4", "kubernetes.io/hostname"))
    four, three = topology_of(B200, fourth), topology_of(P5, fourth)
    assert four is not None
    assert three is not None
    assert (len(four.levels), three.levels) == (5, DEFAULT_TOPOLOGY_LEVELS)
    assert topology_of(P5, Topology(enabled=False)) is None


def test_levels_of_another_kind_are_kept() -> None:
    found = topology_of(G5, Topology(levels=("topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname")))
    assert found is not None
    assert found.levels == ("topology.kubernetes.io/zone", "example.com/rack", "kubernetes.io/hostname")
    assert found.name.startswith("hyperpod-")


def test_topologies_of_a_cluster_are_those_of_its_types_each_once() -> None:
    found = cluster(
        {"alpha": team("quota: {ml.g5.2xlarge: {instances: 1}}\n")},
        environment(groups="a: {instance_type: ml.p5.48xlarge, count: 1}\nb: {instance_type: ml.p4d.24xlarge, count: 1}"),
    )
    assert sorted(topology.name for topology in found.topologies) == ["hostname-only", "hyperpod-default"]


@given(st.lists(st.sampled_from(TYPES), unique=True), st.lists(st.sampled_from(TYPES), unique=True))
def test_order(names: list[str], preferred: list[str]) -> None:
    kinds = order((instance_types()[name] for name in names), tuple(preferred))
    listed = [kind.name for kind in kinds]
    assert sorted(listed) == sorted(names)
    first = [name for name in preferred if name in names]
    assert listed[: len(first)] == first
    rest = [kind.accelerators or 0 for kind in kinds[len(first) :]]
    assert rest == sorted(rest)
    assert order(reversed(kinds), tuple(preferred)) == kinds
