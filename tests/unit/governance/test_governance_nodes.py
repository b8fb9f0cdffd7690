"""Fake nodes: what they hold, and where they stand in the network."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from declarations import cluster, environment, hyperpod
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity
from strategies import TYPES, ProjectData, hyperpod_environments, planned, projects

from config.catalogue import instance_types
from config.cluster import InstanceGroup
from config.hyperpod import HyperPodCluster
from governance.allocatable import allocatable
from governance.amounts import AmountError
from governance.names import GROUP_LABEL
from governance.nodes import ZONE_LABEL, node, node_name, nodes
from governance.quotas import node_resources
from governance.units import CPU, GPU, MEMORY

LAYER = "topology.k8s.aws/network-node-layer-"


@given(projects(most_teams=1))
def test_nodes_are_those_of_the_groups_and_hold_their_capacity(made: ProjectData) -> None:
    for found in planned(made).clusters.values():
        listed = nodes(found)
        assert len(listed) == sum(group.count for group in found.groups.values())
        assert len({spec.name for spec in listed}) == len(listed)
        sums: dict[tuple[str, str], int] = defaultdict(int)
        for spec in listed:
            kind = spec.labels["node.kubernetes.io/instance-type"]
            assert len(spec.name) <= 63
            assert spec.labels["kubernetes.io/hostname"] == spec.name
            assert list(spec.capacity) == list(spec.allocatable)
            for resource, text in spec.capacity.items():
                amount, free = parse_quantity(text), parse_quantity(spec.allocatable[resource])
                assert 0 < free <= amount
                sums[kind, resource] += int(amount * 1000)
        for kind, held in found.capacity.items():
            for resource, amount in held.items():
                unit = {CPU: 1, MEMORY: 1000 << 20}.get(resource, 1000)
                assert sums[kind, resource] == amount * unit


@given(projects(most_teams=1))
def test_every_node_carries_all_levels_of_its_topology(made: ProjectData) -> None:
    """A node without one of them would take no part in placement."""
    for found in planned(made).clusters.values():
        for spec in nodes(found):
            flavor = found.flavors[spec.labels["node.kubernetes.io/instance-type"]]
            assert all(spec.labels[key] == value for key, value in flavor.node_labels.items())
            if flavor.topology is not None:
                assert set(flavor.topology.levels) <= spec.labels.keys()
            tolerated = {(t.key, t.value, t.effect) for t in flavor.tolerations}
            assert {(t.key, t.value, t.effect) for t in spec.taints if t.effect != "PreferNoSchedule"} <= tolerated


@given(st.integers(1, 7), st.integers(1, 4), st.integers(1, 3), st.integers(1, 200))
def test_network_blocks_nest(per_block: int, per_spine: int, per_core: int, count: int) -> None:
    layout = f"{{nodes_per_block: {per_block}, blocks_per_spine: {per_spine}, spines_per_core: {per_core}}}"
    found = cluster({}, environment(groups=f"g: {{instance_type: ml.p5.48xlarge, count: {count}, network: {layout}}}"))
    listed = nodes(found)
    for layer, size in ((3, per_block), (2, per_block * per_spine), (1, per_block * per_spine * per_core)):
        labels = [spec.labels[f"{LAYER}{layer}"] for spec in listed]
        for index, label in enumerate(labels):
            assert (label == labels[0]) == (index < size)
            assert labels.index(label) == index - index % size
    for near, far in ((3, 2), (2, 1)):
        above: dict[str, set[str]] = defaultdict(set)
        for spec in listed:
            above[spec.labels[f"{LAYER}{near}"]].add(spec.labels[f"{LAYER}{far}"])
        assert all(len(parents) == 1 for parents in above.values())


def test_groups_share_no_network_node() -> None:
    groups = "a: {instance_type: ml.p5.48xlarge, count: 5}\nb: {instance_type: ml.p5.48xlarge, count: 5}"
    listed = nodes(cluster({}, environment(groups=groups)))
    for layer in (1, 2, 3):
        seen = {name: {s.labels[f"{LAYER}{layer}"] for s in listed if s.name.startswith(name)} for name in ("a-", "b-")}
        assert not seen["a-"] & seen["b-"]


def test_four_layers_have_the_nearest_block_at_the_fourth() -> None:
    found = cluster({}, environment(groups="g: {instance_type: ml.p6-b200.48xlarge, count: 40}"))
    listed = nodes(found)
    assert instance_types()["ml.p6-b200.48xlarge"].network_layers == 4
    assert [len({spec.labels[f"{LAYER}{layer}"] for spec in listed}) for layer in (1, 2, 3, 4)] == [1, 1, 3, 10]


def test_a_type_without_network_layers_has_no_such_label() -> None:
    (spec,) = nodes(cluster({}, environment(groups="g: {instance_type: ml.g5.2xlarge, count: 1}")))
    assert not [label for label in spec.labels if label.startswith(LAYER)]


def test_labels_of_a_group_stand_above_the_made_ones_but_not_above_the_nodes_own() -> None:
    groups = f"g: {{instance_type: ml.p5.48xlarge, count: 1, labels: {{{LAYER}3: block-7, topology.kubernetes.io/zone: z}}}}"
    (spec,) = nodes(cluster({}, environment(groups=groups)))
    assert spec.labels[f"{LAYER}3"] == "block-7"
    assert spec.labels["topology.kubernetes.io/zone"] == "z"


def test_nodes_beyond_the_count_are_those_that_would_be_added() -> None:
    found = cluster({}, environment(groups="g: {instance_type: ml.p5.48xlarge, count: 2}"))
    kind, group = found.kinds["ml.p5.48xlarge"], found.groups["g"]
    levels = {level for topology in found.topologies for level in topology.levels}
    assert [node("g", index, group, kind, levels) for index in (0, 1)] == nodes(found)
    assert node("g", 2, group, kind, levels).name == "g-002"


@given(st.from_regex(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", fullmatch=True), st.integers(0, 100_000))
def test_a_nodes_name_is_a_host_name(group: str, index: int) -> None:
    name = node_name(group, index)
    assert len(name) <= 63
    assert name.endswith(f"-{index:03d}")
    assert name[-1].isalnum()


def test_long_groups_are_told_apart() -> None:
    one, other = "x" * 62 + "a", "x" * 62 + "b"
    assert node_name(one, 0) != node_name(other, 0)
    assert node_name("short", 7) == "short-007"


@given(st.integers(0, 10**6), st.integers(0, 10**8))
def test_allocatable_is_at_most_capacity_and_grows_with_it(cpu: int, memory: int) -> None:
    free, more = allocatable({CPU: cpu, MEMORY: memory, GPU: 8}), allocatable({CPU: cpu + 1000, MEMORY: memory + 1024, GPU: 8})
    assert 0 <= free[CPU] <= cpu
    assert 0 <= free[MEMORY] <= memory
    assert free[GPU] == 8
    assert more[CPU] >= free[CPU]
    assert more[MEMORY] >= free[MEMORY]


@pytest.mark.parametrize(
    ("kind", "cpu", "memory"),
    [
        # By hand from the HyperPod CLI's formula: 0.1 + 0.3 + 0.15 + 0.1 + 0.1 + 6 % of the rest of the vCPUs;
        # 0.5 + 30 % of 4, 25 % of 4, 20 % of 8, 17 % of 112, 7 % of the rest of the GiB.
        ("ml.p5.48xlarge", 192_000 - 12_030, 2048 * 1024 - 161_526),
        ("ml.m5.4xlarge", 16_000 - 1_470, 64 * 1024 - 12_760),
    ],
)
def test_what_a_kubelet_reserves(kind: str, cpu: int, memory: int) -> None:
    free = allocatable(node_resources(instance_types()[kind], {}))
    assert (free[CPU], free[MEMORY]) == (cpu, memory)


@given(st.sampled_from([name for name in TYPES if instance_types()[name].mig_profiles]), st.data())
def test_partitions_take_whole_gpus(name: str, data: st.DataObject) -> None:
    kind = instance_types()[name]
    partitions = data.draw(st.dictionaries(st.sampled_from(kind.mig_profiles), st.integers(1, 20), max_size=3))
    group = InstanceGroup.model_validate({"instance_type": name, "count": 1, "partitions": partitions})
    sizes = [int(profile[4]) for profile, count in group.partitions.items() for _ in range(count)]
    at_least = max(-(-sum(sizes) // 7), sum(size > 3 for size in sizes))
    if at_least > (kind.accelerators or 0):
        with pytest.raises(AmountError):
            node_resources(kind, group.partitions)
        return
    try:
        held = node_resources(kind, group.partitions)
    except AmountError:
        assert len(sizes) > (kind.accelerators or 0)
        return
    assert 0 <= held[GPU] <= (kind.accelerators or 0) - at_least
    assert {r: n for r, n in held.items() if "mig" in r} == {
        f"nvidia.com/{profile}": count for profile, count in partitions.items()
    }


@pytest.mark.parametrize(
    ("partitions", "whole"),
    [
        ({}, 8),
        ({"mig-1g.10gb": 7}, 7),
        ({"mig-1g.10gb": 8}, 6),
        ({"mig-7g.80gb": 8}, 0),
        ({"mig-3g.40gb": 2, "mig-1g.10gb": 1}, 7),
        ({"mig-4g.40gb": 5}, 3),
        ({"mig-4g.40gb": 8, "mig-3g.40gb": 8}, 0),
        ({"mig-4g.40gb": 9}, None),
        ({"mig-1g.10gb": 10_000_000}, None),
    ],
)
def test_partitions_of_a_p5(partitions: dict[str, int], whole: int | None) -> None:
    """Two partitions of four slices never share a GPU, though seven slices would be enough for less than two."""
    kind = instance_types()["ml.p5.48xlarge"]
    if whole is None:
        with pytest.raises(AmountError, match="the partitions need"):
            node_resources(kind, partitions)
    else:
        assert node_resources(kind, partitions)[GPU] == whole


def test_nodes_of_a_hyperpod_cluster_stand_in_its_zones() -> None:
    env = hyperpod(
        groups="h100: {instance_type: ml.p5.48xlarge, count: 2, availability_zone: us-west-2b}\n"
        "cpu: {instance_type: ml.m5.4xlarge, count: 4, taints: [{key: a, effect: NoSchedule}]}"
    )
    found = nodes(cluster({}, env))
    zones = {node.name: node.labels["topology.kubernetes.io/zone"] for node in found}
    assert zones == {
        "cpu-000": "us-west-2a",
        "cpu-001": "us-west-2b",
        "cpu-002": "us-west-2c",
        "cpu-003": "us-west-2a",
        "h100-000": "us-west-2b",
        "h100-001": "us-west-2b",
    }
    assert [(taint.key, taint.effect) for taint in found[0].taints] == [("a", "NoSchedule")]


@given(st.booleans().flatmap(lambda managed: hyperpod_environments(managed=managed)))
def test_every_node_of_a_hyperpod_cluster_stands_in_a_zone_of_its_network(made: dict[str, Any]) -> None:
    found = planned(ProjectData(made, {})).clusters["main"]
    declared = found.declared
    assert isinstance(declared, HyperPodCluster)
    made_nodes = nodes(found)
    assert len(made_nodes) == sum(group.count for group in declared.instance_groups.values())
    for one in made_nodes:
        pinned = declared.instance_groups[one.labels[GROUP_LABEL]].availability_zone
        assert one.labels[ZONE_LABEL] in ((pinned,) if pinned else declared.network.zones)
