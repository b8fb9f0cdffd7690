"""From a quota entry to exact amounts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import TYPES, amounts

from config.catalogue import InstanceType, instance_types, mig_slices
from config.team import Amounts
from governance.amounts import AmountError, Request, apportion, expand, problems, request_of, resolve, specification
from governance.units import CPU, EFA, GPU, MEMORY, NEURON

KINDS = [instance_types()[name] for name in TYPES]
kinds = st.sampled_from(KINDS)


def of(kind: str, **fields: Any) -> dict[str, int]:
    return resolve(request_of(Amounts(**fields)), instance_types()[kind])


def test_two_of_eight_gpus_of_a_p5() -> None:
    assert of("ml.p5.48xlarge", accelerators=2) == {GPU: 2, CPU: 48_000, MEMORY: 512 * 1024, EFA: 8}


def test_two_gpus_over_single_gpu_nodes() -> None:
    assert of("ml.g5.2xlarge", accelerators=2) == {GPU: 2, CPU: 16_000, MEMORY: 64 * 1024}


def test_onlygputeam_two_gpus_and_all_vcpus_of_a_g6() -> None:
    """The example of AWS's announcement: memory follows the vCPUs that are given, not the GPUs."""
    assert of("ml.g6.12xlarge", accelerators=2, vcpu=48) == {GPU: 2, CPU: 48_000, MEMORY: 192 * 1024}


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("ml.p5.48xlarge", {"instances": 2}, {GPU: 16, CPU: 384_000, MEMORY: 4096 * 1024, EFA: 64}),
        ("ml.p5.48xlarge", {"vcpu": 96}, {CPU: 96_000, MEMORY: 1024 * 1024}),
        ("ml.p5.48xlarge", {"memory_gib": 1024}, {CPU: 96_000, MEMORY: 1024 * 1024}),
        ("ml.p5.48xlarge", {"accelerators": 4, "memory_gib": 100}, {GPU: 4, CPU: 96_000, MEMORY: 100 * 1024, EFA: 16}),
        ("ml.p5.48xlarge", {"vcpu": 1, "memory_gib": 1}, {CPU: 1000, MEMORY: 1024}),
        ("ml.p5.48xlarge", {"accelerators": 0}, {}),
        ("ml.p5.48xlarge", {"instances": 1, "accelerators": 1}, {GPU: 9, CPU: 216_000, MEMORY: 2304 * 1024, EFA: 36}),
        ("ml.p5.48xlarge", {"partitions": {"mig-1g.10gb": 7}}, {"nvidia.com/mig-1g.10gb": 7, CPU: 24_000, MEMORY: 256 * 1024}),
        ("ml.p5.48xlarge", {"partitions": {"mig-3g.40gb": 1}}, {"nvidia.com/mig-3g.40gb": 1, CPU: 10_285, MEMORY: 112_347}),
        ("ml.trn1.32xlarge", {"accelerators": 4}, {NEURON: 4, CPU: 32_000, MEMORY: 128 * 1024, EFA: 2}),
        ("ml.m5.4xlarge", {"vcpu": 8}, {CPU: 8_000, MEMORY: 32 * 1024}),
        ("ml.m5.4xlarge", {"vcpu": 0.5}, {CPU: 500, MEMORY: 2048}),
        ("ml.m5.4xlarge", {"memory_gib": 0.7}, {CPU: 174, MEMORY: 716}),
        ("ml.c5n.18xlarge", {"vcpu": 72}, {CPU: 72_000, MEMORY: 192 * 1024, EFA: 1}),
        ("ml.c5n.18xlarge", {"vcpu": 71}, {CPU: 71_000, MEMORY: 193_877}),
        ("ml.p6e-gb200.36xlarge", {"instances": 1}, {GPU: 4, CPU: 144_000, MEMORY: 960 * 1024}),
    ],
)
def test_what_an_entry_means(kind: str, fields: dict[str, Any], expected: dict[str, int]) -> None:
    assert of(kind, **fields) == expected


@pytest.mark.parametrize(
    ("kind", "fields", "at"),
    [
        ("ml.m5.4xlarge", {"accelerators": 1}, ["accelerators"]),
        ("ml.m5.4xlarge", {"partitions": {"mig-1g.10gb": 1}}, ["partitions.mig-1g.10gb"]),
        ("ml.p5.48xlarge", {"partitions": {"mig-1g.5gb": 1}}, ["partitions.mig-1g.5gb"]),
        ("ml.trn1.32xlarge", {"partitions": {"mig-1g.5gb": 1}}, ["partitions.mig-1g.5gb"]),
        ("ml.m5.4xlarge", {"accelerators": 1, "partitions": {"mig-1g.5gb": 1}}, ["accelerators", "partitions.mig-1g.5gb"]),
        ("ml.m5.4xlarge", {"accelerators": 0}, []),
    ],
)
def test_what_a_type_cannot_satisfy(kind: str, fields: dict[str, Any], at: list[str]) -> None:
    request = request_of(Amounts(**fields))
    assert [problem.field for problem in problems(request, instance_types()[kind])] == at
    if at:
        with pytest.raises(AmountError):
            resolve(request, instance_types()[kind])


def test_a_type_whose_numbers_are_not_known() -> None:
    kind = InstanceType("ml.x1.large", "x1", None, None, None, None, "", None, None, 0, ())
    assert [problem.kind for problem in problems(Request(instances=1), kind)] == ["instance-type-numbers"]
    with pytest.raises(AmountError, match=r"no numbers for ml\.x1\.large"):
        specification(kind)


@st.composite
def entries(draw: st.DrawFn) -> tuple[InstanceType, Request]:
    kind = draw(kinds)
    return kind, request_of(Amounts.model_validate(draw(amounts([kind]))))


@given(entries())
def test_given_values_stand(entry: tuple[InstanceType, Request]) -> None:
    kind, request = entry
    whole = specification(kind)
    resolved = resolve(request, kind)

    def beyond(resource: str) -> int:
        return resolved.get(resource, 0) - request.instances * whole.get(resource, 0)

    if request.cpu is not None:
        assert beyond(CPU) == request.cpu
    if request.memory is not None:
        assert beyond(MEMORY) == request.memory
    if kind.resource:
        assert beyond(kind.resource) == (request.accelerators or 0)
    for profile, count in request.partitions.items():
        assert resolved[f"nvidia.com/{profile}"] == count


@given(entries())
def test_what_follows_is_the_exact_ratio_rounded_down(entry: tuple[InstanceType, Request]) -> None:
    kind, request = entry
    whole = specification(kind)
    resolved = resolve(request, kind)
    cpu, memory = (resolved.get(r, 0) - request.instances * whole[r] for r in (CPU, MEMORY))
    share = Fraction(0)
    if kind.accelerators:
        slices = sum(count * mig_slices(profile) for profile, count in request.partitions.items())
        share = Fraction(request.accelerators or 0, kind.accelerators) + Fraction(slices, 7 * kind.accelerators)
    if request.cpu is not None:
        exact = (Fraction(request.cpu), Fraction(request.cpu, whole[CPU]) * whole[MEMORY])
    elif share or request.memory is None:
        exact = (share * whole[CPU], share * whole[MEMORY])
    else:
        exact = (Fraction(request.memory, whole[MEMORY]) * whole[CPU], Fraction(request.memory))
    if request.memory is not None:
        exact = (exact[0], Fraction(request.memory))
    assert cpu <= exact[0] < cpu + 1
    assert memory <= exact[1] < memory + 1


@given(kinds, st.data())
def test_a_share_of_an_instance_never_exceeds_it(kind: InstanceType, data: st.DataObject) -> None:
    whole = specification(kind)
    field = data.draw(st.sampled_from(["accelerators", "cpu", "memory", "partitions"]))
    if field == "partitions":
        assume(kind.mig_profiles)
        profile = data.draw(st.sampled_from(kind.mig_profiles))
        request = Request(partitions={profile: data.draw(st.integers(1, 7 * (kind.accelerators or 0) // mig_slices(profile)))})
    else:
        most = {"accelerators": kind.accelerators or 0, "cpu": whole[CPU], "memory": whole[MEMORY]}[field]
        request = Request(**{field: data.draw(st.integers(0, most))})
    resolved = resolve(request, kind)
    assert all(resolved.get(resource, 0) <= amount for resource, amount in whole.items())
    if field != "partitions" and most:
        assert resolve(Request(**{field: most}), kind).items() >= {CPU: whole[CPU], MEMORY: whole[MEMORY]}.items()


@given(entries(), st.sampled_from(["instances", "accelerators", "cpu", "memory"]), st.integers(0, 10_000))
def test_more_asked_is_never_less_given(entry: tuple[InstanceType, Request], field: str, more: int) -> None:
    kind, request = entry
    before = getattr(request, field)
    assume(before is not None)
    assume(field != "accelerators" or (kind.accelerators and before))
    values = {name: getattr(request, name) for name in ("instances", "accelerators", "cpu", "memory", "partitions")}
    larger = resolve(Request(**{**values, field: before + more}), kind)
    assert all(larger.get(resource, 0) >= amount for resource, amount in resolve(request, kind).items())


@given(st.integers(1, 10_000_000), st.sampled_from([1000, 1024]))
def test_decimal_amounts_are_what_was_written(thousandths: int, units: int) -> None:
    written = Amounts(vcpu=thousandths / 1000) if units == 1000 else Amounts(memory_gib=thousandths / 1000)
    request = request_of(written)
    expected = thousandths * units // 1000
    assert (request.cpu if units == 1000 else request.memory) == expected


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_parts_sum_to_the_whole_and_are_within_one_of_exact(amount: int, weights: list[int]) -> None:
    parts = apportion(amount, weights)
    assert sum(parts) == amount
    total = sum(weights)
    for part, weight in zip(parts, weights, strict=True):
        exact = Fraction(amount * weight, total) if total else Fraction(amount, len(weights))
        assert abs(part - exact) < 1
        assert part >= 0


@given(st.integers(0, 10**6), st.lists(st.integers(0, 1000), min_size=1, max_size=8))
def test_a_larger_weight_never_gets_less(amount: int, weights: list[int]) -> None:
    parts = apportion(amount, weights)
    for i, one in enumerate(weights):
        for j, other in enumerate(weights):
            if one > other:
                assert parts[i] >= parts[j]


def test_ties_go_to_the_first() -> None:
    assert apportion(2, [1, 1, 1]) == [1, 1, 0]
    assert apportion(5, [0, 0]) == [3, 2]


FAMILIES = {
    "g5": ["ml.g5.2xlarge", "ml.g5.12xlarge", "ml.g5.48xlarge"],
    "p5": ["ml.p5.4xlarge", "ml.p5.48xlarge"],
    "m5": ["ml.m5.large", "ml.m5.4xlarge"],
}


@given(st.sampled_from(sorted(FAMILIES)), st.data())
def test_a_family_is_split_without_rest(family: str, data: st.DataObject) -> None:
    types = [instance_types()[name] for name in data.draw(st.lists(st.sampled_from(FAMILIES[family]), min_size=1, unique=True))]
    request = request_of(Amounts.model_validate(data.draw(amounts(types))))
    counts = data.draw(st.lists(st.integers(0, 50), min_size=len(types), max_size=len(types)))
    split = expand(request, list(zip(types, counts, strict=True)))
    assert list(split) == [kind.name for kind in types]
    assert sum(part.instances for part in split.values()) == request.instances
    for field in ("accelerators", "cpu", "memory"):
        parts = [getattr(part, field) for part in split.values()]
        assert all(part is None for part in parts) if getattr(request, field) is None else sum(parts) == getattr(request, field)
    for profile, amount in request.partitions.items():
        assert sum(part.partitions.get(profile, 0) for part in split.values()) == amount
    for kind in types:
        resolve(split[kind.name], kind)
    if sum(counts) and request.instances:
        for kind, count in zip(types, counts, strict=True):
            assert split[kind.name].instances or count * request.instances < sum(counts)


def test_a_split_follows_what_the_nodes_have() -> None:
    small, large = instance_types()["ml.g5.2xlarge"], instance_types()["ml.g5.12xlarge"]
    split = expand(Request(instances=3, accelerators=10), [(small, 4), (large, 4)])
    assert [(part.instances, part.accelerators) for part in split.values()] == [(2, 2), (1, 8)]


def test_a_partition_goes_to_types_that_have_it() -> None:
    p4d, p5 = instance_types()["ml.p4d.24xlarge"], instance_types()["ml.p5.48xlarge"]
    split = expand(Request(partitions={"mig-1g.10gb": 5}), [(p4d, 10), (p5, 1)])
    have = [kind.name for kind in (p4d, p5) if "mig-1g.10gb" in kind.mig_profiles]
    assert {name for name, part in split.items() if part.partitions} <= set(have)
    with pytest.raises(AmountError, match="no type of the cluster has"):
        expand(Request(partitions={"mig-1g.45gb": 1}), [(p4d, 1), (p5, 1)])
