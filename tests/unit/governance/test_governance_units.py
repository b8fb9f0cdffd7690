"""Base units and Kubernetes quantities."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity

from governance.units import CPU, GPU, MEMORY, PODS, is_device, percent, quantity, shown, times, total

BASE = {CPU: Decimal("0.001"), MEMORY: Decimal(1 << 20), GPU: Decimal(1), PODS: Decimal(1)}
resources = st.sampled_from(sorted(BASE))
sizes = st.one_of(
    st.integers(0, 5000),
    st.integers(0, 2**40),
    st.builds(lambda n, e, b: n * b**e, st.integers(0, 999), st.integers(0, 6), st.sampled_from([10, 1000, 1024])),
)


@given(resources, sizes)
def test_a_quantity_has_the_amounts_value(resource: str, amount: int) -> None:
    assert parse_quantity(quantity(resource, amount)) == amount * BASE[resource]


@given(resources, sizes)
def test_a_quantity_is_canonical(resource: str, amount: int) -> None:
    """No larger suffix would leave a whole number, and reading it back and writing it again changes nothing."""
    text = quantity(resource, amount)
    number = text.rstrip("mkMGTPEi")
    suffix = text.removeprefix(number)
    step = 1024 if resource == MEMORY else 1000
    assert str(int(number)) == number
    assert int(number) % step or not amount or suffix.startswith("E")
    assert quantity(resource, int(parse_quantity(text) / BASE[resource])) == text


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        (CPU, 0, "0"),
        (CPU, 1, "1m"),
        (CPU, 1500, "1500m"),
        (CPU, 192_000, "192"),
        (CPU, 1_000_000, "1k"),
        (CPU, 1_500_000, "1500"),
        (CPU, 10**9, "1M"),
        (MEMORY, 0, "0"),
        (MEMORY, 1, "1Mi"),
        (MEMORY, 1023, "1023Mi"),
        (MEMORY, 2048 * 1024, "2Ti"),
        (MEMORY, 192 * 1024, "192Gi"),
        (GPU, 8, "8"),
        (GPU, 1000, "1k"),
        (GPU, 1024, "1024"),
        (PODS, 2_000_000, "2M"),
    ],
)
def test_quantities_as_an_api_server_writes_them(resource: str, amount: int, text: str) -> None:
    """Each of these is what k8s.io/apimachinery's Quantity.String() yields for its value."""
    assert quantity(resource, amount) == text


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [(CPU, 48_000, "48"), (CPU, 10_285, "10.3"), (MEMORY, 512 * 1024, "512 GiB"), (MEMORY, 1536, "1.5 GiB"), (GPU, 8, "8")],
)
def test_amounts_as_people_say_them(resource: str, amount: int, text: str) -> None:
    assert shown(resource, amount) == text


@given(st.integers(0, 10**9), st.integers(0, 10_000))
def test_a_percentage_is_rounded_down(amount: int, share: int) -> None:
    part = percent(amount, share)
    assert part * 100 <= amount * share < (part + 1) * 100


def test_half_of_one_gpu_is_none() -> None:
    assert percent(1, 50) == 0
    assert percent(3, 50) == 1
    assert percent(2, 150) == 3


amounts = st.dictionaries(resources, st.integers(0, 1000))


@given(st.lists(amounts, max_size=4), st.integers(0, 9))
def test_sums_and_multiples(parts: list[dict[str, int]], count: int) -> None:
    for resource in BASE:
        assert total(parts).get(resource, 0) == sum(part.get(resource, 0) for part in parts)
    for part in parts:
        assert times(part, count) == ({r: a * count for r, a in part.items()})
        assert total([part] * count) == (times(part, count) if count else {})


def test_devices() -> None:
    assert [
        r
        for r in (CPU, MEMORY, GPU, PODS, "aws.amazon.com/neurondevice", "nvidia.com/mig-1g.10gb", "vpc.amazonaws.com/efa")
        if is_device(r)
    ] == [
        GPU,
        "aws.amazon.com/neurondevice",
        "nvidia.com/mig-1g.10gb",
    ]
