"""What pods ask for: never more than nodes have, and as much of it as their accelerators are of the node's."""

from __future__ import annotations

from typing import Any

import pytest
from declarations import hyperpod, planned, team
from hypothesis import given
from hypothesis import strategies as st
from job_orders import order_of

from config.catalogue import InstanceType, instance_types
from governance.allocatable import allocatable
from governance.amounts import Request, specification
from governance.amounts import resolve as share_of
from governance.jobs.amounts import fitting, pod_resources, rooms
from governance.model import ClusterPlan, Plan
from governance.units import COVERED, CPU, EFA, GPU, MEMORY

KNOWN = sorted(name for name, kind in instance_types().items() if kind.known and kind.accelerators)


@pytest.fixture(scope="session")
def main(job_plan: Plan) -> ClusterPlan:
    return job_plan.clusters["main"]


def asked(kind: InstanceType, cluster: ClusterPlan, *, many: bool = True, **options: Any) -> dict[str, int]:
    return pod_resources(order_of(instance_type=kind.name, **options), kind, cluster, COVERED, many=many)


@given(st.sampled_from(KNOWN), st.integers(1, 16), st.booleans())
def test_as_many_pods_fit_as_there_are_accelerators_for(main: ClusterPlan, name: str, devices: int, many: bool) -> None:
    kind = instance_types()[name]
    devices = min(devices, kind.accelerators or 1)
    found = asked(kind, main, many=many, accelerators=devices)
    assert found[kind.resource or ""] == devices
    assert found[CPU] > 0
    assert found[MEMORY] > 0
    room = rooms(kind, main)[0]
    assert fitting(found, room | {kind.resource or "": kind.accelerators or 0}) == (kind.accelerators or 0) // devices
    assert (EFA in found) <= many


@given(st.sampled_from(KNOWN), st.integers(1, 16))
def test_what_follows_stays_within_the_share_that_a_quota_gives(main: ClusterPlan, name: str, devices: int) -> None:
    """A quota of n accelerators always has the vCPUs, memory and EFA interfaces for a pod of n."""
    kind = instance_types()[name]
    devices = min(devices, kind.accelerators or 1)
    share = share_of(Request(accelerators=devices), kind)
    assert all(amount <= share.get(resource, 0) for resource, amount in asked(kind, main, accelerators=devices).items())


@given(st.sampled_from(KNOWN))
def test_a_whole_node_is_what_one_pod_can_have(main: ClusterPlan, name: str) -> None:
    kind = instance_types()[name]
    room = rooms(kind, main)[0]
    found = asked(kind, main, whole_node=True)
    assert fitting(found, room) == 1
    assert room[CPU] - found[CPU] < 1000
    assert room[MEMORY] - found[MEMORY] < 1024
    assert all(found.get(resource, 0) == amount for resource, amount in room.items() if resource in COVERED[2:])


def test_vcpus_bring_memory_and_the_other_way_round(main: ClusterPlan) -> None:
    kind = instance_types()["ml.m5.4xlarge"]
    by_vcpu = asked(kind, main, vcpu=4)
    by_memory = asked(kind, main, memory_gib=by_vcpu[MEMORY] // 1024)
    assert by_vcpu[CPU] == 4000
    assert by_memory[CPU] in (3000, 4000)
    assert 2 <= by_vcpu[MEMORY] / 1024 / 4 <= 4


def test_given_amounts_stand(main: ClusterPlan) -> None:
    kind = instance_types()["ml.p5.48xlarge"]
    found = asked(kind, main, accelerators=1, vcpu=0.5, memory_gib=0.7, efa=2)
    assert found == {CPU: 500, MEMORY: 716, EFA: 2, GPU: 1}
    assert EFA not in asked(kind, main, accelerators=8, efa=0)


def test_a_partition_brings_its_share_of_the_node(main: ClusterPlan) -> None:
    kind = instance_types()["ml.p4d.24xlarge"]
    found = asked(kind, main, partition="mig-3g.20gb", partition_count=2)
    assert found["nvidia.com/mig-3g.20gb"] == 2
    assert GPU not in found
    assert found[CPU] == specification(kind)[CPU] * 6 // 56 // 1000 * 1000 - 1000


def test_hyperpod_keeps_room_for_what_it_runs_on_each_node() -> None:
    files = {"alpha": team("quota: {ml.p5.48xlarge: {instances: 1}}")}
    on_hyperpod = planned(files, hyperpod()).clusters["main"]
    kind = instance_types()["ml.p5.48xlarge"]
    free = allocatable(specification(kind))
    room = rooms(kind, on_hyperpod)[0]
    assert free[CPU] - room[CPU] == 650
    assert free[MEMORY] - room[MEMORY] == 512


@pytest.mark.parametrize("options", [{"vcpu": 0.001, "memory_gib": 1}, {"vcpu": 1, "memory_gib": 0.001}])
def test_the_least_that_may_be_asked_for_is_asked_for(ordering: Any, options: dict[str, float]) -> None:
    job, found = ordering(team="beta", instance_type="ml.m5.4xlarge", **options)
    assert job is not None, found
    assert job.workers.resources == {CPU: options["vcpu"] * 1000, MEMORY: int(options["memory_gib"] * 1024)}


@given(st.floats())
def test_any_number_is_an_amount_or_a_finding(ordering: Any, number: float) -> None:
    for option, name in (("vcpu", "--vcpu"), ("memory_gib", "--memory-gib")):
        job, found = ordering(accelerators=8, **{option: number})
        assert job is not None or name in {str(one.where) for one in found}
